package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/vmseed/vmseed/internal/atomicfile"
	"github.com/vmseed/vmseed/report"
)

// This file is the channel on which the guest's systemd says how its boot goes: a virtio socket, whose address it gets as a
// credential. It needs nothing in the seed, and a host with vhost-vsock. A virtio-serial port is no address for systemd.

// notifyFile holds the OEM string with the address for the guest.
const notifyFile = "notify.smbios"

// notifyTime is how long a message may take. It comes at once or not at all.
const notifyTime = 30 * time.Second

// notifyCalls is how many connections a guest may have at once.
const notifyCalls = 16

// errNoVsock means that this host has no virtio sockets.
var errNoVsock = errors.New("this host has no vhost-vsock")

// caller is a connection to a listener of virtio sockets.
type caller struct {
	io.ReadCloser
	// cid and port are the address of the other end.
	cid, port uint32
	deadline  func(time.Time) error
}

// notifyArgs returns the arguments that give QEMU the device and the guest the address, and begins to listen. Without virtio
// sockets on the host there are none: the channel is one more, and no VM is kept from starting for it.
func (s *supervisor) notifyArgs() []string {
	if !s.plan.Notify {
		return nil
	}
	s.mutex.Lock()
	cid := s.state.CID
	s.mutex.Unlock()
	cid, err := claimCID(cid, s.plan.UUID)
	if err == nil {
		err = s.listenNotify(cid)
	}
	if err == nil {
		// The port is the number of the guest as well: both belong to one VM of this host.
		text := fmt.Sprintf("io.systemd.credential:vmm.notify_socket=vsock-stream:%d:%d", hostCID, cid)
		err = atomicfile.WriteBytes(filepath.Join(s.dir, notifyFile), []byte(text))
	}
	if err != nil {
		s.log.Debug("the guest's systemd has no channel to report on", "error", err)
		return nil
	}
	s.update(func(st *State) { st.CID = cid })
	return []string{"-device", fmt.Sprintf(`{"driver":"vhost-vsock-pci","guest-cid":%d,"id":"vsock"}`, cid), "-smbios", "type=11,path=" + notifyFile}
}

// listenNotify takes the messages of a guest until the run ends.
func (s *supervisor) listenNotify(cid uint32) error {
	if s.notified == cid {
		return nil
	}
	calls, err := listenVsock(s.ctx, cid)
	if err != nil {
		return err
	}
	s.notified = cid
	manager := report.NewManager(s.name(), func() time.Time { return time.Now().UTC() }, s.hear)
	messages := make(chan []byte)
	busy := make(chan struct{}, notifyCalls)
	s.working.Go(func() {
		for call := range calls {
			busy <- struct{}{}
			s.working.Go(func() {
				defer func() { <-busy }()
				defer context.AfterFunc(s.ctx, func() { _ = call.Close() })() // else a guest that says nothing holds the end up
				text, err := readNotification(call, cid)
				if err != nil {
					s.log.Debug("reading a message of the guest's systemd", "error", err)
					return
				}
				select {
				case messages <- text:
				case <-s.ctx.Done():
				}
			})
		}
	})
	s.working.Go(func() {
		for {
			select {
			case text := <-messages:
				s.sign()
				manager.Take(text)
			case <-s.ctx.Done():
				return
			}
		}
	})
	return nil
}

// readNotification reads the one message of a connection. Others than the guest's administrator are not listened to: systemd
// speaks from a port below 1024 for that reason (sd_notify(3)).
func readNotification(call caller, cid uint32) ([]byte, error) {
	defer call.Close()
	if call.cid != cid || call.port >= 1024 {
		return nil, fmt.Errorf("the message is from port %d of %d, which is not the systemd of the guest %d", call.port, call.cid, cid)
	}
	if err := call.deadline(time.Now().Add(notifyTime)); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(call, report.MaxNotification+1))
	if err == nil && len(text) > report.MaxNotification {
		err = errors.New("the message has no end")
	}
	return text, err
}
