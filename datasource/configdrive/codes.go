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
	// CodeInterfaces is for a form of the network that cloud-init wants to give up.
	CodeInterfaces
	// CodeRevision is for a first boot that is asked for again of a guest that may not notice.
	CodeRevision
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
		{Code: CodeInterfaces, Title: "interfaces(5) text is deprecated",
			Text: "cloud-init reads the text of Debian's interfaces(5) from a config drive, but calls that deprecated from 24.3 on and says so in its log. The form " +
				"network_data.json (oVirt: `openstack_metadata`) says the same to every release from 0.7.7 on."},
		{Code: CodeRevision, Title: "guest may not look at the drive",
			Text: "cloud-init's ConfigDrive compares the instance id in the guest's cache with the system UUID of the firmware. Where they are the same, as after a first " +
				"boot without a revision, the guest goes on with its cache, and sees no other drive, whatever its instance id is. Run `cloud-init clean` in " +
				"the guest, or give the machine an `identity.instanceID` other than its UUID before it boots for the first time; VMs of `vmseed serve` have such a one."},
	}
}
