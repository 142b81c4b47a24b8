package configdrive

import (
	"compress/gzip"
	"encoding/base64"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

// ovirt renders a machine of oVirt.
func ovirt(t *testing.T, m machine.Machine) seed.Volume {
	t.Helper()
	m.Name, m.Compat, m.DataSource = "vm", "ovirt", "configdrive"
	m, _ = machine.Place(m, machine.Facts{})
	s, l := New().Render(m, datasource.Options{})
	if l.HasErrors() || len(s.Volumes) != 1 || s.Volumes[0].Label != "config-2" {
		t.Fatalf("%v %+v", l, s)
	}
	return s.Volumes[0]
}

// text returns a file of a volume, or "" when it has none of that name.
func text(v seed.Volume, name string) string {
	content, _ := v.File(name)
	return content.Reveal()
}

// TestOVirtMembers compares meta_data.json with what oVirt's engine says of a VM; what is ours follows behind it.
func TestOVirtMembers(t *testing.T) {
	const (
		uuid = "5d307ca9-b3ef-428c-8861-06e72d69f223"
		tail = `"meta":{"dsmode":"local","essential":"false","role":"server"},"launch_index":"0","availability_zone":"nova"`
	)
	three := 3
	for _, tt := range []struct {
		name, want string
		m          machine.Machine
	}{
		{"nothing set", `{"uuid":"` + uuid + `",` + tail + `,"instance-id":"` + uuid + `"}`, machine.Machine{Identity: machine.Identity{UUID: uuid}}},
		{"host name and keys", `{"uuid":"` + uuid + `","hostname":"web.example.org","name":"web.example.org","public_keys":{"key-0":"ssh-ed25519 AAAA a&b","key-1":"ssh-rsa BBBB"},` +
			tail + `,"instance-id":"` + uuid + `","local-hostname":"web.example.org","public-keys":["ssh-ed25519 AAAA a&b","ssh-rsa BBBB"]}`,
			machine.Machine{Identity: machine.Identity{UUID: uuid, Hostname: "web.example.org"},
				SSH: machine.SSH{AuthorizedKeys: []string{"ssh-ed25519 AAAA a&b", "ssh-rsa BBBB"}}}},
		{"what the machine says", `{"uuid":"i-r2","hostname":"web","name":"www","meta":{"dsmode":"net","essential":"false","role":"db"},"launch_index":"3",` +
			`"availability_zone":"zone","instance-id":"i-r2","local-hostname":"web"}`,
			machine.Machine{DSMode: "net", Identity: machine.Identity{InstanceID: "i", Revision: 2, Hostname: "web", AvailabilityZone: "zone",
				LaunchIndex: &three, Tags: map[string]string{"role": "db"}}, MetaData: []machine.Layer{{Data: secret.New("name: www\n")}}}},
	} {
		if got := text(ovirt(t, tt.m), base+"meta_data.json"); got != tt.want {
			t.Errorf("%s:\n%s, want\n%s", tt.name, got, tt.want)
		}
	}
}

// TestRevision says that a guest may not look at the drive of a later revision where its first instance id is its UUID.
func TestRevision(t *testing.T) {
	const uuid, other = "5d307ca9-b3ef-428c-8861-06e72d69f223", "i-1"
	for _, tt := range []struct {
		id   machine.Identity
		meta string
		want bool
	}{
		{machine.Identity{UUID: uuid}, "", false}, {machine.Identity{UUID: uuid, Revision: 1}, "", true},
		{machine.Identity{UUID: uuid, InstanceID: strings.ToUpper(uuid), Revision: 1}, "", true}, {machine.Identity{UUID: uuid, InstanceID: other, Revision: 1}, "", false},
		{machine.Identity{UUID: uuid, Revision: 1}, "instance-id: i-2\n", false},
	} {
		m := machine.Machine{Name: "vm", Identity: tt.id}
		if tt.meta != "" {
			m.MetaData = []machine.Layer{{Data: secret.New(tt.meta)}}
		}
		m, _ = machine.Place(m, machine.Facts{})
		_, l := New().Render(m, datasource.Options{})
		if got := slices.ContainsFunc(l, func(d diag.Diagnostic) bool { return d.Code == CodeRevision }); got != tt.want {
			t.Errorf("%+v %q: %v", tt.id, tt.meta, []diag.Diagnostic(l))
		}
	}
}

// squeezed is a text as gzip.
func squeezed(t *testing.T, text string) string {
	t.Helper()
	var b strings.Builder
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// enveloped is a text in a MIME message as Python's email package writes it, for which a part of text needs base64.
func enveloped(text string) string {
	return "Content-Type: multipart/mixed; boundary=\"=\"\nMIME-Version: 1.0\n\n--=\nContent-Type: text/plain; charset=\"utf-8\"\nMIME-Version: 1.0\n" +
		"Content-Transfer-Encoding: base64\n\n" + base64.StdEncoding.EncodeToString([]byte(text)) + "\n--=--\n"
}

// TestOVirtMode lets cloud-init wait for the network where the user-data has to be fetched.
func TestOVirtMode(t *testing.T) {
	const include, source = "#include\nhttps://example.org/ud\n", "write_files: [{path: /a, source: {uri: https://example.org/a}}]\n"
	for data, want := range map[string]string{
		squeezed(t, include): "net", enveloped(include): "net", enveloped("#cloud-config\n" + source): "net", squeezed(t, enveloped(include)): "net",
		"## template: jinja\n#cloud-config\n" + source: "net", "## template: jinja\n#cloud-config\nfqdn: {{ v1.instance_id }}\n": "local",
		"#cloud-config-archive\n- {type: text/x-include-url, content: \"https://example.org/ud\"}\n": "local", // of which cloud-init makes nothing
		"#!/bin/sh\n# text/x-include-url\n": "local", "#cloud-config\nwrite_files: {path: /a}\n": "local",
		"#cloud-config\n{}\n": "local", "#cloud-config\nwrite_files: [{path: /a, content: source}]\n": "local",
		"#cloud-config\nwrite_files: [{path: /a, source: {uri: https://example.org/a}}]\n": "net", "#include\nhttps://example.org/ud\n": "net", "#include-once\nhttps://example.org/ud\n": "net",
		"Content-Type: multipart/mixed; boundary=\"=\"\nMIME-Version: 1.0\n\n--=\nContent-Type: text/x-include-url\n\nhttps://example.org/ud\n--=--\n": "net",
	} {
		v := ovirt(t, machine.Machine{UserData: machine.UserData{Layers: []machine.Layer{{Data: secret.New(data)}}}})
		if got := text(v, base+"meta_data.json"); !strings.Contains(got, `"dsmode":"`+want+`"`) {
			t.Errorf("%q: %s, want %s", data, got, want)
		}
	}
}

// TestOVirtNetwork has both forms of the network, with names alone and with MACs.
func TestOVirtNetwork(t *testing.T) {
	down := false
	nic := machine.NIC{Name: "nic1", Rename: "eth0", Match: "name", Addrs: []netip.Prefix{netip.MustParsePrefix("192.0.2.7/24")},
		Gateway4: netip.MustParseAddr("192.0.2.1")}
	other := machine.NIC{Name: "nic2", Rename: "eth1", Match: "name", DHCP6: "stateful"}
	silent := machine.NIC{Name: "nic3", Rename: "eth2", MAC: "52:54:00:00:00:03", DHCP4: true, OnBoot: &down}
	unnamed := silent
	unnamed.Match = "name"
	const (
		noMAC   = `{"id":"eth0","type":"vif","name":"eth0"}`
		network = `{"id":"eth0","link":"eth0","type":"ipv4","ip_address":"192.0.2.7","netmask":"255.255.255.0","gateway":"192.0.2.1"}`
	)
	byMAC := nic
	byMAC.Match, byMAC.MAC = "", "52:54:00:00:00:01"
	for _, tt := range []struct {
		name string
		n    machine.Network
		// data is network_data.json on one line, contents are the files behind the meta-data.
		data     string
		contents []string
	}{
		{"by name", machine.Network{NICs: []machine.NIC{nic, other}}, `{"links":[` + noMAC + `,{"id":"eth1","type":"vif","name":"eth1"}],"networks":[` + network +
			`,{"id":"eth1","link":"eth1","type":"ipv6_dhcp"}]}`, nil},
		{"by MAC", machine.Network{NICs: []machine.NIC{byMAC}}, `{"links":[{"id":"eth0","type":"vif","ethernet_mac_address":"52:54:00:00:00:01","name":"eth0"}],"networks":[` + network + `]}`, nil},
		{"one stays down", machine.Network{NICs: []machine.NIC{nic, silent}}, `{"links":[` + noMAC + `],"networks":[` + network + `]}`,
			[]string{"[main]\nno-auto-default+=mac:52:54:00:00:00:03\n"}},
		{"all stay down", machine.Network{NICs: []machine.NIC{unnamed}}, `{"links":[],"networks":[],"services":[]}`,
			[]string{"[main]\nno-auto-default+=interface-name:=eth2\n"}},
		{"nothing said", machine.Network{NICs: []machine.NIC{{Name: "nic1"}}}, "", nil},
		{"interfaces(5)", machine.Network{Format: "eni", NICs: []machine.NIC{nic, other}}, "", []string{
			"auto eth0\niface eth0 inet static\n    address 192.0.2.7\n    netmask 255.255.255.0\n    gateway 192.0.2.1\nauto eth1\niface eth1 inet6 dhcp6\n"}},
		{"interfaces(5) and one that stays down", machine.Network{Format: "eni", NICs: []machine.NIC{nic, silent}}, "", []string{
			"auto eth0\niface eth0 inet static\n    address 192.0.2.7\n    netmask 255.255.255.0\n    gateway 192.0.2.1\n",
			"[main]\nno-auto-default+=mac:52:54:00:00:00:03\n"}},
		{"interfaces(5), all stay down", machine.Network{Format: "eni", NICs: []machine.NIC{unnamed}}, `{"links":[],"networks":[],"services":[]}`,
			[]string{"[main]\nno-auto-default+=interface-name:=eth2\n"}},
		{"interfaces(5), nothing said", machine.Network{Format: "eni"}, "", nil},
	} {
		v := ovirt(t, machine.Machine{Network: tt.n})
		flat := strings.NewReplacer("\n", "", "  ", "", `": `, `":`).Replace(text(v, base+"network_data.json"))
		var contents []string
		for _, f := range v.Files {
			if strings.HasPrefix(f.Path, "openstack/content/") {
				contents = append(contents, f.Content.Reveal())
			}
		}
		if d := cmp.Diff(append([]string{tt.data}, tt.contents...), append([]string{flat}, contents...)); d != "" {
			t.Errorf("%s: %s", tt.name, d)
		}
		meta := text(v, base+"meta_data.json")
		eni := `"network_config":{"content_path":"/content/0000","path":"/etc/network/interfaces"}`
		if want := tt.n.Format == "eni" && len(tt.contents) > 0 && tt.data == ""; strings.Contains(meta, eni) != want || strings.Contains(meta, `"network-interfaces":"auto eth0\n`) != want {
			t.Errorf("%s: %s", tt.name, meta)
		}
		if strings.Contains(flat+meta, "00:00:00:00") {
			t.Errorf("%s: a MAC that nobody gave", tt.name)
		}
	}
}

// TestOVirtUserData adds what is generated to a custom script of any kind, and a file by which the guest knows its data
// sources, unless the author chooses them.
func TestOVirtUserData(t *testing.T) {
	const file = "/etc/cloud/cloud.cfg.d/99_vmseed_datasource.cfg"
	layers := func(text string) machine.UserData {
		if text == "" {
			return machine.UserData{}
		}
		return machine.UserData{Layers: []machine.Layer{{Data: secret.New(text)}}}
	}
	for _, tt := range []struct {
		name, script string
		m            machine.Machine
		file         bool
		want         []string
	}{
		{"nothing", "", machine.Machine{}, true, nil},
		{"the author's runcmd", "#cloud-config\nruncmd: [[echo, mine]]\n", machine.Machine{Guest: machine.Guest{Timezone: "Asia/Jerusalem"}}, true,
			[]string{"runcmd: [[echo, mine]]", "timezone: Asia/Jerusalem"}},
		{"a shell script", "#!/bin/sh\necho hi\n", machine.Machine{}, true, []string{"multipart/mixed", "#!/bin/sh\necho hi\n"}},
		{"another list", "#cloud-config\nwrite_files:\n- {path: /etc/cloud/cloud.cfg.d/05.cfg, content: 'datasource_list: [ Ec2, None ]'}\n", machine.Machine{}, false, nil},
		{"perhaps another list", "#cloud-config\nwrite_files:\n- {path: /etc/cloud/cloud.cfg.d/05.cfg, encoding: b64, content: Zm9v}\n", machine.Machine{}, false, nil},
		{"another file, encoded", "#cloud-config\nwrite_files:\n- {path: /etc/motd, encoding: b64, content: Zm9v}\n", machine.Machine{}, true, nil},
		{"a list among the files", "", machine.Machine{Files: []machine.File{{Path: "/etc/cloud/cloud.cfg", Content: secret.New("datasource_list: [ None ]\n")}}}, false, nil},
		{"a list in gzip", squeezed(t, "#cloud-config\nbootcmd: [\"echo 'datasource_list: [ None ]' > /etc/cloud/cloud.cfg.d/99.cfg\"]\n"), machine.Machine{}, false, nil},
		{"a list in a MIME message", enveloped("#!/bin/sh\nsed -i /datasource_list/d /etc/cloud/cloud.cfg\n"), machine.Machine{}, false, nil},
		{"no list in a MIME message", enveloped("#!/bin/sh\n"), machine.Machine{}, true, nil},
		{"perhaps another list in a template", "## template: jinja\n#cloud-config\nwrite_files:\n- {path: /etc/cloud/cloud.cfg.d/05.cfg, encoding: b64, content: Zm9v}\n", machine.Machine{}, false, nil},
		{"a list by a command", "", machine.Machine{RunCmd: []machine.Command{{Shell: "sed -i /datasource_list/d /etc/cloud/cloud.cfg"}}}, false, nil},
	} {
		tt.m.UserData = layers(tt.script)
		got := text(ovirt(t, tt.m), base+"user_data")
		if strings.Contains(got, file) != tt.file || strings.Contains(got, "datasource_list: [ NoCloud, ConfigDrive ]") != tt.file {
			t.Errorf("%s: want the file: %v\n%s", tt.name, tt.file, got)
		}
		for _, want := range tt.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in\n%s", tt.name, want, got)
			}
		}
	}
	for _, m := range []machine.Machine{{Name: "vm", DataSource: "configdrive"}, {Name: "vm", Compat: "ovirt"}} {
		m, _ = machine.Place(m, machine.Facts{})
		if s, _ := New().Render(m, datasource.Options{}); strings.Contains(text(s.Volumes[0], base+"user_data"), file) {
			t.Errorf("compat %q, data source %q: the guest gets the file", m.Compat, m.DataSource)
		}
	}
}
