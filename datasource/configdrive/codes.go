package configdrive

import "github.com/vmseed/vmseed/diag"

// The diagnostics of this package.
const (
	// CodeAdminPassword is for a password that every user of the guest can read.
	CodeAdminPassword diag.Code = 4200 + iota
	// CodeInjected is for files whose mode and owner the drive cannot carry.
	CodeInjected
	// CodePair is for two names of one thing with different values.
	CodePair
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
		{Code: CodePair, Title: "two names with different values",
			Text: "A config drive has the instance id as `uuid` and `instance-id`, and the host name as `hostname` and `local-hostname`. cloud-init goes by " +
				"`uuid` and `hostname`. The meta-data of the definition sets both names of a pair, and not to the same value."},
	}
}
