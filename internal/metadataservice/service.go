// Package metadataservice is the metadata service for guests that somebody else runs: under libvirt, Proxmox, another
// hypervisor, or on hardware. It makes the answers for the machines of definitions, knows a guest by its address, by a proxy's
// signature or by a signed path, takes in what guests report of their first boot, and does all of it again when the
// definitions change, without a moment in which some of the old and some of the new is served.
//
//	definitions ─Source▶ placed machines ─data sources▶ trees ─▶ one site for each machine ◀─ address, signature, path
package metadataservice

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vmseed/vmseed"
	"github.com/vmseed/vmseed/delivery/metadata"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/report"
	"github.com/vmseed/vmseed/report/intake"
	"github.com/vmseed/vmseed/secret"
)

// Source returns the placed machines to serve. It is asked anew at each reload.
type Source func(context.Context) ([]machine.Machine, diag.List, error)

// Options are what a service works with.
type Options struct {
	// Engine renders. It must have the data sources ec2, openstack, nocloud and ignition.
	Engine *vmseed.Engine
	Source Source
	// Render changes how machines are rendered. Its DataSource is the one that all of them are served by; empty means the one
	// that each definition names, and all protocols for one that names none.
	Render vmseed.RenderOptions
	// Base is the URL at which guests reach the service, with a slash at its end; empty means metadata.DefaultBase.
	Base string
	// Addresses are those that the user gives to machines, beside the static ones of their NICs.
	Addresses []Assignment
	// Leases are files of DHCP servers, which give addresses to the machines' MACs.
	Leases []string
	// Shared means that the machines are those of several owners, who do not know of each other: an address that two have is
	// nobody's, and one that is given to a machine which is not there waits for it, with a warning. Otherwise both are errors.
	Shared bool
	// Silent leaves out what makes guests report their first boot.
	Silent bool
	// ProxySecret is the secret that proxies sign with.
	ProxySecret secret.Text
	// StateDir keeps what must survive a restart; empty means that nothing does.
	StateDir string
	// Look means that the service is asked what it would serve, and answers no guest. It may look at a StateDir that another
	// service works on.
	Look bool
	// Files are what Source reads, as they should be watched.
	Files []string
	// Hear is called with each event of a guest, in the order in which the machine said them. It must not block.
	Hear func(report.Event)
	// Metrics counts, for this service alone; nil means that nobody does.
	Metrics *Metrics
	// Log gets what an administrator wants to know, and Access a line for each request; nil means nowhere.
	Log, Access *slog.Logger
	// Limits bound what one machine may take.
	Limits metadata.Limits
	// Interval is how often Watch looks at files; 0 means a second.
	Interval time.Duration
}

func (o Options) interval() time.Duration {
	if o.Interval > 0 {
		return o.Interval
	}
	return interval
}

// Service answers guests. Its methods may be called by several goroutines.
type Service struct {
	o      Options
	key    secret.Text
	state  *state
	intake *intake.Intake
	// first are the marks of Options.Files from before they were read.
	first []mark

	table       metadata.Table
	directories *metadata.Directories
	proxy       *metadata.Proxy
	direct      *metadata.Handler
	proxied     *metadata.Handler
	strangers   strangers

	// loading is held by a reload; addressing by whoever makes the table of addresses anew.
	loading, addressing sync.Mutex
	current             atomic.Pointer[generation]
	leases              leaseFiles
}

// generation is what one reload made. It is never written to.
type generation struct {
	order  []string // machines, as the definitions have them
	served map[string]*served
	owners owners
}

// served is a machine that is served.
type served struct {
	site *metadata.Site
	// instance is what its reports are signed for.
	instance string
	seal     bool
	// protocols are the trees. What is in them is the site's alone: it is most of the memory that a service needs.
	protocols []string
	told      []Told
}

// ErrState means that Options.StateDir cannot be used.
var ErrState = errors.New("the state directory of the metadata service")

// New makes a service and loads its machines. With an error, or with an error among the diagnostics, there is none; otherwise
// Close must be called when it serves no more.
func New(ctx context.Context, o Options) (*Service, diag.List, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Base == "" {
		o.Base = metadata.DefaultBase
	}
	if o.Hear == nil {
		o.Hear = func(report.Event) {}
	}
	if o.Metrics == nil {
		o.Metrics = NewMetrics()
	}
	state, key, err := openState(o.StateDir, o.Look)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrState, err)
	}
	if err := o.Metrics.use(); err != nil {
		return nil, nil, errors.Join(err, state.close())
	}
	s := &Service{o: o, key: key, state: state, directories: metadata.NewDirectories(key), proxy: metadata.NewProxy(o.ProxySecret),
		strangers: strangers{log: o.Log}, leases: newLeaseFiles(o.Leases, o.Log)}
	s.intake = intake.New(key, s.hear, intake.Options{Sender: sender, Keep: s.keep, Log: o.Log})
	config := metadata.Config{Identify: s.identify, Directories: s.directories, Reports: s.intake, Password: s.posted, Limits: o.Limits, Log: o.Access, Observe: o.Metrics.observe}
	s.direct = metadata.NewHandler(config)
	config.Identify, config.Proxied = s.proxy.Identify, true
	s.proxied = metadata.NewHandler(config)
	s.first = marksOf(o.Files)
	r := s.reload(ctx, true)
	if r.Failed() {
		return nil, r.Diagnostics, errors.Join(r.Err, state.close())
	}
	return s, r.Diagnostics, nil
}

// Close gives the state directory back, for another service. Nothing may be served or reloaded any more.
func (s *Service) Close() error { return s.state.close() }

// Reloaded is how a reload went. When it failed, everything is as it was before.
type Reloaded struct {
	Diagnostics diag.List
	Err         error
	// Machines is how many are served now.
	Machines int
	// Wished means that somebody asked for it, rather than that a file changed.
	Wished bool
}

// Failed reports whether the old answers stay.
func (r Reloaded) Failed() bool { return r.Err != nil || r.Diagnostics.HasErrors() }

// Reload reads the definitions again and serves what they say now, or, when there is an error in one of them, goes on with what it
// has.
func (s *Service) Reload(ctx context.Context) Reloaded { return s.reload(ctx, true) }

func (s *Service) reload(ctx context.Context, wished bool) Reloaded {
	s.loading.Lock()
	defer s.loading.Unlock()
	out := Reloaded{Wished: wished}
	machines, l, err := s.o.Source(ctx)
	out.Diagnostics, out.Err = l, err
	if !out.Failed() {
		next, problems := s.generate(machines)
		out.Diagnostics = append(l, problems...)
		if !out.Failed() {
			s.publish(next)
		}
	}
	if g := s.current.Load(); g != nil {
		out.Machines = len(g.order)
	}
	s.o.Metrics.reloaded(out)
	return out
}

// generate makes the answers for machines.
func (s *Service) generate(machines []machine.Machine) (*generation, diag.List) {
	next := &generation{served: map[string]*served{}}
	var l diag.List
	var kept, unserved []machine.Machine
	for _, m := range machines {
		name := m.Namespace + "/" + m.Name
		made, problems := s.serve(m)
		l = append(l, problems...)
		if made == nil {
			unserved = append(unserved, m)
			continue
		}
		kept = append(kept, m)
		next.order = append(next.order, name)
		next.served[name] = made
	}
	var problems diag.List
	next.owners, problems = own(kept, unserved, s.o.Addresses, s.strictness())
	l = append(l, problems...)
	if !s.o.ProxySecret.IsZero() {
		l = append(l, sameInstances(kept, next.served)...)
	}
	if len(s.o.Leases) == 0 {
		l = append(l, unaddressed(kept, next.owners)...)
	}
	return next, l
}

// strictness says what is an error. A machine that is there no more must not be served because its address stands in a flag.
func (s *Service) strictness() strictness {
	switch {
	case s.o.Shared:
		return strictness{same: diag.Warning, missing: diag.Warning}
	case s.current.Load() != nil:
		return strictness{same: diag.Error, missing: diag.Warning}
	}
	return strictness{same: diag.Error, missing: diag.Error}
}

// sameInstances warns of the machines that proxies cannot tell apart.
func sameInstances(machines []machine.Machine, made map[string]*served) diag.List {
	var l diag.List
	type instance struct{ namespace, id string }
	first := map[instance]machine.Machine{}
	for _, m := range machines {
		by := instance{m.Namespace, made[m.Namespace+"/"+m.Name].site.Identity().InstanceID}
		other, taken := first[by]
		if !taken {
			first[by] = m
			continue
		}
		const field = "identity.instanceID"
		l.Add(diag.Diagnostic{Code: CodeSameInstance, Severity: diag.Warning, Range: m.Places.Find(field),
			Summary: fmt.Sprintf("%s/%s has the instance id of %s/%s, so proxies reach neither", m.Namespace, m.Name, other.Namespace, other.Name),
			Remedy:  "give each its own"}.With(other.Places.Find(field), "the first one is here"))
	}
	return l
}

// unaddressed notes the machines that no address leads to.
func unaddressed(machines []machine.Machine, o owners) diag.List {
	var l diag.List
	have := map[string]bool{}
	for _, x := range o.addresses {
		have[x.machine] = true
	}
	for _, m := range machines {
		if name := m.Namespace + "/" + m.Name; !have[name] {
			l.Notef(CodeNoAddress, m.Places.Find("network"), "give --address "+m.Name+"=IP, or --leases FILE",
				"no address leads to %s, so only a signed URL or a proxy does", name)
		}
	}
	return l
}

// publish serves a generation from now on.
func (s *Service) publish(next *generation) {
	old := s.current.Load()
	sites := make([]*metadata.Site, 0, len(next.order))
	for _, name := range next.order {
		made := next.served[name]
		if old != nil && old.served[name] != nil {
			made.site.Inherit(old.served[name].site)
		}
		r, err := s.state.of(name, made.instance)
		if err != nil {
			s.o.Log.Error("the state of a machine is lost", "machine", name, "error", err)
		}
		if r.Sealed {
			made.site.Seal()
		}
		made.site.RestorePassword(secret.FromBytes(r.Posted))
		// A first boot that is under way goes on where it is.
		if known := old != nil && old.served[name] != nil && old.served[name].instance == made.instance; !known && !s.o.Look {
			if err := s.intake.Open(name, made.instance, r.Report); err != nil {
				s.o.Log.Error("a machine cannot report", "machine", name, "error", err)
			}
		}
		sites = append(sites, made.site)
	}
	s.current.Store(next)
	s.directories.Set(sites...)
	if !s.o.ProxySecret.IsZero() {
		s.proxy.Set(sites...)
	}
	s.address(time.Now())
	for _, name := range next.order {
		// A final word may have come meanwhile, and was meant for the old site.
		if r, _ := s.state.of(name, next.served[name].instance); r.Sealed {
			next.served[name].site.Seal()
		}
	}
	if old != nil {
		for name := range old.served {
			if next.served[name] == nil {
				s.intake.Close(name)
			}
		}
	}
}

// address makes the table of addresses of the current machines and leases.
func (s *Service) address(now time.Time) {
	s.addressing.Lock()
	defer s.addressing.Unlock()
	s.leases.changed(now)
	s.setTable(now)
}

// refreshLeases takes in what changed in the files of leases. When it returns, the table is that of leases which were there when
// it was called.
func (s *Service) refreshLeases(now time.Time) {
	s.addressing.Lock()
	defer s.addressing.Unlock()
	if s.leases.changed(now) {
		s.setTable(now)
	}
}

func (s *Service) setTable(now time.Time) {
	g := s.current.Load()
	sites := map[netip.Addr]*metadata.Site{}
	for a, name := range g.owners.leased(s.leases.valid(now)) {
		sites[a] = g.served[name].site
	}
	s.table.Set(sites)
	s.o.Metrics.serving(len(g.order), len(sites))
}

// identify knows a guest by its address. A guest that has just got its lease asks at once, so the leases are looked at before
// it is denied.
func (s *Service) identify(r *http.Request) *metadata.Site {
	if site := s.table.Identify(r); site != nil {
		return site
	}
	if len(s.o.Leases) > 0 {
		s.refreshLeases(time.Now())
		if site := s.table.Identify(r); site != nil {
			return site
		}
	}
	if !signed(r.URL.Path) {
		s.strangers.asked(r.RemoteAddr, time.Now())
	}
	return nil
}

// signed reports whether a path is of the kind that says itself whose it is, so that the address does not matter.
func signed(path string) bool {
	tree, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	directory, _, _ := strings.Cut(rest, "/")
	switch tree {
	case "nocloud", "ignition":
		return strings.Contains(directory, ".") && strings.Contains(directory, "_")
	}
	return strings.HasPrefix(path, "/"+intake.Root)
}

// sender says whose request a report came with.
func sender(ctx context.Context) (string, bool) {
	site := metadata.SiteOf(ctx)
	if site == nil {
		return "", false
	}
	name := site.Machine()
	return name.Namespace + "/" + name.Name, true
}

// serving returns a machine that is served now, or nil. Before the first machines are loaded, there is none.
func (s *Service) serving(name string) *served {
	g := s.current.Load()
	if g == nil {
		return nil
	}
	return g.served[name]
}

// keep keeps what the intake wants to be given after a restart.
func (s *Service) keep(name string, report []byte) error {
	made := s.serving(name)
	if made == nil {
		return errors.New("the machine is not served any more")
	}
	return s.state.change(name, made.instance, func(r *record) { r.Report = report })
}

// posted keeps the password that a guest has posted.
func (s *Service) posted(site *metadata.Site, password []byte) error {
	name := site.Machine().Namespace + "/" + site.Machine().Name
	made := s.current.Load().served[name]
	if made == nil {
		return errors.New("the machine is not served any more")
	}
	s.o.Log.Info("the guest has posted its administrator's password", "machine", name)
	return s.state.change(name, made.instance, func(r *record) { r.Posted = password })
}

// hear takes in what a guest says.
func (s *Service) hear(e report.Event) {
	s.o.Metrics.heard(e)
	if made := s.serving(e.Machine); made != nil && made.seal && e.Stage == report.Done && (e.Result == nil || e.Result.FirstBoot) {
		if err := s.state.change(e.Machine, made.instance, func(r *record) { r.Sealed = true }); err != nil {
			s.o.Log.Error("a seal is not remembered over a restart", "machine", e.Machine, "error", err)
		}
		made.site.Seal()
		// A reload may have put another site in its place.
		if now := s.serving(e.Machine); now != nil && now.instance == made.instance {
			now.site.Seal()
		}
	}
	s.o.Hear(e)
}

// Serve answers guests, known by their addresses, until ctx ends. It closes the listener.
func (s *Service) Serve(ctx context.Context, l net.Listener) error {
	return metadata.Serve(ctx, l, s.direct)
}

// ServeProxies answers guests whose requests come through proxies that sign with Options.ProxySecret.
func (s *Service) ServeProxies(ctx context.Context, l net.Listener) error {
	if s.o.ProxySecret.IsZero() {
		return errors.Join(fmt.Errorf("proxies need a secret"), l.Close())
	}
	return metadata.Serve(ctx, l, s.proxied)
}
