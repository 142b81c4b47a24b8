package kubevirt

import (
	"slices"

	"github.com/vmseed/vmseed/diag"
)

// The diagnostics of this package. Those of credentials, media and the old layout are in credentials.go.
const (
	// CodeNotVM is for documents that are no VirtualMachine and no VirtualMachineInstance.
	CodeNotVM diag.Code = 2400 + iota
)

// Codes explains the diagnostics of this package.
func Codes() []diag.Explanation {
	return slices.Concat([]diag.Explanation{
		{Code: CodeNotVM, Title: "not a virtual machine of KubeVirt",
			Text: "The document should be a `VirtualMachine` or a `VirtualMachineInstance` of the API group `kubevirt.io`, in version " +
				"`v1`, `v1alpha3` or `v1alpha2`."},
	}, mediaCodes())
}
