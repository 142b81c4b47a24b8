package configdrive

import "github.com/vmseed/vmseed/diag"

// The diagnostics of this package.
const (
	// CodeAdminPassword is for a password that every user of the guest can read.
	CodeAdminPassword diag.Code = 4200 + iota
	// CodeInjected is for files whose mode and owner the drive cannot carry.
	CodeInjected
)

// Codes explains the diagnostics of this package.
func Codes() []diag.Explanation {
	return []diag.Explanation{
		{Code: CodeAdminPassword, Title: "admin_pass is readable in the guest",
			Text: "cloud-init copies meta-data to a file that every user of the guest can read, and ignores `admin_pass`. Only cloudbase-init on " +
				"Windows sets the administrator's password from it."},
		{Code: CodeInjected, Title: "injected file loses mode and owner",
			Text: "User-data that is passed as it is cannot carry files, so the config drive carries them its own way. cloud-init writes those as root " +
				"with mode 0660. Set mode and owner in the script."},
	}
}
