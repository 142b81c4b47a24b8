package boot

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/hypervisor"
	"github.com/vmseed/vmseed/internal/supervisor"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/seed"
)

// shelf is a hypervisor that makes plans and starts nothing.
type shelf struct{ fail error }

func (shelf) Name() string                                                      { return "shelf" }
func (shelf) Expresses() machine.FieldSet                                       { return machine.HardwareFields() }
func (shelf) Open(context.Context, string) (hypervisor.Handle, error)           { return nil, supervisor.ErrNoVM }
func (s shelf) Start(context.Context, hypervisor.VM) (hypervisor.Handle, error) { return nil, s.fail }

// Prepare writes the attachments into the plan as QEMU does, some of them in JSON.
func (s shelf) Prepare(_ context.Context, vm hypervisor.VM) error {
	if s.fail != nil {
		return s.fail
	}
	var args []string
	for _, a := range vm.Attachments {
		text, err := json.Marshal(map[string]string{"filename": a.Path})
		if err != nil {
			return err
		}
		args = append(args, "-blockdev", string(text))
	}
	plan := supervisor.Plan{Namespace: vm.Machine.Namespace, Name: vm.Machine.Name, Attempts: []supervisor.Attempt{{Accel: "tcg", Args: args}}}
	return plan.Save(vm.StateDir)
}

// shelved is a launcher whose VMs are never started, below a directory with a name that arguments must quote.
func shelved(t *testing.T, s shelf) *Launcher {
	t.Helper()
	e := newEngine()
	e.Hypervisors = []hypervisor.Hypervisor{s}
	return &Launcher{Engine: e, Root: filepath.Join(t.TempDir(), `a,"b`)}
}

func placed(t *testing.T, l *Launcher, hostname string) machine.Machine {
	t.Helper()
	m, problems := l.Engine.Place(machine.Machine{Namespace: "default", Name: "vm", Identity: machine.Identity{Hostname: hostname},
		Media: []machine.Media{{Name: "more", Label: "MORE", Files: []machine.File{{Path: "x"}}}}}, machine.Facts{})
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	return m
}

// seeds are the names of the seeds in a VM's directory.
func seeds(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "seed") || strings.HasSuffix(e.Name(), ".iso") {
			out = append(out, e.Name())
		}
	}
	return strings.Join(out, " ")
}

// TestKeptVM makes a VM without starting it and prepares its starts: the old seed stays until the plan names the new one.
func TestKeptVM(t *testing.T) {
	l := shelved(t, shelf{})
	ctx, m, o := t.Context(), placed(t, l, "one"), Options{ID: "1234", Attach: []seed.Attachment{{Kind: seed.Drive, Path: "/cd.iso"}}}
	dir := filepath.Join(l.Root, "default_1234")
	p, list, err := l.New(ctx, m, o)
	if err != nil || list.HasErrors() {
		t.Fatal(err, list)
	}
	if err := p.Save(ctx); err != nil {
		t.Fatal(err)
	}
	if all, err := supervisor.List(l.Root); err != nil || !slices.Equal(all, []string{dir}) {
		t.Fatalf("the VMs are %v, %v", all, err)
	}
	if err := supervisor.Sweep(l.Root); err != nil || seeds(t, dir) != "default_vm.more.iso seed.iso" {
		t.Fatalf("%v, the VM has %s", err, seeds(t, dir))
	}
	if _, _, err := l.New(ctx, m, o); !errors.Is(err, supervisor.ErrExists) {
		t.Errorf("the same VM again: %v", err)
	}

	// A start that is given up changes nothing.
	p, _, err = l.Again(ctx, placed(t, l, "two"), o)
	if err != nil {
		t.Fatal(err)
	}
	if got := seeds(t, dir); got != "default_vm.more.iso seed-2 seed.iso" {
		t.Errorf("before the new seed is in use there are %s", got)
	}
	if err := p.Discard(); err != nil || seeds(t, dir) != "default_vm.more.iso seed.iso" {
		t.Errorf("%v, left are %s", err, seeds(t, dir))
	}

	// So does one whose maker crashed: it is swept by the next.
	if err := os.MkdirAll(filepath.Join(dir, "seed-2"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"seed-2", "seed-3", "seed-2"} {
		if p, _, err = l.Again(ctx, placed(t, l, want), o); err != nil {
			t.Fatal(err)
		}
		if err := p.Save(ctx); err != nil || seeds(t, dir) != want {
			t.Fatalf("%v, the VM has %s, want %s", err, seeds(t, dir), want)
		}
		plan, err := supervisor.LoadPlan(dir)
		if err != nil || !names(plan, "/"+want+"/") || names(plan, "/seed.iso") || !names(plan, "/cd.iso") {
			t.Errorf("%v, the plan is %+v", err, plan)
		}
		s, err := l.Engine.Open(filepath.Join(dir, want, "seed.iso"))
		if err != nil || !strings.Contains(s.Volumes[0].Files[0].Content.Reveal(), want) {
			t.Errorf("%v: the guest does not read that its host name is %s", err, want)
		}
	}
}

// TestFailedVM leaves nothing of a new VM that cannot be made, and everything of one that was there.
func TestFailedVM(t *testing.T) {
	broken := errors.New("the disk is full")
	l := shelved(t, shelf{fail: broken})
	ctx, m := t.Context(), placed(t, l, "one")
	for name, end := range map[string]func(*Prepared) error{
		"Save":  func(p *Prepared) error { return p.Save(ctx) },
		"Start": func(p *Prepared) error { _, err := p.Start(ctx); return err },
	} {
		p, _, err := l.New(ctx, m, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := end(p); !errors.Is(err, broken) {
			t.Errorf("%s: %v", name, err)
		}
		if left, err := os.ReadDir(l.Root); err != nil || len(left) > 0 {
			t.Errorf("%s leaves %v, %v", name, left, err)
		}
	}
	m.Shares = []machine.Share{{Name: "home", HostPath: "/nowhere"}}
	if p, list, err := l.New(ctx, m, Options{}); p != nil || err != nil || !list.HasErrors() {
		t.Errorf("a share that is not there: %v, %v", list, err)
	}
	if left, err := os.ReadDir(l.Root); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}

	kept := shelved(t, shelf{})
	p, _, err := kept.New(ctx, placed(t, kept, "one"), Options{})
	if err != nil || p.Save(ctx) != nil {
		t.Fatal(err)
	}
	dir := kept.Dir(m, Options{})
	kept.Engine.Hypervisors[0] = shelf{fail: broken}
	if p, _, err = kept.Again(ctx, placed(t, kept, "two"), Options{}); err != nil {
		t.Fatal(err)
	}
	if err := p.Save(ctx); !errors.Is(err, broken) || seeds(t, dir) != "default_vm.more.iso seed.iso" {
		t.Errorf("%v, the VM has %s", err, seeds(t, dir))
	}
}
