package ignconfig

import (
	"regexp"
	"strings"

	olderrors "github.com/coreos/ignition/config/shared/errors"
	"github.com/coreos/ignition/v2/config/shared/errors"
)

// words is what we say instead of a message of the official libraries, whose words are for people who know the code.
type words struct {
	of error
	// summary replaces the message; the message itself stays when it is empty.
	summary string
	remedy  string
}

// said finds our words for a message. Messages that are not known may quote a value, so they are not shown.
func said(message string) (summary, remedy string) {
	for _, w := range vocabulary() {
		if w.of.Error() == message {
			if w.summary == "" {
				w.summary = message
			}
			return w.summary, w.remedy
		}
	}
	for _, f := range forms {
		if m := f.pattern.FindStringSubmatch(message); m != nil {
			summary = f.summary
			if len(m) > 1 {
				summary = strings.ReplaceAll(summary, "$1", m[1])
			}
			return summary, f.remedy
		}
	}
	return unknownMessage, "compare it with the specification of Ignition configs"
}

// forms are messages that are not constant. What they capture is the name of a unit or of a file system.
var forms = []struct {
	pattern         *regexp.Regexp
	summary, remedy string
}{
	{regexp.MustCompile(`^unit "([^"]*)" is enabled, but has no install section`), "the unit is enabled, but has no [Install] section, so nothing starts it",
		"add [Install] with WantedBy=multi-user.target"},
	{regexp.MustCompile(`^template unit "([^"]*)" for "[^"]*" doesn't have Install section`), "the template $1 of this enabled unit has no [Install] section, so nothing starts it",
		"add [Install] with WantedBy=multi-user.target to the template"},
	{regexp.MustCompile(`^invalid unit content: .*garbage`), "something stands behind a section's closing bracket", "put sections such as [Service] on lines of their own"},
	{regexp.MustCompile(`^invalid unit content: .*option before section`), "an option stands before the first section", "begin the unit with a section such as [Unit]"},
	{regexp.MustCompile(`^invalid unit content: .*end of section`), "a section's closing bracket is missing", "write sections as [Service]"},
	{regexp.MustCompile(`^invalid unit content: .*option name`), "a line is neither a section, an option with =, nor a comment", "write options as Name=value"},
	{regexp.MustCompile(`^invalid unit content: .*line too long`), "a line is longer than systemd reads", "break it with a backslash at its end"},
	{regexp.MustCompile(`^invalid unit content: `), "systemd cannot read this unit", "write sections as [Service] and options as Name=value"},
	{regexp.MustCompile(`^invalid url .*: invalid url scheme$`), "the URL has no scheme that Ignition knows", remedyURL},
	{regexp.MustCompile(`^invalid url `), "the URL cannot be read", remedyURL},
	{regexp.MustCompile(`references nonexistent filesystem "([^"]*)"`), "the file system $1 is defined nowhere in this config", `name it under storage.filesystems, or use "root"`},
	{regexp.MustCompile(`^Filesystem "([^"]*)" shadows exising`), "a file system $1 is defined already", "give each its own name"},
	{regexp.MustCompile(`^filesystem "[^"]*": path not absolute`), "the path is not absolute", "begin it with a slash"},
	{regexp.MustCompile(`^Found duplicate HTTP header`), "the same HTTP header stands twice", "remove one of the two"},
	{regexp.MustCompile(`guid regexp`), "this is not a GUID", "write one such as 0FC63DAF-8483-4772-8E79-3D69D8477DE4"},
	{regexp.MustCompile(`^(arn|dataurl|rfc2396): |illegal base64|missing comma before data|invalid data character|expected base64`), "the URL cannot be decoded", remedyURL},
}

// unknownMessage stands for messages that are not in the vocabulary.
const unknownMessage = "Ignition refuses this value"

const (
	remedyURL  = "write http:, https:, tftp:, s3:, gs: or data:, such as data:,hello for the text hello"
	remedyLink = "use the path that the link leads to"
	remedyPath = "begin it with a slash, such as /etc/motd"
	remedyHash = "write sha512- or, since version 3.1.0, sha256- and the digits in hexadecimal"
	remedyDual = "keep one of the two"
	remedyUnit = "end it in .service, .socket, .device, .mount, .automount, .swap, .target, .path, .timer, .slice or .scope"
	shorten    = "shorten the label"
)

// vocabulary are the constant messages, both of the library for specification 3 and of that for specification 2.
func vocabulary() []words {
	return append(newWords(), oldWords()...)
}

func newWords() []words {
	return []words{
		{errors.ErrDuplicate, "an entry of this name or path stands here for the second time", "give each file, directory, link, user, group and unit once"},
		{errors.ErrInvalidVersion, "the version cannot be read", "write a version such as 3.0.0"},
		{errors.ErrUnknownVersion, "this version of the specification is not supported", "write a version from 3.0.0 to 3.6.0"},
		{errors.ErrCompressionInvalid, "the compression is unknown", "write gzip, or leave it away"},
		{errors.ErrFileUsedSymlink, "the path leads through a link of this config", remedyLink},
		{errors.ErrDirectoryUsedSymlink, "the path leads through a link of this config", remedyLink},
		{errors.ErrLinkUsedSymlink, "the path leads through a link of this config", remedyLink},
		{errors.ErrLinkTargetRequired, "the link has no target", `add "target"`},
		{errors.ErrHardLinkToDirectory, "the target of a hard link is a directory", "make it a symbolic link"},
		{errors.ErrHardLinkSpecifiesOwner, "a hard link has the owner of its target, so this is ignored", "remove it"},
		{errors.ErrDiskDeviceRequired, "the disk has no device", `add "device", such as /dev/vdb`},
		{errors.ErrPartitionNumbersCollide, "two partitions have the same number", "number them anew"},
		{errors.ErrPartitionsOverlap, "the partitions overlap", "move their starts apart, or leave them away"},
		{errors.ErrPartitionsMisaligned, "the partition does not begin at a whole MiB", "round the start up"},
		{errors.ErrOverwriteAndNilSource, "the file is to be overwritten, but with nothing", `add "contents" with a "source", such as data:, for an empty file`},
		{errors.ErrVerificationAndNilSource, "there is a hash, but no source", `add "source"`},
		{errors.ErrFilesystemInvalidFormat, "the format is unknown", "write ext4, xfs, btrfs, vfat, swap or, since version 3.3.0, none"},
		{errors.ErrLabelNeedsFormat, "a label needs a format", `add "format"`},
		{errors.ErrFormatNilWithOthers, "the file system has no format", `add "format", such as ext4`},
		{errors.ErrExt4LabelTooLong, "ext4 has labels of at most 16 characters", shorten},
		{errors.ErrBtrfsLabelTooLong, "btrfs has labels of at most 256 characters", shorten},
		{errors.ErrXfsLabelTooLong, "xfs has labels of at most 12 characters", shorten},
		{errors.ErrSwapLabelTooLong, "swap space has labels of at most 15 characters", shorten},
		{errors.ErrVfatLabelTooLong, "vfat has labels of at most 11 characters", shorten},
		{errors.ErrLuksLabelTooLong, "LUKS has labels of at most 47 characters", shorten},
		{errors.ErrLuksNameContainsSlash, "the name holds a slash", "it is a name below /dev/mapper"},
		{errors.ErrInvalidLuksKeyFile, "the key file's source is not valid", remedyURL},
		{errors.ErrClevisPinRequired, "the custom clevis binding has no pin", `add "pin"`},
		{errors.ErrUnknownClevisPin, "the clevis pin is unknown", "write tpm2, tang or sss"},
		{errors.ErrClevisConfigRequired, "the custom clevis binding has no config", `add "config"`},
		{errors.ErrClevisCustomWithOthers, "a custom clevis binding excludes tpm2, tang and threshold", remedyDual},
		{errors.ErrTangThumbprintRequired, "the Tang server has no thumbprint", `add "thumbprint"`},
		{errors.ErrInvalidTangAdvertisement, "the advertisement is not JSON", "paste what the server's /adv returns"},
		{errors.ErrFileIllegalMode, "the mode is out of range", "modes are decimal numbers from 0 to 4095, such as 420 for octal 0644"},
		{errors.ErrModeSpecialBits, "the setuid, setgid and sticky bits have no effect before version 3.6.0",
			"modes are decimal: octal 0644 is 420; if the bits are meant, state version 3.6.0"},
		{errors.ErrBothIDAndNameSet, "both an id and a name are given", remedyDual},
		{errors.ErrLabelTooLong, "labels of partitions have at most 36 characters", shorten},
		{errors.ErrDoesntMatchGUIDRegex, "this is not a GUID", "write one such as 0FC63DAF-8483-4772-8E79-3D69D8477DE4"},
		{errors.ErrLabelContainsColon, "the partition tool cuts the label off before its colon", "choose a label without a colon"},
		{errors.ErrNoPath, "the path is missing", `add "path", such as /etc/motd`},
		{errors.ErrPathRelative, "the path is not absolute", remedyPath},
		{errors.ErrDirtyPath, "the path holds //, ., .. or a slash at its end", "write its shortest form"},
		{errors.ErrPartitionsOverwritten, "the file system overwrites the partitions that this config makes on the device", "name a partition, such as /dev/disk/by-partlabel/data"},
		{errors.ErrFilesystemImplicitWipe, "the disk's partition table is wiped, and this file system with it", `say so with "wipeFilesystem": true`},
		{errors.ErrRaidLevelRequired, "the array has no level", `add "level", such as raid1`},
		{errors.ErrSparesUnsupportedForLevel, "arrays of this level have no spares", `remove "spares"`},
		{errors.ErrUnrecognizedRaidLevel, "the level is unknown", "write linear, raid0, raid1, raid4, raid5, raid6 or raid10"},
		{errors.ErrRaidDevicesRequired, "the array has no devices", `add "devices"`},
		{errors.ErrShouldNotExistWithOthers, "this should not exist, but is described all the same", `remove "shouldExist", or what else is said`},
		{errors.ErrZeroesWithShouldNotExist, "a partition is removed while another takes the free space: which space is not defined", "give sizes and starts, or do not remove"},
		{errors.ErrNeedLabelOrNumber, "the partition has neither a number nor a label", `add "number" or "label"`},
		{errors.ErrDuplicateLabels, "two partitions have the same label", "rename one of them"},
		{errors.ErrInvalidProxy, "the proxy is not an http or https URL", "write one such as http://proxy.example.org:3128"},
		{errors.ErrInsecureProxy, "https requests go to a proxy that is reached in the clear", "use a proxy that speaks https"},
		{errors.ErrPathConflictsSystemd, "a unit or drop-in of this config has the same path", remedyDual},
		{errors.ErrCexWithClevis, "cex excludes clevis", remedyDual},
		{errors.ErrCexWithKeyFile, "cex excludes a key file", remedyDual},
		{errors.ErrInvalidSystemdExt, "the name has no ending of a systemd unit", remedyUnit},
		{errors.ErrNoSystemdExt, "the name has no ending of a systemd unit", remedyUnit},
		{errors.ErrInvalidSystemdDropinExt, "the name of a drop-in ends in .conf", "rename it"},
		{errors.ErrInvalidInstantiatedUnit, "this is not the name of an instance", "write one such as getty@tty1.service"},
		{errors.ErrSourceRequired, "the source is missing", remedyURL},
		{errors.ErrInvalidScheme, "the URL has no scheme that Ignition knows", remedyURL},
		{errors.ErrInvalidUrl, "the URL cannot be read", remedyURL},
		{errors.ErrInvalidHTTPHeader, "the HTTP header cannot be read", "give it a name and a value"},
		{errors.ErrEmptyHTTPHeaderName, "the HTTP header has no name", `add "name"`},
		{errors.ErrUnsupportedSchemeForHTTPHeaders, "only http and https sources have HTTP headers", "remove the headers"},
		{errors.ErrHashMalformed, "the hash has no function in front", remedyHash},
		{errors.ErrHashWrongSize, "the hash has too few or too many digits", "a sha512 has 128, a sha256 has 64 of them"},
		{errors.ErrHashUnrecognized, "the hash function is unknown to this version", remedyHash},
		{errors.ErrInvalidS3ARN, "this is not an ARN of an S3 object", "write one such as arn:aws:s3:::bucket/key"},
		{errors.ErrInvalidS3ObjectVersionId, "the versionId is empty", "give one, or leave it away"},
	}
}

// oldWords are the messages that only specification 2 has.
func oldWords() []words {
	const deprecated = "state version 3.0.0 and its members instead"
	return []words{
		{olderrors.ErrPermissionsUnset, "there is no mode, and specification 2 takes 0000 then; the translation keeps that", `add "mode": 420 (octal 0644) for a file, 493 (0755) for a directory`},
		{olderrors.ErrAppendAndOverwrite, "the file is to be appended to and overwritten", remedyDual},
		{olderrors.ErrFilesystemNoMountPath, "the file system has neither mount nor path", `add "mount"`},
		{olderrors.ErrFilesystemMountAndPath, "the file system has both mount and path", remedyDual},
		{olderrors.ErrUsedCreateAndMountOpts, "options stand in create and beside it", remedyDual},
		{olderrors.ErrUsedCreateAndWipeFilesystem, "create and wipeFilesystem exclude each other", remedyDual},
		{olderrors.ErrNoFilesystem, "no file system is named", `add "filesystem": "root"`},
		{olderrors.ErrPartitionsUnitsMismatch, "sizes in MiB and in sectors are mixed", "use sizeMiB and startMiB throughout"},
		{olderrors.ErrSparesUnsupportedForLevel, "arrays of this level have no spares", `remove "spares"`},
		{olderrors.ErrInvalidNetworkdExt, "the name of a networkd unit ends in .link, .netdev or .network", "rename it"},
		{olderrors.ErrInvalidNetworkdDropinExt, "the name of a drop-in ends in .conf", "rename it"},
		{olderrors.ErrDuplicateHTTPHeaders, "the same HTTP header stands twice", "remove one of the two"},
		{olderrors.ErrPasswdCreateDeprecated, "create is deprecated", deprecated},
		{olderrors.ErrWarningCreateDeprecated, "create is deprecated", deprecated},
		{olderrors.ErrSizeDeprecated, "sizes in sectors are deprecated", `write "sizeMiB"`},
		{olderrors.ErrStartDeprecated, "starts in sectors are deprecated", `write "startMiB"`},
		{olderrors.ErrPasswdCreateAndGecos, "gecos stands in create and beside it", remedyDual},
		{olderrors.ErrPasswdCreateAndGroups, "groups stand in create and beside it", remedyDual},
		{olderrors.ErrPasswdCreateAndHomeDir, "homeDir stands in create and beside it", remedyDual},
		{olderrors.ErrPasswdCreateAndNoCreateHome, "noCreateHome stands in create and beside it", remedyDual},
		{olderrors.ErrPasswdCreateAndNoLogInit, "noLogInit stands in create and beside it", remedyDual},
		{olderrors.ErrPasswdCreateAndNoUserGroup, "noUserGroup stands in create and beside it", remedyDual},
		{olderrors.ErrPasswdCreateAndPrimaryGroup, "primaryGroup stands in create and beside it", remedyDual},
		{olderrors.ErrPasswdCreateAndShell, "shell stands in create and beside it", remedyDual},
		{olderrors.ErrPasswdCreateAndSystem, "system stands in create and beside it", remedyDual},
		{olderrors.ErrPasswdCreateAndUID, "uid stands in create and beside it", remedyDual},
	}
}
