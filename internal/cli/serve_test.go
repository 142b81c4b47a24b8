package cli

import (
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestNotify tells systemd over its socket, and nobody where there is none.
func TestNotify(t *testing.T) {
	dir, err := os.MkdirTemp("", "n") // the address of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "s")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Skip("this system has no Unix sockets for datagrams: ", err)
	}
	defer conn.Close()
	t.Setenv("NOTIFY_SOCKET", name)
	notify("READY=1")
	if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	buffer := make([]byte, 64)
	n, err := conn.Read(buffer)
	if err != nil || string(buffer[:n]) != "READY=1" {
		t.Errorf("systemd hears %q, %v", buffer[:n], err)
	}
	for _, gone := range []string{"", filepath.Join(dir, "gone")} {
		t.Setenv("NOTIFY_SOCKET", gone)
		notify("READY=1") // must neither fail nor wait
	}
}

// TestStorageDomains reads the directories of --storage-domain.
func TestStorageDomains(t *testing.T) {
	f := serveFlags{listen: "127.0.0.1:0", logFormat: "text", bootTimeout: time.Minute, domains: []string{"fast=/mnt/nvme", "slow=x=y"}}
	f.options.Accel, f.options.Net = "auto", "stack"
	t.Chdir(t.TempDir())
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.check()
	if err != nil || len(got) != 2 || got["fast"] != "/mnt/nvme" || got["slow"] != filepath.Join(here, "x=y") {
		t.Errorf("%v, %v", got, err)
	}
	for _, domains := range [][]string{{"fast"}, {"=x"}, {"fast="}, {"a=x", "a=y"}} {
		f.domains = domains
		if _, err := f.check(); statusOf(err) != exitUsage || err == nil {
			t.Errorf("%v: %v", domains, err)
		}
	}
}
