// Package all lists every hypervisor that vmseed has.
package all

import (
	"slices"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/hypervisor"
	"github.com/vmseed/vmseed/hypervisor/qemu"
	"github.com/vmseed/vmseed/internal/autoconf"
	"github.com/vmseed/vmseed/internal/vmnet"
	"github.com/vmseed/vmseed/report"
)

// Hypervisors returns the hypervisors, the default one first.
func Hypervisors() []hypervisor.Hypervisor {
	return []hypervisor.Hypervisor{
		&qemu.QEMU{},
	}
}

// Codes explains the diagnostics of the hypervisors and of what they are made of.
func Codes() []diag.Explanation {
	return slices.Concat(qemu.Codes(), vmnet.Codes(), autoconf.Codes(), report.Codes())
}
