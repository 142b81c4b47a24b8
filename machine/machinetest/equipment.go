package machinetest

import (
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// equip fills in what the hypervisor builds.
func equip(m *machine.Machine) {
	m.Disks = disks()
	m.Shares = []machine.Share{{
		Name: "shares-name", Tag: "shares-tag", Driver: "9p", HostPath: "/srv/shares-hostPath", ReadOnly: true, Chown: true,
	}}
	m.Media = []machine.Media{
		{Name: "media-secret", Kind: "secret", Label: "MEDIALABEL", Format: "vfat", Serial: "media-serial", Bus: "sata",
			Files: []machine.File{{
				Path: "/media-files-path", Content: secret.New("media-files-content-canary"), Mode: 0o440,
				Owner: "root:root", Append: true, Defer: true,
			}}},
		{Name: "media-prepared", Kind: "prepared", Path: "/srv/media-path.iso"},
	}
	m.Boot = machine.Boot{Kernel: "/srv/boot-kernel", Initrd: "/srv/boot-initrd", Append: "console=ttyS0 boot-append"}
	m.Hardware = machine.Hardware{
		Arch: "amd64", MachineType: "q35", CPUs: 6, Sockets: 1, Cores: 3, Threads: 2,
		CPUModel: "host-model", CPUFeatures: []machine.CPUFeature{{Name: "cpufeatures-name", Policy: "disable"}},
		Memory: 1537 << 20, DiskBus: "virtio", Firmware: "uefi", SecureBoot: true, TPM: true, RNG: true,
		Watchdog: "i6300esb",
		SMBIOS: machine.SMBIOS{
			Manufacturer: "smbios-manufacturer", Product: "smbios-product", Version: "smbios-version",
			SKU: "smbios-sku", Family: "smbios-family", AssetTag: "smbios-assetTag",
		},
		HostDevices: []machine.HostDevice{
			{Name: "hostdevices-name", Kind: "gpu", DeviceName: "example.org/deviceName", Tag: "hostDevices-tag"},
			{Name: "hostdevices-pci", Kind: "pci", PCI: "0000:65:00.1"},
		},
		CPUShares: 1021, CPUQuota: 151000, CPUPeriod: 101000,
	}
}

func disks() []machine.Disk {
	return []machine.Disk{
		{Name: "disk-root", Root: true, Device: "disk", Source: machine.DiskSource{Image: "debian:12"}, Size: 11 << 30,
			Bus: "virtio", Serial: "disks-serial", PCI: "0000:00:05.0", BootOrder: 1, Tag: "disks-tag", Cache: "writeback"},
		{Name: "disk-path", Source: machine.DiskSource{Path: "/srv/disks-source-path.raw", Format: "raw"}, ReadOnly: true, Shareable: true},
		{Name: "disk-claim", Source: machine.DiskSource{Claim: "disks-source-claim"}, Bus: "scsi", Unit: 3},
		{Name: "disk-ceph", Source: machine.DiskSource{Ceph: machine.Ceph{
			Monitors: []string{"ceph-monitors.example.org:6789"}, Pool: "ceph-pool", Volume: "ceph-volume",
			User: "ceph-user", Secret: secret.New("ceph-secret-canary"),
		}}},
		{Name: "disk-blank", Source: machine.DiskSource{Blank: true, Filesystem: "ext4"}, Size: 257 << 20, Ephemeral: true},
	}
}
