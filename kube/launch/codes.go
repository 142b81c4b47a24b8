package launch

import "github.com/vmseed/vmseed/diag"

// The diagnostics of this package.
const (
	// CodeScheduling is for fields about the placement of an instance that cannot be read.
	CodeScheduling diag.Code = 8150 + iota
	// CodeDataVolume is for volumes that an importer of the cluster would fill.
	CodeDataVolume
	// CodeTooLarge is for instances that do not fit into a Secret.
	CodeTooLarge
	// CodeName is for instances whose objects cannot be named.
	CodeName
)

// Codes explains the diagnostics of this package.
func Codes() []diag.Explanation {
	return []diag.Explanation{
		{Code: CodeScheduling, Title: "field about placement that cannot be read",
			Text: "`nodeSelector`, `affinity`, `tolerations`, `topologySpreadConstraints`, `priorityClassName`, `schedulerName`, `dnsPolicy`, " +
				"`dnsConfig`, the probes and `resources` of a VirtualMachineInstance are handed on to its launcher pod, and have the form that they have in pods."},
		{Code: CodeDataVolume, Title: "volume that is filled anew at each start",
			Text: "The volume comes from `dataVolumeTemplates` with a source `http` or `registry`. KubeVirt's importer would make a claim of it that " +
				"outlives the guest. vmseed boots a copy of the image that belongs to the running instance: what the guest writes is gone when the " +
				"VirtualMachine is started again. Use a claim (`persistentVolumeClaim`) for what must last."},
		{Code: CodeTooLarge, Title: "instance too large to launch",
			Text: "The VirtualMachineInstance reaches its node in a Secret, which holds 1 MiB. Put user-data and configs into Secrets that the instance " +
				"names: the node reads those itself."},
		{Code: CodeName, Title: "instance without names for its objects",
			Text: "The launcher pod and its Secret are named after the VirtualMachineInstance and belong to it, so that it needs a name, a namespace and a UID, " +
				"which every object of an API server has."},
	}
}
