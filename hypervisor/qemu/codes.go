package qemu

import "github.com/vmseed/vmseed/diag"

// The diagnostics of this package.
const (
	// CodeUnresolvedVolume is for a disk whose contents vmseed cannot find on this host.
	CodeUnresolvedVolume diag.Code = 6000 + iota
	// CodeUnsupported is for hardware that QEMU, or this machine type of it, does not have.
	CodeUnsupported
	// CodeBadAddress is for a PCI address that cannot be built.
	CodeBadAddress
	// CodeBadUUID is for a system UUID that is none.
	CodeBadUUID
	// CodeFirmwareValue is for a string of the machine that the seed overrides.
	CodeFirmwareValue
	// CodeKernelArgument is for a kernel argument without a kernel to give it to.
	CodeKernelArgument
	// CodeBackingFile is for an image that leads to further files.
	CodeBackingFile
	// CodeBadValue is for a value that QEMU would refuse.
	CodeBadValue
	// CodeStaticDHCP is for a NIC with addresses of its own on slirp's network.
	CodeStaticDHCP
	// CodeNoFwCfg is for a file of the firmware on an architecture without the device for it.
	CodeNoFwCfg
	// CodeNoService is for a guest that would fetch its seed over a network on which nobody serves it.
	CodeNoService
)

// Codes explains the diagnostics of this package.
func Codes() []diag.Explanation {
	return []diag.Explanation{
		{Code: CodeUnresolvedVolume, Title: "a disk without contents on this host",
			Text: "The definition names a disk whose contents are elsewhere: a cluster's claim, a Ceph image, a device of " +
				"another host. Give a file or device of this host in its place: `--volume NAME=PATH`, or `--image` for the root disk."},
		{Code: CodeUnsupported, Title: "hardware that QEMU does not build here",
			Text: "The message names the device and the machine type. Choose another bus or model, or another `hardware.machineType`."},
		{Code: CodeBadAddress, Title: "PCI address that cannot be built",
			Text: "vmseed places devices on the root bus: addresses are 0000:00:slot.function, with slots 01 to 1f and functions 0 to 7."},
		{Code: CodeBadUUID, Title: "system UUID that is none",
			Text: "The SMBIOS system UUID has 32 hexadecimal digits in five groups. Write one, or none: vmseed derives one from the names."},
		{Code: CodeFirmwareValue, Title: "the seed overrides a firmware string",
			Text: "The seed needs an SMBIOS string for the guest's agent to find it, and the machine asks for another value of the same " +
				"string. The seed's value is used, because without it there is no first boot."},
		{Code: CodeKernelArgument, Title: "kernel argument without a kernel",
			Text: "The seed asks for an argument on the guest's kernel command line, which vmseed sets only when it starts the kernel " +
				"itself: `--kernel` and `--initrd`. The boot loader inside an image reads its own configuration. Images for Ignition have " +
				"`ignition.platform.id` of their platform there, and `ignition.firstboot` until they have booted once. vmseed does the same " +
				"for a kernel that it starts: once the guest says that its first boot went well, the kernel gets `ignition.firstboot` no more."},
		{Code: CodeBackingFile, Title: "image that leads to further files",
			Text: "A qcow2 image can name another file as its base or its data, and QEMU would open that file of the host for the guest. " +
				"An image from elsewhere must not. Flatten it with `qemu-img convert -O qcow2`, or state its format to say that you trust it."},
		{Code: CodeBadValue, Title: "value that QEMU would refuse", Text: "The message names the field and what it may hold."},
		{Code: CodeStaticDHCP, Title: "static addresses on a DHCP network",
			Text: "`--net user` hands out one address by DHCP in 169.254.0.0/16 and routes no other, so a guest with a static IPv4 " +
				"address has no network there. Use `--net stack`, which takes its subnet from the definition."},
		{Code: CodeNoFwCfg, Title: "architecture without a firmware configuration device",
			Text: "QEMU hands a guest files by its firmware configuration device (fw_cfg), which machines of IBM's s390x and ppc64le do not " +
				"have. Ignition reads a block device with the serial number `ignition` there: `--delivery virtio-blk`, which `auto` chooses by itself."},
		{Code: CodeNoService, Title: "metadata service out of the guest's reach",
			Text: "The guest fetches its seed by HTTP, from a server that vmseed has inside the network of the VM (`--net stack`). QEMU's own network " +
				"(`--net user`) could lead to it only by programs that QEMU starts, which its sandbox forbids, and a guest without a network, or " +
				"with every cable unplugged, reaches nobody. Use `--net stack` and a NIC whose link is up, or choose a seed on a volume, such as " +
				"`--datasource nocloud --delivery iso`."},
	}
}
