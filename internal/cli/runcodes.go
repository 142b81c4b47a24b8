package cli

import "github.com/vmseed/vmseed/diag"

// The diagnostics of this package. The numbers between them are internal/boot's.
const (
	// CodeOverride is for values of the definition that a flag overrides.
	CodeOverride diag.Code = 1100
	// CodeRestart is for machines that should be restarted when they end.
	CodeRestart diag.Code = 1103
	// CodeAgentUsers is for credentials that no seed carries.
	CodeAgentUsers diag.Code = 1105
	// CodeLeftOut is for what is not in the file that is written.
	CodeLeftOut diag.Code = 1106
	// CodeProcessorTime is for limits on processor time.
	CodeProcessorTime diag.Code = 1107
)

// Codes explains the diagnostics of this package.
func Codes() []diag.Explanation {
	return []diag.Explanation{
		{Code: CodeOverride, Title: "flag overrides the definition", Text: "The definition states a value, and a flag of the command another. The flag wins."},
		{Code: CodeRestart, Title: "machine is not restarted",
			Text: "The definition wants the machine started again when it has ended. `vmseed run` boots it once; `vmseed start` boots it again."},
		{Code: CodeAgentUsers, Title: "credentials for the guest agent",
			Text: "The definition has passwords or SSH keys set by the QEMU guest agent inside the guest while it runs (KubeVirt's " +
				"`accessCredentials` with the propagation method `qemuGuestAgent`). No seed carries them. `vmseed run` sets them as soon as the agent " +
				"answers, which needs the package qemu-guest-agent in the image."},
		{Code: CodeLeftOut, Title: "part of the seed is not written",
			Text: "An Ignition config is one file. The volume that it was taken out of holds more: the meta-data and network data that Afterburn " +
				"reads. Render it as `--format iso` to have all of it."},
		{Code: CodeProcessorTime, Title: "processor time is not limited",
			Text: "The definition limits the processor time of the machine or weighs it against that of others, as the limits and requests of a pod do. " +
				"A cluster does that; `vmseed run` gives the guest its processors, and the host shares them out as among all its processes."},
	}
}
