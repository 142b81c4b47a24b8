package netconfig

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/diag"
)

// File is one file of a form that consists of files of the guest.
type File struct {
	// Path is absolute: /etc/NetworkManager/system-connections/eth0.nmconnection.
	Path string
	// Mode are the permission bits. NetworkManager ignores connections that others than root may read.
	Mode uint32
	// Content is text.
	Content []byte
}

// The forms of several files, for Expresses. Encode does not write them.
const (
	// Keyfiles are NetworkManager's connection profiles as nm-settings-keyfile(5) describes them.
	Keyfiles Format = "keyfiles"
	// Networkd are systemd's .link, .netdev and .network files.
	Networkd Format = "networkd"
)

// EncodeKeyfiles writes the network as NetworkManager's connection profiles, one for each link, and a .link file of
// systemd.link(5) for each NIC that is given a name. The files are sorted by path. A disabled network has none, since
// the guest is to be left alone.
func EncodeKeyfiles(c Config) ([]File, diag.List) { return encodeFiles(Keyfiles, c) }

// EncodeNetworkd writes the network as files of systemd.link(5), systemd.netdev(5) and systemd.network(5), sorted by
// path. A disabled network has none, since the guest is to be left alone.
func EncodeNetworkd(c Config) ([]File, diag.List) { return encodeFiles(Networkd, c) }

// encodeFiles validates the network and writes it in a form of files. With an error in the list there are no files.
func encodeFiles(f Format, c Config) ([]File, diag.List) {
	l := c.Validate()
	if l.HasErrors() {
		return nil, l
	}
	c = c.normal()
	l = append(l, losses(&c, f)...)
	if l.HasErrors() {
		return nil, l
	}
	var files []File
	names := c.fileNames()
	for i := range c.Links {
		link := &c.Links[i]
		name := names[link.ID]
		if link.Kind == Physical && link.Name != "" && link.MAC != "" {
			files = append(files, renaming(link, name))
		}
		if f == Keyfiles {
			files = append(files, c.keyfile(link, name))
		} else {
			files = append(files, c.networkd(link, name)...)
		}
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return files, l
}

// fileNames gives each link a name for files: what it is called, without the characters that mean something in paths.
func (c *Config) fileNames() map[string]string {
	names, taken := map[string]string{}, map[string]bool{}
	for i := range c.Links {
		l := &c.Links[i]
		base := strings.Map(func(r rune) rune {
			if r < 0x80 && (r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || strings.ContainsRune("._-", r)) {
				return r
			}
			return '_'
		}, cmp.Or(l.GuestName(), l.ID))
		// A dot at the beginning hides a file, and NetworkManager passes over it.
		base = strings.TrimLeft(base, ".")
		if len(base) > 100 {
			base = base[:100]
		}
		name := cmp.Or(base, "link")
		for n := 2; taken[name]; n++ {
			name = fmt.Sprintf("%s-%d", cmp.Or(base, "link"), n)
		}
		names[l.ID], taken[name] = name, true
	}
	return names
}

// networkdDir holds .link files for udev, whoever configures the network.
const networkdDir = "/etc/systemd/network/10-"

// renaming is the file by which udev gives a NIC its name. The permanent MAC tells the NIC from bonds and VLANs, which
// take over the MAC of a member.
func renaming(l *Link, name string) File {
	var t iniText
	t.section("Match", "PermanentMACAddress", l.MAC)
	t.section("Link", "Name", l.Name)
	return File{Path: networkdDir + name + ".link", Mode: 0o644, Content: t.bytes()}
}

// iniText builds a file of sections.
type iniText struct{ b strings.Builder }

// section writes a section of keys and values in turn. Keys without a value are left out, and so is a section without
// any.
func (t *iniText) section(name string, pairs ...string) {
	begun := false
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			continue
		}
		if !begun {
			if t.b.Len() > 0 {
				t.b.WriteByte('\n')
			}
			fmt.Fprintf(&t.b, "[%s]\n", name)
			begun = true
		}
		fmt.Fprintf(&t.b, "%s=%s\n", pairs[i], pairs[i+1])
	}
}

func (t *iniText) bytes() []byte { return []byte(t.b.String()) }

// when returns the value if the condition holds, else what section leaves out.
func when(condition bool, value string) string {
	if condition {
		return value
	}
	return ""
}

// count returns a number as text, and nothing for 0.
func count(n int) string { return when(n != 0, fmt.Sprint(n)) }

// fileLosses is what a form of files cannot say in some or all links, by field. All else reaches the guest.
func fileLosses(f Format) map[Field]says {
	const memberOnly = "a member of a bond or bridge has no network of its own"
	member := func(c *Config, l *Link) bool { return c.masters()[l.ID] != nil }
	out := map[Field]says{
		"DNS": partly("resolvers stand in the files of links, and there is no link with an address", noCarrier),
	}
	for _, field := range []Field{"addresses", "dhcp4", "dhcp6", "slaac", "routes", "dns.servers", "dns.search"} {
		out[field] = partly(memberOnly, member)
	}
	if f == Networkd {
		return out
	}
	const flags = "NetworkManager asks DHCPv6 for what the router advertisements tell it to"
	const idle = "NetworkManager has no place for it where the family has no address"
	out["optional"] = no("NetworkManager has no setting for links that are not waited for")
	out["dhcp6"] = says{Partly, flags, func(_ *Config, l *Link) bool { return keyfileMethod(l, false) != "dhcp" }, diag.Note}
	out["slaac"] = says{Partly, flags, nil, diag.Note}
	out["routes"] = partly(idle, func(c *Config, l *Link) bool {
		return member(c, l) || slices.ContainsFunc(l.Routes, func(r Route) bool { return !keyfileActive(l, r.Via.Is4()) })
	})
	out["dns.family"] = says{No, idle, func(c *Config, l *Link) bool {
		return !member(c, l) && slices.ContainsFunc(c.dnsOf(l).Servers, func(a netip.Addr) bool { return !keyfileActive(l, a.Is4()) })
	}, 0}
	out["dns.search"] = partly(idle, func(c *Config, l *Link) bool {
		return member(c, l) || !keyfileActive(l, true) && !keyfileActive(l, false)
	})
	out["bond.params"] = partly("NetworkManager refuses parameters that do not go with the mode or with each other, and wants the primary member to have a name",
		func(c *Config, l *Link) bool {
			return slices.ContainsFunc(sortedKeys(l.Bond.Params), func(name string) bool { return c.keyfileRefuses(l, name) })
		})
	return out
}
