package kubevirt_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/frontend/frontendtest"
	"github.com/vmseed/vmseed/frontend/kubevirt"
)

// instance is a sound instance but for what follows, which begins in line 5.
func instance(spec string) frontendtest.File {
	return frontendtest.File{Name: "vmi.yaml", Text: "apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstance\nmetadata: {name: a}\nspec:\n" + spec}
}

// withVolume is an instance with a cloud-init volume of a kind.
func withVolume(kind, source string) string {
	return "  domain: {memory: {guest: 1Gi}, devices: {}}\n  volumes:\n  - name: seed\n    " + kind + ":\n      " +
		strings.ReplaceAll(strings.TrimSpace(source), "\n", "\n      ") + "\n"
}

func withDevices(devices string) string {
	return "  volumes:\n  - {name: a, emptyDisk: {capacity: 1Gi}}\n  - {name: b, persistentVolumeClaim: {claimName: b}}\n" +
		"  domain:\n    memory: {guest: 1Gi}\n    devices: {" + devices + "}\n"
}

func withNetworks(networks, interfaces string) string {
	return withDevices("interfaces: ["+interfaces+"]") + "  networks: [" + networks + "]\n"
}

func withDomain(domain string) string { return "  domain: {devices: {}, " + domain + "}\n" }

// mark stands in a definition where an error is expected.
const mark = "§"

const longUserData = "userData: \"%s\""

// TestAdmission holds every message of KubeVirt's admission that clients could match on to its words (the webhook's
// validators, KubeVirt 1.8), and demands that it is the only error and stands where its cause is.
func TestAdmission(t *testing.T) {
	long := fmt.Sprintf("userData: §\"%s\"", strings.Repeat("x", 2049))
	for _, c := range []struct {
		spec string // with a mark where the error should stand
		code diag.Code
		want string
	}{
		{withVolume("cloudInitNoCloud", "§{}"), kubevirt.CodeSources, "spec.volumes[0].cloudInitNoCloud must have at least one userdatasource or one networkdatasource set."},
		{withVolume("cloudInitConfigDrive", "§secretRef: {name: \"\"}"), kubevirt.CodeSources, "spec.volumes[0].cloudInitConfigDrive must have at least one userdatasource or one networkdatasource set."},
		{withVolume("cloudInitNoCloud", "§userData: x\nuserDataBase64: eHh4"), kubevirt.CodeSources, "spec.volumes[0].cloudInitNoCloud must have only one userdatasource set."},
		{withVolume("cloudInitNoCloud", "§userData: x\nsecretRef: {name: s}"), kubevirt.CodeSources, "spec.volumes[0].cloudInitNoCloud must have only one userdatasource set."},
		{withVolume("cloudInitConfigDrive", "§userData: x\nnetworkData: x\nnetworkDataSecretRef: {name: s}"), kubevirt.CodeSources, "spec.volumes[0].cloudInitConfigDrive must have only one networkdata source set."},
		{withVolume("cloudInitNoCloud", "userDataBase64: §\"???\""), kubevirt.CodeBase64, "spec.volumes[0].cloudInitNoCloud.userDataBase64.cloudInitNoCloud.userDataBase64 is not a valid base64 value."},
		{withVolume("cloudInitConfigDrive", "networkDataBase64: §YQ"), kubevirt.CodeBase64, "spec.volumes[0].cloudInitConfigDrive.networkDataBase64.cloudInitConfigDrive.networkDataBase64 is not a valid base64 value."},
		{withVolume("cloudInitNoCloud", long), kubevirt.CodeTooLarge, "spec.volumes[0].cloudInitNoCloud userdata exceeds 2048 byte limit. Should use UserDataSecretRef for larger data."},
		{withVolume("cloudInitNoCloud", strings.Replace(long, "user", "network", 1)), kubevirt.CodeTooLarge, "spec.volumes[0].cloudInitNoCloud networkdata exceeds 2048 byte limit. Should use NetworkDataSecretRef for larger data."},
		{withVolume("cloudInitNoCloud", "userData: x\nmetaData: {instance-id: §x}"), kubevirt.CodeMetaData, "custom metadata key 'instance-id' conflicts with reserved field"},
		{withVolume("cloudInitConfigDrive", "userData: x\nmetaData: {devices: §x}"), kubevirt.CodeMetaData, "custom metadata key 'devices' conflicts with reserved field"},
		{withDomain("memory: {guest: 1Gi}") + "  volumes:\n  - {name: a, emptyDisk: {capacity: 1Gi}}\n  - {name: §a, emptyDisk: {capacity: 1Gi}}\n", kubevirt.CodeVolume,
			"spec.volumes[1] and spec.volumes[0] must not have the same Name."},
		{withDomain("memory: {guest: 1Gi}") + "  volumes:\n  - §{name: a}\n", kubevirt.CodeVolume, "spec.volumes[0] must have exactly one source type set"},
		{withDomain("memory: {guest: 1Gi}") + "  volumes:\n  - §{name: a, emptyDisk: {capacity: 1Gi}, dataVolume: {name: x}}\n", kubevirt.CodeVolume, "spec.volumes[0] must have exactly one source type set"},
		{withDomain("memory: {guest: 1Gi}") + "  volumes:\n  - {name: a, containerDisk: {image: x, path: §/}}\n", kubevirt.CodeVolume, "spec.volumes[0].containerDisk must not point to root"},
		{withDomain("memory: {guest: 1Gi}") + "  volumes:\n  - {name: a, containerDisk: {image: x, path: §../x}}\n", kubevirt.CodeVolume,
			"spec.volumes[0].containerDisk must be an absolute path to a file without relative components"},
		{withDomain("memory: {guest: 1Gi}") + "  volumes:\n  - {name: a, dataVolume: §{}}\n", kubevirt.CodeVolume, "DataVolume 'name' must be set"},
		{withDomain("memory: {guest: 1Gi}") + "  volumes:\n  - {name: a, hostDisk: §{type: Disk}}\n", kubevirt.CodeVolume, "spec.volumes[0].hostDisk.path is required for hostDisk volume"},
		{withDomain("memory: {guest: 1Gi}") + "  volumes:\n  - {name: a, hostDisk: {path: /x, type: §x}}\n", kubevirt.CodeVolume, "spec.volumes[0].hostDisk.type has invalid value 'x', allowed are 'DiskOrCreate' or 'Disk'"},
		{withDomain("memory: {guest: 1Gi}") + "  volumes:\n  - {name: a, hostDisk: {path: /x, type: Disk, capacity: §1Gi}}\n", kubevirt.CodeVolume,
			"spec.volumes[0].hostDisk.capacity is allowed to pass only with spec.volumes[0].hostDisk.type equal to 'DiskOrCreate'"},
		{"  domain: §{devices: {}}\n", kubevirt.CodeMemory,
			"no memory requested, at least one of 'spec.domain.memory.guest', 'spec.domain.memory.hugepages.pageSize' or 'spec.domain.resources.requests.memory' must be set"},
		{withDomain("memory: {guest: §2Gi}, resources: {limits: {memory: 1Gi}}"), kubevirt.CodeMemory,
			"spec.domain.memory.guest '2Gi' must be equal to or less than the memory limit spec.domain.resources.limits.memory '1Gi'"},
		{withDomain("resources: {requests: {memory: §2Gi}, limits: {memory: 1Gi}}"), kubevirt.CodeMemory,
			"spec.domain.resources.requests.memory '2Gi' is greater than spec.domain.resources.limits.memory '1Gi'"},
		{withDomain("resources: {requests: {memory: §64k}}"), kubevirt.CodeMemory, "spec.domain.resources.requests.memory '64k': must be greater than or equal to 1M."},
		{withDomain("memory: {hugepages: {pageSize: 1Gi}}, resources: {requests: {memory: §512Mi}}"), kubevirt.CodeMemory,
			"spec.domain.resources.requests.memory '512Mi' must be equal to or larger than page size spec.domain.memory.hugepages.pageSize '1Gi'"},
		{withDomain("memory: {hugepages: {pageSize: 2Mi}}, resources: {requests: {memory: §1G}}"), kubevirt.CodeMemory,
			"spec.domain.resources.requests.memory '1G' is not a multiple of the page size spec.domain.memory.hugepages.pageSize '2Mi'"},
		{withDomain("memory: {guest: 1Gi}, cpu: {features: [{name: a, policy: §b}]}"), kubevirt.CodeCPU, "CPU feature a uses policy b that is not supported."},
		{withDomain("memory: {guest: 1Gi}, machine: {type: §isapc}"), kubevirt.CodeFirmware,
			"spec.domain.machine.type is not supported: isapc (allowed values: [q35* pc* virt* pseries* s390-ccw-virtio*])"},
		{withDomain("memory: {guest: 1Gi}, firmware: {bootloader: {efi: §{}}}"), kubevirt.CodeFirmware,
			"spec.domain.firmware.bootloader.efi has EFI SecureBoot enabled. SecureBoot requires SMM, which is currently disabled."},
		{withDomain("memory: {guest: 1Gi}, firmware: {bootloader: {bios: {}, efi: §{secureBoot: false}}}"), kubevirt.CodeFirmware,
			"spec.domain.firmware.bootloader has both EFI and BIOS configured, but they are mutually exclusive."},
		{withDomain("memory: {guest: 1Gi}, firmware: {kernelBoot: {kernelArgs: §quiet}}"), kubevirt.CodeFirmware, "kernel arguments cannot be provided without an external kernel"},
		{withDomain("memory: {guest: 1Gi}, firmware: {kernelBoot: {container: §{kernelPath: /k}}}"), kubevirt.CodeFirmware, "spec.domain.firmware.kernelBoot.container must be defined with an image"},
		{withDomain("memory: {guest: 1Gi}, firmware: {kernelBoot: {container: §{image: a}}}"), kubevirt.CodeFirmware,
			"spec.domain.firmware.kernelBoot.container must be defined with at least one of the following: kernelPath, initrdPath"},
		{withDomain("memory: {guest: 1Gi}, firmware: {kernelBoot: {container: {image: a, initrdPath: §/}}}"), kubevirt.CodeVolume, "spec.domain.firmware.kernelBoot.container.initrdPath must not point to root"},
		{withDomain("memory: {guest: 1Gi}, firmware: {serial: §\"a b\"}"), kubevirt.CodeDevice, "spec.domain.firmware.serial must be made up of the following characters [A-Za-z0-9_.+-], if specified"},
		{withDomain("memory: {guest: 1Gi}, firmware: {serial: §" + strings.Repeat("a", 257) + "}"), kubevirt.CodeDevice, "spec.domain.firmware.serial must be less than or equal to 256 in length, if specified"},
		{withDevices("disks: [{name: a, disk: {bus: §ide}}]"), kubevirt.CodeDisk, "IDE bus is not supported"},
		{withDevices("disks: [{name: a, disk: {bus: §xen}}]"), kubevirt.CodeDisk, "spec.domain.devices.disks[0] is set with an unrecognized bus xen, must be one of: [virtio scsi sata usb]"},
		{withDevices("disks: [{name: a, cdrom: {bus: §virtio}}]"), kubevirt.CodeDisk, "Bus type virtio is invalid for CD-ROM device"},
		{withDevices("disks: [{name: a, disk: {bus: sata, readonly: §true}}]"), kubevirt.CodeDisk, "sata hard-disks do not support read-only."},
		{withDevices("disks: [{name: a, lun: §{bus: scsi}}]"), kubevirt.CodeDisk, "spec.domain.devices.disks[0].lun can only be mapped to a DataVolume or PersistentVolumeClaim volume."},
		{withDevices("disks: [{name: §c, disk: {}}]"), kubevirt.CodeDisk, "spec.domain.devices.disks[0].Name 'c' not found."},
		{withDevices("disks: [{name: §c, cdrom: {}}]"), kubevirt.CodeDisk, "DeclarativeHotplugVolumes feature gate not enabled, cannot define an empty CD-ROM disk"},
		{withDevices("disks: [{name: a, disk: {}}, {name: §a, disk: {}}]"), kubevirt.CodeDisk, "spec.domain.devices.disks[1] and spec.domain.devices.disks[0] must not have the same Name."},
		{withDevices("disks: [§{name: a, disk: {}, cdrom: {}}]"), kubevirt.CodeDisk, "spec.domain.devices.disks[0] can only have a single target type defined"},
		{withDevices("disks: [{name: a, disk: {}, cache: §fast}]"), kubevirt.CodeDisk, "spec.domain.devices.disks[0].cache has invalid value fast"},
		{withDevices("disks: [{name: a, disk: {bus: virtio, pciAddress: §\"5\"}}]"), kubevirt.CodeDevice, "disk spec.domain.devices.disks[0].name has malformed PCI address (5)."},
		{withDevices("disks: [{name: a, disk: {bus: scsi, pciAddress: §\"0000:00:05.0\"}}]"), kubevirt.CodeDisk, "disk spec.domain.devices.disks[0].name - setting a PCI address is only possible with bus type virtio."},
		{withDevices("disks: [{name: a, disk: {}, serial: §\"a/b\"}]"), kubevirt.CodeDevice, "spec.domain.devices.disks[0] must be made up of the following characters [A-Za-z0-9_.+-], if specified"},
		{withDevices("disks: [{name: a, disk: {}, bootOrder: §0}]"), kubevirt.CodeDevice, "spec.domain.devices.disks[0] must have a boot order > 0, if supplied"},
		{withDevices("disks: [{name: a, disk: {}, bootOrder: 1}, {name: b, disk: {}, bootOrder: §1}]"), kubevirt.CodeDevice,
			"Boot order for spec.domain.devices.disks[1].bootOrder already set for a different device."},
		{withNetworks("{name: n, pod: {}}", "{name: §m}, {name: n}"), kubevirt.CodeNetwork, "spec.domain.devices.interfaces[0].name 'm' not found."},
		{withNetworks("{name: n, pod: {}}, {name: §m, multus: {networkName: x}}", "{name: n}"), kubevirt.CodeNetwork, "spec.networks[1].name 'm' not found."},
		{withNetworks("{name: n, pod: {}}, {name: §n, multus: {networkName: x}}", "{name: n}"), kubevirt.CodeNetwork, "Network with name \"n\" already exists, every network must have a unique name"},
		{withNetworks("§{name: n}", "{name: n}"), kubevirt.CodeNetwork, "should have a network type"},
		{withNetworks("§{name: n, pod: {}, multus: {networkName: x}}", "{name: n}"), kubevirt.CodeNetwork, "should have only one network type"},
		{withNetworks("{name: n, multus: §{}}", "{name: n}"), kubevirt.CodeNetwork, "CNI delegating plugin must have a networkName"},
		{withNetworks("{name: n, pod: {}}, §{name: m, pod: {}}", "{name: n}, {name: m}"), kubevirt.CodeNetwork, "more than one interface is connected to a pod network in spec.interfaces"},
		{withNetworks("{name: n, pod: {}}", "{name: n}, {name: §n}"), kubevirt.CodeNetwork, "Only one interface can be connected to one specific network"},
		{withNetworks("{name: \"n n\", pod: {}}", "{name: §\"n n\"}"), kubevirt.CodeNetwork, "Network interface name can only contain alphabetical characters, numbers, dashes (-) or underscores (_)"},
		{withNetworks("{name: n, pod: {}}", "{name: n, model: §x}"), kubevirt.CodeNetwork, "interface spec.domain.devices.interfaces[0].name uses model x that is not supported."},
		{withNetworks("{name: n, pod: {}}", "{name: n, macAddress: §x}"), kubevirt.CodeNetwork, "interface spec.domain.devices.interfaces[0].name has malformed MAC address (x)."},
		{withNetworks("{name: n, pod: {}}", "{name: n, macAddress: §\"02:00:00:00:00:00:00:01\"}"), kubevirt.CodeNetwork,
			"interface spec.domain.devices.interfaces[0].name has MAC address (02:00:00:00:00:00:00:01) that is too long."},
		{withNetworks("{name: n, pod: {}}", "{name: n, pciAddress: §x}"), kubevirt.CodeDevice, "interface spec.domain.devices.interfaces[0].name has malformed PCI address (x)."},
		{withNetworks("{name: n, pod: {}}", "{name: n, bootOrder: §-1}"), kubevirt.CodeDevice, "spec.domain.devices.interfaces[0] must have a boot order > 0, if supplied"},
		{withDomain("memory: {guest: 1Gi}") + "  hostname: §A\n", kubevirt.CodeHostname,
			"spec.hostname does not conform to the kubernetes DNS_LABEL rules : it consists of lower-case letters, digits and dashes, and begins and ends with a letter or digit"},
		{withDomain("memory: {guest: 1Gi}") + "  subdomain: §" + strings.Repeat("a", 64) + "\n", kubevirt.CodeHostname,
			"spec.subdomain does not conform to the kubernetes DNS_SUBDOMAIN rules : it has more than 63 characters"},
	} {
		head, tail, marked := strings.Cut(instance(c.spec).Text, mark)
		if !marked {
			t.Errorf("%s: there is no mark", c.want)
		}
		_, l := load(frontend.Options{}, frontendtest.File{Name: "vmi.yaml", Text: head + tail})
		checkOnly(t, l, c.code, diag.Index(head+tail, len(head)), c.want)
	}
}

// checkOnly demands that a list has one error, of a code, a place and a text.
func checkOnly(t *testing.T, l diag.List, code diag.Code, where diag.Pos, want string) {
	t.Helper()
	var errors diag.List
	for _, d := range l {
		if d.Severity == diag.Error {
			errors = append(errors, d)
		}
	}
	if len(errors) != 1 || errors[0].Summary != want || errors[0].Code != code {
		t.Errorf("got\n%v\nwant %s: %s", errors, code, want)
		return
	}
	if got := errors[0].Range.Start; got != where {
		t.Errorf("%s: it stands at %v, not %v", want, got, where)
	}
}

// TestAdmissionOfMachines is TestAdmission for what a VirtualMachine has beside its template.
func TestAdmissionOfMachines(t *testing.T) {
	const template = "template: {spec: {domain: {memory: {guest: 1Gi}, devices: {}}}}"
	for _, c := range []struct{ spec, want string }{
		{"running: true", "missing virtual machine template."},
		{template, "RunStrategy must be specified"},
		{"running: true, runStrategy: Always, " + template, "Running and RunStrategy are mutually exclusive. Note that Running is deprecated, please use RunStrategy instead"},
		{"runStrategy: Sometimes, " + template, "Invalid RunStrategy (Sometimes)"},
		{"running: true, template: {spec: {domain: {memory: {guest: 1Gi}, devices: {}}, volumes: [{name: a}]}}", "spec.template.spec.volumes[0] must have exactly one source type set"},
		{"running: true, template: {metadata: {annotations: {kubevirt.io/ignitiondata: '{\"ignition\": {}}'}}, spec: {domain: {memory: {guest: 1Gi}, devices: {}}}}",
			"ExperimentalIgnitionSupport feature gate is not enabled in kubevirt-config, invalid entry spec.template.metadata.annotations.kubevirt.io/ignitiondata"},
	} {
		text := "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: a}\nspec: {" + c.spec + "}\n"
		_, l := load(frontend.Options{}, frontendtest.File{Name: "vm.yaml", Text: text})
		if !l.HasErrors() {
			t.Errorf("%s: no error", c.spec)
		}
		var found []string
		for _, d := range l {
			if d.Severity == diag.Error {
				found = append(found, d.Summary)
			}
		}
		if len(found) != 1 || found[0] != c.want {
			t.Errorf("%s: got %q, want %q", c.spec, found, c.want)
		}
	}
}

// TestSizes holds that data of exactly the limit passes, whichever way it is written, and one byte more does not.
func TestSizes(t *testing.T) {
	for _, c := range []struct {
		source string
		limit  int
		fits   bool
	}{
		{fmt.Sprintf(longUserData, strings.Repeat("x", 2048)), 0, true},
		{fmt.Sprintf(longUserData, strings.Repeat("ü", 1024)), 0, true},
		{fmt.Sprintf(longUserData, strings.Repeat("ü", 1025)), 0, false},
		{"userDataBase64: " + strings.Repeat("eHh4", 682) + "eHg=", 0, true},
		{"userDataBase64: " + strings.Repeat("eHh4", 683), 0, false},
		{"networkDataBase64: " + strings.Repeat("eHh4", 683), 0, false},
		{"networkDataBase64: " + strings.Repeat("eHh4", 683), 2049, true},
		{fmt.Sprintf(longUserData, "abcd"), 3, false},
	} {
		_, l := load(frontend.Options{UserDataLimit: c.limit}, instance(withVolume("cloudInitNoCloud", c.source)))
		if l.HasErrors() == c.fits {
			t.Errorf("%.30s, limit %d: %v", c.source, c.limit, l)
		}
	}
}

// TestOneCause has mistakes that could be told twice: the one error stands where the mistake is.
func TestOneCause(t *testing.T) {
	for _, c := range []struct{ spec, want string }{
		{withNetworks("{name: n, pods: {}}", "{name: n, masquerade: {}}"), `spec.networks[0].pods: there is no field "pods" here; did you mean "pod"?`},
		{withDomain("memory: {guest: 1Gi}") + "  accessCredentials:\n  - sshPublicKey: {source: {secret: {name: s}}, propagationMethod: {noCloud: {}}}\n" +
			"  volumes: [{name: seed, cloudInitNoCloud: {userData: x}}]\n", "there is no field \"name\" here; the fields are secretName"},
		{"  volumes: [{name: a, emptyDisc: {capacity: 1Gi}}]\n  domain: {memory: {guest: 1Gi}, devices: {disks: [{name: a, disk: {}}]}}\n",
			`there is no kind of volume "emptyDisc"; did you mean "emptyDisk"?`},
		{withDevices("disks: [{name: a, disk: {}}, {name: other, disk: {}}]"), "spec.domain.devices.disks[1].Name 'other' not found; the volumes are a, b"},
	} {
		_, l := load(frontend.Options{}, instance(c.spec))
		var said []string
		for _, d := range l {
			if d.Severity == diag.Error {
				said = append(said, d.Error())
			}
		}
		if len(said) != 1 || !strings.HasSuffix(said[0], c.want) {
			t.Errorf("want one error that ends in %q, got %q", c.want, said)
		}
	}
}
