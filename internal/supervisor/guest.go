package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/vmseed/vmseed/internal/tap"
)

// DialGuest connects to a TCP port of the guest, over the network that the supervisor gives it, or to the address that it
// has at a tap device. The connection has a method CloseWrite. The error wraps ErrUnreachable when the guest does not answer there.
func (c *Client) DialGuest(ctx context.Context, port uint16) (net.Conn, error) {
	conn, err := c.stream(ctx, pathDial+"?port="+strconv.Itoa(int(port)), dialProtocol)
	var no *refusal
	if errors.As(err, &no) && no.code == http.StatusBadGateway {
		return nil, fmt.Errorf("%w at port %d: %s", ErrUnreachable, port, no.text)
	}
	return conn, err
}

// dialTime is how long the guest may take to answer a connection.
const dialTime = 20 * time.Second

// serveDial turns the connection into one to a port of the guest.
func (s *supervisor) serveDial(w http.ResponseWriter, r *http.Request) {
	port, err := strconv.ParseUint(r.URL.Query().Get("port"), 10, 16)
	if err != nil || port == 0 {
		http.Error(w, "this is no port", http.StatusBadRequest)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), dialTime)
	defer cancel()
	inside, err := s.dialGuest(ctx, uint16(port))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	if outside := hijack(w, r, dialProtocol); outside != nil {
		s.join(outside, inside)
		return
	}
	_ = inside.Close()
}

// dialGuest connects to the guest by the first of its networks that this process reaches it by: the one that carries
// SSH, when there is one.
func (s *supervisor) dialGuest(ctx context.Context, port uint16) (net.Conn, error) {
	select {
	case <-s.ready:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s.plan.SSH.Guest.IsValid() {
		return s.dialTap(ctx, port)
	}
	links, nic := s.networks(), max(s.plan.SSH.NIC, 0)
	switch {
	case nic >= len(s.plan.NICs):
		return nil, errors.New("it has no network that leads from the host to it")
	case nic >= len(links):
		return nil, errors.New("its network is not there yet")
	}
	return links[nic].Dial(ctx, port)
}

// join copies both ways until both sides have ended, or the VM has.
func (s *supervisor) join(a, b net.Conn) {
	closeBoth := func() {
		_ = a.Close()
		_ = b.Close()
	}
	defer context.AfterFunc(s.ctx, closeBoth)()
	defer closeBoth()
	var both sync.WaitGroup
	half := func(to, from net.Conn) {
		if _, err := io.Copy(to, from); err != nil || closeWrite(to) != nil {
			closeBoth()
		}
	}
	both.Go(func() { half(a, b) })
	both.Go(func() { half(b, a) })
	both.Wait()
}

// closeWrite ends one direction of a connection.
func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// Usage is what a VM uses. What is not known is 0.
type Usage struct {
	// CPUTime is that of the QEMU process since it started: of the guest's processors and of their emulation.
	CPUTime time.Duration `json:"cpuTime,omitempty"`
	// MemoryBytes is the memory of the host that the QEMU process occupies.
	MemoryBytes int64 `json:"memoryBytes,omitempty"`
	// BalloonBytes is the memory that the guest has, of a guest with a balloon.
	BalloonBytes int64 `json:"balloonBytes,omitempty"`
	// DiskReadBytes and DiskWriteBytes are what the guest has read from its disks and written to them since QEMU started.
	DiskReadBytes  int64 `json:"diskReadBytes,omitempty"`
	DiskWriteBytes int64 `json:"diskWriteBytes,omitempty"`
	// NetworkReceivedBytes and NetworkSentBytes are what the guest got and sent by the networks that its supervisor gives it,
	// since that supervisor started, and by the tap devices of the host, since those were made.
	NetworkReceivedBytes int64 `json:"networkReceivedBytes,omitempty"`
	NetworkSentBytes     int64 `json:"networkSentBytes,omitempty"`
}

// Usage returns what the VM uses.
func (c *Client) Usage(ctx context.Context) (Usage, error) {
	var u Usage
	answer, err := c.request(ctx, http.MethodGet, pathUsage, nil)
	if err != nil {
		return u, err
	}
	defer answer.Body.Close()
	err = json.NewDecoder(answer.Body).Decode(&u)
	return u, err
}

// serveUsage counts what the VM uses.
func (s *supervisor) serveUsage(w http.ResponseWriter, r *http.Request) {
	select {
	case <-s.ready:
	case <-r.Context().Done():
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), quitTime)
	defer cancel()
	var u Usage
	for _, pid := range s.processes() {
		cpu, memory := processUsage(pid)
		u.CPUTime += cpu
		u.MemoryBytes += memory
	}
	for _, n := range s.networks() {
		received, sent := n.Traffic()
		u.NetworkReceivedBytes += received
		u.NetworkSentBytes += sent
	}
	for _, t := range s.plan.Taps {
		if received, sent, err := tap.Traffic(t.device()); err == nil {
			u.NetworkReceivedBytes += received
			u.NetworkSentBytes += sent
		}
	}
	if m := s.qemu(); m != nil {
		var balloon struct {
			Actual int64 `json:"actual"`
		}
		if m.Execute(ctx, "query-balloon", nil, &balloon) == nil { // else it has none
			u.BalloonBytes = balloon.Actual
		}
		var disks []struct {
			Stats struct {
				Read    int64 `json:"rd_bytes"`
				Written int64 `json:"wr_bytes"`
			} `json:"stats"`
		}
		if err := m.Execute(ctx, "query-blockstats", nil, &disks); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		for _, d := range disks {
			u.DiskReadBytes += d.Stats.Read
			u.DiskWriteBytes += d.Stats.Written
		}
	}
	answer(w, u)
}
