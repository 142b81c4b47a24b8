package machine

import "github.com/vmseed/vmseed/secret"

// Bytes is a size in bytes. Documents write it as a Kubernetes quantity: 2048Mi, 1G.
type Bytes int64

// Hardware is what the hypervisor builds.
type Hardware struct {
	// Arch is amd64, arm64 and so on, as Go names them. Empty means that of the host.
	Arch string `field:"arch"`
	// MachineType is pc, q35 or virt.
	MachineType string `field:"machineType"`
	CPUs        int    `field:"cpus"`
	Sockets     int    `field:"sockets"`
	Cores       int    `field:"cores"`
	Threads     int    `field:"threads"`
	// CPUModel is a model of the hypervisor, or host-model or host-passthrough.
	CPUModel    string       `field:"cpuModel"`
	CPUFeatures []CPUFeature `field:"cpuFeatures"`
	Memory      Bytes        `field:"memory"`
	// DiskBus is the bus of disks that name none: virtio, scsi, sata or usb.
	DiskBus string `field:"diskBus"`
	// Firmware is bios or uefi.
	Firmware   string `field:"firmware"`
	SecureBoot bool   `field:"secureBoot"`
	TPM        bool   `field:"tpm"`
	RNG        bool   `field:"rng"`
	Watchdog   string `field:"watchdog"`
	SMBIOS     SMBIOS `field:"smbios"`
	// HostDevices are devices of the host that the guest gets, such as GPUs.
	HostDevices []HostDevice `field:"hostDevices"`
	// CPUShares, CPUQuota and CPUPeriod (the last two in microseconds) limit the processor time.
	CPUShares int64 `field:"cpuShares"`
	CPUQuota  int64 `field:"cpuQuota"`
	CPUPeriod int64 `field:"cpuPeriod"`
}

// CPUFeature switches a feature of the CPU model.
type CPUFeature struct {
	Name string `field:"name"`
	// Policy is force, require (default), optional, disable or forbid.
	Policy string `field:"policy"`
}

// SMBIOS are strings of the firmware tables of type 1 and 3 beside UUID and serial number, which are Identity's.
type SMBIOS struct {
	Manufacturer string `field:"manufacturer"`
	Product      string `field:"product"`
	Version      string `field:"version"`
	SKU          string `field:"sku"`
	Family       string `field:"family"`
	AssetTag     string `field:"assetTag"`
}

// HostDevice is a device of the host.
type HostDevice struct {
	Name string `field:"name"`
	// Kind is gpu or pci.
	Kind       string `field:"kind"`
	DeviceName string `field:"deviceName"`
	PCI        string `field:"pciAddress"`
	Tag        string `field:"tag"`
}

// Boot is how the machine starts when it does not use the boot loader of its root disk.
type Boot struct {
	Kernel string `field:"kernel"`
	Initrd string `field:"initrd"`
	Append string `field:"append"`
}

// Disk is a block device of the machine. The order of a machine's disks is the order of their devices.
type Disk struct {
	Name string `field:"name"`
	// Root marks the disk that the machine boots from.
	Root bool `field:"root"`
	// Device is disk (default), cdrom, lun or floppy.
	Device string     `field:"device"`
	Source DiskSource `field:"source"`
	// Size is the least virtual size; a smaller image is grown in its overlay.
	Size     Bytes  `field:"size"`
	Bus      string `field:"bus"`
	ReadOnly bool   `field:"readOnly"`
	// Serial is what the guest sees; Place derives it from the name.
	Serial string `field:"serial"`
	// PCI is the address as domain:bus:slot.function. For a disk on a SCSI bus it is that of the controller, and Unit
	// is the logical unit.
	PCI       string `field:"pciAddress"`
	Unit      int    `field:"unit"`
	BootOrder int    `field:"bootOrder"`
	Tag       string `field:"tag"`
	Cache     string `field:"cache"`
	Shareable bool   `field:"shareable"`
	// Ephemeral means that the contents go away with the machine.
	Ephemeral bool `field:"ephemeral"`
}

// DiskSource is where the contents of a disk come from. At most one of the fields Image, Path, Claim, Ceph and Blank is
// set; none means that the user must name it (the flag --volume).
type DiskSource struct {
	// Image names a guest image; the disk is an overlay on it.
	Image string `field:"image"`
	// Path is a file or device of the host.
	Path string `field:"path"`
	// Format is raw or qcow2; empty means that it is found out.
	Format string `field:"format"`
	// Claim names a PersistentVolumeClaim or a DataVolume.
	Claim string `field:"claim"`
	Ceph  Ceph   `field:"ceph"`
	// Blank is a new empty disk of the disk's Size; with Filesystem it gets an MBR with one partition that holds one.
	Blank      bool   `field:"blank"`
	Filesystem string `field:"filesystem"`
}

// Ceph is a RADOS block device.
type Ceph struct {
	Monitors []string    `field:"monitors"`
	Pool     string      `field:"pool"`
	Volume   string      `field:"volume"`
	User     string      `field:"user"`
	Secret   secret.Text `field:"secret"`
}

// Share is a directory of the host that the guest can mount.
type Share struct {
	Name string `field:"name"`
	// Tag is what the guest mounts; Place derives it from the name.
	Tag string `field:"tag"`
	// Driver is 9p or virtiofs.
	Driver   string `field:"driver"`
	HostPath string `field:"hostPath"`
	ReadOnly bool   `field:"readOnly"`
	// Chown gives the shared files to the user of the hypervisor.
	Chown bool `field:"chown"`
}

// Media is a further medium beside the seed: sysprep, a Secret as a labelled disk, a payload, a prepared seed.
type Media struct {
	Name string `field:"name"`
	// Kind is sysprep, secret, configMap, serviceAccount, downwardAPI, payload or prepared.
	Kind  string `field:"kind"`
	Label string `field:"label"`
	// Format is iso (default), vfat or floppy.
	Format string `field:"format"`
	Files  []File `field:"files"`
	// Path is a prepared image that is attached unchanged.
	Path   string `field:"path"`
	Serial string `field:"serial"`
	Bus    string `field:"bus"`
}
