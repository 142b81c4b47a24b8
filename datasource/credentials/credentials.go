// Package credentials renders a machine as credentials of systemd, for guests that have neither cloud-init nor Ignition:
// the system itself reads them out of its firmware, at every boot, and sets up what they say. Nothing has to be installed in
// the image and nothing in it has to listen.
//
// What the guest comes to is stated rather than done once: at each boot files get the content of the definition again,
// accounts that are missing are made, and units are there as long as the credential is. Commands run once for an
// instance, as they do under cloud-init; what has run is noted below /var/lib/vmseed.
//
// How much reaches the guest depends on its systemd: 252 reads files, accounts and kernel parameters, 254 mounts, and 256
// units and networks, and with these all that takes a command.
//
// Source: systemd.system-credentials(7), systemd-tmpfiles(8), systemd-sysusers(8), systemd-fstab-generator(8),
// systemd-network-generator(8) and systemd-debug-generator(8) of systemd 252 and 257.
package credentials

import (
	"maps"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/datasource/internal/ignition"
	"github.com/vmseed/vmseed/datasource/internal/network"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

// Credentials renders machines for systemd.
type Credentials struct{}

// New returns the data source.
func New() Credentials { return Credentials{} }

// Name returns "credentials".
func (Credentials) Name() string { return "credentials" }

// since lists the fields that reach a guest from a release of systemd on.
func since(v int) machine.FieldSet {
	switch v {
	case Oldest:
		return machine.NewFieldSet("identity.instanceID", "identity.hostname", "identity.domain", "guest.timezone", "guest.locale", "keyboard",
			"ntp.servers", "ntp.pools",
			"users.name", "users.default", "users.gecos", "users.uid", "users.primaryGroup", "users.groups", "users.home",
			"users.noCreateHome", "users.shell", "users.system", "users.sshAuthorizedKeys", "users.sudo", "groups",
			"ssh.authorizedKeys", "ssh.hostKeys", "ssh.passwordAuth", "ssh.disableRoot",
			"files.path", "files.content", "files.mode", "files.owner", "files.append", "files.defer", "deviceLinks", "userData.layers")
	case withMounts:
		return machine.NewFieldSet("mounts")
	case withUnits:
		return network.Expresses().Union(machine.NewFieldSet("ntp.enabled", "caCerts", "environment",
			"users.password", "users.passwordHash", "users.lockPassword", "users.expirePassword", "users.inactive",
			"users.expires", "userData.mountScriptMark", "units", "bootcmd", "runcmd", "scripts", "phoneHome",
			"powerState.mode", "powerState.delay", "powerState.message", "powerState.condition"))
	}
	return machine.FieldSet{}
}

// expresses lists the fields that a release reads.
func expresses(v int) machine.FieldSet {
	var out machine.FieldSet
	for _, n := range []int{Oldest, withMounts, withUnits} {
		if v >= n {
			out = out.Union(since(n))
		}
	}
	return out
}

// Expresses lists what reaches a guest with a systemd that reads units.
func (Credentials) Expresses() machine.FieldSet { return expresses(withUnits) }

// ExpressesFor lists what reaches the guest of a machine, as far as the systemd in it is known.
func (Credentials) ExpressesFor(m machine.Machine, o datasource.Options) machine.FieldSet {
	out := expresses(systemdOf(m, o).reads())
	if !networked(m) {
		// Names that every placed machine has are none that anybody is to be told.
		out = out.Union(machine.NewFieldSet("network.nics.name", "network.nics.mac"))
	}
	return out
}

// instanceFile is where the guest finds its instance id.
const instanceFile = "/run/vmseed/instance-id"

// generator collects the credentials of a machine.
type generator struct {
	m machine.Machine
	// commands says whether the guest runs any.
	commands bool
	list     diag.List
	// setup are commands for the first boot that come before anyone can log in.
	setup []string
	// lines are those of tmpfiles.extra by their paths; systemd-tmpfiles takes one for each.
	lines map[string]string
	out   map[string]string
	// dropIns are the texts of drop-ins by the units that they change.
	dropIns map[string][]string
	// pulled are the units that another one pulls in, by that one and by how: Wants, Requires.
	pulled map[string]map[string][]string
	homes  map[string]string
}

// Render makes the seed: credentials in the order of their names.
func (c Credentials) Render(m machine.Machine, o datasource.Options) (seed.Seed, diag.List) {
	s := seed.Seed{Machine: seed.Name{Namespace: m.Namespace, Name: m.Name}, DataSource: c.Name(),
		Identity: seed.Identity{InstanceID: m.Identity.Instance(), UUID: m.Identity.UUID, Hostname: m.Identity.FQDN()}}
	guest := systemdOf(m, o)
	reads := expresses(guest.reads())
	said := guest.check(m)
	if said.HasErrors() {
		return s, said
	}
	translated, l := ignition.Translate(m, o, reads)
	said = append(said, l...)
	if said.HasErrors() {
		return s, said
	}
	g := &generator{m: only(translated, reads), commands: reads.Has("runcmd"), list: said, lines: map[string]string{}, out: map[string]string{},
		dropIns: map[string][]string{}, pulled: map[string]map[string][]string{}, homes: map[string]string{}}
	g.write("identity.instanceID", instanceFile, "0644", "root", "root", []byte(m.Identity.Instance()+"\n"))
	g.hostname()
	g.accounts()
	g.files()
	g.links()
	g.mounts()
	g.network()
	g.environment()
	g.settings(guest, o)
	g.finish()
	if !g.list.HasErrors() {
		s.Firmware.Systemd = guest.release
		for _, name := range slices.Sorted(maps.Keys(g.out)) {
			s.Firmware.Credentials = append(s.Firmware.Credentials, seed.Credential{Name: name, Content: secret.New(g.out[name])})
		}
		g.list = append(g.list, guest.unknown(m, translated)...)
	}
	return s, g.list
}

// only leaves out what the guest does not read, so that it fills no firmware. The engine names those fields.
func only(m machine.Machine, reads machine.FieldSet) machine.Machine {
	kept := reads.Union(machine.HardwareFields()).Union(machine.ControlFields())
	// Whole lists first: a unit without all that it says would still be one.
	for _, f := range slices.Concat(since(withMounts).Fields(), since(withUnits).Fields(), machine.Fields()) {
		if !kept.Has(f) {
			machine.Clear(&m, f)
		}
	}
	return m
}

// hostname names the guest: for images without /etc/hostname by the credential for it, for others in that file and, since
// the system has read the file by then, in the kernel.
func (g *generator) hostname() {
	host := g.m.Identity.FQDN()
	if len(host) > 64 {
		host = g.m.Identity.Hostname // the kernel keeps no more (HOST_NAME_MAX in limits.h)
	}
	if host == "" || strings.ContainsAny(host, " \t\r\n\x00") {
		return // the settings complain of a break
	}
	g.out["system.hostname"] = host
	g.out["sysctl.extra"] = "kernel.hostname = " + host + "\n"
}

// finish writes the credentials that several parts add to.
func (g *generator) finish() {
	var b strings.Builder
	for _, path := range slices.Sorted(maps.Keys(g.lines)) {
		b.WriteString(g.lines[path] + "\n")
	}
	if b.Len() > 0 {
		g.out["tmpfiles.extra"] = b.String()
	}
	for unit, how := range g.pulled {
		text := "[Unit]\n"
		for _, key := range slices.Sorted(maps.Keys(how)) {
			text += key + "=" + strings.Join(how[key], " ") + "\n"
		}
		g.dropIns[unit] = slices.Insert(g.dropIns[unit], 0, text)
	}
	for unit, texts := range g.dropIns {
		g.out["systemd.unit-dropin."+unit] = strings.Join(texts, "\n")
	}
}

var (
	_ datasource.DataSource = Credentials{}
	_ datasource.Chooser    = Credentials{}
)
