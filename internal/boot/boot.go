// Package boot is the road from a placed machine to a running VM: it finds the images and volumes of its disks, renders
// and delivers its seed, gives the guest a way to report, checks that all of it can be had, and has the hypervisor start
// it. The command walks it once for each VM; the daemon walks it again for every start of a VM that it keeps.
//
//	placed machine + Options ─New, Again▶ Prepared ─Start▶ running VM
//
// Preparing changes nothing that a VM in the same directory needs: a new seed stands beside the old one until Start has
// written the plan that names it.
package boot

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/vmseed/vmseed"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/hypervisor"
	"github.com/vmseed/vmseed/image"
	"github.com/vmseed/vmseed/internal/atomicfile"
	"github.com/vmseed/vmseed/internal/supervisor"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/seed"
)

// Launcher prepares and starts VMs. It may be used by several goroutines, for different VMs.
type Launcher struct {
	// Engine renders and delivers seeds; the first of its hypervisors starts the VMs.
	Engine *vmseed.Engine
	// Root is the directory of the VMs. Each has a directory of its own below it.
	Root string
	// Images is where images are kept that were fetched; nil is the user's store.
	Images *image.Store
	// Pulling is asked for what to call while an image is fetched, and when that is over. It may be nil.
	Pulling func(image.Reference) (progress func(image.Progress), done func())
	// Named says what the name of an image in a definition means on this host. Names that it does not know, and all when it
	// is nil, mean what they mean to everybody.
	Named func(m machine.Machine, text string) (named NamedImage, ok bool, err error)
}

// NamedImage is what the name of an image means.
type NamedImage struct {
	Reference image.Reference
	// Store fetches and keeps the image; nil is the Launcher's.
	Store *image.Store
}

// Options are the wishes for a VM that are not in its machine. The zero value makes what the machine says.
type Options struct {
	// Image is the image of the root disk: a file or what image.Parse takes. Empty means what the machine says.
	Image string
	// Login is the default user of that image, where it is known; empty means what the names of release and image tell.
	Login string
	// Pull says when to ask for an image that may have changed; empty means image.Missing.
	Pull image.Policy
	// Volumes are the contents of disks, and the directories of shares.
	Volumes []Volume
	// Seed is the path of a prepared seed that is attached instead of one that is rendered.
	Seed string
	// NoSeed leaves the seed proper out. The machine's further media are attached all the same.
	NoSeed bool
	// Delivery is one of Ways; empty means auto.
	Delivery string
	// Render changes how the seed is rendered. Extra parts are added by this package.
	Render vmseed.RenderOptions
	// VM are wishes for the start itself.
	VM hypervisor.Options
	// DryRun fetches no image: an empty file takes the place of one that is not on this host.
	DryRun bool
	// ID tells the VM's directory from others of its namespace; empty means the machine's name.
	ID string
}

// Volume names the contents of a disk or the directory of a share, by the name that it has in the machine.
type Volume struct {
	Name string
	hypervisor.Volume
}

// Prepared is a VM that can be started. Start or Discard ends it.
type Prepared struct {
	// VM is what the hypervisor starts.
	VM hypervisor.VM
	// Seed says in a few words what kind of seed the guest gets, and which way each part of it goes.
	Seed string
	// Absent are images that a dry run left where they are.
	Absent []image.Reference

	launcher *Launcher
	// leases keep images from being pruned until the disks are made that need them.
	leases []*image.Image
	// keep and discard end the making of a new directory; they are nil for one that was there.
	keep, discard func() error
	// old is the directory of a VM whose former seed goes when the new one is in use.
	old string
}

// OptionError is an error in the Options rather than in the machine.
type OptionError struct{ err error }

// Error says what is wrong with the options.
func (e *OptionError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *OptionError) Unwrap() error { return e.err }

func optionf(format string, args ...any) error { return &OptionError{fmt.Errorf(format, args...)} }

// InputError is an error in what a file of the input holds, of which no place is known.
type InputError struct{ err error }

// Error says what is wrong with the input.
func (e *InputError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *InputError) Unwrap() error { return e.err }

// Dir is the directory of a VM.
func (l *Launcher) Dir(m machine.Machine, o Options) string {
	return filepath.Join(l.Root, supervisor.DirName(m.Namespace, directory(m, o)))
}

func directory(m machine.Machine, o Options) string {
	if o.ID != "" {
		return o.ID
	}
	return m.Name
}

// New prepares a VM in a directory that is made for it. With an error, or an error among the diagnostics, nothing is left
// behind and there is nothing to end. The error wraps supervisor.ErrExists when there is such a VM, and
// is an *OptionError or *InputError where one of those is at fault; everything else is trouble with this host.
func (l *Launcher) New(ctx context.Context, m machine.Machine, o Options) (*Prepared, diag.List, error) {
	dir, keep, discard, err := supervisor.Create(l.Root, m.Namespace, directory(m, o))
	if err != nil {
		return nil, nil, err
	}
	p, list, err := l.prepare(ctx, m, o, dir, dir)
	p.keep, p.discard = keep, discard
	return p.checked(list, err)
}

// Again prepares the next start of a VM that has a directory: the disks in it stay, a new seed is made, and it takes the
// place of the old one when Start has written the new plan. The VM must not run.
func (l *Launcher) Again(ctx context.Context, m machine.Machine, o Options) (*Prepared, diag.List, error) {
	dir := l.Dir(m, o)
	client, err := supervisor.Open(dir)
	if err != nil {
		return nil, nil, err
	}
	if s, err := client.State(ctx); err != nil || s.Status.Alive() {
		return nil, nil, errors.Join(err, supervisor.ErrRunning)
	}
	if err := sweep(dir); err != nil {
		return nil, nil, err
	}
	seeds, err := nextSeedDir(dir)
	if err != nil {
		return nil, nil, err
	}
	p, list, err := l.prepare(ctx, m, o, dir, seeds)
	p.old, p.discard = dir, func() error { return os.RemoveAll(seeds) }
	return p.checked(list, err)
}

// Try prepares a VM whose directory is not made: Discard removes what was needed meanwhile, and the paths of the VM are
// those that it would have. It is not checked yet.
func (l *Launcher) Try(ctx context.Context, m machine.Machine, o Options) (*Prepared, diag.List, error) {
	dir, err := os.MkdirTemp("", "vmseed-plan-")
	if err != nil {
		return nil, nil, err
	}
	p, list, err := l.prepare(ctx, m, o, dir, dir)
	p.discard = func() error { return os.RemoveAll(dir) }
	if err != nil || list.HasErrors() {
		return nil, list, errors.Join(err, p.Discard())
	}
	final := l.Dir(m, o)
	p.VM.StateDir = final
	for i, x := range p.VM.Attachments {
		p.VM.Attachments[i].Path = strings.Replace(x.Path, dir, final, 1)
	}
	return p, list, nil
}

// Rehearse does all that can go wrong with a machine and its options, and leaves nothing behind.
func (l *Launcher) Rehearse(ctx context.Context, m machine.Machine, o Options) (diag.List, error) {
	p, list, err := l.Try(ctx, m, o)
	if err != nil || list.HasErrors() {
		return list, err
	}
	return append(list, l.Check(p.VM)...), p.Discard()
}

// Plan returns the command that Start would run.
func (p *Prepared) Plan(ctx context.Context) ([]string, error) {
	h := p.launcher.Engine.Hypervisors[0]
	planner, ok := h.(hypervisor.Planner)
	if !ok {
		return nil, fmt.Errorf("the hypervisor %s does not say what it would run", h.Name())
	}
	return planner.Plan(ctx, p.VM)
}

// prepare assembles a VM whose directory is dir, with its seed below seeds. The result is never nil.
func (l *Launcher) prepare(ctx context.Context, m machine.Machine, o Options, dir, seeds string) (*Prepared, diag.List, error) {
	// What vmseed starts has the MACs that the machine states, so the guest is told to go by them.
	m.Network.NICs = slices.Clone(m.Network.NICs)
	for i := range m.Network.NICs {
		m.Network.NICs[i].Match = ""
	}
	p := &Prepared{launcher: l, VM: hypervisor.VM{Machine: m, StateDir: dir, Options: o.VM, Volumes: map[string]hypervisor.Volume{}}}
	var list diag.List
	if err := p.volumes(m, o, &list); err != nil {
		return p, list, err
	}
	if err := p.images(ctx, o, &list, dir); err != nil || list.HasErrors() {
		return p, list, err
	}
	p.VM.Machine.Network.NICs = documented(m, &list)
	p.VM.Login = Login(m, o)
	err := p.attach(ctx, m, o, &list, seeds)
	p.Seed = describe(o, m, p.VM.Attachments)
	return p, list, err
}

// checked ends the making of a VM that cannot be as asked.
func (p *Prepared) checked(list diag.List, err error) (*Prepared, diag.List, error) {
	if err == nil && !list.HasErrors() {
		list = append(list, p.launcher.Check(p.VM)...)
	}
	if err != nil || list.HasErrors() {
		return nil, list, errors.Join(err, p.Discard())
	}
	return p, list, nil
}

// Start has the hypervisor start the VM, and returns when its guest runs. On an error a VM that was to be new is gone, and
// one that was there is as it was, but for its plan.
func (p *Prepared) Start(ctx context.Context) (*supervisor.Client, error) {
	handle, err := p.launcher.Engine.Hypervisors[0].Start(ctx, p.VM)
	if err == nil {
		err = p.settle()
	} else if p.old == "" {
		err = errors.Join(err, p.Discard())
	}
	p.release()
	if err != nil {
		return nil, err
	}
	owned, ok := handle.(interface{ Client() *supervisor.Client })
	if !ok {
		return nil, fmt.Errorf("the VMs of the hypervisor %s have no supervisor", p.launcher.Engine.Hypervisors[0].Name())
	}
	return owned.Client(), nil
}

// settle makes the new VM one that stays, or the old seed one that was.
func (p *Prepared) settle() error {
	if p.old != "" {
		return sweep(p.old)
	}
	return p.keep()
}

// Discard takes back what was made. A VM whose next start it was to be starts with its old seed.
func (p *Prepared) Discard() error {
	p.release()
	return p.discard()
}

func (p *Prepared) release() {
	for _, i := range p.leases {
		_ = i.Close()
	}
	p.leases = nil
}

// seedMark begins the names of the directories that hold the seeds of later starts; a number follows.
const seedMark = "seed-"

// nextSeedDir makes a directory for the seed of the next start.
func nextSeedDir(dir string) (string, error) {
	for n := 2; ; n++ {
		path := filepath.Join(dir, seedMark+strconv.Itoa(n))
		if err := os.Mkdir(path, atomicfile.DirMode); !errors.Is(err, os.ErrExist) {
			return path, err
		}
	}
}

// sweep removes seeds from a VM's directory that its plan does not name: those of earlier starts, and those of starts that
// never came because of a crash.
func sweep(dir string) error {
	plan, err := supervisor.LoadPlan(dir)
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	errs := []error{err}
	media := seed.Name{Namespace: plan.Namespace, Name: plan.Name}.String() + "."
	for _, e := range entries {
		name := e.Name()
		part, is := "/"+name, strings.HasPrefix(name, "seed.") || strings.HasPrefix(name, media)
		if e.IsDir() {
			part, is = part+"/", strings.HasPrefix(name, seedMark)
		}
		if is && !names(plan, part) {
			errs = append(errs, os.RemoveAll(filepath.Join(dir, name)))
		}
	}
	return errors.Join(errs...)
}

// later is the directory of the seed of a later start, in a path.
var later = regexp.MustCompile(`/` + seedMark + `[0-9]+/.`)

// names reports whether a plan names a seed: a directory, with a slash at its end, or a file that is in no such directory.
// How arguments quote the rest of a path does not matter to it.
func names(plan supervisor.Plan, part string) bool {
	var files []string
	if plan.Metadata != nil {
		files = append(files, plan.Metadata.File)
	}
	for _, a := range plan.Attempts {
		files = append(files, a.Args...)
	}
	return slices.ContainsFunc(files, func(file string) bool {
		if !strings.HasSuffix(part, "/") {
			file = later.ReplaceAllString(file, "")
		}
		return strings.Contains(file, part)
	})
}
