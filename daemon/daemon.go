package daemon

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vmseed/vmseed"
	"github.com/vmseed/vmseed/daemon/store"
	"github.com/vmseed/vmseed/hypervisor"
	"github.com/vmseed/vmseed/image"
	"github.com/vmseed/vmseed/internal/atomicfile"
	"github.com/vmseed/vmseed/internal/boot"
	"github.com/vmseed/vmseed/internal/bounded"
	"github.com/vmseed/vmseed/report"
	"github.com/vmseed/vmseed/secret"
)

// DefaultBootTimeout is how long a guest with a seed may boot in silence before it is taken to be up.
const DefaultBootTimeout = 15 * time.Minute

// DefaultEvents is how many events are kept.
const DefaultEvents = 10_000

// Names in the state directory.
const (
	keyFile  = "key"
	imageDir = "images"
	diskDir  = "disks"
	vmDir    = "vms"
)

// Options are what a daemon works with.
type Options struct {
	// Dir is the state directory. It is made, with mode 0700, when it is not there.
	Dir string
	// Engine reads, renders and starts. Its first hypervisor is the one that is used.
	Engine *vmseed.Engine
	// Images is the store of images that documents name.
	Images *image.Store
	// ImageDir is the directory of the storage domain ovirt-image-repository; empty means Dir/images.
	ImageDir string
	// StorageDomains are data domains beside the one called data: directories by name.
	StorageDomains map[string]string
	// Host is what of this host documents may name beside the files of the storage domains.
	Host Host
	// Supervisor is the command that starts a supervisor; empty means that of the running program.
	Supervisor []string
	// Hypervisor is how VMs are started. They are always detached.
	Hypervisor hypervisor.Options
	// BootTimeout is how long a guest with a seed may boot in silence before it is taken to be up; 0 means DefaultBootTimeout.
	BootTimeout time.Duration
	// SeedlessTimeout is the same for a guest without a seed, which has nothing to say; 0 means a minute, as oVirt has it.
	SeedlessTimeout time.Duration
	// Events is how many events are kept; 0 means DefaultEvents.
	Events int
	// Log gets what an administrator wants to know; nil means nowhere.
	Log *slog.Logger
}

// Daemon keeps VMs. Its methods may be called by several goroutines.
type Daemon struct {
	options  Options
	log      *slog.Logger
	store    *store.Store
	key      secret.Text
	launcher *boot.Launcher
	domains  []StorageDomain
	host     *host
	feed     feed
	// retry is how long to wait for a supervisor that does not come.
	retry time.Duration
	// shaping is held from reading a template or a disk to writing what becomes of it or of what is made from it.
	shaping sync.RWMutex

	// unwritten is set while the store could not be written.
	unwritten atomic.Bool
	// erased is set while the store's file holds what was erased; wake tells scrub so.
	erased atomic.Bool
	wake   chan struct{}

	// ctx ends with Close; working are the calls and goroutines that Close waits for.
	ctx     context.Context
	cancel  context.CancelFunc
	working sync.WaitGroup

	// mutex guards what follows. Nobody writes to the store while holding it: see commit.
	mutex     sync.RWMutex
	closed    bool
	vms       map[string]*vm
	order     []string // ids of vms, by creation
	names     map[string]string
	templates map[string]Template
	disks     map[string]diskRecord
	jobs      map[string]Job
}

// vm is a VM of the daemon.
type vm struct {
	// busy has a value while an operation on the VM goes on: one at a time.
	busy chan struct{}
	// writing is held from reading state to publishing the next one.
	writing sync.Mutex
	// What follows is guarded by Daemon.mutex. state is replaced, never written to.
	state *state
	port  int
	// progress is the last report of the boot that goes on, each module of which is heard here and not kept.
	progress *report.Event
	// abort ends a start that is under way, watched is closed when nobody watches the VM any more.
	abort   context.CancelFunc
	watched chan struct{}
	// patience ends the waiting for the guest's word.
	patience *time.Timer
}

// Open opens the state directory, finishes or takes back what an earlier daemon had under way, and finds the VMs that run. The
// error says so when another daemon has the directory, with its process id.
func Open(ctx context.Context, o Options) (*Daemon, error) {
	if o.Engine == nil || len(o.Engine.Hypervisors) == 0 || o.Dir == "" {
		return nil, errors.New("a daemon needs a state directory and an engine with a hypervisor")
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	o.Dir = dir
	d := &Daemon{options: o, log: o.Log, retry: retryPause, vms: map[string]*vm{}, names: map[string]string{}, templates: map[string]Template{},
		disks: map[string]diskRecord{}, jobs: map[string]Job{}, wake: make(chan struct{}, 1)}
	d.feed.changed, d.feed.limit = make(chan struct{}), cmp.Or(o.Events, DefaultEvents)
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	d.options.BootTimeout = cmp.Or(o.BootTimeout, DefaultBootTimeout)
	d.options.SeedlessTimeout = cmp.Or(o.SeedlessTimeout, time.Minute)
	d.options.Hypervisor.Detach, d.options.Hypervisor.Supply = true, supply
	if err := os.MkdirAll(dir, atomicfile.DirMode); err != nil {
		return nil, err
	}
	if err := private(dir, 0o002); err != nil {
		return nil, err
	}
	if d.domains, err = domains(o); err != nil {
		return nil, err
	}
	if d.host, err = newHost(dir, o.Host, d.domains); err != nil {
		return nil, err
	}
	if d.key, err = readKey(dir); err != nil {
		return nil, err
	}
	if d.store, err = store.Open(dir, d.key, store.Options{Events: d.feed.limit}); err != nil {
		return nil, err
	}
	d.launcher = &boot.Launcher{Engine: o.Engine, Root: filepath.Join(dir, vmDir), Images: o.Images}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	if err := errors.Join(d.load(), ctx.Err()); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	if err := d.recover(ctx); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	// A daemon that crashed may have erased something.
	d.erase()
	d.background(d.scrub)
	return d, nil
}

// readKey reads the key file, and makes it where there is no store yet.
func readKey(dir string) (secret.Text, error) {
	path := filepath.Join(dir, keyFile)
	text, err := bounded.ReadFile(path, store.KeySize+1)
	switch {
	case errors.Is(err, fs.ErrNotExist) && store.Exists(dir):
		return secret.Text{}, fmt.Errorf("%s is not there, and without it nobody can read the store beside it; restore it from a copy", path)
	case errors.Is(err, fs.ErrNotExist):
		key := store.NewKey()
		return key, atomicfile.WriteBytes(path, []byte(key.Reveal()))
	case err != nil:
		return secret.Text{}, err
	case len(text) != store.KeySize:
		return secret.Text{}, fmt.Errorf("%s has %d bytes, not %d; restore it from a copy", path, len(text), store.KeySize)
	}
	return secret.FromBytes(text), private(path, 0o077)
}

// private refuses a file or directory that gives others any of the given permissions: who can write to the state directory can
// put users there, and who can read the key can read all definitions.
func private(path string, denied fs.FileMode) error {
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS == "windows" || info.Mode().Perm()&denied == 0 {
		return err
	}
	return fmt.Errorf("%s is open to other users of this host (mode %04o); run: chmod go= %s", path, info.Mode().Perm(), path)
}

// load reads the store into memory.
func (d *Daemon) load() error {
	var events []Event
	err := errors.Join(
		d.store.Each(store.VM, func(_ string, text []byte) error {
			s, err := readState(text)
			if err != nil {
				return err
			}
			d.insert(newVM(s))
			return nil
		}),
		d.store.Each(store.Template, func(id string, text []byte) (err error) {
			d.templates[id], err = readTemplate(text)
			return err
		}),
		d.store.Each(store.Disk, func(id string, text []byte) error {
			var r diskRecord
			err := json.Unmarshal(text, &r)
			d.disks[id] = r
			return err
		}),
		d.store.Each(store.Job, func(id string, text []byte) error {
			var j Job
			err := json.Unmarshal(text, &j)
			d.jobs[id] = j
			return err
		}),
		d.store.EachEvent(func(number uint64, text []byte) error {
			e := Event{}
			err := json.Unmarshal(text, &e)
			e.ID = number
			events = append(events, e)
			return err
		}),
	)
	d.feed.add(events...)
	return err
}

func newVM(s *state) *vm { return &vm{busy: make(chan struct{}, 1), state: s} }

// nameKey is what names are compared by.
func nameKey(namespace, name string) string { return strings.ToLower(namespace + "/" + name) }

// enter begins a call; Close waits for the end of it.
func (d *Daemon) enter() (leave func(), err error) {
	d.mutex.RLock()
	defer d.mutex.RUnlock()
	if d.closed {
		return nil, ErrClosed
	}
	d.working.Add(1)
	return d.working.Done, nil
}

// background runs f beside the caller, until Close at the latest.
func (d *Daemon) background(f func()) {
	leave, err := d.enter()
	if err != nil {
		return
	}
	go func() {
		defer leave()
		f()
	}()
}

// Healthy says what keeps the daemon from its work: that it is ending, or that nothing can be written, as on a full disk.
func (d *Daemon) Healthy(context.Context) error {
	leave, err := d.enter()
	if err != nil {
		return err
	}
	defer leave()
	if !d.unwritten.Load() {
		return nil
	}
	// Only a write tells whether it is over.
	_, err = d.store.Apply(nil, store.Change{Kind: store.Meta, ID: "health", Value: []byte{}})
	d.unwritten.Store(err != nil)
	return err
}

// Close lets go of the VMs, which run on, and of the state directory.
func (d *Daemon) Close() error {
	d.mutex.Lock()
	if d.closed {
		d.mutex.Unlock()
		return nil
	}
	d.closed = true
	for _, v := range d.vms {
		v.calm()
	}
	d.mutex.Unlock()
	d.cancel()
	d.working.Wait()
	if d.erased.Load() {
		if err := d.store.Scrub(); err != nil {
			d.log.Warn("what was erased is in the file of the store until the next start", "error", err)
		}
	}
	return d.store.Close()
}

// calm ends the waiting for the guest's word. Daemon.mutex is held.
func (v *vm) calm() {
	if v.patience != nil {
		v.patience.Stop()
	}
}
