//go:build linux

package daemontest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vmseed/vmseed"
	"github.com/vmseed/vmseed/daemon"
	datasources "github.com/vmseed/vmseed/datasource/all"
	deliveries "github.com/vmseed/vmseed/delivery/all"
	frontends "github.com/vmseed/vmseed/frontend/all"
	"github.com/vmseed/vmseed/hypervisor"
	"github.com/vmseed/vmseed/internal/supervisor"
	"github.com/vmseed/vmseed/internal/supervisor/supervisortest"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// Limit bounds what should take a moment.
const Limit = 2 * time.Minute

// Main is called first by TestMain: it lets the test's own program be a supervisor, and QEMU.
func Main() { supervisortest.Main() }

// Hypervisor starts VMs without a guest. The zero value's guests are supervisortest.Good. A machine whose label "guest" says
// otherwise has a guest that behaves so.
type Hypervisor struct{ Behaviour string }

// Name returns fake.
func (h *Hypervisor) Name() string { return "fake" }

// Expresses claims everything: what is built of a machine is not what these tests are about.
func (h *Hypervisor) Expresses() machine.FieldSet { return machine.HardwareFields() }

// HasFwCfg reports a firmware configuration device.
func (h *Hypervisor) HasFwCfg(machine.Machine) bool { return true }

// Start starts a supervisor with a QEMU that has no guest. As the real one it fails without the files of disks and seed.
func (h *Hypervisor) Start(ctx context.Context, vm hypervisor.VM) (hypervisor.Handle, error) {
	args := supervisortest.Args(cmp.Or(vm.Machine.Labels["guest"], h.Behaviour, supervisortest.Good))
	for _, v := range vm.Volumes {
		if _, err := os.Stat(v.Path); err != nil {
			return nil, err
		}
	}
	for _, a := range vm.Attachments {
		args = append(args, a.Path)
		if _, err := os.Stat(a.Path); err != nil && a.Path != "" {
			return nil, err
		}
	}
	plan := supervisor.Plan{Namespace: vm.Machine.Namespace, Name: vm.Machine.Name, UUID: vm.Machine.Identity.UUID, Detached: true,
		Program: os.Args[0], SSH: supervisor.SSH{NIC: -1, None: true}, Attempts: []supervisor.Attempt{{Accel: "none", Args: args}}}
	if err := plan.Save(vm.StateDir); err != nil {
		return nil, err
	}
	client, err := supervisor.Open(vm.StateDir, supervisortest.Command()...)
	if err == nil {
		err = client.Start(ctx, true)
	}
	return &handle{client: client}, err
}

// Open is not what the daemon uses.
func (h *Hypervisor) Open(context.Context, string) (hypervisor.Handle, error) {
	return nil, errors.ErrUnsupported
}

// handle is a VM of the fake hypervisor, of which the daemon asks nothing but its client.
type handle struct {
	hypervisor.Handle
	client *supervisor.Client
}

// Client returns that of the VM's supervisor.
func (h *handle) Client() *supervisor.Client { return h.client }

// Engine has every plug-in but the hypervisors, and the fake one.
func Engine() *vmseed.Engine {
	return &vmseed.Engine{Frontends: frontends.Frontends(), DataSources: datasources.DataSources(), Deliveries: deliveries.Deliveries(),
		Hypervisors: []hypervisor.Hypervisor{&Hypervisor{}}}
}

// Options are those of a daemon in a directory.
func Options(dir string) daemon.Options {
	return daemon.Options{Dir: dir, Engine: Engine(), Supervisor: supervisortest.Command(), BootTimeout: time.Hour, SeedlessTimeout: 50 * time.Millisecond}
}

// New returns a daemon in a directory of its own. When the test ends it is closed, and its VMs are ended.
func New(t testing.TB) *daemon.Daemon {
	t.Helper()
	return Open(t, Options(t.TempDir()))
}

// Open opens a daemon. When the test ends it is closed, and the VMs in its directory are ended.
func Open(t testing.TB, o daemon.Options) *daemon.Daemon {
	t.Helper()
	d, err := daemon.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		End(t, o.Dir)
	})
	return d
}

// End ends the VMs in a state directory.
func End(t testing.TB, dir string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Limit)
	defer cancel()
	dirs, err := supervisor.List(filepath.Join(dir, "vms"))
	if err != nil {
		t.Error(err)
	}
	for _, x := range dirs {
		client, err := supervisor.Open(x, supervisortest.Command()...)
		if err == nil {
			err = client.Remove(ctx)
		}
		if err != nil {
			t.Error(err)
		}
	}
}

// Definition is the native definition of a machine whose guest behaves in a way; empty means that of the hypervisor.
func Definition(name, behaviour, userData string) []daemon.Document {
	text := "apiVersion: vmseed.dev/v1alpha1\nkind: Machine\nmetadata:\n  name: " + name + "\n"
	if behaviour != "" {
		text += "  labels: {guest: " + behaviour + "}\n"
	}
	text += "spec:\n  disks:\n  - {name: root, root: true, source: {blank: true}, size: 1Mi}\n"
	if userData != "" {
		text += "  userData:\n    layers:\n    - data: |\n        " + strings.ReplaceAll(userData, "\n", "\n        ") + "\n"
	}
	return []daemon.Document{{Name: name + ".yaml", Text: secret.New(text)}}
}

// Image writes an image with a name into a state directory's image repository, and its description when there is one.
func Image(t testing.TB, dir, file, sidecar string) {
	t.Helper()
	path := filepath.Join(dir, "images", file)
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	err = errors.Join(err, os.WriteFile(path, make([]byte, 1<<20), 0o600))
	if sidecar != "" {
		err = errors.Join(err, os.WriteFile(path+".yaml", []byte(sidecar), 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Wait returns the VM when cond holds for it, and fails the test when that does not come.
func Wait(t testing.TB, d *daemon.Daemon, id string, cond func(daemon.Machine) bool) daemon.Machine {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Limit)
	defer cancel()
	done := errors.New("done")
	since := d.LastEvent()
	var m daemon.Machine
	check := func() error {
		var err error
		if m, err = d.Get(id); err != nil {
			return err
		}
		if cond(m) {
			return done
		}
		return nil
	}
	err := check()
	if err == nil {
		err = d.Watch(ctx, since, func(daemon.Event) error { return check() })
	}
	if !errors.Is(err, done) {
		t.Fatalf("VM %s is %s (%s): %v", m.Name, m.Status, m.Reason, err)
	}
	return m
}

// WaitStatus waits until a VM has a status.
func WaitStatus(t testing.TB, d *daemon.Daemon, id string, s daemon.Status) daemon.Machine {
	t.Helper()
	return Wait(t, d, id, func(m daemon.Machine) bool { return m.Status == s })
}

// Template imports an image as a template and waits until it can be used.
func Template(t testing.TB, d *daemon.Daemon, image, name string) daemon.Template {
	t.Helper()
	images, err := d.Images(daemon.ImageRepository)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range images {
		if i.Name != image {
			continue
		}
		since := d.LastEvent()
		made, err := d.Import(t.Context(), daemon.ImportRequest{Image: i.ID, Target: "data", AsTemplate: true, Name: name})
		if err != nil {
			t.Fatal(err)
		}
		return waitTemplate(t, d, made.Template, since)
	}
	t.Fatalf("there is no image %s among %d", image, len(images))
	return daemon.Template{}
}

func waitTemplate(t testing.TB, d *daemon.Daemon, id string, since uint64) daemon.Template {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Limit)
	defer cancel()
	var x daemon.Template
	done := errors.New("done")
	err := d.Watch(ctx, since, func(daemon.Event) (err error) {
		if x, err = d.Template(id); err == nil && x.Status != daemon.Locked {
			err = done
		}
		return err
	})
	if !errors.Is(err, done) || x.Status != daemon.OK {
		t.Fatal(fmt.Errorf("template %s is %s (%s): %w", x.Name, x.Status, x.Reason, err))
	}
	return x
}
