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

// shelf is a hypervisor that makes plans and runs nothing.
type shelf struct{ fail error }

func (shelf) Name() string                { return "shelf" }
func (shelf) Expresses() machine.FieldSet { return machine.HardwareFields() }
func (shelf) Open(context.Context, string) (hypervisor.Handle, error) {
	return nil, supervisor.ErrNoVM
}

// Start writes the attachments into the plan as QEMU does, in JSON.
func (s shelf) Start(_ context.Context, vm hypervisor.VM) (hypervisor.Handle, error) {
	if s.fail != nil {
		return nil, s.fail
	}
	var args []string
	var served *supervisor.Metadata
	for _, a := range vm.Attachments {
		if a.Kind == seed.Endpoint {
			served = &supervisor.Metadata{File: a.Path}
			continue
		}
		text, err := json.Marshal(map[string]string{"filename": a.Path})
		if err != nil {
			return nil, err
		}
		args = append(args, "-blockdev", string(text))
	}
	plan := supervisor.Plan{Namespace: vm.Machine.Namespace, Name: vm.Machine.Name, Metadata: served,
		Attempts: []supervisor.Attempt{{Accel: "tcg", Args: args}}}
	if err := plan.Save(vm.StateDir); err != nil {
		return nil, err
	}
	client, err := supervisor.Open(vm.StateDir)
	return handle{client: client}, err
}

// handle is a VM on the shelf.
type handle struct {
	hypervisor.Handle
	client *supervisor.Client
}

func (h handle) Client() *supervisor.Client { return h.client }

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

// TestKeptVM makes a VM and prepares its later starts: the old seed stays until the plan names the new one.
func TestKeptVM(t *testing.T) {
	l := shelved(t, shelf{})
	ctx, m, o := t.Context(), placed(t, l, "one"), Options{ID: "1234"}
	dir := filepath.Join(l.Root, "default_1234")
	p, list, err := l.New(ctx, m, o)
	if err != nil || list.HasErrors() {
		t.Fatal(err, list)
	}
	if c, err := p.Start(ctx); err != nil || c.Dir != dir {
		t.Fatal(c, err)
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
		if _, err := p.Start(ctx); err != nil || seeds(t, dir) != want {
			t.Fatalf("%v, the VM has %s, want %s", err, seeds(t, dir), want)
		}
		plan, err := supervisor.LoadPlan(dir)
		if err != nil || !names(plan, "/"+want+"/") || names(plan, "/seed.iso") {
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
	p, _, err := l.New(ctx, m, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Start(ctx); !errors.Is(err, broken) {
		t.Errorf("the start that fails: %v", err)
	}
	if left, err := os.ReadDir(l.Root); err != nil || len(left) > 0 {
		t.Errorf("it leaves %v, %v", left, err)
	}
	m.Shares = []machine.Share{{Name: "home", HostPath: "/nowhere"}}
	if p, list, err := l.New(ctx, m, Options{}); p != nil || err != nil || !list.HasErrors() {
		t.Errorf("a share that is not there: %v, %v", list, err)
	}
	if left, err := os.ReadDir(l.Root); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}

	kept := shelved(t, shelf{})
	if p, _, err = kept.New(ctx, placed(t, kept, "one"), Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Start(ctx); err != nil {
		t.Fatal(err)
	}
	dir := kept.Dir(m, Options{})
	kept.Engine.Hypervisors[0] = shelf{fail: broken}
	if p, _, err = kept.Again(ctx, placed(t, kept, "two"), Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Start(ctx); !errors.Is(err, broken) || !strings.HasSuffix(seeds(t, dir), "default_vm.more.iso seed-2 seed.iso") {
		t.Errorf("%v, the VM has %s", err, seeds(t, dir))
	}
}
