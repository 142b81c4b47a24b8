// Package host is the Runner of a real hypervisor host: it reads a pod, or the launch document that a launcher pod
// carries, with the front ends of the command, sets up the pod's network, finds its images, and boots it as the command
// does, under a supervisor that outlives the node's process.
package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/vmseed/vmseed"
	datasources "github.com/vmseed/vmseed/datasource/all"
	deliveries "github.com/vmseed/vmseed/delivery/all"
	"github.com/vmseed/vmseed/frontend"
	frontends "github.com/vmseed/vmseed/frontend/all"
	"github.com/vmseed/vmseed/hypervisor"
	"github.com/vmseed/vmseed/hypervisor/qemu"
	"github.com/vmseed/vmseed/image"
	"github.com/vmseed/vmseed/internal/atomicfile"
	"github.com/vmseed/vmseed/internal/boot"
	"github.com/vmseed/vmseed/internal/supervisor"
	"github.com/vmseed/vmseed/kube/imagenames"
	"github.com/vmseed/vmseed/kube/podnet"
	"github.com/vmseed/vmseed/kube/provider"
)

// Options are what a Host works with.
type Options struct {
	// Client reads the objects that pods name.
	Client kubernetes.Interface
	// Root is the directory of the VMs, which is this Host's alone. It is made if need be.
	Root string
	// Images keeps images that were fetched; nil is the user's store.
	Images *image.Store
	// Names says what the names of images mean on this node; nil knows none.
	Names *imagenames.Resolver
	// Networks connects pods by CNI plugins; nil gives every VM a network of its own.
	Networks *podnet.Manager
	// NodeIPs are the node's addresses, the internal one first.
	NodeIPs []netip.Addr
	// Allowed is what of this host pods may name by themselves.
	Allowed Allowed
	// Hypervisor are wishes for every start; Detach is always set.
	Hypervisor hypervisor.Options
	// Supervisor is the command that supervises a VM, without its flags; empty means `vmseed supervise`.
	Supervisor []string
	// Log is for the node's administrator; nil is silent.
	Log *slog.Logger
}

// Host runs VMs on this host. Its methods may be called by several goroutines.
type Host struct {
	options  Options
	engine   *vmseed.Engine
	launcher boot.Launcher
	log      *slog.Logger
}

var (
	_ provider.Runner   = (*Host)(nil)
	_ provider.Releaser = (*Host)(nil)
)

// New returns the Runner of this host, and removes what an earlier one left half done.
func New(o Options) (*Host, error) {
	if err := os.MkdirAll(o.Root, atomicfile.DirMode); err != nil {
		return nil, err
	}
	if err := supervisor.SweepOwn(o.Root); err != nil {
		return nil, err
	}
	// A launch Secret that somebody forges is to be no definition of another form, which could ask for more.
	forms := slices.DeleteFunc(frontends.Frontends(), func(f frontend.Frontend) bool { return f.Name() != "virtlet" && f.Name() != "kubevirt" })
	h := &Host{options: o, log: o.Log}
	if h.log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	var err error
	if h.options.Allowed, err = o.Allowed.Absolute(); err != nil {
		return nil, err
	}
	h.engine = &vmseed.Engine{Frontends: forms, DataSources: datasources.DataSources(), Deliveries: deliveries.Deliveries(),
		Hypervisors: []hypervisor.Hypervisor{&qemu.QEMU{Root: o.Root, Supervisor: o.Supervisor}}}
	h.launcher = boot.Launcher{Engine: h.engine, Root: o.Root, Images: o.Images}
	if o.Names != nil {
		h.launcher.Named = o.Names.Resolve
	}
	return h, nil
}

// guest is a VM with what a node wants of it.
type guest struct{ *supervisor.Client }

// SerialLog returns the path of the serial console's log.
func (g guest) SerialLog() string { return filepath.Join(g.Dir, supervisor.SerialLog) }

var (
	_ provider.Guest    = guest{}
	_ provider.Consoler = guest{}
	_ provider.Dialer   = guest{}
	_ provider.Executor = guest{}
	_ provider.Greeter  = guest{}
	_ provider.Informer = guest{}
	_ provider.Logger   = guest{}
	_ provider.Meter    = guest{}
	_ provider.Switch   = guest{}
)

// noteFile is the file in a VM's directory that says what Start told of it.
const noteFile = "pod.json"

// note is what Find needs to tell of a VM as Start did.
type note struct {
	IPs     []netip.Addr `json:"ips,omitempty"`
	Silent  bool         `json:"silent,omitempty"`
	ImageID string       `json:"imageID,omitempty"`
}

// started is a VM as its note tells of it.
func (h *Host) started(c *supervisor.Client) (provider.Started, error) {
	out := provider.Started{Guest: guest{c}}
	text, err := os.ReadFile(filepath.Join(c.Dir, noteFile))
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	var n note
	if err == nil {
		err = json.Unmarshal(text, &n)
	}
	out.IPs, out.Silent, out.ImageID = n.IPs, n.Silent, n.ImageID
	return out, err
}

// save writes the note into a VM's directory.
func (n note) save(dir string) error {
	text, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return atomicfile.WriteBytes(filepath.Join(dir, noteFile), text)
}

// Find returns the VM of a pod. The error wraps supervisor.ErrNoVM when there is none.
func (h *Host) Find(_ context.Context, r provider.Ref) (provider.Started, error) {
	c, err := supervisor.Open(h.dir(r), h.options.Supervisor...)
	if err != nil {
		return provider.Started{}, err
	}
	return h.started(c)
}

// dir is the directory of the VM of a pod.
func (h *Host) dir(r provider.Ref) string {
	return filepath.Join(h.options.Root, supervisor.DirName(r.Namespace, string(r.UID)))
}

// Remove cuts the VM of a pod off, if it runs, and removes its disks, its directories and its network.
func (h *Host) Remove(ctx context.Context, r provider.Ref) error {
	c, err := supervisor.Open(h.dir(r), h.options.Supervisor...)
	switch {
	case err == nil:
		err = c.Remove(ctx)
	case errors.Is(err, supervisor.ErrNoVM):
		err = os.RemoveAll(h.dir(r))
	}
	if err != nil {
		return err // a network is not taken from under a guest
	}
	if h.options.Networks != nil {
		err = h.options.Networks.Teardown(ctx, string(r.UID))
	}
	return errors.Join(err, os.RemoveAll(h.volumesDir(r)))
}

// Release gives back the network of a pod whose VM has ended, and keeps the rest.
func (h *Host) Release(ctx context.Context, r provider.Ref) error {
	if h.options.Networks == nil {
		return nil
	}
	c, err := supervisor.Open(h.dir(r), h.options.Supervisor...)
	switch {
	case errors.Is(err, supervisor.ErrNoVM): // it never came to one
	case err != nil:
		return err
	default:
		if s, err := c.State(ctx); err != nil && !errors.Is(err, fs.ErrNotExist) || s.Status.Alive() {
			return errors.Join(err, errors.New("its VM still runs")) // a network is not taken from under a guest
		}
	}
	return h.options.Networks.Teardown(ctx, string(r.UID))
}

// List returns the pods that have a VM or a network here. The names of pods are not known.
func (h *Host) List(context.Context) ([]provider.Ref, error) {
	dirs, err := supervisor.List(h.options.Root)
	if err != nil {
		return nil, err
	}
	var out []provider.Ref
	for _, dir := range dirs {
		if namespace, uid, ok := strings.Cut(filepath.Base(dir), "_"); ok {
			out = append(out, provider.Ref{Namespace: namespace, UID: types.UID(uid)})
		}
	}
	if h.options.Networks == nil {
		return out, nil
	}
	uids, err := h.options.Networks.List()
	for _, uid := range uids {
		if !slices.ContainsFunc(out, func(r provider.Ref) bool { return string(r.UID) == uid }) {
			out = append(out, provider.Ref{UID: types.UID(uid)})
		}
	}
	return out, err
}

// Healthy says why no VM can be started on this host.
func (h *Host) Healthy(context.Context) error {
	program := "qemu-system-x86_64"
	if host := hostProgram(); host != "" {
		program = host
	}
	if _, err := exec.LookPath(program); err != nil {
		return fmt.Errorf("%s is not installed on this node", program)
	}
	return nil
}
