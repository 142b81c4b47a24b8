package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/vmseed/vmseed"
	datasources "github.com/vmseed/vmseed/datasource/all"
	"github.com/vmseed/vmseed/datasource/ignition"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/frontend/cniresult"
	"github.com/vmseed/vmseed/internal/bounded"
	"github.com/vmseed/vmseed/machine"
)

// maxInput is the size of the largest file that is read as a definition. The front ends have budgets of their own.
const maxInput = 64 << 20

// inputFlags are the flags of every subcommand that reads definitions.
type inputFlags struct {
	files                                         []string
	name, cniResult                               string
	userData, metaData, networkConfig, vendorData string
	dsmode, hostname                              string
	dataSource, ignitionPlatform, guest           string
	revision                                      int
	noMultipart, http                             bool
	featureGates                                  []string
	userDataLimit                                 int
	kubeconfig, kubeContext                       string
	// stated are the fields of the machine that flags state.
	stated machine.FieldSet
	// extra are parts that go into the vendor-data.
	extra []machine.Layer
	// adjust changes a machine before it is placed.
	adjust func(*machine.Machine, *diag.List)
}

func (in *inputFlags) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVarP(&in.files, "file", "f", nil, "definition to read, as well as FILE (repeatable; - is standard input)")
	f.StringVar(&in.name, "name", "", "pick one machine of several: [NAMESPACE/]NAME")
	f.StringVar(&in.userData, "user-data", "", "plain user-data instead of a definition")
	f.StringVar(&in.metaData, "meta-data", "", "plain meta-data")
	f.StringVar(&in.networkConfig, "network-config", "", "plain network document")
	f.StringVar(&in.vendorData, "vendor-data", "", "plain vendor-data")
	f.StringVar(&in.dsmode, "dsmode", "", "cloud-init's dsmode: local, net or disabled")
	f.StringVar(&in.hostname, "hostname", "", "host name for plain files")
	f.StringVar(&in.dataSource, "datasource", "", "data source: "+listed(datasources.DataSources())+"; nocloud-net is nocloud by HTTP (default: what the definition asks for, else nocloud)")
	f.StringVar(&in.ignitionPlatform, "ignition-platform", "", "where the Ignition of the image looks: "+strings.Join(ignition.Platforms(), ", ")+
		" (default: what the definition says, else "+ignition.DefaultPlatform+")")
	f.StringVar(&in.cniResult, "cni-result", "", "JSON result of CNI plugins that the machine's network is taken from")
	f.StringVar(&in.guest, "guest", "", "the release that reads the seed, such as debian-12, cloud-init=22.4, flatcar or ignition=3.3 (default: guest.release of the definition); check --help lists them")
	f.IntVar(&in.revision, "instance-revision", 0, "run first boot again: a new number makes a new instance id")
	f.BoolVar(&in.noMultipart, "no-multipart", false, "never send a MIME multipart message, for guests that cannot read one")
	f.StringVar(&in.kubeconfig, "kubeconfig", "", "resolve Secrets and ConfigMaps from a cluster")
	f.StringVar(&in.kubeContext, "context", "", "context of --kubeconfig")
	for _, name := range []string{"kubeconfig", "context"} { // this program refuses them, and says who takes them
		_ = f.MarkHidden(name)
	}
	f.StringSliceVar(&in.featureGates, "feature-gates", nil, "KubeVirt feature gates")
	f.IntVar(&in.userDataLimit, "userdata-limit", 0, "largest inline user-data and network data of a KubeVirt definition, in bytes (default 2048)")
}

// httpFlag is for commands that show or write what a guest reads. Where a VM is run, its delivery decides.
func (in *inputFlags) httpFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&in.http, "http", false, "have the guests of nocloud and ignition fetch by HTTP what they would read from a volume or the firmware")
}

// checkBase refuses what is no URL of a server. It ends in a slash, because names are joined to it.
func checkBase(base string) error {
	if u, err := url.Parse(base); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || !strings.HasSuffix(base, "/") {
		return usagef("--base takes a URL such as http://192.0.2.1:8000/, with a slash at its end, not %q", base)
	}
	return nil
}

// read returns the files of the command line with their roles.
func (a *app) read(ctx context.Context, in *inputFlags, args []string) ([]vmseed.Input, error) {
	var out []vmseed.Input
	add := func(file string, role frontend.Role) error {
		if file == "" {
			return nil
		}
		data, err := a.readFile(file)
		if err != nil {
			return err
		}
		name := file
		if file == "-" {
			name = "<stdin>"
		}
		out = append(out, vmseed.Input{File: name, Role: role, Data: data})
		return nil
	}
	var errs []error
	for _, file := range append(args, in.files...) {
		data, name, err := a.definition(ctx, file)
		out, errs = append(out, vmseed.Input{File: name, Data: data}), append(errs, err)
	}
	errs = append(errs, add(in.userData, frontend.UserData), add(in.metaData, frontend.MetaData),
		add(in.vendorData, frontend.VendorData), add(in.networkConfig, frontend.NetworkConfig))
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if len(out) == 0 {
		return nil, usagef("name at least one FILE, or plain files with --user-data and the like")
	}
	return out, nil
}

func (a *app) readFile(file string) ([]byte, error) {
	if file == "-" {
		data, err := bounded.ReadAll(a.In, maxInput)
		if err != nil {
			return nil, fmt.Errorf("<stdin>: %w", err)
		}
		return data, nil
	}
	data, err := bounded.ReadFile(file, maxInput)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, usagef("%w", err)
	case errors.Is(err, syscall.EISDIR):
		return nil, isDirectory(file)
	case errors.Is(err, bounded.ErrTooLarge):
		return nil, &exitError{exitInput, err}
	}
	return data, err
}

// machines reads and picks the machines of the command line. With errors in the list there are none.
func (a *app) machines(ctx context.Context, in *inputFlags, args []string) ([]machine.Machine, diag.List, error) {
	resolver, err := a.resolver(in)
	if err != nil {
		return nil, nil, err
	}
	if err := errors.Join(in.checkPlatform(), checkGuest(in.guest)); err != nil {
		return nil, nil, err
	}
	inputs, err := a.read(ctx, in, args)
	if err != nil {
		return nil, nil, err
	}
	machines, l := a.engine.Load(ctx, inputs, vmseed.LoadOptions{Options: frontend.Options{
		Hostname: in.hostname, DSMode: in.dsmode, DataSource: in.dataSource, FeatureGates: in.featureGates, UserDataLimit: in.userDataLimit,
		Stated: in.stated}, Resolver: resolver})
	if l.HasErrors() {
		return nil, l, nil
	}
	if err := in.checkPlain(machines, args); err != nil {
		return nil, l, err
	}
	if machines, err = pick(machines, in.name); err != nil {
		return nil, l, err
	}
	for i := range machines {
		machines[i].Identity.Revision += in.revision
	}
	return machines, l, nil
}

// resolver reaches the cluster that the flags name. Without them it is nil.
func (a *app) resolver(in *inputFlags) (frontend.Resolver, error) {
	if in.kubeconfig == "" && in.kubeContext == "" {
		return nil, nil
	}
	if a.cluster == nil {
		return nil, usagef("vmseed itself does not speak to clusters, vmseed-kube does; give the Secrets and ConfigMaps as files")
	}
	resolver, err := a.cluster(in.kubeconfig, in.kubeContext)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, usagef("--kubeconfig: %w", err)
	case err != nil:
		return nil, &exitError{exitEnvironment, err}
	}
	return resolver, nil
}

// load reads, picks and places the machines of the command line.
func (a *app) load(ctx context.Context, in *inputFlags, args []string) ([]machine.Machine, diag.List, error) {
	machines, l, err := a.machines(ctx, in, args)
	if err != nil {
		return nil, l, err
	}
	facts, problems, err := a.facts(in)
	l = append(l, problems...)
	if err != nil || l.HasErrors() {
		return nil, l, err
	}
	if in.cniResult != "" && len(machines) > 1 {
		return nil, l, usagef("--cni-result is for one machine, the input has %d; pick one with --name", len(machines))
	}
	for i := range machines {
		if in.adjust != nil {
			in.adjust(&machines[i], &l)
		}
		machines[i], problems = a.engine.Place(machines[i], facts)
		l = append(l, problems...)
	}
	return machines, l, nil
}

func (a *app) facts(in *inputFlags) (machine.Facts, diag.List, error) {
	if in.cniResult == "" {
		return machine.Facts{}, nil, nil
	}
	data, err := a.readFile(in.cniResult)
	if err != nil {
		return machine.Facts{}, nil, err
	}
	facts, l := cniresult.Read(in.cniResult, data)
	return facts, l, nil
}

// pick returns the machines whose name was asked for, all of them for an empty name.
func pick(machines []machine.Machine, name string) ([]machine.Machine, error) {
	if name == "" {
		return machines, nil
	}
	var out []machine.Machine
	var have []string
	for _, m := range machines {
		have = append(have, m.Namespace+"/"+m.Name)
		if name == m.Name || name == m.Namespace+"/"+m.Name {
			out = append(out, m)
		}
	}
	switch len(out) {
	case 1:
		return out, nil
	case 0:
		return nil, usagef("there is no machine %q; the input has %s", name, strings.Join(have, ", "))
	}
	return nil, usagef("several machines are called %q; name one as NAMESPACE/NAME: %s", name, strings.Join(have, ", "))
}

// checkPlatform refuses an Ignition platform to which there is no way.
func (in *inputFlags) checkPlatform() error {
	if p := in.ignitionPlatform; p != "" && !slices.Contains(ignition.Platforms(), p) {
		return usagef("--ignition-platform takes %s, not %q", strings.Join(ignition.Platforms(), ", "), p)
	}
	return nil
}

func (in *inputFlags) options() (o vmseed.RenderOptions) {
	o.DataSource, o.NoMultipart, o.Guest = in.dataSource, in.noMultipart, in.guest
	o.IgnitionPlatform, o.Extra, o.HTTP = in.ignitionPlatform, in.extra, in.http
	return o
}

// changes reports whether flags change what a definition says.
func (in *inputFlags) changes() bool {
	return in.http || len(in.extra) > 0 || in.revision != 0 || in.userData+in.metaData+in.networkConfig+in.vendorData+in.dsmode+in.hostname+in.dataSource+
		in.guest+in.ignitionPlatform+in.cniResult != ""
}

// listed names plug-ins for a help text.
func listed[P interface{ Name() string }](plugins []P) string {
	all := names(plugins)
	if len(all) < 2 {
		return strings.Join(all, "")
	}
	return strings.Join(all[:len(all)-1], ", ") + " or " + all[len(all)-1]
}
