package netconfig

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vmseed/vmseed/diag"
)

// encodeFilesOf writes a network in a form of files, as one text.
func encodeFilesOf(f Format, c Config) (string, diag.List) {
	files, list := EncodeKeyfiles(c)
	if f == Networkd {
		files, list = EncodeNetworkd(c)
	}
	var b strings.Builder
	for _, file := range files {
		fmt.Fprintf(&b, "#### %s %04o\n%s", file.Path, file.Mode, file.Content)
	}
	return b.String(), list
}

// TestEncodeFilesGolden pins the products, with what the encoder says about each.
func TestEncodeFilesGolden(t *testing.T) {
	for _, m := range models() {
		for _, f := range []Format{Keyfiles, Networkd} {
			text, list := encodeFilesOf(f, m.config)
			for _, d := range list {
				text += "## " + d.Error() + "\n"
			}
			name := filepath.Join("testdata", "encode", m.name, string(f)+".txt")
			if *update {
				if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), text); d != "" {
				t.Errorf("%s (-want +got):\n%s", name, d)
			}
		}
	}
}

// fileWords are texts that a product has if and only if a field of fieldCases is written.
func fileWords(f Format, fc fieldCase) []string {
	l := target(fc.config)
	switch {
	case f == Keyfiles:
		return keyfileWords(fc, l)
	case fc.field == "mac" && l.Kind == Physical:
		return []string{"PermanentMACAddress=" + l.MAC}
	}
	words := map[Field][]string{
		"DNS": {"DNS=9.9.9.9", "Domains=example.org"}, "name": {"Name=" + l.Name}, "mac": {"MACAddress=" + l.MAC},
		"mtu": {"MTUBytes=1400"}, "optional": {"RequiredForOnline=no"}, "manual": {"ActivationPolicy=manual\nRequiredForOnline=no"}, "addresses": {"Address=10.1.0.4/24", "Address=fd00::4/48"},
		"dhcp4": {"DHCP=ipv4"}, "dhcp6": {"IPv6AcceptRA=yes"}, "slaac": {"IPv6AcceptRA=yes\n", "DHCPv6Client=no"},
		"acceptRA": {"IPv6AcceptRA=" + yesNo(l.AcceptRA)}, "gateway4": {"Gateway=10.1.0.9"}, "gateway6": {"Gateway=fd00::1"},
		"routes": {"Destination=10.9.0.0/16\nGateway=10.1.0.9"}, "routes.metric": {"Metric=44"}, "routes.onLink": {"GatewayOnLink=yes"},
		"dns.servers": {"DNS=9.9.9.9 9.9.9.10"}, "dns.family": {"DNS=fd00::53"}, "dns.search": {"Domains=a.example b.example"},
		"dhcp4Overrides.routeMetric": {"[DHCPv4]\nRouteMetric=300"}, "dhcp6Overrides.routeMetric": {"DHCPv6Client=always\nRouteMetric=300"},
		"dhcp4Overrides.useDNS": {"[DHCPv4]\nUseDNS=no"}, "dhcp6Overrides.useDNS": {"[DHCPv6]\nUseDNS=no", "always\nUseDNS=no"},
		"dhcp4Overrides.useRoutes": {"UseRoutes=no"}, "dhcp6Overrides.useRoutes": {"UseGateway=no\nUseRoutePrefix=no"},
		"bond": {"Kind=bond", "Bond=bond0"}, "bond.mode": {"Mode=802.3ad"}, "bond.params": {"MinLinks=1", "ARPIPTargets=10.0.0.1 10.0.0.2"},
		"bridge": {"Kind=bridge", "Bridge=br0"}, "bridge.params": {"Priority=7"}, "members": {"Bridge=br0"},
		"vlan": {"VLAN=eth0.5", "Id=5"},
	}[fc.field]
	return words
}

func keyfileWords(fc fieldCase, l *Link) []string {
	switch {
	case fc.field == "mac" && l.Kind == Physical:
		return []string{"mac-address=" + l.MAC}
	case fc.field == "name" && l.Kind != Physical:
		return []string{"interface-name=" + l.Name}
	case fc.field == "acceptRA" && l.AcceptRA == Off:
		return []string{"[ipv6]\nmethod=link-local"}
	}
	return map[Field][]string{
		"DNS": {"dns=9.9.9.9;", "dns-search=example.org;"}, "name": {"Name=" + l.Name}, "mtu": {"mtu=1400"}, "manual": {"autoconnect=false"},
		"addresses": {"=10.1.0.4/24", "=fd00::4/48"}, "dhcp4": {"[ipv4]\nmethod=auto"}, "dhcp6": {"[ipv6]\nmethod=auto"},
		"slaac": {"[ipv6]\nmethod=auto"}, "acceptRA": {"[ipv6]\nmethod=auto"}, "gateway4": {"gateway=10.1.0.9"}, "gateway6": {"gateway=fd00::1"},
		"routes": {"=10.9.0.0/16,10.1.0.9"}, "routes.metric": {",44\n"}, "routes.onLink": {"onlink=true"},
		"dns.servers": {"dns=9.9.9.9;9.9.9.10;"}, "dns.family": {"dns=fd00::53;"}, "dns.search": {"dns-search=a.example;b.example;"},
		"dhcp4Overrides.routeMetric": {"[ipv4]\nmethod=auto\nroute-metric=300"}, "dhcp6Overrides.routeMetric": {"[ipv6]\nmethod=auto\nroute-metric=300"},
		"dhcp4Overrides.useDNS": {"[ipv4]\nmethod=auto\nignore-auto-dns=true"}, "dhcp6Overrides.useDNS": {"[ipv6]\nmethod=auto\nignore-auto-dns=true"},
		"dhcp4Overrides.useRoutes": {"[ipv4]\nmethod=auto\nignore-auto-routes=true"}, "dhcp6Overrides.useRoutes": {"[ipv6]\nmethod=auto\nignore-auto-routes=true"},
		"bond": {"type=bond", "slave-type=bond"}, "bond.mode": {"mode=802.3ad"}, "bond.params": {"min_links=1", "arp_ip_target=10.0.0.1,10.0.0.2"},
		"bridge": {"type=bridge", "slave-type=bridge"}, "bridge.params": {"priority=7"},
		"members": {"master=" + connectionUUID(l.ID)}, "vlan": {"parent=" + connectionUUID("nic0"), "\nid=5\n"},
	}[fc.field]
}

// TestNoSilentLossInFiles is TestNoSilentLoss for the forms of files.
func TestNoSilentLossInFiles(t *testing.T) {
	for _, fc := range fieldCases() {
		for _, f := range []Format{Keyfiles, Networkd} {
			text, list := encodeFilesOf(f, fc.config)
			named := slices.ContainsFunc(list, func(d diag.Diagnostic) bool {
				return d.Field == string(fc.field) || d.Field == fmt.Sprintf("links[%s].%s", target(fc.config).ID, fc.field)
			})
			words := fileWords(f, fc)
			kept := len(words) > 0 && !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
			if fc.field == "Disabled" {
				kept = text == ""
			}
			switch support := Expresses(f)[fc.field]; {
			case !kept && !named:
				t.Errorf("%s in %s: lost without a word: %v\n%s", fc.field, f, list, text)
			case support == Fully && (!kept || named):
				t.Errorf("%s in %s: fully expressed says the table; found: %v, named: %v\n%s", fc.field, f, kept, named, text)
			case support == No && kept:
				t.Errorf("%s in %s: not expressed says the table, but it is there", fc.field, f)
			}
		}
	}
}

// TestFileNames holds the names of files to what a directory can hold, whatever an ID is made of.
func TestFileNames(t *testing.T) {
	long := strings.Repeat("x", 300)
	c := Config{Links: []Link{
		{ID: "../../etc/passwd", MAC: "52:54:00:aa:00:01"}, {ID: "__.._etc/passwd", MAC: "52:54:00:aa:00:02"}, {ID: ".", MAC: "52:54:00:aa:00:03"},
		{ID: long + "1", MAC: "52:54:00:aa:00:04"}, {ID: long + "2", MAC: "52:54:00:aa:00:05"}, {ID: "a\\b", MAC: "52:54:00:aa:00:06", DHCP4: true},
	}}
	files, l := EncodeKeyfiles(c)
	if l.HasErrors() {
		t.Fatal(l)
	}
	seen := map[string]bool{}
	for _, f := range files {
		base := filepath.Base(f.Path)
		if seen[f.Path] || filepath.Dir(f.Path) != "/etc/NetworkManager/system-connections" || strings.HasPrefix(base, ".") || len(base) > 200 {
			t.Errorf("path %q", f.Path)
		}
		seen[f.Path] = true
		if f.Mode != 0o600 {
			t.Errorf("%s has mode %o", f.Path, f.Mode)
		}
	}
	if len(seen) != len(c.Links) {
		t.Errorf("%d files for %d links", len(seen), len(c.Links))
	}
	if text, _ := encodeFilesOf(Keyfiles, c); !strings.Contains(text, "id=a\\\\b\n") {
		t.Errorf("the ID is not escaped:\n%s", text)
	}
}
