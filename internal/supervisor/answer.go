package supervisor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/vmseed/vmseed/internal/autoconf"
	"github.com/vmseed/vmseed/internal/tap"
	"github.com/vmseed/vmseed/internal/vmnet"
)

// maxFrame is more than any frame of a guest: its NIC cuts TCP's into pieces, and has none to do it.
const maxFrame = 68 << 10

// answerer is what a guest finds beside the network that a tap device leads to: its addresses and its metadata service.
// It sees what comes from the guest alone.
type answerer struct {
	s         *supervisor
	tap       Tap
	responder *autoconf.Responder
	local     *vmnet.Local

	mutex sync.Mutex
	port  *tap.Port
}

// swap takes another port into use; nil is none.
func (a *answerer) swap(port *tap.Port) {
	a.mutex.Lock()
	old := a.port
	a.port = port
	a.mutex.Unlock()
	if old != nil {
		_ = old.Close()
	}
}

// send sends a frame to the guest. One that cannot be sent is lost, as frames are.
func (a *answerer) send(frame []byte) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.port != nil && frame != nil {
		_, _ = a.port.Write(frame)
	}
}

// start answers the guest until the run ends.
func (a *answerer) start() error {
	s := a.s
	var err error
	a.local, err = vmnet.NewLocal(autoconf.Address, a.tap.MTU, func(packet []byte) { a.send(a.responder.Frame(packet)) })
	if err != nil {
		return err
	}
	if s.service != nil {
		at := s.plan.Metadata.Listen
		if at.Addr() != autoconf.Address {
			return errors.Join(fmt.Errorf("the metadata service: a tap device has none at %s", at), a.local.Close())
		}
		l, err := a.local.Listen(at.Port())
		if err != nil {
			return errors.Join(fmt.Errorf("the metadata service: %w", err), a.local.Close())
		}
		s.serveMetadata(l)
	}
	s.working.Go(func() {
		<-s.ctx.Done()
		a.swap(nil)
		if err := a.local.Close(); err != nil {
			s.log.Warn("closing a network", "error", err)
		}
	})
	s.working.Go(a.receive)
	if a.tap.Answers != nil {
		s.working.Go(a.advertise)
		s.working.Go(a.seek)
	}
	return nil
}

// receive answers the guest's frames, and those at the same device again when somebody has made it anew.
func (a *answerer) receive() {
	frame := make([]byte, maxFrame)
	for a.s.ctx.Err() == nil {
		a.mutex.Lock()
		port := a.port
		a.mutex.Unlock()
		if port == nil {
			return
		}
		n, err := port.Read(frame)
		if err != nil {
			a.reopen()
			continue
		}
		if answer := a.responder.Answer(frame[:n]); answer != nil {
			a.send(answer)
		} else if packet, ok := a.responder.Packet(frame[:n]); ok {
			a.local.Receive(append([]byte(nil), packet...))
		}
	}
}

// reopen opens the port again after trouble with the device, which may be gone for a while.
func (a *answerer) reopen() {
	if sleep(a.s.ctx, longPause) != nil {
		return
	}
	port, err := tap.Listen(a.tap.device(), a.tap.filter())
	if err != nil {
		a.s.log.Debug("a tap device cannot be listened to", "device", a.tap.Device, "error", err)
		return
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.s.ctx.Err() != nil {
		_ = port.Close()
		return
	}
	_ = a.port.Close()
	a.port = port
}

// advertise tells the guest of its router from time to time.
func (a *answerer) advertise() {
	for {
		a.send(a.responder.Advertise())
		if sleep(a.s.ctx, autoconf.AdvertiseEvery) != nil {
			return
		}
	}
}

// seekEvery is how often a gateway that has not answered is asked for again.
const seekEvery = 5 * time.Second

// seek finds out the MAC of the IPv6 gateway, where the guest must be told it, and whether it has become another.
func (a *answerer) seek() {
	ctx := a.s.ctx
	for ctx.Err() == nil {
		uplink, err := tap.Neighbours(a.tap.device())
		if err != nil {
			a.s.log.Debug("the IPv6 gateway cannot be asked for", "error", err)
			if sleep(ctx, autoconf.AdvertiseEvery) != nil {
				return
			}
			continue
		}
		question := a.responder.Seek(uplink.MAC())
		if question == nil {
			_ = uplink.Close()
			return
		}
		a.ask(ctx, uplink, question)
		_ = sleep(ctx, seekEvery) // a bridge that is down refuses every question
	}
}

// ask asks until the uplink fails or the run ends.
func (a *answerer) ask(ctx context.Context, uplink *tap.Uplink, question []byte) {
	defer context.AfterFunc(ctx, func() { _ = uplink.Close() })()
	known := make(chan struct{}, 1)
	ended := make(chan struct{})
	a.s.working.Go(func() {
		defer close(ended)
		frame := make([]byte, maxFrame)
		for {
			n, err := uplink.Read(frame)
			if err != nil {
				return
			}
			if a.responder.Learn(frame[:n]) {
				a.send(a.responder.Advertise())
			}
			select {
			case known <- struct{}{}:
			default:
			}
		}
	})
	defer func() { _ = uplink.Close() }()
	for {
		if _, err := uplink.Write(question); err != nil {
			return
		}
		again := time.After(seekEvery)
		for waiting := true; waiting; {
			select {
			case <-known:
				again = time.After(autoconf.AdvertiseEvery)
			case <-again:
				waiting = false
			case <-ended:
				return
			case <-ctx.Done():
				return
			}
		}
	}
}
