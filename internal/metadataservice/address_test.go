package metadataservice

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/machine"
)

func guest(name, mac string, addresses ...string) machine.Machine {
	n := machine.NIC{Name: "eth0", MAC: mac}
	m := machine.Machine{Namespace: "default", Name: name, Places: machine.Places{"network.nics[0]": diag.At(name+".yaml", 7, 3)}}
	for _, a := range addresses {
		n.Addrs = append(n.Addrs, netip.MustParsePrefix(a))
	}
	m.Network.NICs = []machine.NIC{n}
	return m
}

func TestParseAssignment(t *testing.T) {
	for text, want := range map[string]string{
		"web=192.0.2.7":             "web 192.0.2.7",
		"prod/web=2001:db8::1":      "prod/web 2001:db8::1",
		"web=::ffff:192.0.2.7":      "web 192.0.2.7",
		"web":                       "",
		"=192.0.2.7":                "",
		"web=":                      "",
		"web=host.example.org":      "",
		"web=192.0.2.7/24":          "",
		"web=192.0.2.07":            "",
		"web=fe80::1%eth0":          "",
		"web=0.0.0.0":               "",
		"web=224.0.0.1":             "",
		"web=192.0.2.7,192.0.2.8":   "",
		"web=192.0.2.7 ":            "",
		"web=[2001:db8::1]":         "",
		"web=http://192.0.2.7:8080": "",
	} {
		got, err := ParseAssignment("--address", text)
		if err != nil && want == "" && strings.Contains(err.Error(), "--address") {
			continue
		}
		if have := got.Machine + " " + got.Address.String(); have != want {
			t.Errorf("%s: got %s, %v", text, have, err)
		}
	}
}

func TestOwn(t *testing.T) {
	web, db := guest("web", "52:54:00:00:00:01", "192.0.2.7/24", "2001:db8::7/64", "fe80::7/64", "127.0.0.7/8"), guest("db", "52:54:00:00:00:02", "192.0.2.8/24")
	given := func(names ...string) (out []Assignment) {
		for _, n := range names {
			a, err := ParseAssignment("--address", n)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, a)
		}
		return out
	}
	for name, tt := range map[string]struct {
		machines []machine.Machine
		given    []Assignment
		leases   string
		want     string
		codes    string
	}{
		"static":            {machines: []machine.Machine{web, db}, want: "192.0.2.7=web 192.0.2.8=db 2001:db8::7=web"},
		"given":             {machines: []machine.Machine{web, db}, given: given("default/db=127.0.0.9", "db=192.0.2.9"), want: "127.0.0.9=db 192.0.2.7=web 192.0.2.8=db 192.0.2.9=db 2001:db8::7=web"},
		"given what it has": {machines: []machine.Machine{db}, given: given("db=192.0.2.8"), want: "192.0.2.8=db"},
		"two static":        {machines: []machine.Machine{db, guest("x", "", "192.0.2.8/16")}, codes: "VS1450"},
		"static and given":  {machines: []machine.Machine{web, db}, given: given("db=192.0.2.7"), want: "192.0.2.8=db 2001:db8::7=web", codes: "VS1450"},
		"nobody":            {machines: []machine.Machine{db}, given: given("web=192.0.2.9"), want: "192.0.2.8=db", codes: "VS1451"},
		"leases": {machines: []machine.Machine{web, db}, leases: "0 52:54:00:00:00:01 192.0.2.70 * *\n0 52:54:00:00:00:09 192.0.2.90 * *\n",
			want: "192.0.2.7=web 192.0.2.8=db 192.0.2.70=web 2001:db8::7=web"},
		"a lease of another's address": {machines: []machine.Machine{web, db}, leases: "0 52:54:00:00:00:01 192.0.2.8 * *\n",
			want: "192.0.2.7=web 192.0.2.8=db 2001:db8::7=web"},
		"a lease of an address of two": {machines: []machine.Machine{db, guest("x", "52:54:00:00:00:03", "192.0.2.8/16")}, leases: "0 52:54:00:00:00:02 192.0.2.8 * *\n",
			codes: "VS1450"},
		"two leases of one address": {machines: []machine.Machine{web, db}, leases: "0 52:54:00:00:00:01 192.0.2.9 * *\n0 52:54:00:00:00:02 192.0.2.9 * *\n",
			want: "192.0.2.7=web 192.0.2.8=db 2001:db8::7=web"},
		"one MAC": {machines: []machine.Machine{web, guest("x", "52:54:00:00:00:01")}, leases: "0 52:54:00:00:00:01 192.0.2.9 * *\n",
			want: "192.0.2.7=web 2001:db8::7=web", codes: "VS1452"},
	} {
		t.Run(name, func(t *testing.T) {
			o, l := own(tt.machines, nil, tt.given, strictness{diag.Error, diag.Error})
			leases, _ := parseLeases([]byte(tt.leases))
			var have []string
			table := o.leased(leases)
			for _, a := range slices.SortedFunc(maps.Keys(table), netip.Addr.Compare) {
				have = append(have, a.String()+"="+strings.TrimPrefix(table[a], "default/"))
			}
			if got := strings.Join(have, " "); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			var codes []string
			for _, d := range l {
				codes = append(codes, d.Code.String())
			}
			if got := strings.Join(codes, " "); got != tt.codes {
				t.Errorf("%v", l)
			}
		})
	}
}

// TestSameAddress says where both machines have it from.
func TestSameAddress(t *testing.T) {
	a, _ := ParseAssignment("--address", "c=192.0.2.8")
	machines := []machine.Machine{guest("a", "", "192.0.2.8/24"), guest("b", "", "192.0.2.8/24"), guest("c", "")}
	_, l := own(machines, nil, []Assignment{a}, strictness{diag.Error, diag.Error})
	if text := l.Error(); len(l) != 2 || !strings.Contains(text, "b.yaml:7:3: error[VS1450]") || !strings.Contains(text, "a.yaml:7:3") || !strings.Contains(text, "--address c=192.0.2.8") {
		t.Errorf("%v", l)
	}
	b, _ := ParseAssignment("--address", "b=192.0.2.9")
	c, _ := ParseAssignment("--address", "c=192.0.2.9")
	if _, l = own(machines[1:], nil, []Assignment{b, c}, strictness{diag.Error, diag.Error}); len(l) != 1 || len(l[0].Related) > 0 {
		t.Errorf("two flags, which have no place: %v", l)
	}
	if _, l = own(machines, nil, nil, strictness{diag.Warning, diag.Warning}); l.HasErrors() || len(l) != 1 {
		t.Errorf("where networks do not know each other: %v", l)
	}
}

// TestNobody tells a machine that is not served from one that is not there, and finds a name that was misspelt.
func TestNobody(t *testing.T) {
	served, unserved := []machine.Machine{guest("frontend", "")}, []machine.Machine{guest("database", "")}
	for name, want := range map[string]string{
		"database":         "default/database is not served",
		"default/database": "default/database is not served",
		"fronted":          `did you mean "frontend"?`,
		"default/fronted":  `did you mean "default/frontend"?`,
		"cache":            "no machine is called so; name a machine",
	} {
		a, err := ParseAssignment("--address", name+"=192.0.2.9")
		if err != nil {
			t.Fatal(err)
		}
		if _, l := own(served, unserved, []Assignment{a}, strictness{diag.Error, diag.Error}); len(l) != 1 || !strings.Contains(l.Error(), want) {
			t.Errorf("%s: %v, want %s", name, l, want)
		}
	}
}
