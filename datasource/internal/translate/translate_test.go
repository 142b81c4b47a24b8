package translate_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vmseed/vmseed/datasource/internal/translate"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/machine/machinetest"
	"github.com/vmseed/vmseed/secret"
)

var update = flag.Bool("update", false, "rewrite the expectations below testdata")

func layerOf(text string) machine.Layer {
	return machine.Layer{Name: "user-data", Data: secret.New(text), Origin: diag.File("user-data")}
}

// read translates a document into a machine that holds nothing else.
func read(text string) (machine.Machine, diag.List) {
	return translate.CloudConfig(layerOf(text), machine.Machine{})
}

// said lists diagnostics, one a line.
func said(l diag.List) string {
	var b strings.Builder
	for _, d := range l {
		b.WriteString(d.Error() + "\n")
	}
	return b.String()
}

// document is a file below testdata.
type document struct{ path, text string }

func documents(tb testing.TB) []document {
	tb.Helper()
	names, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(names) == 0 {
		tb.Fatal("no documents", err)
	}
	var out []document
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			tb.Fatal(err)
		}
		out = append(out, document{name, string(text)})
	}
	return out
}

// placesOf lists where the values of a machine stand.
func placesOf(m machine.Machine) string {
	var b strings.Builder
	for _, path := range slices.Sorted(maps.Keys(m.Places)) {
		fmt.Fprintf(&b, "%s %s\n", path, m.Places[path])
	}
	return b.String()
}

// TestGolden shows what becomes of the documents below testdata: the machine, what is said, and the places.
func TestGolden(t *testing.T) {
	for _, doc := range documents(t) {
		m, l := read(doc.text)
		got := machinetest.Dump(m) + "----\n" + said(l) + "----\n" + placesOf(m)
		golden := strings.TrimSuffix(doc.path, ".yaml") + ".txt"
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), got); d != "" {
			t.Errorf("%s (-want +got):\n%s", golden, d)
		}
	}
}

// TestJoin adds a document to a machine that says something already.
func TestJoin(t *testing.T) {
	on := true
	before := machine.Machine{
		Identity: machine.Identity{Hostname: "old"}, Guest: machine.Guest{Timezone: "UTC"},
		RunCmd: []machine.Command{{Shell: "first"}}, Files: []machine.File{{Path: "/a", Content: secret.New("machine")}},
		Groups: []machine.Group{{Name: "g", Members: []string{"x"}}}, SSH: machine.SSH{PasswordAuth: &on},
		Users: []machine.User{{Name: "ann", Gecos: "old", Shell: "/bin/sh", Password: secret.New("old"), SSHAuthorizedKeys: []string{"key1"}}, {Name: "ben"}},
	}
	dump := machinetest.Dump(before)
	after, l := translate.CloudConfig(layerOf("#cloud-config\nhostname: new\ntimezone: UTC\nssh_pwauth: no\nruncmd: [second]\n"+
		"write_files: [{path: /a, content: author}]\ngroups: [{g: [y, x]}]\n"+
		"users: [default, {name: ann, gecos: new, hashed_passwd: $6$a$b, lock_passwd: false, ssh_authorized_keys: [key2, key1]}]\n"), before)
	if machinetest.Dump(before) != dump {
		t.Error("the machine that was given has changed")
	}
	want := `identity.hostname = new
guest.timezone = UTC
users[0].name = ann
users[0].gecos = new
users[0].shell = /bin/sh
users[0].passwordHash = $6$a$b
users[0].lockPassword = false
users[0].sshAuthorizedKeys[0] = key1
users[0].sshAuthorizedKeys[1] = key2
users[1].name = ben
users[2].default = true
groups[0].name = g
groups[0].members[0] = x
groups[0].members[1] = y
ssh.passwordAuth = false
files[0].path = /a
files[0].content = machine
files[1].path = /a
files[1].content = author
runcmd[0].shell = first
runcmd[1].shell = second
`
	if d := cmp.Diff(want, machinetest.Dump(after)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	wantSaid := `user-data:2:11: warning[VS4103]: hostname: the definition sets identity.hostname as well; the cloud-config wins; remove one of the two
user-data:4:13: warning[VS4103]: ssh_pwauth: the definition sets ssh.passwordAuth as well; the cloud-config wins; remove one of the two
`
	if d := cmp.Diff(wantSaid, said(l)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestSecretsStayOut looks for passwords and keys in what is said about documents full of mistakes.
func TestSecretsStayOut(t *testing.T) {
	for _, text := range []string{
		"password: [canary]\nchpasswd: {list: [canary], users: [{password: canary}, {name: u, password: canary, type: odd}]}\n",
		"write_files: [{content: canary}, {path: /a, content: [canary]}, {path: /a, encoding: b64, content: can!ary}, {path: /a, encoding: gz, content: canary}]\n",
		"users: [{name: u, passwd: [canary], plain_text_passwd: {canary: 1}, hashed_passwd: 1.5, odd: canary}]\n",
		"ssh_keys: {rsa_private: [canary], odd_private: canary}\nca_certs: {trusted: [[canary]]}\nruncmd: [{a: canary}]\n",
	} {
		_, l := read("#cloud-config\n" + text)
		if len(l) == 0 || strings.Contains(said(l), "canary") {
			t.Errorf("%s: %s", text, said(l))
		}
	}
}

// TestBroken keeps the machine as it is when the document cannot be read.
func TestBroken(t *testing.T) {
	m := machine.Machine{Name: "vm"}
	for _, text := range []string{"#cloud-config\na: [", "#!/bin/sh\n", "#cloud-config\n- a\n", "## template: jinja\n#cloud-config\na: {{ b }}\n"} {
		got, l := translate.CloudConfig(layerOf(text), m)
		if !l.HasErrors() || l[0].Range.IsZero() || machinetest.Dump(got) != machinetest.Dump(m) {
			t.Errorf("%q: %v", text, l)
		}
	}
}

// FuzzCloudConfig holds whatever document there is to promises: the same twice, a place for everything that is said, the
// machine's own members kept, and a machine that can be written as a cloud-config which says the same again.
func FuzzCloudConfig(f *testing.F) {
	for _, doc := range documents(f) {
		f.Add([]byte(doc.text))
	}
	for _, text := range []string{
		"users: [default, {name: a, passwd: x}]", "user: {name: b, groups: [c]}", "users: {a: true}", "groups: {a: b}", "password: x",
		"chpasswd: {expire: no, list: [a:b]}", "write_files: [{path: /a, content: b, permissions: '0600'}]", "hostname: a.b", "runcmd: [[a, 1], b]",
		"mounts: [[vdb.1, /a, ext4, ro]]", "disk_setup: {vdb: {layout: true}}", "fs_setup: [{device: vdb, filesystem: ext4}]",
		"power_state: {mode: halt, delay: +1}", "ntp: {pools: [a]}", "ssh_keys: {rsa_private: a}", "ca_certs: {trusted: a}", "phone_home: {url: a, post: all}",
	} {
		f.Add([]byte("#cloud-config\n" + text + "\n"))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		base := machine.Machine{Name: "vm", Users: []machine.User{{Name: "ann"}}, RunCmd: []machine.Command{{Shell: "first"}}}
		text := string(data)
		m, l := translate.CloudConfig(layerOf(text), base)
		again, l2 := translate.CloudConfig(layerOf(text), base)
		if machinetest.Dump(m) != machinetest.Dump(again) || said(l) != said(l2) {
			t.Fatal("two readings differ")
		}
		for _, d := range l {
			if d.Range.IsZero() || d.Summary == "" {
				t.Fatalf("without a place: %v", d)
			}
		}
		if l.HasErrors() {
			return
		}
		for _, file := range m.Files {
			if !strings.HasPrefix(file.Path, "/") || filepath.Clean(file.Path) != file.Path {
				t.Fatalf("path %q", file.Path)
			}
		}
		if len(m.RunCmd) == 0 || m.RunCmd[0].Shell != "first" || m.Users[0].Name != "ann" {
			t.Fatal("the machine's own members are gone")
		}
		fixedPoint(t, "the document", m)
	})
}
