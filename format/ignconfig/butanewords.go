package ignconfig

import (
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/coreos/butane/config/common"
)

// butaneSaid finds our words for a message of Butane's library.
func butaneSaid(message string) (summary, remedy string) {
	for _, w := range butaneWords() {
		if w.of.Error() == message {
			if w.summary == "" {
				w.summary = message
			}
			return w.summary, w.remedy
		}
	}
	summary, remedy = said(message)
	if summary == unknownMessage {
		summary = "Butane refuses this value"
	}
	return summary, remedy
}

func butaneWords() []words {
	const (
		inline = "write the content into the document, as inline: or contents:, or translate it with the command butane first"
		newer  = "leave it away, or state a newer version of the variant"
		none   = "leave it away; the MachineConfig operator does not take it"
	)
	return []words{
		{common.ErrNoFilesDir, "Butane documents are read without their files here", inline},
		{common.ErrTooManyResourceSources, "several of inline, local and source are given", "keep one of them"},
		{common.ErrTooManySystemdSources, "both contents and contents_local are given", remedyDual},
		{common.ErrFilesDirEscape, "the file stands outside of the files directory", inline},
		{common.ErrTreeNotDirectory, "a tree is made of a directory", inline},
		{common.ErrTreeNoLocal, "the tree names no directory", `add "local"`},
		{common.ErrNodeExists, "an entry of this path is there already, with other contents or of another kind", remedyDual},
		{common.ErrDecimalMode, "the mode is odd as a decimal number, and usual as an octal one", "write a zero in front, such as 0644"},
		{common.ErrMountUnitNoPath, "a mount unit needs a path", `add "path"`},
		{common.ErrMountUnitNoFormat, "a mount unit needs a format", `add "format"`},
		{common.ErrMountPointForbidden, "mount units are made below /etc and /var only", "choose another path, or write the unit yourself"},
		{common.ErrUnknownBootDeviceLayout, "the layout of the boot device is unknown", "write aarch64, ppc64le, s390x-eckd, s390x-virt, s390x-zfcp or x86_64"},
		{common.ErrUnknownBootDeviceLayoutLegacy, "the layout of the boot device is unknown", "write aarch64, ppc64le or x86_64"},
		{common.ErrTooFewMirrorDevices, "a mirror has at least two devices", "add a device"},
		{common.ErrMirrorRequiresLayout, "a mirror needs the layout of the boot device", `add "layout", such as x86_64`},
		{common.ErrReuseByLabel, "a partition of another disk than the boot disk cannot be found by its label", `add "number", or wipe_table: true`},
		{common.ErrWrongPartitionNumber, "this label belongs to another partition number of the image", "leave the number away"},
		{common.ErrFieldElided, "this goes into a MachineConfig, and the guest reads the Ignition config alone", "apply it to the cluster"},
		{common.ErrNameRequired, "the document has no metadata.name", "add it"},
		{common.ErrRoleRequired, "the document has no label machineconfiguration.openshift.io/role", "add it below metadata.labels"},
		{common.ErrInvalidKernelType, "the kernel type is unknown", "write default or realtime"},
		{common.ErrUserNameSupport, "OpenShift takes the user core only", "rename the user"},
		{common.ErrUserFieldSupport, "OpenShift takes of a user name, ssh_authorized_keys and, since 4.13.0, password_hash only", "remove the rest"},
		{common.ErrKernelArgumentSupport, "OpenShift takes kernel arguments below openshift only", "write openshift.kernel_arguments"},
		{common.ErrFileSchemeSupport, "OpenShift takes contents that stand in the config only", "write them as inline:"},
		{common.ErrGroupSupport, "", none}, {common.ErrFileAppendSupport, "", none}, {common.ErrFileCompressionSupport, "", none},
		{common.ErrFileHeaderSupport, "", none}, {common.ErrFileSpecialModeSupport, "", none}, {common.ErrLinkSupport, "", none},
		{common.ErrDirectorySupport, "", none}, {common.ErrBtrfsSupport, "", none}, {common.ErrFilesystemNoneSupport, "", newer},
		{common.ErrClevisSupport, "", newer}, {common.ErrDiskSupport, "", newer}, {common.ErrFilesystemSupport, "", newer},
		{common.ErrLuksSupport, "", newer}, {common.ErrRaidSupport, "", newer}, {common.ErrGeneralKernelArgumentSupport, "", newer},
		{common.ErrCexNotSupported, "", newer}, {common.ErrCexArchitectureMismatch, "", "write layout: s390x-eckd, s390x-zfcp or s390x-virt"},
		{common.ErrNoLuksBootDevice, "", `add "device"`}, {common.ErrMirrorNotSupport, "", `remove "mirror"`}, {common.ErrLuksBootDeviceBadName, "", "rename the device"},
		{common.ErrMissingKernelArgumentCex, "", "add the argument"}, {common.ErrNoLuksMethodSpecified, "", "choose tpm2, tang or cex"},
		{common.ErrGrubUserNameNotSpecified, "", `add "name"`}, {common.ErrGrubPasswordNotSpecified, "", `add "password_hash"`},
		{common.ErrUnkownIgnitionVersion, "the config that is merged has no version that Butane knows, so it did not look into it", "state a version from 3.0.0 to 3.6.0 in it"},
		{common.ErrInvalidSourceConfig, "Butane refuses the document", "mend what is reported with it"},
		{common.ErrInvalidGeneratedConfig, "Butane refuses the config that it made", "mend what is reported with it"},
	}
}

// butaneKeys are the keys of Butane documents: Ignition's in snake case, and Butane's own.
func butaneKeys() []string {
	keys := []string{"variant", "version", "inline", "local", "trees", "with_mount_unit", "contents_local", "ssh_authorized_keys_local",
		"boot_device", "layout", "mirror", "devices", "luks", "grub", "metadata", "labels", "openshift", "kernel_arguments", "extensions",
		"fips", "kernel_type", "should_exist", "should_not_exist", "custom", "needs_network"}
	var walk func(t reflect.Type)
	walk = func(t reflect.Type) {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct {
			return
		}
		for _, m := range members(t) {
			keys = append(keys, snake(m.name))
			walk(m.t)
		}
	}
	walk(configType(newest))
	slices.Sort(keys)
	return slices.Compact(keys)
}

// snake writes a member's name as Butane does: sshAuthorizedKeys is ssh_authorized_keys, sizeMiB is size_mib.
func snake(name string) string {
	var b strings.Builder
	for i, r := range strings.ReplaceAll(name, "MiB", "Mib") {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
