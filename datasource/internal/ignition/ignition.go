// Package ignition makes an Ignition config of a machine: of its fields, of the author's own configs, and of user-data that
// was written for cloud-init. It is the one place where these are put together, for every way by which a config travels.
//
// The rules, in this order:
//   - One config of the author's and nothing to add: its bytes, unchanged.
//   - Else a small config that merges, as data: URLs, the generated part first and the author's configs after it. A later
//     one is Ignition's child of those before, so what the author states wins, and the author's bytes stay unchanged.
//
// Ignition runs once, before the guest's own system starts. What it cannot do itself is done by units that it enables.
// They are called vmseed-*.service, their scripts are below /etc/vmseed, and what has run once is noted below
// /var/lib/vmseed. A script is given to the interpreter that its first line names rather than executed, so neither a mount
// option nor SELinux stands in its way.
//
// Source: the documentation of Ignition's specifications 3.0 to 3.6 and Ignition's code of 2.14 and 2.26.
package ignition

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_6/types"

	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/datasource/internal/network"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/ignconfig"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// DefaultUser is the account that SSH keys and settings of the default user are for: the one that the distributions which
// bring Ignition have. An image without it gets it.
const DefaultUser = "core"

// Expresses lists the fields of a machine that an Ignition config carries. An instance id is one only when the guest phones
// home; for Ignition itself each first boot is a new instance.
func Expresses() machine.FieldSet {
	return network.Expresses().Union(machine.NewFieldSet(
		"identity.instanceID", "identity.hostname", "identity.domain", "guest.timezone", "guest.locale", "keyboard", "ntp", "caCerts",
		"users.name", "users.default", "users.gecos", "users.uid", "users.primaryGroup", "users.groups", "users.home",
		"users.noCreateHome", "users.shell", "users.system", "users.password", "users.passwordHash", "users.lockPassword",
		"users.expirePassword", "users.inactive", "users.expires", "users.sshAuthorizedKeys", "users.sudo",
		"groups", "ssh.authorizedKeys", "ssh.hostKeys", "ssh.deleteHostKeys", "ssh.genKeyTypes", "ssh.passwordAuth", "ssh.disableRoot",
		"files", "environment", "mounts", "deviceLinks", "storage", "units", "bootcmd", "runcmd", "scripts", "phoneHome",
		"powerState.mode", "powerState.delay", "powerState.message", "powerState.condition",
		"userData.layers", "userData.raw", "userData.mountScriptMark", "ignition"))
}

// Recognise reports whether a layer is a config of Ignition or Butane.
func Recognise(x machine.Layer) bool {
	return ignconfig.Recognise([]byte(x.Data.Reveal())) != ignconfig.None
}

// Machine reports whether the machine's user-data is for Ignition: some layer of it is a config.
func Machine(m machine.Machine) bool { return slices.ContainsFunc(m.UserData.Layers, Recognise) }

// composer holds what the steps share.
type composer struct {
	m    machine.Machine
	o    datasource.Options
	list diag.List
	// parts counts the scripts of the user-data that have no name.
	parts  int
	reader reader
}

// reader is who reads what becomes of the user-data, in words for messages.
type reader struct {
	guest, seed, remedy string
	expresses           machine.FieldSet
}

// Compose returns the config of a placed machine as JSON. It is never empty: a machine with nothing to say has an empty
// config, because some platforms wait for one for ever. Of the extra layers those count that are configs.
func Compose(m machine.Machine, o datasource.Options) (secret.Text, diag.List) {
	c := composer{m: m, o: o, reader: reader{guest: "an Ignition", seed: "an Ignition config",
		remedy: "give an Ignition config, Butane, a cloud-config or a script", expresses: Expresses()}}
	authors, raw := c.authors()
	if raw {
		c.lost()
		return c.finish(authors)
	}
	var children []ignconfig.Config
	if generated := generate(c.m, familyOf(c.m, o), &c.list); !isEmpty(generated) {
		config, l := ignconfig.Build(generated)
		c.list = append(c.list, l...)
		children = append(children, config)
	}
	children = append(children, authors...)
	for _, x := range o.Extra {
		if Recognise(x) {
			children = append(children, c.read(x, "")...)
		}
	}
	return c.finish(children)
}

// finish makes one config of several, a later one over those before it.
func (c *composer) finish(children []ignconfig.Config) (secret.Text, diag.List) {
	children = slices.DeleteFunc(children, ignconfig.Config.IsZero)
	if c.list.HasErrors() {
		return secret.Text{}, c.list
	}
	switch len(children) {
	case 0:
		config, l := ignconfig.Build(types.Config{})
		return secret.FromBytes(config.Text()), append(c.list, l...)
	case 1:
		return secret.FromBytes(children[0].Text()), c.list
	}
	for _, d := range ignconfig.Conflicts(children...) {
		c.list.Errorf(CodeConflict, c.m.Places.Find("ignition"), "change the config or the definition",
			"the config and what the definition adds to it contradict each other: %s: %s", d.Field, d.Summary)
	}
	if c.list.HasErrors() {
		return secret.Text{}, c.list
	}
	return secret.FromBytes(ignconfig.Wrap(children...).Text()), c.list
}

// isEmpty reports whether a config says nothing.
func isEmpty(c types.Config) bool {
	return len(c.Passwd.Users)+len(c.Passwd.Groups)+len(c.Storage.Files)+len(c.Storage.Links)+len(c.Storage.Directories)+
		len(c.Storage.Disks)+len(c.Storage.Filesystems)+len(c.Systemd.Units) == 0
}

// lost says for each value of the machine that the guest is not told, because the config is passed as it is. Names that
// every placed machine has are none of its author's.
func (c *composer) lost() {
	kept := machine.NewFieldSet("userData", "ignition", "identity.instanceID", "network.nics.name", "network.nics.mac")
	for _, use := range machine.Lost(c.m, kept) {
		if Expresses().Has(use.Field) {
			c.list.Add(diag.Diagnostic{Code: CodeLost, Severity: diag.Warning, Range: c.m.Places.Find(use.Path), Field: use.Path,
				Summary: "the guest is not told, because the config is passed as it is", Remedy: "do the same in the config itself"})
		}
	}
}

// family is a group of distributions that keep their settings in the same places.
type family struct {
	// networkd says that systemd-networkd sets up the network, else NetworkManager does; quiet that DHCP on every NIC is
	// what the image does of itself; start that the services are not enabled in the image.
	networkd, quiet, start bool
	// chrony says that chronyd keeps the time, beside images with systemd-timesyncd.
	chrony bool
	// debian has the files below /etc/default.
	debian bool
	// ostree has directories that are links into /var; guessed says that nothing names the distribution.
	ostree, guessed bool
	// certDir and certExt are where further authorities are put.
	certDir, certExt string
}

// familyOf finds the family of a machine's guest: Flatcar by its platform or release, Debian and Ubuntu by their release;
// anything else is taken for one of Fedora CoreOS and its kin.
func familyOf(m machine.Machine, o datasource.Options) family {
	release := o.Guest
	if release == "" {
		release = m.Guest.Release
	}
	platform := o.IgnitionPlatform
	if platform == "" {
		platform = m.Guest.IgnitionPlatform
	}
	switch {
	case platform == "flatcar", strings.HasPrefix(release, "flatcar"):
		return family{networkd: true, quiet: true, certDir: "/etc/ssl/certs", certExt: ".pem"}
	case strings.HasPrefix(release, "debian"), strings.HasPrefix(release, "ubuntu"):
		return family{networkd: true, start: true, debian: true, certDir: "/usr/local/share/ca-certificates", certExt: ".crt"}
	}
	return family{quiet: true, chrony: true, ostree: true, guessed: release == "", certDir: "/etc/pki/ca-trust/source/anchors", certExt: ".crt"}
}

// groups are those that an image has.
func (f family) groups() []string {
	if f.debian {
		return debianGroups
	}
	return distributed
}

// generator builds the config of a machine's fields.
type generator struct {
	m      machine.Machine
	family family
	list   *diag.List
	out    types.Config
	// nodes maps the path of each file to its place in the list of files, asked to where the definition asks for it.
	nodes map[string]int
	asked map[string]diag.Range
	// setup are commands for the first boot that come before anyone can log in, such as the expiry of passwords.
	setup []string
	// late are the units that wait for the network, in the order in which they run.
	late []string
	// state is the directory with the notes of what has run.
	state string
}

func newGenerator(m machine.Machine, f family, l *diag.List) *generator {
	return &generator{m: m, family: f, list: l, nodes: map[string]int{}, asked: map[string]diag.Range{}, state: stateDir}
}

// generate returns the config of a machine's fields.
func generate(m machine.Machine, f family, l *diag.List) types.Config {
	g := newGenerator(m, f, l)
	g.accounts()
	g.files()
	g.system()
	g.ssh()
	g.network()
	g.storage()
	g.mounts()
	g.units()
	g.commands()
	return g.out
}

func (g *generator) place(path string) diag.Range { return g.m.Places.Find(path) }

func (g *generator) lost(path, what, remedy string) {
	g.list.Add(diag.Diagnostic{Code: CodeNoWords, Severity: diag.Warning, Range: g.place(path), Field: path, Summary: what, Remedy: remedy})
}

func (g *generator) errorf(code diag.Code, path, remedy, format string, args ...any) {
	g.list.Add(diag.Diagnostic{Code: code, Severity: diag.Error, Range: g.place(path), Field: path, Summary: fmt.Sprintf(format, args...), Remedy: remedy})
}

func (g *generator) warnf(code diag.Code, path, remedy, format string, args ...any) {
	g.list.Add(diag.Diagnostic{Code: code, Severity: diag.Warning, Range: g.place(path), Field: path, Summary: fmt.Sprintf(format, args...), Remedy: remedy})
}

// stated returns a pointer to a value that is given, and nil for one that is not.
func stated[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

func of[T any](v T) *T { return &v }
