package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
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
		{&client.Error{Request: "1", Status: http.StatusNotFound}, exitUsage},
		{&client.Error{Request: "1", Status: http.StatusConflict}, exitUsage},
		{&client.Error{Request: "1", Status: http.StatusUnauthorized}, exitEnvironment},
		{&client.Error{Request: "1", Status: http.StatusTooManyRequests}, exitEnvironment},
		{&client.Error{Request: "1", Status: http.StatusInternalServerError}, exitEnvironment},
		{&client.Error{Request: "1", Status: http.StatusBadRequest}, exitInput},
		{&client.Error{Request: "1", Status: http.StatusUnprocessableEntity, Diagnostics: []client.Diagnostic{{Severity: "error"}}}, exitInput},
		{&client.Error{Status: http.StatusBadRequest, Detail: "This port speaks HTTPS"}, exitEnvironment},
		{&client.Error{Status: http.StatusNotFound}, exitEnvironment},
		{errors.New("no route to host"), exitEnvironment},
		{context.Canceled, exitEnvironment},
	} {
		if got := statusOf(hostTrouble(there{nil, c}.trouble(tt.err))); got != tt.status {
			t.Errorf("%v: exit status %d, want %d", tt.err, got, tt.status)
		}
	}
}

// TestUnreachableDaemons says what to do about daemons that cannot be asked, and ends with the status for that.
func TestUnreachableDaemons(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	secured := httptest.NewUnstartedServer(http.NotFoundHandler())
	secured.Config.ErrorLog = log.New(io.Discard, "", 0)
	secured.StartTLS()
	defer secured.Close()
	gone := httptest.NewServer(nil)
	gone.Close()
	for name, tt := range map[string]struct {
		url  string
		want string
	}{
		"another program": {plain.URL, "404 page not found"},
		"another one's":   {secured.URL, "--ca or $VMSEED_CA"},
		"nobody":          {gone.URL, "is vmseed serve running?"},
	} {
		c, err := client.New(client.Options{URL: tt.url, Token: secret.New("t")})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := (there{&app{}, c}).find(t.Context(), "web"); statusOf(err) != exitEnvironment || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: exit status %d, %v", name, statusOf(err), err)
		}
	}
}

// TestReceived makes of what a daemon sends the seed that it rendered, and refuses what is not whole.
func TestReceived(t *testing.T) {
	file := client.File{Path: "user-data", Mode: "0600", Content: secret.New("x")}
	in := client.Seed{Namespace: "default", Name: "web", DataSource: "nocloud", InstanceID: "i", Hostname: "h", UUID: "u", KernelArgs: []string{"a"},
		Volumes: []client.Volume{{Label: "cidata", Files: []client.File{file}}, {Name: "cd", Image: "/cd.iso"}},
		Trees: []client.Tree{{Name: "ec2", Roots: []string{"latest", "1.0"}, Tokens: "required", HopLimit: 2, Files: []client.File{
			{Path: "user-data", Content: secret.New("y"), ContentType: "text/plain", Sealable: true}}}},
		Seal: true, Credentials: []client.File{{Path: "c", Content: secret.New("w")}},
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
	tree := seed.Tree{Name: "ec2", Roots: []string{"latest", "1.0"}, Tokens: seed.TokensRequired, HopLimit: 2,
		Blobs: []seed.Blob{{Path: "user-data", ContentType: "text/plain", Content: got.Trees[0].Blobs[0].Content, Sealable: true}}}
	if !reflect.DeepEqual(got.Trees[0], tree) || !got.Seal || got.Firmware.Credentials[0].Name != "c" || got.Firmware.Credentials[0].Content.Reveal() != "w" {
		t.Errorf("tree %+v, seal %v, credentials %v", got.Trees[0], got.Seal, got.Firmware.Credentials)
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

// daemonOf answers for one machine and its events, as a daemon does.
func daemonOf(t *testing.T, m client.Machine, events ...client.Event) remoteVM {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/machines/{id}", func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(m) })
	mux.HandleFunc("GET /api/v1/events", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		since, _ := strconv.ParseUint(r.URL.Query().Get("since"), 10, 64)
		for _, e := range events {
			if text, err := json.Marshal(e); err == nil && e.ID > since {
				fmt.Fprintf(w, "id: %d\ndata: %s\n\n", e.ID, text)
			}
		}
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	c, err := client.New(client.Options{URL: srv.URL, Token: secret.New("t")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return remoteVM{there{&app{}, c}, m.ID, supervisor.Plan{Name: m.Name}}
}

// TestWaitThere waits for the guest's word on the run that goes on, not on an earlier one.
func TestWaitThere(t *testing.T) {
	first, second := time.Unix(1000, 0).UTC(), time.Unix(2000, 0).UTC()
	word := func(at time.Time, host string) *report.Event {
		return &report.Event{Stage: report.Done, Time: at, Result: &report.Result{Hostname: host}}
	}
	earlier := &client.FirstBoot{Event: *word(first.Add(time.Minute), "first")}
	said := func(id uint64, at time.Time, host string) client.Event {
		return client.Event{ID: id, Time: at.Add(time.Minute), Kind: "machine.report", Report: word(at.Add(time.Minute), host)}
	}
	down := client.Event{ID: 9, Time: second.Add(time.Hour), Kind: "machine.status", Status: "down", Text: "it was shut down"}
	for name, tt := range map[string]struct {
		m      client.Machine
		events []client.Event
		host   string
		err    error
	}{
		"first boot that is over": {client.Machine{Status: "up", Started: first, FirstBoot: earlier}, nil, "first", nil},
		"first boot that goes on": {client.Machine{Status: "powering_up", Started: first}, []client.Event{said(1, first, "first")}, "first", nil},
		"second boot":             {client.Machine{Status: "powering_up", Started: second, FirstBoot: earlier}, []client.Event{said(1, first, "first"), said(2, second, "second")}, "second", nil},
		"up without a word": {client.Machine{Status: "powering_up", Started: second, FirstBoot: earlier}, []client.Event{said(1, first, "first"),
			{ID: 3, Time: second.Add(time.Second), Kind: "machine.status", Status: "powering_up"},
			{ID: 4, Time: second.Add(time.Minute), Kind: "machine.status", Status: "up"}}, "first", nil},
		"ends without a word": {client.Machine{Status: "powering_up", Started: second, FirstBoot: earlier}, []client.Event{said(1, first, "first"), down}, "", supervisor.ErrEnded},
		"does not run":        {client.Machine{Status: "down", Reason: "why", Started: second}, nil, "", supervisor.ErrEnded},
	} {
		t.Run(name, func(t *testing.T) {
			tt.m.ID = "1"
			got, err := daemonOf(t, tt.m, tt.events...).WaitFirstBoot(t.Context(), nil)
			if !errors.Is(err, tt.err) || tt.err != nil && !strings.Contains(err.Error(), "(") {
				t.Fatalf("got %v, want %v", err, tt.err)
			}
			if err == nil && got.Result.Hostname != tt.host {
				t.Errorf("the word of %s, want that of %s", got.Result.Hostname, tt.host)
			}
		})
	}
}

// TestPowerThere knows before it asks whether a VM runs, so that the commands end as they do here.
func TestPowerThere(t *testing.T) {
	ctx := t.Context()
	running, down := daemonOf(t, client.Machine{ID: "1", Status: "up"}), daemonOf(t, client.Machine{ID: "1", Status: "down"})
	if err := running.Start(ctx, true); !errors.Is(err, supervisor.ErrRunning) {
		t.Errorf("start of one that runs: %v", err)
	}
	_, console := down.Console(ctx)
	for name, err := range map[string]error{"stop": down.Stop(ctx, time.Second), "force": down.Stop(ctx, 0), "reset": down.Reset(ctx), "console": console} {
		if !errors.Is(err, supervisor.ErrNotRunning) {
			t.Errorf("%s of one that does not run: %v", name, err)
		}
	}
	if err := running.log(ctx, io.Discard, false, true); statusOf(err) != exitUsage {
		t.Errorf("QEMU's own words are asked for: %v", err)
	}
}
