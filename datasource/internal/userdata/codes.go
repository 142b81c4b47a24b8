package userdata

import "github.com/vmseed/vmseed/diag"

// The diagnostics of this package.
const (
	// CodePassword is for a password that cannot be hashed.
	CodePassword diag.Code = 4000 + iota
	// CodeEnvironment is for variables that no environment file can hold.
	CodeEnvironment
	// CodeNoSuchDisk is for mounts and links of disks that the machine has not.
	CodeNoSuchDisk
	// CodeNoWords is for details that cloud-init has no key for.
	CodeNoWords
	// CodeLostRaw is for fields that are lost because the user-data is passed as it is.
	CodeLostRaw
	// CodeSamePath is for a file of the user's that a generated one overwrites.
	CodeSamePath
	// CodeUserWins is for a field that the user's own cloud-config overrides.
	CodeUserWins
	// CodeMultipart is for a script that shares the user-data with generated parts.
	CodeMultipart
	// CodeCompose is for user-data that cannot be put together.
	CodeCompose
	// CodeIgnition is for Ignition configs that are sent to cloud-init.
	CodeIgnition
	// CodeNoLogin is for SSH keys that reach nobody who can log in.
	CodeNoLogin
	// CodeMountPath is for mount points that cloud-init cannot write down.
	CodeMountPath
	// CodeUnit is for names that systemd would not take.
	CodeUnit
	// CodeStorage is for partitions and file systems that cannot be made.
	CodeStorage
	// CodeNameless is for settings of a default user whose name is not known.
	CodeNameless
	// CodeDataSources is for a machine that chooses the guest's data sources itself.
	CodeDataSources
	// CodeBehind is for vendor-data that is no longer behind the user-data in rank.
	CodeBehind
)

// Codes explains the diagnostics of this package.
func Codes() []diag.Explanation {
	return []diag.Explanation{
		{Code: CodePassword, Title: "password without a hash", Text: "The password could not be turned into a hash for the guest, or a `passwordHash` does not look like " +
			"one. Give a `passwordHash` of crypt(5), such as `mkpasswd` prints."},
		{Code: CodeEnvironment, Title: "variable is no text",
			Text: "Environment variables hold text without NUL bytes. Write binary values into a file of their own."},
		{Code: CodeNoSuchDisk, Title: "no such disk or share", Text: "A mount or link names a disk or share that the machine does not have. Check the name."},
		{Code: CodeNoWords, Title: "cloud-init has no words for it",
			Text: "The definition asks for a detail that no key of cloud-init expresses, so the guest would not be told. The message names what to do instead."},
		{Code: CodeLostRaw, Title: "field is lost, because user-data is passed as it is",
			Text: "The user-data is passed byte for byte (script mode, or `--no-multipart`), so nothing that vmseed would have generated can be " +
				"added to it. Do the same in the script, or let vmseed send a MIME multipart message."},
		{Code: CodeSamePath, Title: "generated file overwrites the user's",
			Text: "The user's `write_files` names a path that the definition also fills from a Secret, a ConfigMap or another field. cloud-init " +
				"writes in order, the generated file comes later and wins. Remove one of the two."},
		{Code: CodeUserWins, Title: "user-data overrides a field",
			Text: "The cloud-config sets a key that the definition sets as well. The cloud-config wins. Remove one of the two."},
		{Code: CodeMultipart, Title: "user-data becomes a multipart message",
			Text: "The user-data is no cloud-config, but the definition asks for things that need one, such as files from Secrets. vmseed sends both " +
				"as parts of a MIME message. Guests whose agent cannot read that, such as CirrOS, need `--no-multipart`."},
		{Code: CodeCompose, Title: "user-data cannot be put together",
			Text: "The layers of user-data could not be merged into one. The message says which and why."},
		{Code: CodeNoLogin, Title: "SSH keys reach nobody",
			Text: "The list `users` of the user-data leaves out the item `default`, so the guest does not create its default user. The machine's SSH keys " +
				"are meant for that user; cloud-init then puts them into root's file only, with a command that refuses the log-in. Add `default` to the " +
				"list, or give the keys to one of its users."},
		{Code: CodeMountPath, Title: "mount point with a blank",
			Text: "cloud-init writes mount points into /etc/fstab as they are, where a blank ends them. The mount script handles such paths; the guest's fstab does not. " +
				"Choose a path without blanks."},
		{Code: CodeUnit, Title: "no name of a unit",
			Text: "A unit's name is a file name that ends in its kind, such as web.service or data.mount, and that of a drop-in ends in .conf. systemd ignores others."},
		{Code: CodeStorage, Title: "storage that cannot be made",
			Text: "The partition table or file system cannot be made as described: an unknown type, a size that is no whole number of MiB, more partitions than " +
				"the table holds, or no device. The message says which."},
		{Code: CodeNameless, Title: "default user without a name",
			Text: "cloud-init changes the default user by the key `user`, whose name it takes from the distribution. Its schema asks for the name all the same, so " +
				"the guest does as told but warns, and `cloud-init status` says degraded. Give the default user a name. A password alone needs no such key if " +
				"its hash is one of sha512-crypt; those of yescrypt do."},
		{Code: CodeDataSources, Title: "guest's data sources are the author's",
			Text: "A seed for oVirt writes /etc/cloud/cloud.cfg.d/99_vmseed_datasource.cfg, so that a guest without the drive does not search every data source " +
				"there is when it boots again. The definition speaks of `datasource_list` itself, so the file is left out."},
		{Code: CodeBehind, Title: "vendor-data may win over user-data",
			Text: "EC2 has no vendor-data, so it is sent as further parts of the user-data. A cloud-config there fills in what the user-data leaves open, as vendor-data " +
				"does. What an include fetches cannot be told to, and a JSON patch changes what it finds. Use a data source that has vendor-data, or write down " +
				"what the include fetches."},
		{Code: CodeIgnition, Title: "Ignition config in a seed of cloud-init",
			Text: "cloud-init ignores Ignition configs. As user-data one makes the guest a guest of Ignition: images of the Ignition platforms `kubevirt` and " +
				"`openstack` read it from a config drive, `kubevirt` (from 2.24) and `proxmoxve` from NoCloud's volume. Other images need the data source " +
				"`ignition`. As vendor-data nobody reads it."},
	}
}
