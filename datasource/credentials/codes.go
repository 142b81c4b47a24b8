package credentials

import "github.com/vmseed/vmseed/diag"

// The diagnostics of this package.
const (
	// CodeTooOld is for a guest whose systemd reads no credentials that set up a system.
	CodeTooOld diag.Code = 4400 + iota
	// CodeRelease is for fields that a guest reads only if its systemd is new enough, which is not known.
	CodeRelease
	// CodeName is for names, paths and texts that systemd does not take.
	CodeName
	// CodeTwice is for two things of one name.
	CodeTwice
	// CodePassword is for passwords without a usable hash.
	CodePassword
	// CodeNoSuchDisk is for mounts and links of disks that the machine has not.
	CodeNoSuchDisk
	// CodeNoWords is for details that no credential can say.
	CodeNoWords
)

// Codes explains the diagnostics of this package.
func Codes() []diag.Explanation {
	return []diag.Explanation{
		{Code: CodeTooOld, Title: "systemd that reads no credentials",
			Text: "systemd sets a system up by credentials from version 252 on. For older guests, such as Debian 11 and Ubuntu 22.04, use another data source."},
		{Code: CodeRelease, Title: "needs a newer systemd, and the guest's is not known",
			Text: "systemd 252 reads files, accounts and kernel parameters out of credentials, 254 mounts as well, and 256 units, commands, passwords and the " +
				"network. What an older one does not know, it passes over without a word. State `guest.release`, such as `debian-13`, or use `--guest`: " +
				"`systemd=257` names the version itself. Then each field that is lost is named."},
		{Code: CodeName, Title: "name or path that systemd refuses",
			Text: "systemd-sysusers makes accounts of at most 31 letters, digits, hyphens and underscores, and systemd-tmpfiles writes to absolute paths. Correct the name."},
		{Code: CodeTwice, Title: "two of one name", Text: "A credential has each path and each account once. Remove one of the two."},
		{Code: CodePassword, Title: "password without a hash",
			Text: "The password could not be turned into a hash, or a `passwordHash` is not what /etc/shadow takes. Give a `passwordHash` of crypt(5), such as `mkpasswd` prints."},
		{Code: CodeNoSuchDisk, Title: "no such disk or share", Text: "A mount or link names a disk or share that the machine does not have. Check the name."},
		{Code: CodeNoWords, Title: "no credential says it",
			Text: "A unit that comes as a credential is enabled by the targets that its section Install names in `WantedBy=`, `RequiredBy=` and `UpheldBy=`; " +
				"other settings of that section need `systemctl enable` in the guest."},
	}
}
