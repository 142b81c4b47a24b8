//go:build linux

package daemon_test

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vmseed/vmseed/daemon"
	"github.com/vmseed/vmseed/daemon/daemontest"
	"github.com/vmseed/vmseed/internal/supervisor/supervisortest"
)

// fill keeps this process from writing to any file beyond its first two pages, as a full disk does, until room is called.
func fill(t *testing.T) (room func()) {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	set := func(l syscall.Rlimit) {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &l); err != nil {
			t.Error(err)
		}
	}
	set(syscall.Rlimit{Cur: 2 * uint64(os.Getpagesize()), Max: limit.Max})
	room = func() { set(limit) }
	t.Cleanup(room)
	return room
}

// TestFullDisk lets VMs end and boot while nothing can be written: the daemon says that it is not well, and takes in what has
// happened as soon as there is room.
func TestFullDisk(t *testing.T) {
	const own = "VMSEED_TEST_FULL_DISK"
	if os.Getenv(own) == "" {
		// In a process of its own: go test has a file open in this one.
		cmd := exec.Command(os.Args[0], "-test.run=^TestFullDisk$", "-test.v")
		cmd.Env = append(os.Environ(), own+"=1")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestFullDisk") {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	o := daemontest.Options(t.TempDir())
	o.BootTimeout = 3 * time.Second
	d := daemontest.Open(t, o)
	d.SetRetry(50 * time.Millisecond)
	ends, boots := addGuest(t, d, "ends", supervisortest.Good), addGuest(t, d, "boots", supervisortest.Held)
	start(t, d, ends.ID, daemon.StartOptions{})
	daemontest.WaitStatus(t, d, ends.ID, daemon.Up)
	start(t, d, boots.ID, daemon.StartOptions{})
	before, err := client(t, o, ends).State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	room := fill(t)
	if err := syscall.Kill(before.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(daemontest.Limit); d.Healthy(t.Context()) == nil; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the daemon is well although nothing can be written")
		}
	}
	if _, err := d.Add(t.Context(), daemon.Machine{Documents: daemontest.Definition("new", "", "")}); err == nil {
		t.Error("a VM was added that cannot be stored")
	}
	// That nothing comes of it is to be seen when the time is over, and not before.
	time.Sleep(time.Until(before.Started.Add(o.BootTimeout + time.Second)))
	if m, err := d.Get(boots.ID); err != nil || m.Status != daemon.PoweringUp {
		t.Errorf("%s, %v", m.Status, err)
	}
	room()
	if m := daemontest.WaitStatus(t, d, ends.ID, daemon.Down); m.Reason == "" || m.Ended.IsZero() {
		t.Errorf("%+v", m)
	}
	daemontest.WaitStatus(t, d, boots.ID, daemon.Up)
	if err := d.Healthy(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := d.FindByName("", "new"); err == nil {
		t.Error("a VM is there that could not be stored")
	}
}
