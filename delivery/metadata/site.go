package metadata

import (
	"crypto/sha256"
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

// Site is what one machine is answered. It may be used by several goroutines.
type Site struct {
	machine  seed.Name
	identity seed.Identity
	// id is what session tokens are bound to.
	id [sha256.Size]byte

	view   atomic.Pointer[view]
	mu     sync.Mutex // for changes of what follows
	sealed atomic.Bool
	// password is what the guest has posted.
	password atomic.Pointer[secret.Text]

	// born is where the clock of the buckets begins.
	born             time.Time
	answers, reports bucket
}

// NewSite prepares the answers for a seed's trees.
func NewSite(s seed.Seed) (*Site, error) {
	if err := checkTrees(s.Trees); err != nil {
		return nil, err
	}
	// JSON separates the parts, so that no two machines have the same.
	id, err := json.Marshal([]string{s.Machine.Namespace, s.Machine.Name, s.Identity.InstanceID})
	if err != nil {
		return nil, err
	}
	site := &Site{machine: s.Machine, identity: s.Identity, id: sha256.Sum256(id), born: time.Now()}
	site.view.Store(newView(s.Trees))
	return site, nil
}

// Machine names the machine.
func (s *Site) Machine() seed.Name { return s.machine }

// Identity is who the guest is told to be.
func (s *Site) Identity() seed.Identity { return s.identity }

// Seal withdraws what the guest needs for its first boot alone: it is answered from now on like what is not there.
// NoCloud takes a directory that lacks a file for no directory at all, so there the answer is an empty file. Sealing twice
// is the same.
func (s *Site) Seal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.sealed.Swap(true) {
		s.view.Store(s.view.Load().sealed())
	}
}

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

// setPassword keeps the first password, if keep agrees. It reports whether it was the first.
func (s *Site) setPassword(password []byte, keep func(*Site, []byte) error) (first bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.password.Load() != nil {
		return false, nil
	}
	if keep != nil {
		if err := keep(s, password); err != nil {
			return true, err
		}
	}
	text := secret.FromBytes(password)
	s.password.Store(&text)
	return true, nil
}

// RestorePassword gives the site the password that its guest posted before a restart, as Config.Password was told of it.
// One that it has already stays.
func (s *Site) RestorePassword(password secret.Text) {
	if !password.IsZero() {
		_, _ = s.setPassword([]byte(password.Reveal()), nil)
	}
}

// Inherit takes over from the site that this one replaces what guests and hosts made of it: a posted password, and the
// seal. A site of another machine or of another instance leaves nothing.
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
	now := time.Since(s.born)
	s.answers.inherit(&old.answers, now, time.Since(old.born))
	s.reports.inherit(&old.reports, now, time.Since(old.born))
}
