package ignition

import "github.com/vmseed/vmseed/diag"

// The diagnostics of this package.
const (
	// CodeNoWords is for details that an Ignition config cannot say.
	CodeNoWords diag.Code = 4140 + iota
	// CodePassword is for passwords without a usable hash.
	CodePassword
	// CodeHashInLog is for password hashes, which the guest's journal shows.
	CodeHashInLog
	// CodeName is for names, paths and texts that no Ignition or systemd takes.
	CodeName
	// CodeTwice is for two things of one name.
	CodeTwice
	// CodeEnvironment is for variables that no environment file can hold.
	CodeEnvironment
	// CodeNoSuchDisk is for mounts, links and layouts of disks that the machine has not.
	CodeNoSuchDisk
	// CodeStorage is for layouts that Ignition does not make.
	CodeStorage
	// CodeKind is for user-data that no Ignition guest understands.
	CodeKind
	// CodeLost is for fields that are lost because the config is passed as it is.
	CodeLost
	// CodeConflict is for a config that contradicts what is generated.
	CodeConflict
	// CodePlace is for paths that are elsewhere, or not writable, on the guest's distribution.
	CodePlace
	// CodeGroup is for groups that the guest's image is taken to have, because nothing names its distribution.
	CodeGroup
	// CodeVersion is for configs of oVirt that state no version.
	CodeVersion
)

// Codes explains the diagnostics of this package.
func Codes() []diag.Explanation {
	return []diag.Explanation{
		{Code: CodeNoWords, Title: "Ignition has no words for it",
			Text: "The definition asks for a detail that neither an Ignition config nor a unit that it carries can do. The message names what to do instead."},
		{Code: CodePassword, Title: "password without a hash", Text: "The password could not be turned into a hash, or a `passwordHash` does not look like one. " +
			"Ignition passes it to useradd unread. Give a `passwordHash` of crypt(5), such as `mkpasswd` prints."},
		{Code: CodeHashInLog, Title: "the guest's journal shows the password hash",
			Text: "Ignition logs each command that it runs, among them `useradd --password HASH`, in the guest's journal. Whoever may read the journal can try " +
				"passwords against the hash. Log in with SSH keys, or change the password after the first boot."},
		{Code: CodeName, Title: "name or path that the guest refuses",
			Text: "Ignition stops the boot at a path that is not absolute, and systemd ignores a unit whose name has no known suffix. Correct the name."},
		{Code: CodeTwice, Title: "two of one name",
			Text: "An Ignition config has each path, unit, user and disk once. Of two files the later one counts, as it does for cloud-init; remove one of the two."},
		{Code: CodeEnvironment, Title: "variable that the environment cannot hold",
			Text: "Environment variables hold text without NUL bytes. systemd gives them to services in any form; log-ins read them from `/etc/environment`, " +
				"which has no words for line breaks, quotes, backslashes and number signs."},
		{Code: CodeNoSuchDisk, Title: "no such disk or share", Text: "A mount, link or layout names a disk or share that the machine does not have. Check the name."},
		{Code: CodeStorage, Title: "layout that Ignition does not make",
			Text: "Ignition makes GUID partition tables with partitions of whole MiB, and the file systems ext4, xfs, btrfs, vfat and swap."},
		{Code: CodeKind, Title: "user-data that an Ignition guest does not understand",
			Text: "For an Ignition guest user-data is an Ignition config, Butane, a cloud-config that is translated, or a script that runs as a unit, also as " +
				"parts of a MIME message. Templates, includes and part handlers need cloud-init itself."},
		{Code: CodeLost, Title: "field is lost, because the config is passed as it is",
			Text: "The config is passed byte for byte (`raw`), so nothing that vmseed would have generated is added to it."},
		{Code: CodeConflict, Title: "configs contradict each other",
			Text: "The parts are valid, but what Ignition makes of them when it merges them is not: for example a file of one below a link of another."},
		{Code: CodePlace, Title: "path that is elsewhere, or read-only, on the guest's distribution",
			Text: "On Fedora CoreOS and its kin directories such as `/srv` and `/home` are links into `/var`, where mounts have to be named, and `/usr` is read-only, " +
				"as it is on Flatcar: Ignition stops the boot where it cannot write. vmseed goes by the platform and `guest.release`; state it for a distribution without such links, such as `debian-12`."},
		{Code: CodeVersion, Title: "config without a version",
			Text: "An engine of oVirt adds the version to a config that states none, so one without is accepted from its documents. It is taken for one of the " +
				"lowest version that knows all keys of the config. State the version: a typing error in a key may lead to another."},
		{Code: CodeGroup, Title: "group that the image is taken to have",
			Text: "Ignition must not make a group that the image has, and the boot stops where a user's group is missing. Without a distribution vmseed takes the groups of " +
				"Fedora CoreOS and its kin for given, such as `docker` and `wheel`. State `guest.release`, or use `--guest`: then the config makes the groups that this distribution lacks."},
	}
}
