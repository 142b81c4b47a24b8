package plain_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/kubeobject"
	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/frontend/frontendtest"
	"github.com/vmseed/vmseed/frontend/plain"
	"github.com/vmseed/vmseed/machine"
)

func zipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(text))
	_ = z.Close()
	return b.String()
}

const message = "Content-Type: multipart/mixed; boundary=\"b\"\r\nMIME-Version: 1.0\r\n\r\n--b\r\nContent-Type: text/x-shellscript\r\n\r\n#!/bin/sh\r\n--b--\r\n"

const butane = "# for flatcar\nvariant: flatcar\nversion: 1.0.0\n"

func TestSniff(t *testing.T) {
	tests := []struct {
		name, head string
		want       frontend.Match
	}{
		{"cloud-config", "#cloud-config\n", frontend.Strong},
		{"cloud-config behind blank lines", "\n\n  #Cloud-Config\n", frontend.Strong},
		{"script", "#!/bin/sh\n", frontend.Strong},
		{"boothook", "#cloud-boothook\n", frontend.Strong},
		{"include", "#include\nhttps://example.org\n", frontend.Strong},
		{"include once", "#include-once\n", frontend.Strong},
		{"archive", "#cloud-config-archive\n", frontend.Strong},
		{"patch", "#cloud-config-jsonp\n", frontend.Strong},
		{"part handler", "#part-handler\n", frontend.Strong},
		{"jinja", "## template: jinja\n#cloud-config\n", frontend.Strong},
		{"MIME", message, frontend.Strong},
		{"MIME, header in the second line", strings.ReplaceAll(message, "\r", ""), frontend.Strong},
		{"gzip", zipped("#cloud-config\n"), frontend.Strong},
		{"empty", "", frontend.No},
		{"header with a space", "# cloud-config\n", frontend.No},
		{"byte order mark", "\ufeff#cloud-config\n", frontend.No},
		{"YAML", "hostname: x\n", frontend.No},
		{"Ignition", `{"ignition": {"version": "3.4.0"}}`, frontend.Strong},
		{"broken Ignition", `{"ignition": {"version": "2.2.0",}}`, frontend.Strong},
		{"Butane", butane, frontend.Strong},
		{"XML that holds a message", "<vm><initialization><custom_script>" + strings.ReplaceAll(message, "\r", ""), frontend.No},
		{"XML that holds Butane", "\n<vm><initialization><custom_script>\n" + butane, frontend.No},
		{"definition that holds Ignition", `{"kind": "VirtualMachine", "spec": {"ignition": {}}}`, frontend.No},
		{"definition that holds Butane", "kind: VirtualMachine\ndata: |\n  variant: fcos\n  version: 1.5.0\n", frontend.No},
		{"base64", "I2Nsb3VkLWNvbmZpZwpwYWNrYWdlX3VwZGF0ZTogdHJ1ZQo=", frontend.No},
		{"definition that holds a message", "apiVersion: v1\nkind: Pod\ndata: |\n  MIME-Version: 1.0\n", frontend.No},
		{"script that holds a definition", "#!/bin/sh\ncat <<E\napiVersion: vmseed.dev/v1alpha1\nE\n", frontend.Strong},
	}
	for _, tt := range tests {
		if got := plain.New().Sniff([]byte(tt.head)); got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestConformance(t *testing.T) {
	frontendtest.Run(t, frontendtest.Config{
		New: func() frontend.Frontend { return plain.New() },
		Samples: []frontendtest.Sample{
			{Name: "script", Files: []frontendtest.File{{Name: "setup.sh", Text: "#!/bin/sh\necho hello\n"}}},
			{Name: "cloud-config", Files: []frontendtest.File{{Name: "cc.yaml", Text: "#cloud-config\nhostname: x\nruncmd: [a, b]\n"}}},
			{Name: "Ignition", Files: []frontendtest.File{{Name: "node.ign", Text: `{"ignition": {"version": "3.0.0"}, "passwd": {"users": [{"name": "core"}]}}`}}},
			{Name: "Butane", Files: []frontendtest.File{{Name: "node.bu", Text: butane}}},
			{Name: "roles", Files: []frontendtest.File{
				{Name: "u", Role: frontend.UserData, Text: "#cloud-config\npassword: canary-password\n"},
				{Name: "m", Role: frontend.MetaData, Text: "instance-id: i-1\nlocal-hostname: web\ndsmode: local\n"},
				{Name: "v", Role: frontend.VendorData, Text: message},
				{Name: "n", Role: frontend.NetworkConfig, Text: "version: 2\n"},
			}},
		},
	})
}

func read(o frontend.Options, docs ...frontend.Document) (machine.Machine, diag.List) {
	m, l := plain.New().Read(context.Background(), frontend.Source{Documents: docs, Options: o, Resolver: &kubeobject.Manifest{}})
	return m[0], l
}

func doc(role frontend.Role, file, text string) frontend.Document {
	return frontend.Document{File: file, Role: role, Data: []byte(text)}
}

// What a guest reads must be the author's bytes, whatever they are.
func TestVerbatim(t *testing.T) {
	for _, text := range []string{"", "#cloud-config\r\na: 0644\r\n\r\n", message, zipped("#!/bin/sh\n"), "\xff\xfe\x00broken", "#cloud-config\na: [", "#cloud-config\n# no newline"} {
		m, l := read(frontend.Options{}, doc(frontend.UserData, "u", text), doc(frontend.VendorData, "v", text),
			doc(frontend.NetworkConfig, "n", text))
		if len(l) > 0 {
			t.Errorf("%q: %v", text, l)
		}
		for _, layer := range []machine.Layer{m.UserData.Layers[0], m.VendorData[0], m.Network.Document} {
			if got := layer.Data.Reveal(); got != text {
				t.Errorf("%s: got %q, want %q", layer.Name, got, text)
			}
			if layer.Merge != machine.MergeParts || layer.Origin.At(3, 2).String() != strings.TrimPrefix(layer.Name, "file ")+":3:2" {
				t.Errorf("%s: merge %q, line 3 is at %v", layer.Name, layer.Merge, layer.Origin.At(3, 2))
			}
		}
	}
	m, l := read(frontend.Options{}, doc(frontend.UserData, "u", "x"), doc(frontend.MetaData, "m", "{instance-id: a, other: 07}"))
	if got := m.MetaData[0].Data.Reveal(); got != "{instance-id: a, other: 07}" && !l.HasErrors() {
		t.Errorf("got %q and %v", got, l)
	}
}

func TestIgnition(t *testing.T) {
	const config = `{"ignition": {"version": "3.0.0"}}`
	tests := []struct {
		name       string
		dataSource string
		doc        frontend.Document
		ignition   bool
		platform   string
	}{
		{"a file", "", doc(frontend.Definition, "dir/Node-1.ign", config), true, ""},
		{"a file, whatever data source is named", "nocloud", doc(frontend.Definition, "node-1.ign", config), true, ""},
		{"Butane", "", doc(frontend.Definition, "node-1.bu", butane), true, "flatcar"},
		{"user-data", "", doc(frontend.UserData, "node-1", config), true, ""},
		{"user-data for Ignition", "ignition", doc(frontend.UserData, "node-1", config), true, ""},
		{"user-data for cloud-init's config drive", "configdrive", doc(frontend.UserData, "node-1", config), false, ""},
		{"broken user-data", "", doc(frontend.UserData, "node-1", `{"ignition": {"version": "3.0.0",}}`), true, ""},
		{"vendor-data", "", doc(frontend.VendorData, "node-1", config), false, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, l := read(frontend.Options{DataSource: tt.dataSource}, tt.doc)
			if len(l) > 0 || m.Name != "node-1" {
				t.Errorf("%q: %v", m.Name, l)
			}
			if !tt.ignition {
				if len(m.Ignition) > 0 || m.DataSource != "" || m.Guest.OS != "" || len(m.UserData.Layers)+len(m.VendorData) != 1 {
					t.Errorf("got %+v", m)
				}
				return
			}
			if len(m.Ignition) != 1 || len(m.UserData.Layers) > 0 || m.DataSource != "ignition" || m.Guest.OS != "coreos" || m.Guest.IgnitionPlatform != tt.platform {
				t.Fatalf("got %+v", m)
			}
			layer := m.Ignition[0]
			if layer.Data.Reveal() != string(tt.doc.Data) || layer.Origin.At(3, 2).String() != tt.doc.File+":3:2" {
				t.Errorf("got %q from %v", layer.Data.Reveal(), layer.Origin)
			}
			if m.Places.Find("ignition[0]").File != tt.doc.File {
				t.Errorf("it is at %v", m.Places.Find("ignition[0]"))
			}
		})
	}
	m, _ := read(frontend.Options{}, doc(frontend.Definition, "base.ign", config), doc(frontend.Definition, "web.bu", butane))
	if len(m.Ignition) != 2 || m.Name != "base" || m.Ignition[1].Name != "file web.bu" {
		t.Errorf("two configs: %+v", m.Ignition)
	}
}

func TestIdentity(t *testing.T) {
	tests := []struct {
		name, file, meta         string
		options                  frontend.Options
		wantName, wantID, wantHN string
		wantMode                 string
	}{
		{"nothing but a file", "dir.d/My_Seed.user.yaml", "", frontend.Options{}, "my-seed", "", "", ""},
		{"standard input", "-", "", frontend.Options{}, "machine", "", "", ""},
		{"Windows path", `C:\seeds\Web.yaml`, "", frontend.Options{}, "web", "", "", ""},
		{"flag", "u", "", frontend.Options{Hostname: "Web.Example.org", DSMode: "net"}, "web.example.org", "", "Web.Example.org", "net"},
		{"instance id", "u", "instance-id: iid-Abc/1\n", frontend.Options{}, "iid-abc-1", "iid-Abc/1", "", ""},
		{"host name", "u", "local-hostname: db\ninstance-id: i-1\n", frontend.Options{}, "db", "i-1", "db", ""},
		{"JSON", "u", `{"local-hostname": "db", "dsmode": "local"}`, frontend.Options{}, "db", "", "db", "local"},
		{"flag and meta-data agree", "u", "local-hostname: db\n", frontend.Options{Hostname: "db"}, "db", "", "db", ""},
		{"flag beside meta-data", "u", "instance-id: i-1\n", frontend.Options{Hostname: "db"}, "db", "i-1", "db", ""},
		{"host name of NoCloud is not hostname", "u", "hostname: x\n", frontend.Options{}, "u", "", "", ""},
		{"empty meta-data", "u", "", frontend.Options{}, "u", "", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, l := read(tt.options, doc(frontend.MetaData, "m", tt.meta), doc(frontend.UserData, tt.file, "#cloud-config\n"))
			if len(l) > 0 {
				t.Fatal(l)
			}
			if m.Name != tt.wantName || m.Identity.InstanceID != tt.wantID || m.Identity.Hostname != tt.wantHN || m.DSMode != tt.wantMode {
				t.Errorf("got name %q, instance id %q, host name %q, dsmode %q", m.Name, m.Identity.InstanceID, m.Identity.Hostname, m.DSMode)
			}
			if !kubeobject.ValidName(m.Name) {
				t.Errorf("%q is no name for a file", m.Name)
			}
		})
	}
}

func TestBadInput(t *testing.T) {
	user := doc(frontend.UserData, "u", "#!/bin/sh\n")
	meta := func(text string) []frontend.Document {
		return []frontend.Document{user, doc(frontend.MetaData, "m", text)}
	}
	tests := []struct {
		name    string
		options frontend.Options
		docs    []frontend.Document
		want    string
	}{
		{"two meta-data", frontend.Options{}, append(meta("a: b"), doc(frontend.MetaData, "m2", "c: d")), "m2:1:1: error[VS2000]"},
		{"two networks", frontend.Options{}, []frontend.Document{user, doc(frontend.NetworkConfig, "n", ""), doc(frontend.NetworkConfig, "n2", "")}, "n2:1:1: error[VS2000]"},
		{"meta-data is a list", frontend.Options{}, meta("- instance-id: x\n"), "m:1:1: error[VS2001]"},
		{"meta-data is two documents", frontend.Options{}, meta("a: b\n---\nc: d\n"), "m:3:1: error[VS2001]"},
		{"meta-data is no YAML", frontend.Options{}, meta("a: [b\n"), "m:"},
		{"instance id is a list", frontend.Options{}, meta("a: b\ninstance-id: [x]\n"), "m:2:14: error[VS2001]"},
		{"instance id is a date", frontend.Options{}, meta("instance-id: 2024-01-01\n"), "m:1:14: warning[VS2001]"},
		{"host name of base 60", frontend.Options{}, meta("local-hostname: 10:20\n"), "m:1:17: warning[VS2001]"},
		{"host names disagree", frontend.Options{Hostname: "a"}, meta("local-hostname: b\n"), "m:1:17: error[VS2002]"},
		{"modes disagree", frontend.Options{DSMode: "net"}, meta("dsmode: local\n"), "m:1:9: error[VS2002]"},
		{"bad host name", frontend.Options{Hostname: "a b"}, []frontend.Document{user}, "error[VS2003]"},
		{"bad dsmode", frontend.Options{DSMode: "remote"}, []frontend.Document{user}, "error[VS2004]"},
		{"no known kind", frontend.Options{}, []frontend.Document{doc(frontend.Definition, "x", "# cloud-config\n")}, "x:1:1: error[VS2005]"},
		{"bad role", frontend.Options{}, []frontend.Document{user, doc("motd", "x", "")}, "x:1:1: error[VS2005]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, l := read(tt.options, tt.docs...)
			if len(l) != 1 || !strings.HasPrefix(l[0].Error(), tt.want) {
				t.Errorf("got %v, want %s", l, tt.want)
			}
			if len(m.UserData.Layers) != 1 {
				t.Errorf("the user-data is lost: %+v", m.UserData)
			}
		})
	}
}

func TestReadNothing(t *testing.T) {
	if m, l := plain.New().Read(context.Background(), frontend.Source{}); m != nil || l != nil {
		t.Errorf("got %v and %v", m, l)
	}
}

func TestCodesAreExplained(t *testing.T) {
	explained := map[diag.Code]bool{}
	for _, e := range plain.Codes() {
		explained[e.Code] = e.Title != "" && e.Text != ""
	}
	for c := plain.CodeTwice; c <= plain.CodeRole; c++ {
		if !explained[c] {
			t.Errorf("%v is not explained", c)
		}
	}
	if len(explained) != int(plain.CodeRole-plain.CodeTwice)+1 {
		t.Error("a code is explained that does not exist")
	}
}

func FuzzPlain(f *testing.F) {
	f.Add("#cloud-config\n", "instance-id: i\nlocal-hostname: h\n", "h", "local")
	f.Add("#!/bin/sh\n", "{\"instance-id\": 7}", "", "")
	f.Add(message, "- a", "a..b", "x")
	f.Add(`{"ignition": {"version": "3.0.0"}}`, "", "", "")
	f.Add(butane, "", "", "")
	f.Fuzz(func(t *testing.T, user, meta, hostname, mode string) {
		const canary = "canary-4711-secret"
		text := user + canary
		m, l := read(frontend.Options{Hostname: hostname, DSMode: mode}, doc(frontend.UserData, "u", text), doc(frontend.MetaData, "m", meta))
		layers := append(m.UserData.Layers, m.Ignition...)
		if len(layers) != 1 || layers[0].Data.Reveal() != text || m.MetaData[0].Data.Reveal() != meta {
			t.Error("the bytes changed")
		}
		if !kubeobject.ValidName(m.Name) {
			t.Errorf("%q is no name for a file", m.Name)
		}
		for _, d := range l {
			if strings.Contains(d.Error(), canary) {
				t.Errorf("user-data shows in %v", d)
			}
		}
		again, l2 := read(frontend.Options{Hostname: hostname, DSMode: mode}, doc(frontend.UserData, "u", text), doc(frontend.MetaData, "m", meta))
		if again.Identity.Hostname != m.Identity.Hostname || again.Name != m.Name || len(l2) != len(l) {
			t.Error("two readings differ")
		}
	})
}
