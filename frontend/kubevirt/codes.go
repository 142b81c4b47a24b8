package kubevirt

import (
	"slices"

	"github.com/vmseed/vmseed/diag"
)

// The diagnostics of this package. Those of credentials, media and the old layout are beside their code.
const (
	// CodeNotVM is for documents that are no VirtualMachine and no VirtualMachineInstance, or lack what makes one.
	CodeNotVM diag.Code = 2400 + iota
	// CodeVersion is for API versions that KubeVirt does not serve any more, or never did.
	CodeVersion
	// CodeName is for a machine without a usable name or namespace.
	CodeName
	// CodeRunStrategy is for machines that do not say when they run.
	CodeRunStrategy
	// CodeNoGuest is for fields that concern the cluster.
	CodeNoGuest
	// CodeTuning is for fields about how a machine is run.
	CodeTuning
	// CodeNoEffect is for what vmseed does not do.
	CodeNoEffect
	// CodeVolume is for volumes that KubeVirt refuses.
	CodeVolume
	// CodeDisk is for disks that KubeVirt refuses.
	CodeDisk
	// CodeDevice is for other devices that KubeVirt refuses.
	CodeDevice
	// CodeNetwork is for networks and interfaces that KubeVirt refuses.
	CodeNetwork
	// CodeSources is for cloud-init volumes with too many sources or none.
	CodeSources
	// CodeTooLarge is for inline data above the limit.
	CodeTooLarge
	// CodeBase64 is for data that is no base64.
	CodeBase64
	// CodeEmptyData is for a cloud-init volume that turns out empty.
	CodeEmptyData
	// CodeSecondSeed is for a machine with two cloud-init volumes.
	CodeSecondSeed
	// CodeSeedDisk is for the disk entry of a cloud-init volume.
	CodeSeedDisk
	// CodeMissingObject is for a Secret, ConfigMap or claim that is not there.
	CodeMissingObject
	// CodeMissingKey is for a key that an object does not have.
	CodeMissingKey
	// CodeNetworkForm is for network data in a form that its data source does not carry.
	CodeNetworkForm
	// CodeMetaData is for custom meta-data that KubeVirt refuses.
	CodeMetaData
	// CodeGate is for a feature gate that is off.
	CodeGate
	// CodeIgnition is for Ignition configs that reach no guest.
	CodeIgnition
	// CodeUUID is for firmware UUIDs that are none, or that machines share.
	CodeUUID
	// CodeHostname is for host names and subdomains.
	CodeHostname
	// CodeMemory is for the amount of memory.
	CodeMemory
	// CodeCPU is for CPUs, their topology and features.
	CodeCPU
	// CodeFirmware is for firmware, machine type and architecture.
	CodeFirmware
	// CodeQuantity is for amounts that cannot be read.
	CodeQuantity
	// CodeInstanceType is for instance types.
	CodeInstanceType
	// CodeDataVolume is for volumes that the cluster fills.
	CodeDataVolume
	// CodeUnread is for values that no code reads.
	CodeUnread
	// CodeNoSeed is for machines without a cloud-init volume.
	CodeNoSeed
)

// Codes explains the diagnostics of this package.
func Codes() []diag.Explanation {
	return slices.Concat(objectCodes(), seedCodes(), hardwareCodes(), mediaCodes(), writeCodes())
}

func objectCodes() []diag.Explanation {
	return []diag.Explanation{
		{Code: CodeNotVM, Title: "not a virtual machine of KubeVirt",
			Text: "The document should be a `VirtualMachine` with `spec.template`, or a `VirtualMachineInstance`, of the API group " +
				"`kubevirt.io`. Of objects that make machines from a template, give the machine that you want to render. A `KubeVirt` " +
				"object among the files is read for its feature gates."},
		{Code: CodeVersion, Title: "old API version",
			Text: "KubeVirt serves `v1` and, with a warning, `v1alpha3`, which have the same fields. `v1alpha2` and `v1alpha1` are " +
				"of 2018 and before; vmseed reads them, a cluster does not any more. `vmseed convert --to kubevirt` writes `v1`."},
		{Code: CodeName, Title: "machine without a usable name",
			Text: "A machine needs `metadata.name`; `generateName` is completed by the cluster. Names are lower-case letters, digits, " +
				"dashes and dots, a namespace has no dots. KubeVirt makes the host name of the machine's name, and with it the firmware UUID of old machines."},
		{Code: CodeRunStrategy, Title: "when the machine runs",
			Text: "A `VirtualMachine` has exactly one of `spec.runStrategy` and the older `spec.running`. `running: true` is the " +
				"strategy `Always`, `running: false` is `Halted`."},
		{Code: CodeNoGuest, Title: "concerns the cluster",
			Text: "The field says where in a cluster the machine runs, who may reach it or how it is accounted for. No guest sees it, " +
				"so it is passed over."},
		{Code: CodeTuning, Title: "about how the machine is run",
			Text: "The field chooses between ways to run the machine that make no difference to what the guest reads at its first boot. " +
				"vmseed decides such things itself."},
		{Code: CodeNoEffect, Title: "vmseed does not do this",
			Text: "The guest would notice what the field asks for, and vmseed cannot give it. The rest of the machine is as it should be."},
		{Code: CodeUUID, Title: "firmware UUID",
			Text: "`spec.domain.firmware.uuid` is the machine's SMBIOS UUID and its instance id: when it changes, cloud-init runs its " +
				"first boot again. Without one vmseed makes it of the machine's name, as KubeVirt did until version 1.6, so that the same " +
				"file always gives the same id; since then the cluster draws a random one when the machine is created. Machines of one " +
				"name in several namespaces get the same UUID that way: state one for each."},
		{Code: CodeHostname, Title: "host name",
			Text: "The guest's host name is `spec.hostname`, else the machine's name up to its first dot, cut to 63 characters. The " +
				"subdomain becomes part of a name in the cluster's DNS and reaches no guest, with KubeVirt as with vmseed; to set a full name, " +
				"write `fqdn` into the user-data."},
		{Code: CodeMissingObject, Title: "object is not in the input",
			Text: "The definition refers to an object of its own namespace that no file of the input holds. The message names the object " +
				"and those that are there. KubeVirt starts no machine until the object exists. A claim is only needed to run the machine: " +
				"name its file or device with `--volume`."},
		{Code: CodeMissingKey, Title: "key is not in the object",
			Text: "The Secret has none of the keys that are looked for. KubeVirt looks for `userdata` and `userData`, for `networkdata` and " +
				"`networkData`; when it finds one of two referenced documents and not the other, it starts the machine without the missing one. vmseed does not."},
		{Code: CodeQuantity, Title: "amount that cannot be read",
			Text: "Amounts are Kubernetes quantities: 512Mi, 2G, 500m. The message says what else the field demands."},
		{Code: CodeUnread, Title: "value that nothing reads",
			Text: "The field is known, but vmseed has no use for the value here."},
	}
}

func seedCodes() []diag.Explanation {
	return []diag.Explanation{
		{Code: CodeSources, Title: "sources of a cloud-init volume",
			Text: "Each of user-data, network data and vendor-data comes from one place: inline text, inline base64, or a Secret. The " +
				"volume needs user-data or network data. The words are those of KubeVirt's admission."},
		{Code: CodeTooLarge, Title: "inline data above the limit",
			Text: "KubeVirt takes 2048 bytes of inline user-data and as many of network data, counted after base64 is decoded, because the " +
				"object is sent to everybody who watches it. Put larger documents into a Secret. `--userdata-limit` sets another limit, for those " +
				"who do not need a cluster to take the definition."},
		{Code: CodeBase64, Title: "not base64",
			Text: "The field takes standard base64 (RFC 4648, section 4) with padding and without spaces. Plain text goes into the field of the same name " +
				"without `Base64`."},
		{Code: CodeEmptyData, Title: "cloud-init volume without data",
			Text: "The Secret that the volume refers to has the key, and nothing under it. KubeVirt accepts such a machine and never starts it."},
		{Code: CodeSecondSeed, Title: "second cloud-init volume",
			Text: "KubeVirt accepts any number of cloud-init volumes and fills the first one in the order of `spec.volumes`; the others are " +
				"disks that are not there. cloud-init reads one seed only. Keep one, and join what they say."},
		{Code: CodeSeedDisk, Title: "disk of the seed",
			Text: "KubeVirt shows the seed to the guest as the disk that names the cloud-init volume, in the place where it stands in the list. " +
				"vmseed attaches it behind the machine's disks, on a slot of its own, so that it never moves a data disk. cloud-init finds it by " +
				"its label wherever it is."},
		{Code: CodeNoSeed, Title: "no cloud-init volume",
			Text: "KubeVirt attaches a seed only to a machine with a cloud-init volume; in the guest of another cloud-init finds nothing and does nothing. " +
				"vmseed always makes a seed, with the machine's names and its access credentials."},
		{Code: CodeNetworkForm, Title: "network data in the wrong form",
			Text: "cloud-init reads OpenStack's `network_data.json` from a config drive and network-config version 1 or 2 from NoCloud. KubeVirt " +
				"copies what the definition says without a look, so that the guest comes up without its network. vmseed converts the document where it can, and a " +
				"cluster still would not: mend the definition."},
		{Code: CodeMetaData, Title: "custom meta-data",
			Text: "`metaData` and `metaDataSecretRef` (KubeVirt enhancement 100) add members to the meta-data: at most 16 altogether, with values of at most " +
				"256 bytes, and none of those that KubeVirt writes itself."},
		{Code: CodeGate, Title: "feature gate is off",
			Text: "KubeVirt refuses machines with an Ignition config in the annotation `kubevirt.io/ignitiondata` unless the feature gate " +
				"`ExperimentalIgnitionSupport` is on. vmseed looks for it in `--feature-gates`, in the ConfigMap `kubevirt-config` " +
				"(`data.feature-gates`, names between commas), and in the KubeVirt object " +
				"(`spec.configuration.developerConfiguration.featureGates`), if they are among the files. When there is such a ConfigMap the " +
				"KubeVirt object does not count, as in the last release that read both. Without the gate, put the config into the user-data " +
				"of a cloud-init volume, where the images for KubeVirt read it."},
		{Code: CodeIgnition, Title: "Ignition config that reaches no guest",
			Text: "The annotation belongs to the instance: `spec.template.metadata.annotations` of a VirtualMachine. KubeVirt hands its text on " +
				"only if it contains the word `ignition`, which every config does. It does not translate Butane, in the annotation or in the user-data " +
				"of a cloud-init volume, and Ignition reads JSON alone. vmseed translates it, so the guest that you try is right and that of the " +
				"cluster is not: write `vmseed render --format ign -o config.ign FILE` and put the JSON in its place, or have `vmseed convert --to kubevirt` " +
				"make the definition of a Butane file."},
		{Code: CodeInstanceType, Title: "instance type",
			Text: "An instance type is an object that decides how many CPUs and how much memory a machine has; the machine itself may not say so then. Give the " +
				"`VirtualMachineInstancetype` or `VirtualMachineClusterInstancetype` as a file too. Its name is shown to the guest, as KubeVirt does."},
	}
}

func hardwareCodes() []diag.Explanation {
	return []diag.Explanation{
		{Code: CodeVolume, Title: "volume that KubeVirt refuses",
			Text: "A volume has a name that is a DNS label, different from those of the others, and exactly one source."},
		{Code: CodeDisk, Title: "disk that KubeVirt refuses",
			Text: "A disk has the name of a volume (in v1alpha2: names it in `volumeName`), and is a `disk`, `cdrom` or `lun` on the bus virtio, " +
				"scsi, sata or usb. KubeVirt makes a disk of the default bus for a volume that no disk names; the default is sata, but virtio on arm64 and s390x."},
		{Code: CodeDevice, Title: "device that KubeVirt refuses",
			Text: "PCI addresses are written 0000:00:05.0, serial numbers consist of letters, digits, dots, dashes, underscores and plus signs, " +
				"and boot orders count from 1 and are different for each disk and interface."},
		{Code: CodeNetwork, Title: "network or interface that KubeVirt refuses",
			Text: "Each interface has a network of the same name under `spec.networks`, and each network an interface. A machine without " +
				"either gets one on the pod network."},
		{Code: CodeMemory, Title: "amount of memory",
			Text: "The guest gets `domain.memory.guest`, else the memory that is requested of the cluster, else the limit. Documentation of " +
				"KubeVirt asks for 64M in many places, which is enough for CirrOS and hardly anything else: other guests die at boot, often without a message."},
		{Code: CodeCPU, Title: "CPUs",
			Text: "The number of CPUs is cores by sockets by threads, each 1 unless stated; without any of them, the CPUs that are asked of the cluster, rounded up."},
		{Code: CodeFirmware, Title: "firmware, machine type or architecture",
			Text: "A machine boots by BIOS or by EFI. EFI means secure boot unless `secureBoot: false` is stated, and secure boot needs the feature " +
				"SMM. Machine types are families with versions, of which vmseed takes the family."},
		{Code: CodeDataVolume, Title: "volume that the cluster makes",
			Text: "KubeVirt's importer makes a claim of each entry of `dataVolumeTemplates` and fills it. For a source `http` or " +
				"`registry` vmseed boots an overlay on that image; for others, name a file or device with `--volume`."},
	}
}
