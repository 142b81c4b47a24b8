package main

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

// peakLimit is what the service may hold of a fleet of ten thousand, in MiB.
const peakLimit = 512

func TestMain(m *testing.M) {
	ownServer()
	os.Exit(m.Run())
}

// start starts a server that ends with the test.
func start(t *testing.T, mode string, machines int) *process {
	t.Helper()
	p, err := startOwn(mode, machines)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.stop)
	return p
}

// files is how many connections a process here can have, with some files left for the rest.
func files(t *testing.T) int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	return int(min(limit.Max, 1<<20)) - 100
}

// TestFleet boots a fleet: every machine must get its own bytes, and the service must not take more memory than it may.
// How long it takes is printed, not judged: that depends on the machine.
func TestFleet(t *testing.T) {
	machines := 10_000
	if testing.Short() {
		machines = 1000
	}
	p := start(t, modeOurs, machines)
	for _, concurrency := range []int{machines / 10, machines} {
		if room := files(t); room < concurrency {
			t.Logf("%d machines at one time instead of %d, because a process may not open more files here", room, concurrency)
			concurrency = room
		}
		before := p.peak()
		c := boot(p.address, machines, concurrency)
		peak := p.peak()
		t.Logf("%s; peak memory of the service %d MiB, %d MiB before", c, peak, before)
		if c.failed > 0 || c.wrong > 0 {
			t.Errorf("%d machines failed, %d got wrong bytes; %v", c.failed, c.wrong, c.reason)
		}
		if peak > peakLimit {
			t.Errorf("peak memory %d MiB, more than %d MiB", peak, peakLimit)
		}
	}
}

// TestCrossed checks that the harness finds out a service that confuses machines.
func TestCrossed(t *testing.T) {
	p := start(t, modeCrossed, 50)
	if c := boot(p.address, 50, 10); c.wrong != 50 || c.failed != 0 {
		t.Errorf("every machine gets its neighbour's bytes, and the harness says: %s", c)
	}
}

// TestForeign asks with another machine's token, with none, and from an address that is no machine's.
func TestForeign(t *testing.T) {
	p := start(t, modeOurs, 2)
	ask := func(from int, request []byte) (int, string) {
		t.Helper()
		c, err := dial(p.address, address(from))
		if err != nil {
			t.Fatal(err)
		}
		defer c.close()
		status, body, err := c.do(request)
		if err != nil {
			t.Fatal(err)
		}
		return status, string(body)
	}
	_, own := ask(0, tokenRequest())
	_, other := ask(1, tokenRequest())
	for name, tt := range map[string]struct {
		from, want int
		token      string
	}{
		"own token":         {0, 200, own},
		"neighbour's token": {0, 401, other},
		"no token":          {0, 401, ""},
		"nobody's address":  {2, 404, own},
	} {
		status, body := ask(tt.from, read("/latest/user-data", tt.token))
		if status != tt.want || strings.Contains(body, "of the fleet") != (tt.want == 200) {
			t.Errorf("%s: status %d, want %d; %d bytes", name, status, tt.want, len(body))
		}
	}
}
