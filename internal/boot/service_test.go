package boot

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/delivery/metadata"
	"github.com/vmseed/vmseed/internal/supervisor"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/report/intake"
	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

// blobs are all that a guest may fetch.
func blobs(t *testing.T, l *Launcher, file string) string {
	t.Helper()
	s, err := l.Engine.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, tree := range s.Trees {
		for _, b := range tree.Blobs {
			out.WriteString(b.Path + ": " + b.Content.Reveal() + "\n")
		}
	}
	return out.String()
}

// TestServedVM makes a VM whose guest fetches its seed, and prepares its later starts. The guest is told one URL for its
// reports over all of them, and no secret any more when its first boot is over.
func TestServedVM(t *testing.T) {
	l := shelved(t, shelf{})
	ctx := t.Context()
	m := machine.Machine{Namespace: "default", Name: "vm", DataSource: "openstack", MetadataOptions: machine.MetadataOptions{Seal: true},
		UserData: machine.UserData{Layers: []machine.Layer{{Data: secret.New("#cloud-config\nruncmd: [canary]\n")}}}}
	m, problems := l.Engine.Place(m, machine.Facts{})
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	dir := l.Dir(m, Options{})
	url := ""
	for i, file := range []string{"seed.metadata", "seed-2/seed.metadata", "seed-3/seed.metadata"} {
		prepare, o := l.Again, Options{}
		if i == 0 {
			prepare = l.New
		}
		o.VM.Booted = i == 2
		p, list, err := prepare(ctx, m, o)
		if err != nil || list.HasErrors() {
			t.Fatal(err, list)
		}
		if _, err := p.Start(ctx); err != nil {
			t.Fatal(err)
		}
		if got := seeds(t, dir); got != strings.Split(file, "/")[0] {
			t.Errorf("start %d: the VM has %s", i, got)
		}
		key, err := supervisor.ReportKey(dir)
		if err != nil {
			t.Fatal(err)
		}
		if want := metadata.DefaultBase + intake.Path(key, "default/vm", m.Identity.Instance()).Reveal(); url == "" {
			url = want
		} else if url != want {
			t.Errorf("start %d: the guest would report at another URL", i)
		}
		text := blobs(t, l, filepath.Join(dir, file))
		if first := i < 2; strings.Contains(text, "canary") != first || strings.Contains(text, url) != first || strings.Contains(text, "cloud-boothook") != first {
			t.Errorf("start %d: the guest may fetch %s", i, text)
		}
		if !strings.Contains(text, m.Identity.UUID) {
			t.Errorf("start %d: the guest is not told who it is: %s", i, text)
		}
	}
	plan, err := os.ReadFile(filepath.Join(dir, "plan.json"))
	if err != nil || strings.Contains(string(plan), "canary") || strings.Contains(string(plan), url) {
		t.Errorf("the plan is %s, %v", plan, err)
	}

	// A start without a seed is one without a service, but for a guest that was set up by one.
	for _, booted := range []bool{false, true} {
		o := Options{NoSeed: true}
		o.VM.Booted = booted
		p, list, err := l.Again(ctx, m, o)
		if err != nil || list.HasErrors() {
			t.Fatal(err, list)
		}
		served := ""
		for _, a := range p.VM.Attachments {
			if a.Kind == seed.Endpoint {
				served = blobs(t, l, a.Path)
			}
		}
		if strings.Contains(served, m.Identity.UUID) != booted || strings.Contains(served, "canary") {
			t.Errorf("without a seed (set up before: %t) the guest may fetch %q", booted, served)
		}
		if err := p.Discard(); err != nil {
			t.Error(err)
		}
	}
}

// TestServedSeed: what a service serves cannot be attached.
func TestServedSeed(t *testing.T) {
	l := shelved(t, shelf{})
	m, _ := l.Engine.Place(machine.Machine{Namespace: "default", Name: "vm", DataSource: "ec2"}, machine.Facts{})
	p, list, err := l.New(t.Context(), m, Options{})
	if err != nil || list.HasErrors() {
		t.Fatal(err, list)
	}
	defer p.Discard()
	for _, a := range p.VM.Attachments {
		if a.Kind != seed.Endpoint {
			continue
		}
		other := m
		other.Name = "other"
		_, _, err := l.New(t.Context(), other, Options{Seed: a.Path})
		var input *InputError
		if !errors.As(err, &input) || !strings.Contains(err.Error(), "--delivery metadata") {
			t.Errorf("%v", err)
		}
	}
}
