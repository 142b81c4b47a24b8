package ignition

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/coreos/ignition/v2/config/v3_6/types"

	"github.com/vmseed/vmseed/datasource/internal/shell"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/machine"
)

// compressFrom is the size in bytes from which on compression is tried. Below, its header eats what it saves.
const compressFrom = 512

// resource is content as a data: URL (RFC 2397): as text where that is shorter, compressed where that is.
func resource(content string) types.Resource {
	source := "data:," + urlText(content)
	if plain := "data:;base64," + base64.StdEncoding.EncodeToString([]byte(content)); len(plain) < len(source) || !utf8.ValidString(content) {
		source = plain
	}
	if len(content) >= compressFrom {
		var b bytes.Buffer
		z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
		if err == nil {
			_, _ = z.Write([]byte(content))
			err = z.Close()
		}
		if packed := "data:;base64," + base64.StdEncoding.EncodeToString(b.Bytes()); err == nil && len(packed) < len(source) {
			return types.Resource{Source: &packed, Compression: of("gzip")}
		}
	}
	return types.Resource{Source: &source}
}

// urlText writes text for a URL. A blank is %20, because a plus sign means itself there.
func urlText(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

// file writes a file of the generator's own, in place of one that the image has. A file of the machine's at the same path
// is kept, because the author asked for it by name.
func (g *generator) file(path, content string, mode uint32) {
	if _, taken := g.nodes[path]; taken {
		g.list.Add(diag.Diagnostic{Code: CodeTwice, Severity: diag.Warning, Range: g.asked[path],
			Summary: fmt.Sprintf("the machine's own file %s takes the place of a generated one", path), Remedy: "choose another path"})
		return
	}
	g.node(types.File{Node: types.Node{Path: path, Overwrite: of(true)},
		FileEmbedded1: types.FileEmbedded1{Contents: resource(content), Mode: of(int(mode))}})
}

func (g *generator) node(f types.File) {
	g.nodes[f.Path] = len(g.out.Storage.Files)
	g.out.Storage.Files = append(g.out.Storage.Files, f)
}

// link writes a symbolic link, in place of what the image has.
func (g *generator) link(path, target string) {
	g.out.Storage.Links = append(g.out.Storage.Links, types.Link{Node: types.Node{Path: path, Overwrite: of(true)},
		LinkEmbedded1: types.LinkEmbedded1{Target: &target}})
}

// files writes the machine's files. A later file of one path replaces an earlier one and appends follow it, as when
// cloud-init writes one after the other.
func (g *generator) files() {
	for i, f := range g.m.Files {
		at := fmt.Sprintf("files[%d]", i)
		if !path.IsAbs(f.Path) || path.Clean(f.Path) != f.Path || f.Path == "/" {
			g.errorf(CodeName, at, "give the whole path, without . and ..", "%q is no absolute path", f.Path)
			continue
		}
		if g.family.readOnly(f.Path) {
			g.warnf(CodePlace, at, "write it below /etc, /opt or /var; on another distribution, state its guest.release",
				"images of this kind cannot be written to at %s, where Ignition stops the boot", f.Path)
		}
		if g.family.emptied(f.Path) {
			g.warnf(CodePlace, at, "write it below /etc, /opt or /var", "the guest's own system mounts an empty file system over %s, where nobody sees the file", f.Path)
		}
		if f.Defer {
			g.list.Add(diag.Diagnostic{Code: CodeNoWords, Severity: diag.Note, Range: g.place(at), Field: at,
				Summary: "Ignition writes all files when the users are there, and installs no packages, so there is nothing to defer to"})
		}
		n, have := g.nodes[f.Path]
		g.asked[f.Path] = g.place(at)
		if have && !f.Append {
			g.warnf(CodeTwice, at, "remove one of the two", "the file %s is there twice; the later one counts", f.Path)
		}
		if !have {
			n = len(g.out.Storage.Files)
			g.node(types.File{Node: types.Node{Path: f.Path}})
		}
		node := &g.out.Storage.Files[n]
		content := resource(f.Content.Reveal())
		if f.Append {
			node.Append = append(node.Append, content)
		} else {
			node.Contents, node.Append, node.Overwrite = content, nil, of(true)
		}
		g.attributes(node, f, have)
	}
	g.nested()
	g.homeDirs()
}

// attributes sets mode and owner. Ignition sets the bits setuid, setgid and sticky from specification 3.6 on only, so
// chmod sets them at the first boot.
func (g *generator) attributes(node *types.File, f machine.File, have bool) {
	bits := f.Mode.Bits()
	switch {
	case f.Mode != 0:
		node.Mode = of(int(bits & 0o777))
	case !have && !f.Append:
		node.Mode = of(0o644)
	}
	if bits&^0o777 != 0 {
		g.setup = append(g.setup, shell.Words([]string{"chmod", fmt.Sprintf("%04o", bits), f.Path}))
	}
	user, group, _ := strings.Cut(f.Owner, ":")
	if user != "" {
		node.User.ID, node.User.Name = idOrName(user)
	}
	if group != "" {
		node.Group.ID, node.Group.Name = idOrName(group)
	}
}

// idOrName takes a number for an id, as chown does.
func idOrName(s string) (id *int, name *string) {
	if n, err := strconv.Atoi(s); err == nil && n >= 0 {
		return &n, nil
	}
	return nil, &s
}

// system writes what the guest as a whole is: host name, time zone, locale, keyboard, time servers, authorities and
// environment.
func (g *generator) system() {
	m := g.m
	if host := m.Identity.FQDN(); !oneLine(host) {
		g.errorf(CodeName, "identity.hostname", "write it on one line", "the host name has a line break in it")
	} else if host != "" {
		if len(host) > 64 {
			// The kernel keeps no more (HOST_NAME_MAX in limits.h).
			host = m.Identity.Hostname
		}
		g.file("/etc/hostname", host+"\n", 0o644)
	}
	if zone := m.Guest.Timezone; zone != "" {
		if strings.Contains(zone, "..") || path.IsAbs(zone) || strings.ContainsAny(zone, " \t\r\n\x00") {
			g.errorf(CodeName, "guest.timezone", "name a time zone such as Europe/Zurich", "%q is no time zone", zone)
		} else {
			g.link("/etc/localtime", "../usr/share/zoneinfo/"+zone)
			if g.family.debian {
				g.file("/etc/timezone", zone+"\n", 0o644)
			}
		}
	}
	if locale := m.Guest.Locale; locale != "" {
		name := "/etc/locale.conf"
		if g.family.debian {
			name = "/etc/default/locale"
		}
		g.file(name, "LANG="+shell.Value(locale)+"\n", 0o644)
	}
	g.keyboard()
	g.time()
	g.authorities()
	g.environment()
}

// keyboard writes the layout under systemd's names and, for Debian, under those of its own file.
func (g *generator) keyboard() {
	k := g.m.Keyboard
	if k == (machine.Keyboard{}) {
		return
	}
	var b strings.Builder
	put := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s=%s\n", name, shell.Value(value))
		}
	}
	if !g.family.debian {
		put("KEYMAP", k.Layout)
	}
	put("XKBLAYOUT", k.Layout)
	put("XKBMODEL", k.Model)
	put("XKBVARIANT", k.Variant)
	put("XKBOPTIONS", k.Options)
	name := "/etc/vconsole.conf"
	if g.family.debian {
		name = "/etc/default/keyboard"
	}
	g.file(name, b.String(), 0o644)
}

// time writes the time servers for systemd-timesyncd and, where the family has it, for chronyd.
func (g *generator) time() {
	ntp := g.m.NTP
	for i, s := range slices.Concat(ntp.Servers, ntp.Pools) {
		if s == "" || strings.ContainsAny(s, " \t\r\n\x00#") {
			g.errorf(CodeName, "ntp", "name one server in each item", "time server %d is no host name", i+1)
			return
		}
	}
	if len(ntp.Servers)+len(ntp.Pools) > 0 {
		g.file("/etc/systemd/timesyncd.conf.d/50-vmseed.conf", "[Time]\nNTP="+strings.Join(slices.Concat(ntp.Servers, ntp.Pools), " ")+"\n", 0o644)
		if g.family.chrony {
			var b strings.Builder
			for _, s := range ntp.Servers {
				fmt.Fprintf(&b, "server %s iburst\n", s)
			}
			for _, s := range ntp.Pools {
				fmt.Fprintf(&b, "pool %s iburst\n", s)
			}
			b.WriteString("driftfile /var/lib/chrony/drift\nmakestep 1.0 3\nrtcsync\n")
			g.file("/etc/chrony.conf", b.String(), 0o644)
		}
	}
	if ntp.Enabled == nil {
		return
	}
	names := []string{"systemd-timesyncd.service"}
	if g.family.chrony {
		names = []string{"chronyd.service"}
	}
	for _, name := range names {
		g.unit(types.Unit{Name: name, Enabled: ntp.Enabled})
	}
}

// authorities writes certificates to where the guest's own tool collects them, which runs at the first boot.
func (g *generator) authorities() {
	for i, cert := range g.m.CACerts {
		text := cert.Reveal()
		if !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		g.file(fmt.Sprintf("%s/vmseed-%d%s", g.family.certDir, i+1, g.family.certExt), text, 0o644)
	}
	if len(g.m.CACerts) > 0 {
		g.setup = append(g.setup, "if command -v update-ca-trust >/dev/null; then update-ca-trust extract; else update-ca-certificates; fi")
	}
}

// environment gives variables to services by systemd, and to those who log in by pam_env.
func (g *generator) environment() {
	var services, logins strings.Builder
	for i, v := range g.m.Environment {
		at := fmt.Sprintf("environment[%d]", i)
		if wrong, remedy := shell.CheckVariable(v); wrong != "" {
			g.errorf(CodeEnvironment, at, remedy, wrong, v.Name)
			continue
		}
		value := v.Value.Reveal()
		fmt.Fprintf(&services, "DefaultEnvironment=%s\n", unitWord(v.Name+"="+value))
		if strings.ContainsAny(value, "\"'\\#\r\n") || strings.TrimSpace(value) != value {
			g.warnf(CodeEnvironment, at, "read the variable in a service, or put the value into a file",
				"services get the variable %q, but not those who log in: /etc/environment has no words for its value", v.Name)
			continue
		}
		fmt.Fprintf(&logins, "%s=%s\n", v.Name, value)
	}
	if services.Len() == 0 {
		return
	}
	g.file("/etc/systemd/system.conf.d/50-vmseed-environment.conf", "[Manager]\n"+services.String(), 0o644)
	if logins.Len() == 0 {
		return
	}
	const name = "/etc/environment"
	if n, have := g.nodes[name]; have {
		g.out.Storage.Files[n].Append = append(g.out.Storage.Files[n].Append, resource(logins.String()))
		return
	}
	// The image may have the file, and what it says there stays.
	g.node(types.File{Node: types.Node{Path: name}, FileEmbedded1: types.FileEmbedded1{Append: []types.Resource{resource(logins.String())}}})
}

// ssh writes host keys and the switches of the server. Its first word on a setting counts, so the file comes early.
func (g *generator) ssh() {
	var b strings.Builder
	for i, k := range g.m.SSH.HostKeys {
		at := fmt.Sprintf("ssh.hostKeys[%d]", i)
		if !slices.Contains([]string{"rsa", "ecdsa", "ed25519"}, k.Type) {
			g.errorf(CodeName, at, "write rsa, ecdsa or ed25519", "%q is no type of a host key", k.Type)
			continue
		}
		name := "/etc/ssh/ssh_host_" + k.Type + "_key"
		line := func(s string) string { return strings.TrimRight(s, "\n") + "\n" }
		if !k.Private.IsZero() {
			g.file(name, line(k.Private.Reveal()), 0o600)
		}
		if k.Public != "" {
			g.file(name+".pub", line(k.Public), 0o644)
		}
		if k.Certificate != "" {
			g.file(name+"-cert.pub", line(k.Certificate), 0o644)
			fmt.Fprintf(&b, "HostCertificate %s-cert.pub\n", name)
		}
	}
	g.hostKeys()
	if p := g.m.SSH.PasswordAuth; p != nil {
		fmt.Fprintf(&b, "PasswordAuthentication %s\n", yesNo(*p))
	}
	if d := g.m.SSH.DisableRoot; d != nil {
		word := "prohibit-password"
		if *d {
			word = "no"
		}
		fmt.Fprintf(&b, "PermitRootLogin %s\n", word)
	}
	if b.Len() > 0 {
		g.file("/etc/ssh/sshd_config.d/05-vmseed.conf", b.String(), 0o600)
		g.setup = append(g.setup, includeSSH)
	}
}

// hostKeys is about the keys that the guest makes of itself. Fedora CoreOS and its kin have a unit for each type.
func (g *generator) hostKeys() {
	if g.m.SSH.DeleteHostKeys != nil {
		g.list.Add(diag.Diagnostic{Code: CodeNoWords, Severity: diag.Note, Range: g.place("ssh.deleteHostKeys"), Field: "ssh.deleteHostKeys",
			Summary: "images for Ignition bring no host keys, so there are none to delete or to keep: each guest makes its own"})
	}
	wanted := g.m.SSH.GenKeyTypes
	switch {
	case len(wanted) == 0:
	case !g.family.ostree:
		g.lost("ssh.genKeyTypes", "guests of this distribution make host keys of every type", "give host keys")
	default:
		for _, t := range []string{"rsa", "ecdsa", "ed25519"} {
			if !slices.Contains(wanted, t) {
				g.unit(types.Unit{Name: "sshd-keygen@" + t + ".service", Mask: of(true)})
			}
		}
	}
}

// includeSSH has the server read the files of sshd_config.d first, on images whose sshd_config does not say so. That may be a
// link to a read-only file, which a file of /etc replaces; where there is none, the server has its own defaults elsewhere.
const includeSSH = `f=/etc/ssh/sshd_config
if [ -e $f ] && ! grep -Eqi '^[[:space:]]*Include[[:space:]=].*sshd_config\.d/' $f; then
	{ echo 'Include /etc/ssh/sshd_config.d/*.conf'; cat $f; } >$f.vmseed && chmod 0600 $f.vmseed && mv $f.vmseed $f
fi`

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
