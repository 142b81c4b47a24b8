package boot

import "github.com/vmseed/vmseed/diag"

// The diagnostics of this package.
const (
	// CodeNoPartition is for a mounted partition of a disk that has none.
	CodeNoPartition diag.Code = 1101 + iota
	// CodeNoShare is for shares without a directory of this host.
	CodeNoShare
)

// More diagnostics of this package.
const (
	// CodeNotRead is for a way on which the guest does not look for its seed.
	CodeNotRead diag.Code = 1104
	// CodeNoNIC is for static addresses that no NIC of the machine carries.
	CodeNoNIC diag.Code = 1108
)

// Codes explains the diagnostics of this package.
func Codes() []diag.Explanation {
	return []diag.Explanation{
		{Code: CodeNoPartition, Title: "disk without a partition table",
			Text: "A volume of Virtlet's driver is mounted by its first partition unless its option `part` says otherwise. The file that `--volume` " +
				"names has no partition table, so the guest would not find anything to mount. Set `part: \"0\"` for a bare file system."},
		{Code: CodeNoShare, Title: "share without a directory",
			Text: "The machine mounts a directory of its host, and this host has none of that path, or the definition leaves it to the cluster which one it is. " +
				"Name one with `--volume NAME=DIRECTORY`."},
		{Code: CodeNotRead, Title: "guest does not look there",
			Text: "Ignition's platform qemu reads the firmware configuration device (fw_cfg) where the architecture has one, and a block device " +
				"with the serial number `ignition` elsewhere. The flag `--delivery` chooses the other one, so the guest will find no config. " +
				"systemd before 257 reads the first page, 4096 bytes, of the credentials in the SMBIOS tables, and passes over the rest without a word: " +
				"state `guest.release`, and leave `--delivery` out."},
		{Code: CodeNoNIC, Title: "static address without a NIC",
			Text: "`vmseed run` makes a network for each NIC of the machine, with the subnet of its static address, so that the guest is " +
				"reached there. The network document of the definition gives an address to an interface with a MAC address that no NIC has, or to more " +
				"interfaces than there are NICs. Give the NIC that MAC address, or the interface that of the NIC."},
	}
}
