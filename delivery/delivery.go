// Package delivery is the room of the deliveries: they bring a seed to where a guest reads it. Whoever wants to add one
// copies the smallest sibling below this directory and adds a line to delivery/all.
package delivery

import (
	"context"
	"io"

	"github.com/vmseed/vmseed/seed"
)

// Delivery brings seeds to guests in one way.
type Delivery interface {
	// Name is the delivery's name, as users type it: iso, vfat, dir.
	Name() string
	// Deliver writes what the guest needs and says how the hypervisor must attach it. On an error nothing is left
	// behind.
	Deliver(ctx context.Context, s seed.Seed, t Target) (Receipt, error)
	// Remove takes back what Deliver wrote. Removing twice is no error.
	Remove(ctx context.Context, r Receipt) error
}

// Inspector is the optional power to read a seed back, for vmseed show.
type Inspector interface {
	// Open reads the seed at path. It returns an error that wraps ErrNotSeed when path is not of this delivery's form.
	Open(path string) (seed.Seed, error)
}

// Target is where a seed goes.
type Target struct {
	// Path is the file, or the directory for dir.
	Path string
	// Dir makes Path a directory that gets one file per volume, named <namespace>_<name>[.<volume>].<ext>.
	Dir bool
	// Writer takes the bytes instead of Path, for a seed that is a single blob.
	Writer io.Writer
	// Base is the URL, with a slash at its end, at which the guest reaches a server of the seed's trees. Empty means
	// what the delivery is for.
	Base string
}

// Receipt is what a delivery did.
type Receipt struct {
	Delivery string `json:"delivery"`
	// Paths are the files and directories that Remove takes back.
	Paths       []string          `json:"paths"`
	Attachments []seed.Attachment `json:"attachments"`
}
