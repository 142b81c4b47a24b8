package archtest

import (
	"go/ast"
	"maps"
	"path"
	"slices"
	"strings"
)

// layer says what the packages of a pattern may import. The first layer that matches a package counts.
type layer struct {
	of string
	// may are the module's own packages.
	may []string
	// libraries are packages of other modules.
	libraries []string
	// pure forbids clock, dice, disk and network.
	pure bool
	why  string
}

const (
	yaml  = "go.yaml.in/yaml/v4"
	cobra = "github.com/spf13/cobra"
	pflag = "github.com/spf13/pflag"
)

// words are the packages that carry no decision: what things are called, said and hidden.
var words = []string{"diag", "secret"}

// layers is the arrow rule. Imports of packages in the module are listed, so what a package reaches indirectly is
// bounded as well.
var layers = []layer{
	{of: "secret", why: "everything imports secret, so it imports nothing"},
	{of: "diag", why: "everything imports diag, so it imports nothing"},
	{of: "machine", may: words, pure: true, why: "a noun that knew more than how it is said would drag that into every plug-in"},
	{of: "machine/machinetest", may: append([]string{"machine"}, words...), why: "the sample machine serves every conformance suite"},
	{of: "seed", may: words, pure: true, why: "a noun that knew more than how it is said would drag that into every plug-in"},
	{of: "image", may: append([]string{"format/qcow2", "internal/atomicfile", "internal/bounded"}, words...), libraries: []string{"github.com/google/go-containerregistry/..."},
		why: "a guest image is bytes with a name, for the command, the daemon and the node alike"},
	{of: "image/imagetest", libraries: []string{"github.com/google/go-containerregistry/..."}, why: "container images for tests know nothing of those who fetch them"},
	{of: "report/intake", may: append([]string{"report", "machine", "format/cloudconfig"}, words...), why: "what guests say over HTTP is taken in one place, wherever they are served"},
	{of: "report", may: append([]string{"machine"}, words...), why: "the guest's word is judged the same way by command, daemon and node"},

	{of: "format/iso9660/...", pure: true, may: []string{"format/iso9660/..."}, why: "other tools take this package as it is, so it needs the standard library alone"},
	{of: "format/fat/...", pure: true, why: "other tools take this package as it is, so it needs the standard library alone"},
	{of: "format/qcow2", pure: true, why: "it says what an untrusted image leads to, so nothing but its own few lines may be at fault"},
	{of: "format/crypt", libraries: []string{"github.com/GehirnInc/crypt/sha512_crypt"}, pure: true,
		why: "a hash is made of its arguments alone, so that rendering twice gives the same bytes"},
	{of: "format/unattend", may: []string{"secret"}, pure: true, why: "an answer file is text with passwords in it, whoever asks for it"},
	{of: "format/kubeobject", may: append([]string{"format/tree", "internal/bounded"}, words...), libraries: []string{yaml}, pure: true,
		why: "a format knows bytes, not machines"},
	{of: "format/ignconfig", may: []string{"diag", "internal/bounded", "format/..."}, libraries: []string{yaml, "github.com/coreos/ignition/...",
		"github.com/coreos/ignition/v2/...", "github.com/coreos/butane/...", "github.com/coreos/ign-converter/...", "github.com/coreos/vcontext/...",
		"github.com/clarketm/json"}, pure: true,
		why: "the official code decides what an Ignition config means, and is met in one package"},
	{of: "format/...", may: []string{"diag", "internal/bounded", "format/..."}, libraries: []string{yaml}, pure: true,
		why: "a format knows bytes, not machines, so that it can be used and tested alone"},

	{of: "datasource", may: append([]string{"machine", "seed"}, words...), pure: true, why: "a kind is its interface, not its plug-ins"},
	{of: "datasource/all", may: append([]string{"datasource", "datasource/...", "format/..."}, words...), why: "this is the list of the data sources and of what their packages say"},
	{of: "datasource/datasourcetest", may: append([]string{"datasource", "machine", "machine/machinetest", "seed", "format/..."}, words...),
		why: "the conformance suite knows the kind, not its plug-ins"},
	{of: "datasource/ignition", may: append([]string{"datasource", "datasource/internal/...", "datasource/configdrive", "datasource/nocloud",
		"datasource/openstack", "machine", "seed", "format/..."}, words...), pure: true,
		why: "on some platforms Ignition reads the seeds of cloud-init's data sources, which are rendered in one place"},
	{of: "datasource/openstack", may: append([]string{"datasource", "datasource/internal/...", "datasource/configdrive", "machine", "seed", "format/..."}, words...),
		libraries: []string{yaml}, pure: true, why: "the metadata service of OpenStack has the documents of a config drive, which are rendered in one place"},
	{of: "datasource/internal/ignition", may: append([]string{"datasource", "datasource/internal/...", "machine", "seed", "format/..."}, words...),
		libraries: []string{yaml, "github.com/coreos/ignition/v2/config/v3_6/types"}, pure: true,
		why: "a config is built of the official types, so that what it may say is checked when it is compiled"},
	{of: "datasource/...", may: append([]string{"datasource", "datasource/internal/...", "machine", "seed", "format/...", "internal/bounded"}, words...),
		libraries: []string{yaml}, pure: true,
		why: "rendering is a function of the machine: without clock, dice, disk and network it cannot be anything else"},

	{of: "frontend", may: append([]string{"machine", "format/kubeobject", "format/tree"}, words...), pure: true, why: "a kind is its interface, not its plug-ins"},
	{of: "frontend/all", may: append([]string{"frontend", "frontend/...", "format/...", "internal/bounded"}, words...), why: "this is the list of the front ends and of what their packages say"},
	{of: "frontend/frontendtest", may: append([]string{"frontend", "machine", "machine/machinetest", "format/...", "internal/bounded"}, words...),
		libraries: []string{yaml}, why: "the conformance suite knows the kind, not its plug-ins"},
	{of: "frontend/...", may: append([]string{"frontend", "frontend/internal/...", "machine", "format/...", "internal/bounded"}, words...),
		libraries: []string{yaml}, pure: true,
		why: "a front end reads the document it is given; Secrets come through its Resolver, so it needs neither disk nor network"},

	{of: "delivery", may: append([]string{"seed"}, words...), why: "a kind is its interface, not its plug-ins"},
	{of: "delivery/all", may: append([]string{"delivery", "delivery/..."}, words...), why: "this is the list of the deliveries and of what their packages say"},
	{of: "delivery/deliverytest", may: append([]string{"delivery", "seed", "internal/atomicfile"}, words...),
		libraries: []string{"golang.org/x/sys/unix"}, why: "the conformance suite knows the kind, not its plug-ins"},
	{of: "delivery/metadata", may: append([]string{"delivery", "seed", "internal/atomicfile", "internal/bounded"}, words...), libraries: []string{"golang.org/x/sys/unix"},
		why: "what answers guests knows prepared bytes and who asks, so that nothing of another machine can get into an answer"},
	{of: "delivery/...", may: append([]string{"delivery", "delivery/internal/...", "seed", "internal/atomicfile", "format/..."}, words...),
		why: "a delivery brings bytes to a guest; one that looked into the machine would decide a second time what they mean"},

	{of: "hypervisor", may: append([]string{"machine", "seed", "report"}, words...), why: "a kind is its interface, not its plug-ins"},
	{of: "hypervisor/all", may: append([]string{"hypervisor", "hypervisor/...", "report", "internal/autoconf", "internal/vmnet", "internal/supervisor"}, words...),
		why: "this is the list of the hypervisors and of what their packages say"},
	{of: "hypervisor/hypervisortest", may: append([]string{"hypervisor", "machine", "machine/machinetest", "seed", "report"}, words...),
		why: "the conformance suite knows the kind, not its plug-ins"},
	{of: "hypervisor/...", may: append([]string{"hypervisor", "hypervisor/internal/...", "machine", "seed", "report", "format/qcow2", "internal/atomicfile",
		"internal/autoconf", "internal/qmp", "internal/supervisor", "internal/vmnet", "internal/bounded"}, words...),
		libraries: []string{"golang.org/x/sys/unix"},
		why:       "a hypervisor builds the placed machine and attaches what a delivery wrote; where either came from is not its business"},

	{of: "internal/bounded", may: words, libraries: []string{yaml}, why: "the budgets stand below every parser"},
	{of: "internal/atomicfile", why: "whole files or none stands below every writer"},
	{of: "internal/hostpath", why: "what documents may name of a host is one question, whether the daemon or a node is asked it"},
	{of: "internal/qga", why: "the guest agent's protocol is useful to any owner of a QEMU process"},
	{of: "internal/qmp", why: "the monitor protocol is useful to any owner of a QEMU process"},
	{of: "internal/vmnet", may: append([]string{"machine"}, words...), libraries: []string{"github.com/containers/gvisor-tap-vsock/...",
		"github.com/insomniacslk/dhcp/...", "gvisor.dev/gvisor/...", "github.com/sirupsen/logrus"}, why: "the network stack's large libraries are met in one package"},
	{of: "internal/vmnet/vmnettest", may: []string{"internal/vmnet"}, libraries: []string{"gvisor.dev/gvisor/..."}, why: "a guest sees of a network its frames alone"},
	{of: "internal/tap", libraries: []string{"golang.org/x/sys/unix"}, why: "frames and filters of a device of the host are useful to whoever answers a guest there"},
	{of: "internal/autoconf", may: append([]string{"machine"}, words...), libraries: []string{"github.com/insomniacslk/dhcp/..."},
		why: "what answers a guest's questions for addresses knows the addresses, whoever gave them"},
	{of: "internal/supervisor", may: append([]string{"machine", "seed", "report", "report/intake", "delivery/metadata", "internal/atomicfile", "internal/autoconf", "internal/qga", "internal/qmp", "internal/tap", "internal/vmnet"}, words...),
		libraries: []string{"golang.org/x/sys/unix"}, why: "the owner of a running VM knows its plan, never the document it came from"},
	{of: "internal/supervisor/supervisortest", may: []string{"internal/supervisor"}, why: "a fake QEMU has what supervisors see of one, and no more"},
	{of: "internal/boot", may: append([]string{".", "image", "machine", "seed", "hypervisor", "report", "report/intake", "frontend", "datasource/ignition", "delivery", "delivery/firmware", "delivery/metadata", "format/...",
		"internal/atomicfile", "internal/bounded", "internal/supervisor", "internal/vmnet"}, words...), libraries: []string{yaml, "golang.org/x/sys/unix"},
		why: "a machine is brought from its definition to a running VM in one way, whether a command, the daemon or a node asks"},
	{of: "internal/metadataservice", may: append([]string{".", "machine", "seed", "datasource", "delivery", "delivery/metadata", "format/tree", "report", "report/intake", "internal/atomicfile", "internal/bounded"}, words...),
		libraries: []string{"github.com/prometheus/client_golang/...", "golang.org/x/sys/unix"},
		why:       "who keeps machines for guests that somebody else runs, be it a command, the daemon or a node, serves their metadata the same way"},
	{of: "internal/ovirtclient", may: append([]string{"format/element", "internal/bounded"}, words...), why: "it fetches documents of a live engine; what they mean is the front end's to say"},
	{of: "internal/judge", libraries: []string{"golang.org/x/sys/unix"}, why: "the real consumers judge files, whoever wrote them"},
	{of: "internal/testguest/...", may: []string{"internal/testguest/..."}, libraries: []string{"golang.org/x/sys/unix"}, why: "a test guest is judge of our code, so it shares none of it"},
	{of: "internal/testsummary", why: "what counts the tests must not depend on what they test"},
	{of: "internal/archtest", why: "what judges the tree must not depend on it"},

	{of: "daemon/store", may: append([]string{"internal/atomicfile", "report"}, words...), libraries: []string{"go.etcd.io/bbolt"},
		why: "what survives a crash is decided in one package, which knows records and not what they are for"},
	{of: "daemon/auth", may: append([]string{"format/crypt", "internal/atomicfile"}, words...), why: "who may come in is decided without a look at what is inside"},
	{of: "daemon/daemontest", may: append([]string{".", "daemon", "daemon/auth", "datasource/all", "delivery/all", "frontend/all", "machine", "hypervisor", "internal/supervisor", "internal/supervisor/supervisortest"}, words...),
		why: "tests of the daemon and of its APIs share one way to have a daemon whose VMs have no guest"},
	{of: "daemon/mask", may: append([]string{"daemon/client", "machine", "seed", "report/intake", "internal/bounded"}, words...),
		why: "what people may see of a seed is decided in one place, whoever shows or keeps it"},
	{of: "daemon", may: append([]string{".", "image", "machine", "seed", "frontend", "datasource", "delivery", "hypervisor", "report", "format/...", "daemon/mask", "daemon/store",
		"internal/atomicfile", "internal/bounded", "internal/boot", "internal/hostpath", "internal/metadataservice", "internal/supervisor"}, words...),
		why: "the daemon keeps definitions and runs them; which form they have is the engine's business, and how clients ask for it that of the APIs"},
	{of: "daemon/client", may: append([]string{"report", "internal/bounded"}, words...), why: "a client is a program of its own, far from the daemon's inside"},
	{of: "daemon/api", may: append([]string{".", "daemon", "daemon/auth", "daemon/client", "daemon/mask", "machine", "frontend", "frontend/ovirt", "report", "format/...", "internal/bounded"}, words...),
		libraries: []string{"github.com/coder/websocket"}, why: "the API says what the daemon does, in vmseed's own words"},
	{of: "daemon/ovirtapi", may: append([]string{"daemon", "daemon/auth", "machine", "report", "frontend/ovirt", "format/crypt", "format/element", "format/tree", "internal/bounded"}, words...),
		why: "the API says what the daemon does, in the words of oVirt's clients"},
	{of: "daemon/web", may: append([]string{"daemon", "daemon/auth", "daemon/client", "report"}, words...),
		why: "the page shows what the API says; its script is one more client of that"},
	{of: "daemon/server", may: append([]string{"daemon", "daemon/...", "internal/atomicfile"}, words...), why: "listeners, TLS and routes are one place to look at when safety is in question"},

	{of: ".", may: append([]string{"machine", "seed", "frontend", "datasource", "delivery", "hypervisor", "report", "format/cloudconfig", "format/element", "format/kubeobject", "format/tree",
		"internal/bounded"}, words...), why: "the engine knows the kinds; who uses the library chooses the plug-ins"},
	{of: "internal/cli", may: append([]string{".", "image", "machine", "seed", "frontend", "datasource", "delivery", "hypervisor", "report", "frontend/...",
		"datasource/...", "delivery/...", "hypervisor/...", "format/...", "daemon", "daemon/...", "internal/atomicfile", "internal/bounded", "internal/boot", "internal/metadataservice", "internal/ovirtclient", "internal/qmp",
		"internal/supervisor", "internal/vmnet"}, words...),
		libraries: []string{cobra, pflag, yaml, "golang.org/x/term", "golang.org/x/sys/unix"}, why: "the command puts everything together"},
	{of: "cmd/*", may: []string{"internal/cli"}, why: "a main that is more than a call cannot be tested"},
	{of: "e2e", why: "the tests of whole guests use the command as users do"},
	{of: "examples/...", may: append([]string{".", "machine", "seed", "frontend/...", "datasource", "datasource/all", "datasource/content",
		"datasource/datasourcetest", "delivery/...", "hypervisor/...", "format/..."}, words...),
		why: "an example is a user of the library, who has its public packages only"},
}

func importRules() []Rule {
	return []Rule{
		{"the arrow rule", "a plug-in of one kind never knows a plug-in of another, so that whoever adds one touches nothing else", checkArrows},
		{"pure packages", "same input, same bytes: what cannot reach clock, dice, disk and network cannot differ", checkPure},
		{"test packages stay in tests", "a conformance suite or a judge in the product would ship the testing package to users", checkTestPackages},
		{"package names", "a package is named for what it provides; a drawer for everything has no owner", checkPackageNames},
	}
}

func layerOf(dir string) (layer, bool) {
	for _, table := range [][]layer{layers, kubeLayers} {
		for _, l := range table {
			if matches(l.of, dir) {
				return l, true
			}
		}
	}
	return layer{}, false
}

func checkArrows(t *Tree) []Problem {
	var out []Problem
	for _, p := range t.Packages {
		l, ok := layerOf(p.Dir)
		if !ok {
			out = append(out, Problem{p.Dir, "no layer in internal/archtest/imports.go names this package: say there what it may import, and why"})
			continue
		}
		for _, f := range p.code() {
			imports := f.imports()
			for _, name := range slices.Sorted(maps.Keys(imports)) {
				if dir, ok := t.local(name); ok {
					if !matchesAny(l.may, dir) {
						out = append(out, t.at(imports[name], "%s may not import %s: %s", p.Dir, dir, l.why))
					}
				} else if !standard(name) && !matchesAny(l.libraries, name) {
					out = append(out, t.at(imports[name], "%s may not import the library %s: %s", p.Dir, name, l.why))
				}
			}
		}
	}
	return out
}

// standard reports whether an import path is of the standard library, whose paths have no dot in the first element.
func standard(name string) bool {
	first, _, _ := strings.Cut(name, "/")
	return !strings.Contains(first, ".")
}

// impure are the packages that a pure package may not import.
var impure = map[string]string{"os": "disk and environment", "os/exec": "programs", "os/signal": "signals", "os/user": "accounts",
	"net": "network (net/netip is fine)", "net/http": "network", "syscall": "the kernel", "math/rand": "dice", "math/rand/v2": "dice",
	"crypto/rand": "dice", "runtime": "the machine at hand", "io/ioutil": "disk", "golang.org/x/sys/unix": "the kernel", "log": "output", "log/slog": "output"}

// clocks are the functions of package time that a pure package may not use.
var clocks = []string{"Now", "Since", "Until", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker", "Sleep"}

func checkPure(t *Tree) []Problem {
	var out []Problem
	for _, p := range t.Packages {
		l, ok := layerOf(p.Dir)
		if !ok || !l.pure || p.command() {
			continue
		}
		for _, f := range p.code() {
			imports := f.imports()
			for _, name := range slices.Sorted(maps.Keys(imports)) {
				if what, ok := impure[name]; ok {
					out = append(out, t.at(imports[name], "%s may not import %s (%s): %s", p.Dir, name, what, l.why))
				}
			}
			clock := f.name("time")
			ast.Inspect(f.AST, func(n ast.Node) bool {
				if sel, ok := n.(*ast.SelectorExpr); ok && clock != "" {
					if x, ok := sel.X.(*ast.Ident); ok && x.Name == clock && x.Obj == nil && slices.Contains(clocks, sel.Sel.Name) {
						out = append(out, t.at(n, "%s may not use time.%s: %s", p.Dir, sel.Sel.Name, l.why))
					}
				}
				return true
			})
		}
	}
	return out
}

// forTests reports whether a package exists for tests only.
func forTests(dir string) bool {
	return strings.HasSuffix(path.Base(dir), "test") && path.Base(dir) != "archtest" || dir == "internal/judge" || dir == "kube/internal/tinyguest" || matches("internal/testguest/...", dir)
}

func checkTestPackages(t *Tree) []Problem {
	var out []Problem
	for _, p := range t.Packages {
		if forTests(p.Dir) {
			continue
		}
		for _, f := range p.code() {
			imports := f.imports()
			for _, name := range slices.Sorted(maps.Keys(imports)) {
				dir, ok := t.local(name)
				if ok && forTests(dir) || name == "testing" || strings.HasPrefix(name, "testing/") {
					out = append(out, t.at(imports[name], "%s is for tests, and this file is none", name))
				}
			}
		}
	}
	return out
}

func checkPackageNames(t *Tree) []Problem {
	var out []Problem
	for _, p := range t.Packages {
		for _, word := range []string{"util", "utils", "common", "helper", "helpers", "types", "misc", "base", "model", "models", "shared", "pkg"} {
			if slices.Contains(strings.Split(p.Dir, "/"), word) {
				out = append(out, Problem{p.Dir, "the name " + word + " says nothing about what is inside"})
			}
		}
		for _, f := range p.code() {
			name := f.AST.Name.Name
			if want := path.Base(p.Dir); p.Dir != "." && name != want && name != "main" {
				out = append(out, t.at(f.AST.Name, "package %s stands in a directory called %s", name, want))
			}
			if strings.ToLower(name) != name || strings.Contains(name, "_") {
				out = append(out, t.at(f.AST.Name, "package %s: a package name is one word in lower case", name))
			}
		}
	}
	return out
}
