package delivery

import (
	"fmt"

	"github.com/vmseed/vmseed/seed"
)

// KernelArgs returns the attachments for what a seed wants on its guest's kernel command line. Every delivery hands them
// on, because they need no file.
func KernelArgs(s seed.Seed) []seed.Attachment {
	var out []seed.Attachment
	for _, a := range s.KernelArgs {
		out = append(out, seed.Attachment{Kind: seed.KernelArg, Value: a})
	}
	return out
}

// CheckVolumes refuses a seed that has other parts than volumes, or no volume, for deliveries that would lose those. The
// error wraps ErrPart or ErrNoVolume.
func CheckVolumes(s seed.Seed) error {
	switch {
	case len(s.Volumes) == 0:
		return ErrNoVolume
	case !s.Firmware.IsZero():
		return fmt.Errorf("%w: it has something for the firmware", ErrPart)
	}
	return CheckTrees(s)
}

// CheckTrees refuses a seed with trees, for deliveries without a web server. The error wraps ErrPart.
func CheckTrees(s seed.Seed) error {
	if len(s.Trees) > 0 {
		return fmt.Errorf("%w: it has a tree, which its guest reads by HTTP", ErrPart)
	}
	return nil
}
