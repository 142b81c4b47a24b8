package supervisor

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/vmseed/vmseed/report"
)

// TestReadNotification: only the systemd of the VM's own guest is listened to, and no message has no end.
func TestReadNotification(t *testing.T) {
	long := strings.Repeat("x", report.MaxNotification+1)
	for name, c := range map[string]struct {
		cid, port uint32
		text      string
		ok        bool
	}{
		"systemd":             {7, 1023, "READY=1", true},
		"another guest":       {8, 1023, "READY=1", false},
		"the host":            {2, 1023, "READY=1", false},
		"a user of the guest": {7, 1024, "READY=1", false},
		"long":                {7, 100, long[1:], true},
		"too long":            {7, 100, long, false},
	} {
		text, err := readNotification(caller{ReadCloser: io.NopCloser(strings.NewReader(c.text)), cid: c.cid, port: c.port,
			deadline: func(time.Time) error { return nil }}, 7)
		if (err == nil) != c.ok || c.ok && string(text) != c.text {
			t.Errorf("%s: %d bytes, %v", name, len(text), err)
		}
	}
}

// say connects to a port of this machine itself, from a port of its own, and sends a text.
func say(from, to uint32, text string) error {
	fd, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.SetsockoptTimeval(fd, unix.AF_VSOCK, unix.SO_VM_SOCKETS_CONNECT_TIMEOUT_NEW, &unix.Timeval{Sec: 2}); err != nil {
		return err
	}
	if err := unix.Bind(fd, &unix.SockaddrVM{CID: unix.VMADDR_CID_ANY, Port: from}); err != nil {
		return err
	}
	if err := unix.Connect(fd, &unix.SockaddrVM{CID: unix.VMADDR_CID_LOCAL, Port: to}); err != nil {
		return err
	}
	_, err = unix.Write(fd, []byte(text))
	return err
}

// systemdRelease is the number of a program of systemd's.
func systemdRelease(program string) int {
	var n int
	out, err := exec.Command(program, "--version").Output()
	if err == nil {
		_, err = fmt.Sscanf(string(out), "systemd %d", &n)
	}
	if err != nil {
		return 0
	}
	return n
}

// TestVsock listens on a real virtio socket, to which systemd's own program speaks. The kernel needs its loopback transport;
// the e2e tests run this in a guest that has it.
func TestVsock(t *testing.T) {
	const port = 70007
	ctx, cancel := context.WithCancel(t.Context())
	calls, err := listenVsock(ctx, port)
	if err != nil {
		t.Skipf("this kernel has no virtio sockets: %v", err)
	}
	if err := say(unix.VMADDR_PORT_ANY, port, "probe"); err != nil {
		t.Skipf("this kernel has no loopback for virtio sockets: %v", err)
	}
	(<-calls).Close()

	next := func() caller {
		t.Helper()
		select {
		case call := <-calls:
			return call
		case <-time.After(5 * time.Minute):
			t.Fatal("nobody calls")
			return caller{}
		}
	}
	heard := func(want string) {
		t.Helper()
		if text, err := readNotification(next(), unix.VMADDR_CID_LOCAL); err != nil || !bytes.Contains(text, []byte(want)) {
			t.Errorf("heard %q, %v", text, err)
		}
	}
	go func() { _ = say(700, port, "READY=1\nSTATUS=up") }()
	heard("READY=1")
	go func() { _ = say(2000, port, "READY=1") }()
	if text, err := readNotification(next(), unix.VMADDR_CID_LOCAL); err == nil {
		t.Errorf("a user's port is listened to: %q", text)
	}

	// Before 254 it knows other sockets only.
	if notify, err := exec.LookPath("systemd-notify"); err == nil && os.Getuid() == 0 && systemdRelease(notify) >= 254 {
		cmd := exec.Command(notify, "--no-block", "--ready", "--status=all is well")
		cmd.Env = append(os.Environ(), fmt.Sprintf("NOTIFY_SOCKET=vsock-stream:%d:%d", unix.VMADDR_CID_LOCAL, port))
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		call := next()
		from := call.port
		text, err := readNotification(call, unix.VMADDR_CID_LOCAL)
		if want := "READY=1\nSTATUS=all is well"; err != nil || !slices.Contains([]string{want, want + "\n"}, string(text)) {
			t.Errorf("systemd-notify says %q from port %d, %v", text, from, err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("systemd-notify: %v\n%s", err, &out)
		}
		t.Log("systemd-notify was heard")
	}
	cancel()
	for range calls { // ends because the listener does
	}
}
