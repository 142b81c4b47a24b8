package vmseed

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/vmseed/vmseed/delivery"
	"github.com/vmseed/vmseed/seed"
)

// Ways are the names of the deliveries that bring the parts of a seed to a guest.
type Ways struct {
	// Volumes is the delivery of its volumes, such as iso.
	Volumes string
	// Firmware is the delivery of what the guest reads out of its firmware: fw_cfg, or virtio-blk on an architecture that
	// has none.
	Firmware string
	// Trees is the delivery of what the guest fetches by HTTP, and of the firmware's strings and kernel arguments that say
	// where: metadata. Base is its URL for the guest; see delivery.Target.
	Trees, Base string
}

// DeliverAll brings every part of a seed into a directory, each by the delivery that carries it, in files that are called
// seed.<delivery>. The attachments of all receipts together are what a hypervisor must attach. On an error nothing is
// left behind.
func (e *Engine) DeliverAll(ctx context.Context, s seed.Seed, w Ways, dir string) ([]delivery.Receipt, error) {
	var out []delivery.Receipt
	for _, part := range split(s, w) {
		target := delivery.Target{Path: filepath.Join(dir, "seed."+part.way), Base: w.Base}
		receipt, err := e.Deliver(ctx, part.seed, part.way, target)
		if err != nil {
			return nil, errors.Join(err, e.Remove(context.WithoutCancel(ctx), out...))
		}
		out = append(out, receipt)
	}
	return out, nil
}

// Remove takes back what was delivered.
func (e *Engine) Remove(ctx context.Context, receipts ...delivery.Receipt) error {
	var errs []error
	for _, r := range receipts {
		d, err := find("delivery", e.Deliveries, r.Delivery)
		if err == nil {
			err = d.Remove(ctx, r)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// part is a part of a seed and the delivery that carries it.
type part struct {
	way  string
	seed seed.Seed
}

// split gives each delivery its own part. What needs no file, and what nothing carries, goes with the first; strings and
// kernel arguments that say where a tree is go with the trees.
func split(s seed.Seed, w Ways) []part {
	if w.Trees != "" && len(s.Trees) > 0 {
		served, rest := s, s
		served.Volumes, served.Firmware = nil, seed.Firmware{SMBIOS: s.Firmware.SMBIOS}
		rest.Trees, rest.Firmware.SMBIOS, rest.KernelArgs = nil, nil, nil
		out := []part{{w.Trees, served}}
		if len(rest.Volumes) > 0 || !rest.Firmware.IsZero() {
			out = append(out, split(rest, w)...)
		}
		return out
	}
	if s.Firmware.IsZero() {
		return []part{{w.Volumes, s}}
	}
	rest := s
	rest.Volumes = nil
	if len(s.Volumes) == 0 {
		return []part{{w.Firmware, rest}}
	}
	first := s
	first.Firmware, rest.Trees, rest.KernelArgs = seed.Firmware{}, nil, nil
	return []part{{w.Volumes, first}, {w.Firmware, rest}}
}
