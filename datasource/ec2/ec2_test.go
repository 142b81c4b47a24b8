package ec2

import (
	"encoding/base64"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/datasource/datasourcetest"
	"github.com/vmseed/vmseed/delivery/metadata"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

func TestConformance(t *testing.T) {
	datasourcetest.Run(t, datasourcetest.Config{DataSource: New()})
}

func layer(text string) machine.Layer { return machine.Layer{Name: "a layer", Data: secret.New(text)} }

func render(t testing.TB, m machine.Machine, o datasource.Options) (seed.Seed, diag.List) {
	t.Helper()
	if m.Name == "" {
		m.Name = "vm"
	}
	m, l := machine.Place(m, machine.Facts{})
	if l.HasErrors() {
		t.Fatal(l)
	}
	s, l := New().Render(m, o)
	if l.HasErrors() {
		t.Fatal(l)
	}
	return s, l
}

func leaf(s seed.Seed, path string) (string, bool) {
	i := slices.IndexFunc(s.Trees[0].Blobs, func(b seed.Blob) bool { return b.Path == path })
	if i < 0 {
		return "", false
	}
	return s.Trees[0].Blobs[i].Content.Reveal(), true
}

// TestFirmware gives a guest what it knows EC2 by, and says what of the definition's own it does not see.
func TestFirmware(t *testing.T) {
	const own, ec2 = "3C2A9C1E-5F0B-4D7E-9A51-0F6E2B7D8C41", "ec2a9c1e-5f0b-4d7e-9a51-0f6e2b7d8c41"
	for _, tt := range []struct {
		name string
		id   machine.Identity
		want string
		said diag.Severity
	}{
		{"derived", machine.Identity{}, "", 0},
		{"stated", machine.Identity{UUID: own}, ec2, diag.Note},
		{"fitting", machine.Identity{UUID: strings.ToUpper(ec2)}, ec2, 0},
		{"a serial number", machine.Identity{UUID: ec2, Serial: "mine"}, ec2, diag.Warning},
		{"a copy of the UUID", machine.Identity{UUID: own, Serial: own}, ec2, diag.Note},
		{"the same serial number", machine.Identity{UUID: ec2, Serial: strings.ToUpper(ec2)}, ec2, 0},
	} {
		m := machine.Machine{Identity: tt.id}
		if tt.id.UUID != "" {
			m.Places = machine.Places{"identity.uuid": diag.At("vm.yaml", 3, 5)}
		}
		s, l := render(t, m, datasource.Options{})
		rows := s.Firmware.SMBIOS
		if len(rows) != 2 || rows[0].Field != "uuid" || rows[1].Field != "serial" || rows[0].Value != rows[1].Value || rows[0].Value != s.Identity.UUID ||
			!regexp.MustCompile(`^ec2[0-9a-f]{5}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`).MatchString(rows[0].Value) || tt.want != "" && rows[0].Value != tt.want {
			t.Errorf("%s: %+v of %+v", tt.name, rows, s.Identity)
		}
		if tt.said == 0 && len(l) > 0 || tt.said != 0 && (len(l) != 1 || l[0].Severity != tt.said || l[0].Code != CodeFirmware) {
			t.Errorf("%s: said %v", tt.name, l)
		}
	}
}

// TestIdentity says who the guest is, in the tree as on the host.
func TestIdentity(t *testing.T) {
	for _, tt := range []struct {
		name       string
		m          machine.Machine
		id, host   string
		codes      []diag.Code
		hostAbsent bool
	}{
		{name: "nothing stated", id: `i-[0-9a-f]{17}`, hostAbsent: true},
		{name: "identity", m: machine.Machine{Identity: machine.Identity{InstanceID: "mine", Revision: 2, Hostname: "vm", Domain: "example.org"}}, id: "mine-r2", host: "vm.example.org"},
		{name: "meta-data", m: machine.Machine{Identity: machine.Identity{InstanceID: "mine", Revision: 2, Hostname: "vm"},
			MetaData: []machine.Layer{layer("instance-id: i-own\nhostname: own\n")}}, id: "i-own-r2", host: "own"},
		{name: "two host names", m: machine.Machine{MetaData: []machine.Layer{layer("hostname: a\nlocal-hostname: b\n")}}, id: `i-[0-9a-f]{17}`, host: "b",
			codes: []diag.Code{CodePair}},
	} {
		s, l := render(t, tt.m, datasource.Options{})
		id, _ := leaf(s, "meta-data/instance-id")
		if !regexp.MustCompile("^"+tt.id+"$").MatchString(id) || s.Identity.InstanceID != id {
			t.Errorf("%s: instance id %q in the tree, %+v", tt.name, id, s.Identity)
		}
		document, _ := leaf(s, "dynamic/instance-identity/document")
		if !strings.Contains(document, `"instanceId": "`+id+`"`) {
			t.Errorf("%s: document %s", tt.name, document)
		}
		for _, path := range []string{"hostname", "local-hostname"} {
			if host, ok := leaf(s, "meta-data/"+path); host != tt.host || ok == tt.hostAbsent || s.Identity.Hostname != tt.host {
				t.Errorf("%s: %s is %q", tt.name, path, host)
			}
		}
		var codes []diag.Code
		for _, d := range l {
			codes = append(codes, d.Code)
		}
		if !slices.Equal(codes, tt.codes) {
			t.Errorf("%s: said %v", tt.name, l)
		}
	}
}

// TestRevision makes another instance of a machine whose id is derived.
func TestRevision(t *testing.T) {
	first, _ := render(t, machine.Machine{}, datasource.Options{})
	again, _ := render(t, machine.Machine{Identity: machine.Identity{Revision: 1}}, datasource.Options{})
	if first.Identity.InstanceID == again.Identity.InstanceID || first.Identity.UUID != again.Identity.UUID {
		t.Errorf("%+v and %+v", first.Identity, again.Identity)
	}
	const uuid = "11111111-2222-3333-4444-555555555555"
	id := machine.Identity{UUID: uuid}
	own, _ := render(t, machine.Machine{Identity: id}, datasource.Options{})
	id.InstanceID = uuid + "-r0"
	daemons, _ := render(t, machine.Machine{Identity: id}, datasource.Options{})
	if own.Identity.InstanceID != daemons.Identity.InstanceID {
		t.Errorf("the daemon's machine is the instance %s, the same machine elsewhere %s", daemons.Identity.InstanceID, own.Identity.InstanceID)
	}
}

// TestOptions hands the reader's conditions to the server.
func TestOptions(t *testing.T) {
	s, _ := render(t, machine.Machine{}, datasource.Options{})
	if tree := s.Trees[0]; tree.Tokens != seed.TokensRequired || tree.HopLimit != 0 || s.Seal || tree.Roots[0] != "latest" || tree.Name != "ec2" {
		t.Errorf("%+v, seal %t", tree, s.Seal)
	}
	s, _ = render(t, machine.Machine{MetadataOptions: machine.MetadataOptions{HTTPTokens: "optional", HTTPPutResponseHopLimit: 3, Seal: true}}, datasource.Options{})
	if tree := s.Trees[0]; tree.Tokens != seed.TokensOptional || tree.HopLimit != 3 || !s.Seal {
		t.Errorf("%+v, seal %t", tree, s.Seal)
	}
}

// TestUserData has no leaf for nothing, keeps the author's bytes, and notes what EC2 itself would refuse.
func TestUserData(t *testing.T) {
	s, _ := render(t, machine.Machine{}, datasource.Options{})
	if text, ok := leaf(s, "user-data"); ok {
		t.Errorf("user-data of nothing: %q", text)
	}
	for _, size := range []int{maxUserData, maxUserData + 1} {
		script := "#!/bin/sh\n" + strings.Repeat("#", size-11) + "\n"
		s, l := render(t, machine.Machine{UserData: machine.UserData{Layers: []machine.Layer{layer(script)}}}, datasource.Options{})
		if text, _ := leaf(s, "user-data"); text != script {
			t.Errorf("user-data of %d bytes became %d", len(script), len(text))
		}
		large := slices.ContainsFunc(l, func(d diag.Diagnostic) bool { return d.Code == CodeLarge && d.Severity == diag.Note })
		if large != (size > maxUserData) {
			t.Errorf("%d bytes: said %v", size, l)
		}
		for _, b := range s.Trees[0].Blobs {
			if b.Sealable != (b.Path == "user-data") {
				t.Errorf("%s: sealable %t", b.Path, b.Sealable)
			}
		}
	}
}

// TestIgnition gives a guest of Ignition a config that says all, because on this platform no other program reads the rest.
func TestIgnition(t *testing.T) {
	m := machine.Machine{Identity: machine.Identity{Hostname: "vm"}, SSH: machine.SSH{AuthorizedKeys: []string{"ssh-ed25519 AAAA key"}},
		UserData: machine.UserData{Layers: []machine.Layer{layer(`{"ignition": {"version": "3.3.0"}, "systemd": {"units": [{"name": "a.service", "mask": true}]}}`)}},
		Network:  machine.Network{NICs: []machine.NIC{{MTU: 1400, DHCP4: true}}}}
	s, l := render(t, m, datasource.Options{})
	text, _ := leaf(s, "user-data")
	generated, _ := base64.StdEncoding.DecodeString(strings.Split(strings.SplitAfter(text, "base64,")[1], `"`)[0])
	if seed.IgnitionVersion(secret.New(text)) == "" || !strings.Contains(string(generated), "ssh-ed25519") || !strings.Contains(string(generated), "/etc/hostname") {
		t.Errorf("config %s with %s", text, generated)
	}
	for _, d := range l {
		t.Errorf("said %v %s", d.Severity, d.Summary)
	}
}

// TestWindows warns of what would leave cloudbase-init without a service.
func TestWindows(t *testing.T) {
	for _, tt := range []struct {
		id     machine.Identity
		tokens string
		want   int
	}{{machine.Identity{}, "", 2}, {machine.Identity{}, "optional", 1}, {machine.Identity{Hostname: "vm"}, "required", 1}, {machine.Identity{Hostname: "vm"}, "optional", 0}} {
		m := machine.Machine{Identity: tt.id, MetadataOptions: machine.MetadataOptions{HTTPTokens: tt.tokens}}
		if _, l := render(t, m, datasource.Options{}); len(l) > 0 {
			t.Errorf("Linux, %+v: %v", tt, l)
		}
		m.Guest.OS = "windows"
		_, l := render(t, m, datasource.Options{})
		if got := len(slices.DeleteFunc(l, func(d diag.Diagnostic) bool { return d.Code != CodeWindows })); got != tt.want {
			t.Errorf("Windows, %+v: %v", tt, l)
		}
	}
}

// TestSecrets keeps what nobody but the guest may read out of what is said.
func TestSecrets(t *testing.T) {
	m := machine.Machine{Users: []machine.User{{Name: "u", Password: secret.New("canary")}}, Identity: machine.Identity{Serial: "s", Tags: map[string]string{"a b": "canary"}},
		UserData:   machine.UserData{Raw: true, Layers: []machine.Layer{layer("#!/bin/sh\necho canary" + strings.Repeat("#", maxUserData) + "\n")}},
		VendorData: []machine.Layer{layer("#!/bin/sh\necho canary\n")}, MetaData: []machine.Layer{layer("x: {'a/b': canary}\ny: \"canary\\nz\"\n")}}
	_, l := render(t, m, datasource.Options{})
	if len(l) < 6 || strings.Contains(l.Error(), "canary") {
		t.Errorf("said %v", l)
	}
}

// TestAnyMetaData has the server take the tree of whatever the author's meta-data says: no path is both a leaf and a
// directory, and none leads elsewhere.
func TestAnyMetaData(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	names := []string{"placement", "region", "network", "interfaces", "macs", "tags", "instance", "public-keys", "0", "openssh-key", "hostname", "instance-id",
		"block-device-mapping", "ami", "api", "token", "user-data", "a/b", "..", "1=x", `\\`, "services", "domain", "security-credentials"}
	var write func(depth int) string
	write = func(depth int) string {
		switch n := r.IntN(8); {
		case n < 4 && depth > 0:
			var members []string
			for range r.IntN(4) {
				members = append(members, strconv.Quote(names[r.IntN(len(names))])+": "+write(depth-1))
			}
			return "{" + strings.Join(members, ", ") + "}"
		case n == 4:
			return "[" + write(depth-1) + "]"
		case n == 5:
			return "null"
		}
		return `"a value"`
	}
	taken := 0
	for range 500 {
		document := write(5)
		if !strings.HasPrefix(document, "{") {
			document = `{"x": ` + document + "}"
		}
		m, _ := machine.Place(machine.Machine{Name: "vm", SSH: machine.SSH{AuthorizedKeys: []string{"k"}}, MetaData: []machine.Layer{layer(document)},
			Network: machine.Network{NICs: []machine.NIC{{DHCP4: true}}}}, machine.Facts{})
		s, l := New().Render(m, datasource.Options{})
		if l.HasErrors() {
			continue // a name twice in one mapping
		}
		taken++
		if _, err := metadata.NewSite(s); err != nil {
			t.Errorf("%s: %v", document, err)
		}
	}
	if taken < 250 {
		t.Errorf("only %d of 500 documents had a tree", taken)
	}
}
