package supervisor

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"

	"github.com/vmseed/vmseed/internal/autoconf"
	"github.com/vmseed/vmseed/internal/tap"
)

// FirstTap is the file descriptor of QEMU that is the first tap device of a plan; the others follow.
const FirstTap = 3

// sshPort is that of the guest's SSH server.
const sshPort = 22

// Tap is a NIC that is plugged into a tap device of the host.
type Tap struct {
	Name string `json:"name"`
	MAC  string `json:"mac"`
	MTU  int    `json:"mtu,omitempty"`
	// Device is the tap device, Namespace the path of the network namespace that it is in; empty is the host's.
	Device    string `json:"device"`
	Namespace string `json:"namespace,omitempty"`
	// Answers is what the guest is told when it asks for its addresses; nil means that it is left to others.
	Answers *autoconf.Config `json:"answers,omitempty"`
}

func (t Tap) device() tap.Device { return tap.Device{Name: t.Device, Namespace: t.Namespace} }

// filter keeps the guest from what is not for it, and from asking others for what this supervisor answers.
func (t Tap) filter() tap.Filter {
	return tap.Filter{Answered: t.Answers != nil, Address: autoconf.Address}
}

// openTaps opens the tap devices for a QEMU that is about to start, in the order of the plan. Nobody else has them then,
// and they get their filters before a frame passes.
func (s *supervisor) openTaps() ([]*os.File, error) {
	var files []*os.File
	for _, t := range s.plan.Taps {
		f, err := tap.Open(t.device())
		if err != nil {
			return files, fmt.Errorf("NIC %q: %w", t.Name, err)
		}
		files = append(files, f)
	}
	return files, s.protectTaps()
}

// protectTaps keeps the guest from what its tap devices lead to and is not for it.
func (s *supervisor) protectTaps() error {
	for _, t := range s.plan.Taps {
		if err := tap.Protect(t.device(), t.filter()); err != nil {
			return fmt.Errorf("NIC %q must be kept from the host's metadata service: %w", t.Name, err)
		}
	}
	return nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// startTaps answers the guest at all its tap devices until the run ends, whichever QEMU has them.
func (s *supervisor) startTaps() error {
	for _, t := range s.plan.Taps[s.tapped:] {
		responder, err := autoconf.New(t.MAC, t.Answers)
		if err != nil {
			return fmt.Errorf("NIC %q: %w", t.Name, err)
		}
		port, err := tap.Listen(t.device(), t.filter())
		if err != nil {
			return fmt.Errorf("NIC %q: %w", t.Name, err)
		}
		a := &answerer{tap: t, responder: responder, s: s}
		a.swap(port)
		if err := a.start(); err != nil {
			a.swap(nil)
			return fmt.Errorf("NIC %q: %w", t.Name, err)
		}
		s.tapped++
	}
	return nil
}

// dialTap connects to a TCP port of a guest at a tap device, by the routes of the host.
func (s *supervisor) dialTap(ctx context.Context, port uint16) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(s.plan.SSH.Guest.String(), strconv.Itoa(int(port))))
}

// forwardTap carries connections to l to a TCP port of the guest until the run ends.
func (s *supervisor) forwardTap(l net.Listener, port uint16) {
	s.working.Go(func() {
		defer context.AfterFunc(s.ctx, func() { _ = l.Close() })()
		for {
			outside, err := l.Accept()
			if err != nil {
				return
			}
			s.working.Go(func() {
				ctx, cancel := context.WithTimeout(s.ctx, dialTime)
				defer cancel()
				inside, err := s.dialTap(ctx, port)
				if err != nil {
					_ = outside.Close()
					return
				}
				s.join(outside, inside)
			})
		}
	})
}
