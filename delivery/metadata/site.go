package metadata

import (
	"crypto/sha256"
	"encoding/json"
	"sync/atomic"

	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

// Site is what one machine is answered. It may be used by several goroutines.
type Site struct {
	machine  seed.Name
	identity seed.Identity
	id       [sha256.Size]byte
	sealed   atomic.Bool
	password atomic.Pointer[secret.Text]
}

// NewSite prepares the answers for a seed's trees.
func NewSite(s seed.Seed) (*Site, error) {
	if err := checkTrees(s.Trees); err != nil {
		return nil, err
	}
	// What tokens are bound to. JSON separates the parts, so that no two machines have the same.
	id, err := json.Marshal([]string{s.Machine.Namespace, s.Machine.Name, s.Identity.InstanceID})
	if err != nil {
		return nil, err
	}
	return &Site{machine: s.Machine, identity: s.Identity, id: sha256.Sum256(id)}, nil
}

// Machine names the machine.
func (s *Site) Machine() seed.Name { return s.machine }

// Identity is who the guest is told to be.
func (s *Site) Identity() seed.Identity { return s.identity }

// Seal withdraws what the guest needs for its first boot alone: it is answered from now on like what is not there.
// NoCloud takes a directory that lacks a file for no directory at all, so there the answer is an empty file. Sealing twice
// is the same.
func (s *Site) Seal() { s.sealed.Store(true) }

// Sealed reports whether the site has been sealed.
func (s *Site) Sealed() bool { return s.sealed.Load() }

// Password is what the guest has posted at OpenStack's path: its administrator's password, encrypted with the first
// public key of the machine. It is empty until then.
func (s *Site) Password() secret.Text {
	if p := s.password.Load(); p != nil {
		return *p
	}
	return secret.Text{}
}

func (s *Site) setPassword(p []byte) {
	t := secret.FromBytes(p)
	s.password.Store(&t)
}

// Inherit takes over from the site that this one replaces what guests and hosts made of it: a posted password, and
// the seal when it is of the same instance.
func (s *Site) Inherit(old *Site) {
	if old == nil || old.id != s.id {
		return
	}
	if p := old.password.Load(); p != nil {
		s.password.CompareAndSwap(nil, p)
	}
	if old.Sealed() {
		s.Seal()
	}
}

func checkTrees(trees []seed.Tree) error { return nil }
