package cli

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/vmseed/vmseed/daemon"
	"github.com/vmseed/vmseed/daemon/client"
	"github.com/vmseed/vmseed/internal/supervisor"
	"github.com/vmseed/vmseed/report"
	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

// TestStatusesOfDaemons: whatever a daemon says of a VM is running or not, so that commands know what they may do.
func TestStatusesOfDaemons(t *testing.T) {
	for status, running := range map[daemon.Status]bool{daemon.ImageLocked: false, daemon.Down: false, daemon.WaitForLaunch: true, daemon.PoweringUp: true,
		daemon.Up: true, daemon.Paused: true, daemon.PoweringDown: true, daemon.Rebooting: true, daemon.NotResponding: true} {
		s := state(client.Machine{Status: string(status)})
		if s.Status == "" || s.Status.Alive() != running || running != status.Running() {
			t.Errorf("%s is %q for the commands", status, s.Status)
		}
		if got := describe(client.Machine{Status: string(status)}).State.Status; string(got) != string(status) {
			t.Errorf("list says %s of a VM that is %s", got, status)
		}
	}
}

// TestSSHAddress is told of guests that run.
func TestSSHAddress(t *testing.T) {
	running := supervisor.State{Status: supervisor.Running, SSHPort: 2222}
	for want, v := range map[string]vmInfo{
		"127.0.0.1:2222": {State: running},
		"127.0.0.1:2223": describe(client.Machine{Status: "up", SSHPort: 2223}),
		"-":              describe(client.Machine{Status: "up"}),
	} {
		if got := v.sshAddress(); got != want {
			t.Errorf("%+v: %s, want %s", v.State, got, want)
		}
	}
	if got := (vmInfo{State: supervisor.State{Status: supervisor.Stopped, SSHPort: 2222}}).sshAddress(); got != "-" {
		t.Errorf("a VM that has ended: %s", got)
	}
}

// TestEventsOfDaemons tells a daemon's events as those of a supervisor, and passes over what concerns no run.
func TestEventsOfDaemons(t *testing.T) {
	said := &report.Event{Stage: report.Final}
	at := time.Unix(1, 0)
	for kind, want := range map[string]supervisor.Event{
		"machine.status":  {Sequence: 7, Time: at, Status: supervisor.Running, Reason: "text"},
		"machine.report":  {Sequence: 7, Time: at, Report: said},
		"machine.note":    {Sequence: 7, Time: at, Note: "text"},
		"machine.changed": {},
		"disk.added":      {},
	} {
		if got := event(client.Event{ID: 7, Time: at, Kind: kind, Status: "up", Text: "text", Report: said}); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", kind, got, want)
		}
	}
}

// TestTroubleOfDaemons gives errors of a daemon the exit status that they have on this host.
func TestTroubleOfDaemons(t *testing.T) {
	c, err := client.New(client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		err    error
		status int
	}{
		{nil, exitDone},
		{&client.Error{Status: http.StatusNotFound}, exitUsage},
		{&client.Error{Status: http.StatusConflict}, exitUsage},
		{&client.Error{Status: http.StatusUnauthorized}, exitEnvironment},
		{&client.Error{Status: http.StatusTooManyRequests}, exitEnvironment},
		{&client.Error{Status: http.StatusInternalServerError}, exitEnvironment},
		{&client.Error{Status: http.StatusBadRequest}, exitInput},
		{&client.Error{Status: http.StatusUnprocessableEntity, Diagnostics: []client.Diagnostic{{Severity: "error"}}}, exitInput},
		{errors.New("no route to host"), exitEnvironment},
		{context.Canceled, exitEnvironment},
	} {
		if got := statusOf(hostTrouble(there{nil, c}.trouble(tt.err))); got != tt.status {
			t.Errorf("%v: exit status %d, want %d", tt.err, got, tt.status)
		}
	}
}

// TestReceived makes of what a daemon sends the seed that it rendered, and refuses what is not whole.
func TestReceived(t *testing.T) {
	file := client.File{Path: "user-data", Mode: "0600", Content: secret.New("x")}
	in := client.Seed{Namespace: "default", Name: "web", DataSource: "nocloud", InstanceID: "i", Hostname: "h", UUID: "u", KernelArgs: []string{"a"},
		Volumes:  []client.Volume{{Label: "cidata", Files: []client.File{file}}, {Name: "cd", Image: "/cd.iso"}},
		Trees:    []client.Tree{{Name: "ec2", Files: []client.File{{Path: "/latest", Content: secret.New("y")}}}},
		Firmware: []client.File{{Path: "opt/org", Content: secret.New("z")}}, SMBIOS: []string{"type 1 serial=ds=nocloud;s=x"}}
	got, err := received(in)
	if err != nil {
		t.Fatal(err)
	}
	if v := got.Volumes[0]; got.Machine.String() != "default_web" || v.Label != "cidata" || v.Files[0].Mode != 0o600 || v.Files[0].Content.Reveal() != "x" ||
		got.Volumes[1].Path != "/cd.iso" || got.Trees[0].Blobs[0].Content.Reveal() != "y" || got.Firmware.FwCfg[0].Content.Reveal() != "z" ||
		got.Firmware.SMBIOS[0] != (seed.SMBIOS{Type: 1, Field: "serial", Value: "ds=nocloud;s=x"}) || got.Identity.InstanceID != "i" || got.KernelArgs[0] != "a" {
		t.Errorf("got %+v", got)
	}
	for name, bad := range map[string]client.File{"masked": {Path: "p", Masked: true}, "cut": {Path: "p", Truncated: true}, "mode": {Path: "p", Mode: "rw"}} {
		if _, err := received(client.Seed{Volumes: []client.Volume{{Files: []client.File{bad}}}}); err == nil || !strings.Contains(err.Error(), "p") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := received(client.Seed{SMBIOS: []string{"serial"}}); err == nil {
		t.Error("a string that is none of SMBIOS is taken")
	}
}

// TestOwnCA finds the authority of this user's daemon for addresses of this host, and for no others.
func TestOwnCA(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	file := filepath.Join(state, "vmseed", "serve", "pki", "ca.pem")
	if got := ownCA("127.0.0.1:8443"); got != "" {
		t.Errorf("there is none, but %s", got)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]string{"127.0.0.1:8443": file, "https://localhost:1": file, "https://[::1]:8443": file, "https://vmhost.example.org:8443": "", "10.0.0.1": ""} {
		if got := ownCA(host); got != want {
			t.Errorf("%s: %q, want %q", host, got, want)
		}
	}
}
