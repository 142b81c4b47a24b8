package cli

import "github.com/vmseed/vmseed/diag"

// The diagnostics of this package.
const (
	// CodeOverride is for values of the definition that a flag overrides.
	CodeOverride diag.Code = 1100 + iota
	// CodeNoPartition is for a mounted partition of a disk that has none.
	CodeNoPartition
	// CodeNoShare is for shares without a directory of this host.
	CodeNoShare
	// CodeRestart is for machines that should be restarted when they end.
	CodeRestart
	// CodeNotRead is for a way on which the guest does not look for its seed.
	CodeNotRead
	// CodeAgentUsers is for credentials that no seed carries.
	CodeAgentUsers
	// CodeLeftOut is for what is not in the file that is written.
	CodeLeftOut
	// CodeProcessorTime is for limits on processor time.
	CodeProcessorTime
	// CodeNoNIC is for static addresses that no NIC of the machine carries.
	CodeNoNIC
)

// Codes explains the diagnostics of this package.
func Codes() []diag.Explanation {
	return []diag.Explanation{
		{Code: CodeOverride, Title: "flag overrides the definition", Text: "The definition states a value, and a flag of the command another. The flag wins."},
		{Code: CodeNoPartition, Title: "disk without a partition table",
			Text: "A volume of Virtlet's driver is mounted by its first partition unless its option `part` says otherwise. The file that `--volume` " +
				"names has no partition table, so the guest would not find anything to mount. Set `part: \"0\"` for a bare file system."},
		{Code: CodeNoShare, Title: "share without a directory",
			Text: "The machine mounts a directory of its host, and this host has none of that path, or the definition leaves it to the cluster which one it is. " +
				"Name one with `--volume NAME=DIRECTORY`."},
		{Code: CodeRestart, Title: "machine is not restarted",
			Text: "The definition wants the machine started again when it has ended. `vmseed run` boots it once; `vmseed start` boots it again."},
		{Code: CodeNotRead, Title: "guest does not look there",
			Text: "Ignition's platform qemu reads the firmware configuration device (fw_cfg) where the architecture has one, and a block device " +
				"with the serial number `ignition` elsewhere. The flag `--delivery` chooses the other one, so the guest will find no config."},
		{Code: CodeAgentUsers, Title: "credentials for the guest agent",
			Text: "The definition has passwords or SSH keys set by the QEMU guest agent inside the guest while it runs (KubeVirt's " +
				"`accessCredentials` with the propagation method `qemuGuestAgent`). No seed carries them. `vmseed run` sets them as soon as the agent " +
				"answers, which needs the package qemu-guest-agent in the image."},
		{Code: CodeLeftOut, Title: "part of the seed is not written",
			Text: "An Ignition config is one file. The volume that it was taken out of holds more: the meta-data and network data that Afterburn " +
				"reads. Render it as `--format iso` to have all of it."},
		{Code: CodeNoNIC, Title: "static address without a NIC",
			Text: "`vmseed run` makes a network for each NIC of the machine, with the subnet of its static address, so that the guest is " +
				"reached there. The network document of the definition gives an address to an interface with a MAC address that no NIC has, or to more " +
				"interfaces than there are NICs. Give the NIC that MAC address, or the interface that of the NIC."},
		{Code: CodeProcessorTime, Title: "processor time is not limited",
			Text: "The definition limits the processor time of the machine or weighs it against that of others, as the limits and requests of a pod do. " +
				"A cluster does that; `vmseed run` gives the guest its processors, and the host shares them out as among all its processes."},
	}
}
