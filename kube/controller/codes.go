package controller

import (
	"fmt"

	"github.com/vmseed/vmseed/diag"
)

// The diagnostics of this package.
const (
	// CodeForeign is for clusters in which another product serves the kinds of KubeVirt.
	CodeForeign diag.Code = 8200 + iota
	// CodeNotInstalled is for clusters that do not serve them.
	CodeNotInstalled
)

// Error is why a controller cannot run.
type Error struct {
	Code diag.Code
	Err  error
}

// Error returns code and reason.
func (e *Error) Error() string { return fmt.Sprintf("error[%s]: %v", e.Code, e.Err) }

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }

// Codes explains the diagnostics of this package.
func Codes() []diag.Explanation {
	return []diag.Explanation{
		{Code: CodeForeign, Title: "another product serves kubevirt.io",
			Text: "The definitions of `virtualmachines` and `virtualmachineinstances` are not labelled `app.kubernetes.io/managed-by: vmseed`, so that " +
				"they are another product's, normally KubeVirt's. Two controllers of the same objects would start every machine twice. Pods with Virtlet's " +
				"annotations become VMs beside a KubeVirt without this controller. `--beside-kubevirt` runs it all the same, for objects with the " +
				"label or annotation `vmseed.dev/managed: \"true\"` alone: only where KubeVirt's own controllers are kept from them."},
		{Code: CodeNotInstalled, Title: "kubevirt.io is not served",
			Text: "The API server does not know the kinds `VirtualMachine` and `VirtualMachineInstance`. Install the definitions first, with `kubectl apply " +
				"--server-side -k kube/config/default` or the Helm chart."},
	}
}
