package supervisor

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/vmseed/vmseed/internal/vmnet"
)

// A guest that is not answered at one of its tap devices does not start, by no attempt.
func TestStartTaps(t *testing.T) {
	s := &supervisor{plan: Plan{Taps: []Tap{{Name: "virtlet-eth0", MAC: "none", Device: "tap0"}}}}
	for range 2 {
		if err := s.startTaps(); err == nil || !strings.Contains(err.Error(), "virtlet-eth0") {
			t.Errorf("got %v", err)
		}
	}
}

// Clients ask for the guest's networks while they come up.
func TestAskedEarly(t *testing.T) {
	s := &supervisor{dir: t.TempDir(), log: slog.New(slog.NewTextHandler(io.Discard, nil)), ready: make(chan struct{}),
		plan: Plan{Program: "none", SSH: SSH{None: true}, NICs: make([]NIC, 3)}}
	s.ctx, s.cancel = context.WithCancel(t.Context())
	defer s.cancel()
	for i := range s.plan.NICs {
		a := func(last byte) netip.Addr { return netip.AddrFrom4([4]byte{192, 168, byte(i), last}) }
		s.plan.NICs[i].Network = vmnet.Config{MAC: "52:54:00:00:00:01", Subnet: netip.PrefixFrom(a(0), 24), Gateway: a(1), Guest: a(2)}
	}
	close(s.ready) // as soon as a client has asked for the start
	if _, err := s.dialGuest(t.Context(), 22); err == nil || !strings.Contains(err.Error(), "not there yet") {
		t.Errorf("before the start: %v", err)
	}
	var clients sync.WaitGroup
	for range 20 {
		clients.Go(func() {
			w := httptest.NewRecorder()
			s.serveUsage(w, httptest.NewRequest(http.MethodGet, pathUsage, nil))
			if w.Code != http.StatusOK {
				t.Errorf("%d: %s", w.Code, w.Body)
			}
		})
	}
	if err := s.startNetworks(true); err != nil {
		t.Fatal(err)
	}
	clients.Wait()
	if err := s.startNetworks(true); err != nil || len(s.networks()) != 3 {
		t.Errorf("%d networks, %v", len(s.networks()), err)
	}
	for _, n := range s.networks() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	}
}
