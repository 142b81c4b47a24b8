// Package all lists every hypervisor that vmseed has.
package all

import "github.com/vmseed/vmseed/hypervisor"

// Hypervisors returns the hypervisors, the default one first.
func Hypervisors() []hypervisor.Hypervisor {
	return nil
}
