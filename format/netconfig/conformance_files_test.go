//go:build conformance

package netconfig

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/internal/judge"
)

// fileItem is a network for the judges of the forms of files.
type fileItem struct {
	name   string
	config Config
	field  Field
}

// fileItems are all models, and every field in turn.
func fileItems() []fileItem {
	var out []fileItem
	for _, m := range models() {
		out = append(out, fileItem{m.name, m.config, ""})
	}
	for i, fc := range fieldCases() {
		out = append(out, fileItem{fmt.Sprintf("field %d %s", i, fc.field), fc.config, fc.field})
	}
	return out
}

// TestNetworkManagerReadsKeyfiles has NetworkManager's own library read every profile of every model and of every field.
// It must refuse none, keep every key, and understand what the model says.
func TestNetworkManagerReadsKeyfiles(t *testing.T) {
	profiles := 0
	for _, it := range fileItems() {
		files, l := EncodeKeyfiles(it.config)
		if l.HasErrors() {
			t.Errorf("%s: %v", it.name, l)
			continue
		}
		understood := map[string]string{}
		for _, f := range files {
			if path.Ext(f.Path) != ".nmconnection" {
				continue
			}
			profiles++
			text, complaint := judge.Keyfile(t, f.Content)
			if complaint != "" {
				t.Errorf("%s: %s: %s\n%s", it.name, f.Path, complaint, f.Content)
			}
			understood[f.Path] = text
			for _, s := range ini(string(f.Content)) {
				for key := range s.values {
					if key != "gateway" && !strings.Contains(text, "\n"+key+"=") {
						t.Errorf("%s: %s: NetworkManager does not keep %s.%s", it.name, f.Path, s.name, key)
					}
				}
			}
		}
		have := facts{}
		have.networkManager(understood)
		for _, fact := range differences(wantedFacts(withNames(it.config), judge.NetworkManager), have) {
			if it.field == "bond.params" && strings.Contains(fact, "arp_ip_target") {
				continue // refused without arp-interval, as the encoder says
			}
			// A guest that is told nothing about IPv6 listens to router advertisements.
			if !strings.HasPrefix(fact, "+") || !strings.HasSuffix(fact, " auto6") {
				t.Errorf("%s: %s", it.name, fact)
			}
		}
	}
	t.Logf("%d profiles", profiles)
	if profiles < 40 {
		t.Error("too few to say anything")
	}
}

// withNames gives a link without a name its ID, as the profile's id has it.
func withNames(c Config) Config {
	c = c.normal()
	for i := range c.Links {
		l := &c.Links[i]
		if l.GuestName() == "" {
			l.Name = l.ID
		}
		if l.Bond != nil && l.Bond.Mode == "" {
			bond := *l.Bond
			bond.Mode, l.Bond = bondModes[0], &bond
		}
	}
	return c
}

// TestNetworkManagerTakesBondParams tries every parameter of bonds in every mode: NetworkManager refuses a profile whole
// for one that does not go with the mode, so such a one must be left out.
func TestNetworkManagerTakesBondParams(t *testing.T) {
	values := map[valueType]string{number: "2", list: "192.0.2.1", boolean: "true", device: "nic0"}
	for _, mode := range append(BondModes(), "") {
		for _, name := range append(BondParams(), "arp-interval arp-ip-targets", "arp-interval mii-monitor-interval",
			"arp-interval arp-ip-targets arp-validate", "mii-monitor-interval up-delay down-delay") {
			params := map[string]string{}
			for _, n := range strings.Fields(name) {
				p := bondParams[n]
				params[n] = values[p.value]
				if len(p.values) > 0 {
					params[n] = p.values[len(p.values)-1]
				}
			}
			files, l := EncodeKeyfiles(bondWith(func(b *BondSpec) { b.Mode, b.Params = mode, params }))
			for _, f := range files {
				if !strings.HasSuffix(f.Path, "/bond0.nmconnection") {
					continue
				}
				text, complaint := judge.Keyfile(t, f.Content)
				if complaint != "" {
					t.Errorf("%s %s: %s", mode, name, complaint)
					continue
				}
				said := slices.ContainsFunc(l, func(d diag.Diagnostic) bool { return strings.HasSuffix(d.Field, ".bond.params") })
				for n := range params {
					if !strings.Contains(text, "\n"+bondParams[n].v1+"=") && !said {
						t.Errorf("%s %s: lost without a word", mode, n)
					}
				}
			}
		}
	}
}

// TestKeyfileJudgeRefuses shows that the judge has teeth.
func TestKeyfileJudgeRefuses(t *testing.T) {
	head := "[connection]\nid=a\nuuid=55a1c414-1463-5f5f-b4c6-b4071502c8b0\ntype=ethernet\n"
	if _, complaint := judge.Keyfile(t, []byte(head+"[ipv4]\nmethod=disabled\ndns=192.0.2.1;\n")); complaint == "" {
		t.Error("resolvers of a family that is switched off are accepted")
	}
	if text, _ := judge.Keyfile(t, []byte(head+"[ipv4]\nmethod=auto\nno-such-key=1\n")); strings.Contains(text, "no-such-key") {
		t.Error("an unknown key is kept")
	}
}

// TestNetworkdSetsUpLinks runs the real systemd-networkd on the files of every model and field in a network of its own.
// It must not complain of a key, and as far as the kernel at hand has the kinds of links, addresses, routes, MTUs,
// masters and resolvers must be those of the model.
func TestNetworkdSetsUpLinks(t *testing.T) {
	for _, it := range fileItems() {
		t.Run(it.name, func(t *testing.T) {
			t.Parallel() // most of the time passes with waiting
			setUpByNetworkd(t, it)
		})
	}
}

func setUpByNetworkd(t *testing.T, it fileItem) {
	files, l := EncodeNetworkd(it.config)
	if l.HasErrors() {
		t.Fatal(l)
	}
	if it.config.Disabled {
		if len(files) > 0 {
			t.Errorf("%d files", len(files))
		}
		return
	}
	input := judge.NetworkdInput{Files: map[string][]byte{}, Wait: []string{"Enumeration completed"}}
	for _, f := range files {
		input.Files[path.Base(f.Path)] = f.Content
	}
	c := withNames(it.config)
	// Of a field the files are read, and it is set up where only the kernel can tell.
	whole := slices.Contains([]Field{"", "acceptRA", "routes.onLink", "mtu", "bridge.params", "dns.family"}, it.field)
	for i := range c.Links {
		l := &c.Links[i]
		switch l.Kind {
		case Physical:
			input.NICs = append(input.NICs, judge.NIC{Name: l.Name, MAC: l.MAC})
		case Bond, VLAN:
			whole = false // the kernels of small virtual machines lack these
		}
	}
	wanted := networkdWanted(&c)
	if whole {
		input.Wait = append(input.Wait, networkdSigns(wanted)...)
	}
	got := judge.RunNetworkd(t, input)
	for _, line := range got.Complaints {
		t.Error(line)
	}
	if got.Timeout != "" {
		t.Errorf("did not happen: %s", got.Timeout)
	}
	if !whole {
		return
	}
	for _, fact := range differences(wanted, networkdFacts(t, got)) {
		t.Error(fact)
	}
}

// TestNetworkdJudgeComplains shows that the judge has teeth.
func TestNetworkdJudgeComplains(t *testing.T) {
	got := judge.RunNetworkd(t, judge.NetworkdInput{Wait: []string{"Enumeration completed"},
		Files: map[string][]byte{"10-a.network": []byte("[Match]\nName=eth0\n[Network]\nNoSuchKey=1\nAddress=nonsense\n")}})
	if len(got.Complaints) != 2 {
		t.Errorf("two mistakes, complaints %q", got.Complaints)
	}
}

// networkdWanted are the facts that a kernel and networkd show of a network.
func networkdWanted(c *Config) facts {
	f := facts{}
	masters := c.masters()
	for i := range c.Links {
		l := &c.Links[i]
		name := l.GuestName()
		if l.MTU != 0 {
			f.add("%s mtu %d", name, l.MTU)
		}
		if l.Kind != Physical && l.MAC != "" {
			f.add("%s mac %s", name, l.MAC)
		}
		if m := masters[l.ID]; m != nil {
			f.add("%s on %s", m.GuestName(), name)
			continue
		}
		if l.AcceptRA != Off {
			f.add("%s ra", name)
		}
		if l.DHCP4 {
			f.add("%s dhcp4", name)
		}
		for _, a := range l.Addresses {
			f.add("%s address %s", name, a)
		}
		for _, gw := range []netip.Addr{l.Gateway4, l.Gateway6} {
			if gw.IsValid() {
				f.kernelRoute(name, "default", gw.String(), 0, !l.covers(gw))
			}
		}
		for _, r := range l.Routes {
			f.kernelRoute(name, r.To.String(), r.Via.String(), r.Metric, r.OnLink)
		}
		dns := c.dnsOf(l)
		for _, a := range dns.Servers {
			f.add("dns %s", a)
		}
		for _, s := range dns.Search {
			f.add("search %s", s)
		}
	}
	return f
}

func (f facts) kernelRoute(name, to, via string, metric int, onLink bool) {
	host := "/32"
	if strings.Contains(via, ":") {
		host = "/128"
	}
	to = strings.TrimSuffix(to, host) // as ip(8) shows the route to a single address
	text := fmt.Sprintf("%s route %s via %s", name, to, via)
	if metric != 0 && (metric != 1024 || !strings.Contains(via, ":")) { // the kernel's own for IPv6
		text += fmt.Sprintf(" metric %d", metric)
	}
	if onLink {
		text += " onlink"
	}
	f[text] = true
}

// networkdSigns are the texts by which the facts show themselves.
func networkdSigns(f facts) []string {
	var out []string
	for _, fact := range slices.Sorted(maps.Keys(f)) {
		words := strings.Fields(fact)
		switch {
		case words[1] == "ra":
			out = append(out, words[0]+": NDISC: Started")
		case words[1] == "dhcp4":
			out = append(out, words[0]+": DHCPv4 client: STARTED")
		case words[1] == "address":
			out = append(out, " "+words[2]+" ")
		case words[1] == "route":
			out = append(out, words[2]+" via "+words[4]+" dev "+words[0])
		case words[1] == "on":
			out = append(out, " master "+words[0]+" ")
		case words[1] == "mtu":
			out = append(out, " mtu "+words[2]+" ")
		case words[0] == "dns" || words[0] == "search":
			out = append(out, words[1])
		}
	}
	return out
}

var networkdLog = regexp.MustCompile(`(?m)^(\S+): (NDISC: Started|DHCPv4 client: STARTED)`)

// networkdFacts reads what kernel and networkd show.
func networkdFacts(t *testing.T, got judge.NetworkdResult) facts {
	t.Helper()
	f := facts{}
	for _, m := range networkdLog.FindAllStringSubmatch(got.Log, -1) {
		f.add("%s %s", m[1], map[string]string{"NDISC: Started": "ra", "DHCPv4 client: STARTED": "dhcp4"}[m[2]])
	}
	var links []struct {
		Name    string `json:"ifname"`
		MTU     int
		Master  string
		Address string
		Info    []struct {
			Local, Scope string
			Prefix       int `json:"prefixlen"`
		} `json:"addr_info"`
	}
	if err := json.Unmarshal(got.Addresses, &links); err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		if l.Name == "lo" || strings.HasPrefix(l.Name, "cable") {
			continue
		}
		if l.MTU != 1500 {
			f.add("%s mtu %d", l.Name, l.MTU)
		}
		if l.Master != "" {
			f.add("%s on %s", l.Master, l.Name)
		}
		for _, a := range l.Info {
			if a.Scope == "global" {
				f.add("%s address %s/%d", l.Name, a.Local, a.Prefix)
			}
		}
	}
	for _, raw := range []json.RawMessage{got.Routes4, got.Routes6} {
		var routes []struct {
			Dst, Gateway, Dev, Protocol string
			Metric                      int
			Flags                       []string
		}
		if err := json.Unmarshal(raw, &routes); err != nil {
			t.Fatal(err)
		}
		for _, r := range routes {
			if r.Protocol == "static" {
				f.kernelRoute(r.Dev, r.Dst, r.Gateway, r.Metric, slices.Contains(r.Flags, "onlink"))
			}
		}
	}
	for _, state := range got.Links {
		values := ini(state)[0]
		for _, a := range strings.Fields(values.first("DNS")) {
			f.add("dns %s", a)
		}
		for _, s := range strings.Fields(values.first("DOMAINS")) {
			f.add("search %s", s)
		}
	}
	return f
}
