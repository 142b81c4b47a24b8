package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/vmseed/vmseed/delivery/metadata"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/internal/bounded"
	"github.com/vmseed/vmseed/internal/metadataservice"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/report"
	"github.com/vmseed/vmseed/secret"
)

// defaultMetadataListen is where guests of EC2 and OpenStack look.
const defaultMetadataListen = "169.254.169.254:80"

// metadataFlags are those of metadata.
type metadataFlags struct {
	in                                                           inputFlags
	guests                                                       guestFlags
	listen                                                       []string
	stateDir, proxyListen, proxySecret, reports, logFormat, list string
	metrics                                                      string
	access, silent                                               bool
}

// guestFlags say how guests that somebody else runs reach the metadata service, and which of them is which machine. The daemon
// has them too, with another prefix.
type guestFlags struct {
	prefix, url       string
	addresses, leases []string
}

func (g *guestFlags) register(cmd *cobra.Command, prefix string) {
	g.prefix = prefix
	fl := cmd.Flags()
	fl.StringVar(&g.url, prefix+"url", "", "URL at which guests reach the metadata service (default: the address to listen on, or "+metadata.DefaultBase+")")
	fl.StringArrayVar(&g.addresses, prefix+"address", nil, "address of a machine, beside its static ones: [NAMESPACE/]NAME=IP (repeatable)")
	fl.StringArrayVar(&g.leases, prefix+"leases", nil, "file of leases that says which MAC has which address: dnsmasq's, or libvirt's BRIDGE.status (repeatable)")
	_ = cmd.MarkFlagFilename(prefix + "leases")
}

// assignments reads the addresses of the flags.
func (g *guestFlags) assignments() ([]metadataservice.Assignment, error) {
	var out []metadataservice.Assignment
	for _, text := range g.addresses {
		one, err := metadataservice.ParseAssignment("--"+g.prefix+"address", text)
		if err != nil {
			return nil, usagef("%w", err)
		}
		out = append(out, one)
	}
	return out, nil
}

// base is the URL for guests: the one that the user gives, or that of the first address to listen on, where guests can reach that.
func (g *guestFlags) base(listen []string) (string, error) {
	if g.url == "" {
		host, port, _ := net.SplitHostPort(listen[0])
		ip, err := netip.ParseAddr(host)
		if err != nil || ip.IsUnspecified() || ip.IsLoopback() || ip.Zone() != "" || port == "0" {
			return metadata.DefaultBase, nil
		}
		return "http://" + strings.TrimSuffix(net.JoinHostPort(host, port), ":80") + "/", nil
	}
	base := g.url
	if !strings.HasSuffix(base, "/") {
		base += "/"
	}
	if err := metadata.CheckBase(base); err != nil {
		return "", usagef("--%surl: %w", g.prefix, err)
	}
	return base, nil
}

func (a *app) metadata() *cobra.Command {
	var f metadataFlags
	cmd := &cobra.Command{
		Use: "metadata FILE...", Short: "Serve guests their metadata over HTTP, whoever runs them",
		Long: `Metadata answers the guests of the machines in the files as EC2, OpenStack, NoCloud and
Ignition have it, all on one port: guests of libvirt, Proxmox, bare metal or anything else.
A machine that names one data source is served that alone.

A guest is known by the address that it asks from: a static one of the definition, one that
--address gives to it, or that of a lease. Changed files and leases are taken in as they
change, and on SIGHUP; while there is an error in a file, the old answers stay. What guests
report of their first boot is written to standard output.`,
		Example: `  vmseed metadata vms.yaml --listen 169.254.169.254:80
  vmseed metadata vms.yaml --listen 192.0.2.1:8775 --leases /var/lib/libvirt/dnsmasq/virbr0.status
  vmseed metadata vm.yaml --address web=192.0.2.7 --datasource ec2
  vmseed metadata vms.yaml --list`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.runMetadata(cmd.Context(), &f, args) },
	}
	f.in.register(cmd)
	f.guests.register(cmd, "")
	fl := cmd.Flags()
	fl.Lookup("datasource").Usage = "serve all machines by this one alone: ec2, openstack, nocloud or ignition (default: what the definition asks for, else all)"
	fl.StringArrayVar(&f.listen, "listen", []string{defaultMetadataListen}, "address and port to listen on (repeatable)")
	fl.StringVar(&f.proxyListen, "proxy-listen", "", "address and port for proxies alone, such as Neutron's, which sign whose request it is")
	fl.StringVar(&f.proxySecret, "proxy-secret-file", "", "file with the secret that proxies sign with (metadata_proxy_shared_secret)")
	fl.StringVar(&f.stateDir, "state-dir", "", "where keys and seals are kept (default $XDG_STATE_HOME/vmseed/metadata)")
	fl.StringVar(&f.metrics, "metrics", "", "address and port for Prometheus, on which /metrics is served; without a host, on this host alone")
	fl.StringVar(&f.reports, "reports", "", "file that gets a line of JSON for each thing that a guest reports")
	fl.BoolVar(&f.silent, "no-report", false, "add nothing to the guests' data that makes them report their first boot")
	fl.StringVar(&f.logFormat, "log-format", "text", "how log and reports are written: text or json")
	fl.BoolVar(&f.access, "access-log", false, "log each request")
	fl.StringVar(&f.list, "list", "", "print what is served to whom, and what each guest has to be told in its SMBIOS, and end: table or json")
	fl.Lookup("list").NoOptDefVal = "table"
	for _, name := range []string{"proxy-secret-file", "reports"} {
		_ = cmd.MarkFlagFilename(name)
	}
	return cmd
}

// check refuses flags that do not fit.
func (f *metadataFlags) check() error {
	switch {
	case f.logFormat != "text" && f.logFormat != "json":
		return usagef("--log-format takes text or json, not %q", f.logFormat)
	case f.list != "" && f.list != "table" && f.list != "json":
		return usagef("--list takes table or json, not %q", f.list)
	case (f.proxyListen == "") != (f.proxySecret == ""):
		return usagef("--proxy-listen and --proxy-secret-file belong together")
	case len(f.listen) == 0:
		return usagef("--listen takes HOST:PORT")
	}
	for _, l := range f.listen {
		if err := checkListen("--listen", l); err != nil {
			return err
		}
	}
	if f.proxyListen != "" {
		if err := checkListen("--proxy-listen", f.proxyListen); err != nil {
			return err
		}
	}
	if err := checkMetrics(f.metrics); err != nil {
		return err
	}
	if slices.Contains(f.listen, f.proxyListen) {
		return usagef("--proxy-listen is for proxies alone; guests need another port than %s", f.proxyListen)
	}
	if x := f.in.dataSource; x == "" || x == "nocloud-net" || slices.Contains(metadataservice.DataSources(), x) {
		return nil
	}
	return usagef("--datasource takes ec2, openstack, nocloud or ignition, not %q: guests read no other over HTTP", f.in.dataSource)
}

// options makes those of the service.
func (a *app) metadataOptions(f *metadataFlags, args []string) (o metadataservice.Options, err error) {
	if err := f.check(); err != nil {
		return o, err
	}
	if o.Addresses, err = f.guests.assignments(); err != nil {
		return o, err
	}
	if o.Base, err = f.guests.base(f.listen); err != nil {
		return o, err
	}
	if o.StateDir, err = metadataDir(f.stateDir); err != nil {
		return o, err
	}
	if f.proxySecret != "" {
		if o.ProxySecret, err = readSecret(f.proxySecret); err != nil {
			return o, err
		}
	}
	o.Engine, o.Render, o.Leases, o.Silent, o.Log = a.engine, f.in.options(), f.guests.leases, f.silent, a.log(f.logFormat)
	if f.access {
		o.Access = o.Log
	}
	files := append(slices.Clone(args), f.in.files...)
	if slices.Contains(files, "-") {
		// Standard input is read once, whatever changes beside it.
		data, err := bounded.ReadAll(a.In, maxInput)
		if err != nil {
			return o, &exitError{exitInput, fmt.Errorf("<stdin>: %w", err)}
		}
		a.In = &again{data: data}
	}
	o.Source = func(ctx context.Context) ([]machine.Machine, diag.List, error) {
		if in, ok := a.In.(*again); ok {
			in.reader.Reset(in.data)
		}
		return a.load(ctx, &f.in, args)
	}
	for _, file := range append(files, f.in.userData, f.in.metaData, f.in.networkConfig, f.in.vendorData, f.in.cniResult) {
		if file != "" && file != "-" && !strings.Contains(file, "://") {
			o.Files = append(o.Files, file)
		}
	}
	return o, nil
}

// again is a stream that can be read from its beginning again.
type again struct {
	data   []byte
	reader bytes.Reader
}

func (r *again) Read(p []byte) (int, error) { return r.reader.Read(p) }

// metadataDir is where the service keeps its state.
func metadataDir(given string) (string, error) {
	if given != "" {
		return filepath.Abs(given)
	}
	serve, err := serveDir("")
	return filepath.Join(filepath.Dir(serve), "metadata"), err
}

// readSecret reads a file that holds one line.
func readSecret(file string) (secret.Text, error) {
	text, err := bounded.ReadFile(file, 4<<10)
	if err == nil {
		err = metadataservice.Private(file)
	}
	if err != nil {
		return secret.Text{}, &exitError{exitEnvironment, err}
	}
	if text = bytes.TrimRight(text, "\r\n"); len(text) == 0 {
		return secret.Text{}, &exitError{exitInput, fmt.Errorf("%s is empty", file)}
	}
	return secret.FromBytes(text), nil
}

// runMetadata serves until it is told to stop.
func (a *app) runMetadata(ctx context.Context, f *metadataFlags, args []string) (err error) {
	o, err := a.metadataOptions(f, args)
	if err != nil {
		return err
	}
	told := &teller{app: a, json: f.logFormat == "json", log: o.Log}
	if f.reports != "" && f.list == "" {
		file, openErr := os.OpenFile(f.reports, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if openErr != nil {
			return &exitError{exitEnvironment, openErr}
		}
		defer func() { err = errors.Join(err, hostTrouble(file.Close())) }()
		told.file = file
	}
	o.Hear, o.Metrics, o.Look = told.heard, metadataservice.NewMetrics(), f.list != ""
	// A signal that comes while the machines are loaded is not lost.
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	a.noted = "vmseed metadata --list"
	s, l, err := metadataservice.New(ctx, o)
	if err != nil {
		return errors.Join(hostTroubleUnlessUsage(err), a.report(l, f.list != ""))
	}
	if s != nil {
		defer func() { err = errors.Join(err, hostTrouble(s.Close())) }()
	}
	if err := a.failed(l, f.list != ""); err != nil {
		return err
	}
	if f.list != "" {
		return a.listServed(s, f.list)
	}
	servers, err := listenMetadata(f, s, o.Metrics)
	if err != nil {
		return &exitError{exitEnvironment, err}
	}
	if err := errors.Join(told.serving(s, servers), a.metadataReady(s)); err != nil {
		return &exitError{exitEnvironment, errors.Join(err, servers.close())}
	}
	return hostTrouble(a.serveMetadata(ctx, s, o, servers, hup, told))
}

// hostTroubleUnlessUsage makes an error one of this host, unless it is one of the command line or of its files.
func hostTroubleUnlessUsage(err error) error {
	if status := statusOf(err); !errors.Is(err, metadataservice.ErrState) && (status == exitUsage || status == exitInput) {
		return err
	}
	return hostTrouble(err)
}

// serveMetadata serves, and takes in what changes, until ctx ends.
func (a *app) serveMetadata(ctx context.Context, s *metadataservice.Service, o metadataservice.Options, servers servers, hup <-chan os.Signal, told *teller) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var working sync.WaitGroup
	now := make(chan struct{})
	working.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-hup:
				notify("RELOADING=1")
				select {
				case now <- struct{}{}:
				case <-ctx.Done():
				}
			}
		}
	})
	working.Go(func() {
		s.Watch(ctx, o.Files, now, func(r metadataservice.Reloaded) { told.reloaded(r, s) })
	})
	err := servers.run(ctx, stop)
	notify("STOPPING=1")
	stop()
	working.Wait()
	return err
}

// metadataReady tells systemd that guests are answered.
func (a *app) metadataReady(s *metadataservice.Service) error {
	notify(fmt.Sprintf("READY=1\nSTATUS=%s served", count(len(s.Machines()), "machine")))
	return nil
}

// listServed prints what is served to whom, with what guests must be told.
func (a *app) listServed(s *metadataservice.Service, format string) error {
	if format == "json" {
		return a.printJSON(servedLines(s.Machines()))
	}
	if err := table(a.Out, s.Machines()); err != nil {
		return err
	}
	for _, m := range s.Machines() {
		fmt.Fprintf(a.Out, "\n%s/%s\n", m.Namespace, m.Name)
		for _, told := range m.Told {
			for _, row := range told.SMBIOS {
				fmt.Fprintf(a.Out, "  %-9s  %-15s  %s\n", told.Protocol, "smbios "+row.Field, row.Value.Reveal())
			}
			for _, arg := range told.KernelArgs {
				fmt.Fprintf(a.Out, "  %-9s  kernel argument  %s\n", told.Protocol, arg.Reveal())
			}
		}
	}
	return nil
}

// servedLine is a machine in the list for programs.
type servedLine struct {
	metadataservice.Served
	Guest map[string]toldLine `json:"guest"`
	// Password is what the guest has posted, encrypted.
	Password string `json:"password,omitempty"`
}

// toldLine is what a guest has to be told for a protocol.
type toldLine struct {
	SMBIOS     map[string]string `json:"smbios,omitempty"`
	KernelArgs []string          `json:"kernelArgs,omitempty"`
}

func servedLines(machines []metadataservice.Served) []servedLine {
	out := []servedLine{}
	for _, m := range machines {
		line := servedLine{m, map[string]toldLine{}, m.Posted.Reveal()}
		for _, told := range m.Told {
			x := toldLine{SMBIOS: map[string]string{}}
			for _, row := range told.SMBIOS {
				x.SMBIOS[row.Field] = row.Value.Reveal()
			}
			for _, arg := range told.KernelArgs {
				x.KernelArgs = append(x.KernelArgs, arg.Reveal())
			}
			line.Guest[told.Protocol] = x
		}
		out = append(out, line)
	}
	return out
}

// table shows what is served to whom, without signed URLs: it ends up in logs.
func table(out io.Writer, machines []metadataservice.Served) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "NAMESPACE\tNAME\tADDRESSES\tPROTOCOLS\tSEALED")
	for _, m := range machines {
		addresses := make([]string, len(m.Addresses))
		for i, a := range m.Addresses {
			addresses[i] = a.String()
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", m.Namespace, m.Name, cmp.Or(strings.Join(addresses, ","), "-"), strings.Join(m.Protocols, ","),
			map[bool]string{true: "yes", false: "no"}[m.Sealed])
	}
	return w.Flush()
}

// teller says what happens: to people in lines, to programs in lines of JSON.
type teller struct {
	app  *app
	json bool
	log  *slog.Logger

	// mutex keeps lines whole.
	mutex sync.Mutex
	file  io.Writer
}

func (t *teller) line(v any) error {
	text, err := json.Marshal(v)
	if err == nil {
		_, err = t.app.Out.Write(append(text, '\n'))
	}
	return err
}

// serving says at the start what is served to whom, and where.
func (t *teller) serving(s *metadataservice.Service, servers servers) error {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	machines := s.Machines()
	if t.json {
		line := map[string]any{"serving": machines, "listening": servers.urls()}
		for _, x := range servers.beside() {
			line[x.beside] = x.url()
		}
		return t.line(line)
	}
	err := table(t.app.Out, machines)
	fmt.Fprintf(t.app.Out, "vmseed serves %s at %s\n", count(len(machines), "machine"), strings.Join(servers.urls(), " "))
	for _, x := range servers.beside() {
		fmt.Fprintf(t.app.Out, "%s at %s\n", x.beside, x.url())
	}
	return err
}

// heard says what a guest reports.
func (t *teller) heard(e report.Event) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	text, err := json.Marshal(e)
	if err == nil && t.file != nil {
		_, err = t.file.Write(append(text, '\n'))
	}
	if err != nil {
		t.log.Error("a report is not written", "machine", e.Machine, "error", err)
	}
	if t.json {
		_, _ = t.app.Out.Write(append(text, '\n'))
		return
	}
	fmt.Fprintln(t.app.Out, reportLine(e))
}

// reportLine says in a line what a guest reports.
func reportLine(e report.Event) string {
	line := e.Time.UTC().Format(time.RFC3339) + " " + e.Machine + ": "
	if !e.Stage.Ended() {
		line += cmp.Or(stages[e.Stage], string(e.Stage))
		if e.Module != "" {
			line += ": " + e.Module
		}
		if e.Error != "" {
			line += ": " + e.Error
		}
		return line
	}
	if e.Result != nil && !e.Result.FirstBoot {
		return line + "booted again; it had been set up before"
	}
	if ok, reasons := report.Judge(e, report.FailOnWarning); !ok {
		return line + "first boot failed: " + strings.Join(reasons, "; ")
	}
	return line + "first boot done"
}

// reloaded says how a reload went.
func (t *teller) reloaded(r metadataservice.Reloaded, s *metadataservice.Service) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if err := t.app.report(r.Diagnostics, false); err != nil {
		t.log.Error("diagnostics are not written", "error", err)
	}
	if r.Failed() {
		err := r.Err
		if err == nil {
			err = errors.New("there are errors in the definitions")
		}
		t.log.Error("not reloaded, the old answers stay", "error", err, "machines", r.Machines)
	} else {
		t.log.Info("reloaded", "machines", r.Machines)
	}
	status := fmt.Sprintf("STATUS=%s served", count(r.Machines, "machine"))
	if r.Failed() {
		status += "; the last reload failed"
	}
	if r.Wished {
		status = "READY=1\n" + status
	}
	notify(status)
}
