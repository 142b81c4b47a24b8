//go:build linux

package daemon_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vmseed/vmseed/daemon"
	"github.com/vmseed/vmseed/daemon/daemontest"
	"github.com/vmseed/vmseed/report"
)

// TestGuests has the VMs that do not run here served elsewhere, and takes in what their guests report.
func TestGuests(t *testing.T) {
	d := daemontest.Open(t, daemontest.Options(t.TempDir()))
	changed := make(chan struct{}, 100)
	ctx, stop := context.WithCancel(t.Context())
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		d.GuestsChanged(ctx, func() { changed <- struct{}{} })
	}()
	web := add(t, d, daemon.Machine{Documents: plain("web", "")})
	names := func() string {
		machines, l := d.Guests(t.Context())
		if l.HasErrors() {
			t.Error(l)
		}
		var out []string
		for _, m := range machines {
			if m.Identity.UUID == "" || m.Network.NICs[0].MAC == "" {
				t.Errorf("%s is not placed", m.Name)
			}
			out = append(out, m.Namespace+"/"+m.Name)
		}
		return strings.Join(out, " ")
	}
	if got := names(); got != "default/web" {
		t.Errorf("there are %s", got)
	}
	// The watcher may have come after the first VM, so it is another that it must see.
	for seen := false; !seen; {
		add(t, d, daemon.Machine{Name: "x" + time.Now().Format("150405.000000000"), Documents: plain("x", "")})
		select {
		case <-changed:
			seen = true
		case <-time.After(10 * time.Millisecond):
		}
	}
	events := func(since uint64) (out []daemon.Event) {
		for _, e := range d.Events(since) {
			if e.Object == web.ID && e.Kind == daemon.MachineReport {
				out = append(out, e)
			}
		}
		return out
	}
	say := func(machine string, stage report.Stage, result *report.Result) error {
		return d.Hear(report.Event{Machine: machine, Source: report.HTTP, Stage: stage, Time: time.Now(), Result: result})
	}
	for _, stage := range []report.Stage{report.Init, report.Init, report.Config} {
		if err := say("default/web", stage, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := say("default/web", report.Done, &report.Result{FirstBoot: true, HostKeys: []string{"ssh-ed25519 AAAA"}}); err != nil {
		t.Fatal(err)
	}
	m, err := d.Get(web.ID)
	if err != nil || m.Status != daemon.Down || !m.Initialized || m.FirstBoot == nil || m.FirstBoot.Result.HostKeys[0] != "ssh-ed25519 AAAA" {
		t.Errorf("%+v, %v", m, err)
	}
	if got := events(0); len(got) != 3 || got[2].Report.Stage != report.Done {
		t.Errorf("%+v", got)
	}
	if err := say("default/nobody", report.Init, nil); err == nil {
		t.Error("a VM that is not there reports")
	}
	// A VM that runs here is served here, and what others say in its name does not count.
	if err := d.Start(t.Context(), web.ID, daemon.StartOptions{}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(names(), "default/web ") {
		t.Errorf("a VM that runs is among %s", names())
	}
	// Its own guest reports meanwhile, and does not fail.
	err = say("default/web", report.Failed, nil)
	if got := events(0); err != nil || slices.ContainsFunc(got, func(e daemon.Event) bool { return e.Report.Stage == report.Failed }) {
		t.Errorf("%+v, %v", got, err)
	}
	stop()
	<-watching
}
