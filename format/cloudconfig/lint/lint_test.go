package lint

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/cloudconfig"
	"github.com/vmseed/vmseed/format/mimepart"
)

func guest(t testing.TB, name string) Guest {
	t.Helper()
	if name == "" {
		return Guest{}
	}
	g, err := ParseGuest(name)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// brief is the code and place of each finding.
func brief(l diag.List) string {
	var out []string
	for _, d := range l {
		out = append(out, fmt.Sprintf("%s@%d:%d", d.Code, d.Range.Start.Line, d.Range.Start.Column))
	}
	return strings.Join(out, " ")
}

// userDataCases have what is found: codes with line and column. Compressed inputs are made by the test.
var userDataCases = []struct{ name, guest, in, want string }{
	{"nothing to say", "", "#cloud-config\nhostname: x\nruncmd:\n  - [ls, -l]\n  - echo\n", ""},
	{"unknown key", "", "#cloud-config\nrun_cmd: [a]\n", "VS3100@2:1"},
	{"key of a number", "", "#cloud-config\n5: a\n", "VS3100@2:1"},
	{"unknown field", "", "#cloud-config\npower_state: {mode: reboot, dely: 5}\n", "VS3101@2:29"},
	{"wrong type", "", "#cloud-config\nhostname: 5\n", "VS3102@2:11"},
	{"a mapping by a colon", "", "#cloud-config\nruncmd:\n  - echo: x\n", "VS3102@3:5"},
	{"number among arguments", "", "#cloud-config\nruncmd:\n  - [sleep, 10]\n", "VS3102@3:13"},
	{"date", "", "#cloud-config\nusers:\n  - default\n  - {name: a, expiredate: 2030-01-01}\n", "VS3102@4:27"},
	{"missing path", "", "#cloud-config\nwrite_files:\n  - content: x\n", "VS3103@3:5"},
	{"value out of an enum", "", "#cloud-config\npower_state: {mode: of}\n", "VS3104@2:21"},
	{"empty list", "", "#cloud-config\nruncmd: []\n", "VS3104@2:9"},
	{"deprecated", "", "#cloud-config\napt_update: true\n", "VS3105@2:13"},
	{"deprecated in a list", "", "#cloud-config\nusers:\n  - default\n  - {name: a, lock-passwd: true}\n", "VS3105@4:28"},
	{"not deprecated yet", "debian-12", "#cloud-config\nubuntu_advantage: {token: x}\n", ""},
	{"deprecated by now", "debian-13", "#cloud-config\nubuntu_advantage: {token: x}\n", "VS3105@2:19"},
	{"too new", "debian-12", "#cloud-config\nubuntu_pro: {token: x}\n", "VS3106@2:1"},
	{"too new field", "debian-12", "#cloud-config\nwrite_files: [{path: /a, source: {uri: x}}]\n", "VS3101@2:26"},
	{"older than its schema", "debian-12", "#cloud-config\nmerge_how: list(append)+dict(recurse_array)\nhostname: x\n", ""},
	{"packages by manager", "cloud-init=23.3", "#cloud-config\npackages:\n  - apt: [vim]\n", "VS3102@3:5"},
	{"packages by manager later", "cloud-init=23.4", "#cloud-config\npackages:\n  - apt: [vim]\n", ""},
	{"no header", "", "hostname: x\n", "VS3107@1:1"},
	{"blank in the header", "", "# cloud-config\nhostname: x\n", "VS3107@1:1"},
	{"byte order mark", "", "\ufeff#cloud-config\nhostname: x\n", "VS3107@1:1"},
	{"base64", "", base64.StdEncoding.EncodeToString([]byte("#cloud-config\na: 1\n")), "VS3107@1:1"},
	{"Ignition", "", `{"ignition": {"version": "3.4.0"}}`, "VS3107@1:1"},
	{"header alone", "", "#cloud-config\n", "VS3108@1:1"},
	{"empty", "", "", ""},
	{"variable", "", "#cloud-config\nhostname: ${name}\n", "VS3109@2:11"},
	{"variable in a script is none", "", "#cloud-config\nruncmd: ['echo ${name}', \"docker ps --format '{{ .Names }}'\"]\n", ""},
	{"merge_how", "", "#cloud-config\nmerge_how: append\nhostname: x\n", "VS3110@2:12"},
	{"merge_type left behind", "", "#cloud-config\nmerge_how: dict()\nmerge_type: list()\nhostname: x\n", "VS3110@3:13"},
	{"merge_type that fails", "", "#cloud-config\nmerge_how: dict()\nmerge_type: append\nhostname: x\n", "VS3110@3:13"},
	{"jinja", "", "## template: jinja\n#cloud-config\nhostname: {{ v1.name }}\nruncmd: {{ x }}\n{% if a %}\nrun_cmd: [a]\n{% endif %}\n", "VS3100@6:1"},
	{"jinja that breaks YAML", "", "## template: jinja\n#cloud-config\na: [\n", "VS1204@"},
	{"jinja of an archive", "", "## template: jinja\n#cloud-config-archive\n", "VS3111@2:1"},
	{"jinja of a script", "", "## template: jinja\n#!/bin/sh\n", ""},
	{"boothook", "", "#cloud-boothook\n#!/bin/sh\n:\n", ""},
	{"boothook without interpreter", "", "#cloud-boothook\necho\n", "VS3121@1:1"},
	{"JSON patch", "", "#cloud-config-jsonp\n[{\"op\": \"add\", \"path\": \"/a\", \"value\": 1}]\n", ""},
	{"JSON patch that is a mapping", "", "#cloud-config-jsonp\n{}\n", "VS3102@2:1"},
	{"JSON patch without path", "", "#cloud-config-jsonp\n[{\"op\": \"add\"}]\n", "VS3103@2:2"},
	{"JSON patch that is none", "", "#cloud-config-jsonp\n[,]\n", "VS1204@2:2"},
	{"include", "", "#include\nhttp://x/\n", "VS3112@1:1"},
	{"no default user", "", "#cloud-config\nusers: [{name: a}]\n", "VS3113@2:8"},
	{"no default user for keys", "", "#cloud-config\nusers: [{name: a}]\nssh_authorized_keys: [k]\n", "VS3113@3:22"},
	{"default by name", "", "#cloud-config\nusers: [{name: default}]\n", ""},
	{"password in place of a hash", "", "#cloud-config\nusers: [default, {name: a, lock_passwd: false, passwd: hello}]\n", "VS3114@2:56"},
	{"a hash", "", "#cloud-config\nusers: [default, {name: a, lock_passwd: false, passwd: $6$x$y}]\n", ""},
	{"locked", "", "#cloud-config\nusers: [default, {name: a, plain_text_passwd: hello}]\n", "VS3114@2:18"},
	{"chpasswd without type", "", "#cloud-config\nchpasswd: {users: [{name: a, password: hello}]}\n", "VS3114@2:40"},
	{"decimal mode", "", "#cloud-config\nwrite_files: [{path: /a, permissions: 644}]\n", "VS3115@2:39"},
	{"octal mode", "", "#cloud-config\nwrite_files: [{path: /a, permissions: 0644}]\n", "VS3115@2:39"},
	{"symbolic mode", "", "#cloud-config\nwrite_files: [{path: /a, permissions: u+r}]\n", "VS3115@2:39"},
	{"good modes", "", "#cloud-config\nwrite_files: [{path: /a, permissions: '0644'}, {path: /b, permissions: 0o600}, {path: /c, permissions: \"755\"}]\n", ""},
	{"relative path", "", "#cloud-config\nwrite_files: [{path: a}]\n", "VS3115@2:22"},
	{"one path twice", "", "#cloud-config\nwrite_files: [{path: /a}, {path: /a}, {path: /a, append: true}]\n", "VS3115@2:34"},
	{"owner too early", "", "#cloud-config\nusers: [default, {name: a}]\nwrite_files: [{path: /a, owner: 'a:a'}, {path: /b, owner: a, defer: true}]\n", "VS3115@3:33"},
	{"not base64", "", "#cloud-config\nwrite_files: [{path: /a, encoding: b64, content: 'hello!'}]\n", "VS3115@2:50"},
	{"number to the base 60", "", "#cloud-config\nautoinstall: {version: 1, mac: 52:54:00:12:34:56}\n", "VS3116@2:32"},
	{"mount without a place", "", "#cloud-config\nmounts: [[/dev/vdb], [/dev/vdc, /c]]\n", "VS3117@2:10"},
	{"archive", "", "#cloud-config-archive\n- content: |\n    #cloud-config\n    run_cmd: [a]\n- \"#include http://x/\"\n- type: text/x-shellscript\n  content: echo\n",
		"VS3100@4:5 VS3107@5:4 VS3121@7:12"},
	{"template instead of an error", "", "#cloud-config\nhostname: {{ .Values.x }}\n", "VS3003@2:12"},
	{"merge keys are followed", "", "#cloud-config\nusers:\n  - default\n  - &u {name: a, shel: x}\n  - {<<: *u, name: b}\n", "VS3101@4:18 VS3101@4:18"},
}

func TestUserData(t *testing.T) {
	for _, c := range userDataCases {
		t.Run(c.name, func(t *testing.T) {
			l := UserData(diag.File("f"), []byte(c.in), guest(t, c.guest))
			if got := brief(l); got != c.want && !(strings.HasSuffix(c.want, "@") && strings.HasPrefix(got, c.want)) {
				t.Errorf("got %s, want %s\n%s", got, c.want, printed(l))
			}
			for _, d := range l {
				if d.Summary == "" || strings.Contains(d.Error(), "hello") {
					t.Errorf("a finding without words, or with a secret: %s", d.Error())
				}
			}
		})
	}
}

func printed(l diag.List) string {
	var b bytes.Buffer
	if err := diag.Write(&b, diag.Text, l); err != nil {
		return err.Error()
	}
	return b.String()
}

func gz(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestGzip(t *testing.T) {
	packed := []byte(gz(t, "#cloud-config\nrun_cmd: [a]\n"))
	if got := brief(UserData(diag.File("f"), packed, Guest{})); got != "VS3100@1:1" {
		t.Errorf("got %s", got)
	}
	if got := brief(UserData(diag.File("f"), packed[:20], Guest{})); got != "VS3304@1:1" {
		t.Errorf("cut off: got %s", got)
	}
}

func TestMultipart(t *testing.T) {
	data, err := mimepart.Build([]mimepart.Part{
		{ContentType: "text/cloud-config", Data: []byte("run_cmd: [a]\n")},
		{ContentType: "text/cloud-config", MergeType: "append", Data: []byte("hostname: x\n")},
		{ContentType: "text/cloud-config", Header: []mimepart.Field{{Name: "merge-type", Value: "list()"}}, Data: []byte("hostname: x\n")},
		{ContentType: "text/plain", Data: []byte("#cloud-config\nhostname: 5\n")},
		{ContentType: "text/x-unknown", Data: []byte("x")},
		{ContentType: "application/gzip", Data: []byte(gz(t, "#!/bin/sh\n"))},
		{ContentType: "text/x-shellscript", Data: []byte("echo\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	var codes []diag.Code
	lines := bytes.Split(data, []byte("\n"))
	for _, d := range UserData(diag.File("f"), data, Guest{}) {
		codes = append(codes, d.Code)
		if d.Code == CodeUnknownKey && !bytes.HasPrefix(lines[d.Range.Start.Line-1], []byte("run_cmd")) {
			t.Errorf("the unknown key is said to be in line %d", d.Range.Start.Line)
		}
	}
	want := []diag.Code{CodeUnknownKey, CodeHow, CodeHeader, CodeType, CodeIgnored, CodeScript}
	if !slices.Equal(codes, want) {
		t.Errorf("got %v, want %v", codes, want)
	}
}

func TestMetaData(t *testing.T) {
	for _, c := range []struct{ name, guest, in, want string }{
		{"good", "", "instance-id: i\nlocal-hostname: h\npublic-keys: [k]\ndsmode: net\ncustom: {a: b}\n", ""},
		{"no instance-id, which the renderer adds", "", "local-hostname: h\n", ""},
		{"hostname", "", "instance-id: i\nhostname: h\n", "VS3118@2:1"},
		{"number as a name", "", "instance-id: 5\nlocal-hostname: 5\n", "VS3118@2:17"},
		{"list as an id", "", "instance-id: [a]\n", "VS3118@1:14"},
		{"dsmode", "", "instance-id: i\ndsmode: lokal\n", "VS3118@2:9"},
		{"keys as EC2 has them", "", "instance-id: i\npublic-keys: {0: {openssh-key: k}}\n", "VS3118@2:18"},
		{"keys by name", "", "instance-id: i\npublic-keys: {a: k, b: [k, 5]}\n", "VS3118@2:28"},
		{"keys as a number", "", "instance-id: i\npublic-keys: 5\n", "VS3118@2:14"},
		{"network-interfaces", "debian-12", "instance-id: i\nnetwork-interfaces: |\n  auto eth0\n", ""},
		{"network-interfaces later", "", "instance-id: i\nnetwork-interfaces: |\n  auto eth0\n", "VS3105@2:1"},
		{"seedfrom on a disk", "", "instance-id: i\nseedfrom: http://x/\n", "VS3118@2:11"},
		{"seedfrom by FTP", "cloud-init=23.2", "instance-id: i\nseedfrom: ftp://x/\n", "VS3106@2:11"},
		{"seedfrom nowhere", "", "instance-id: i\nseedfrom: x\n", "VS3118@2:11"},
		{"launch-index", "", "instance-id: i\nlaunch-index: one\n", "VS3118@2:15"},
		{"base 60", "", "instance-id: i\nmac: 52:54:00:12:34:56\n", "VS3116@2:6"},
		{"a list", "", "- a\n", "VS3001@1:1"},
		{"JSON", "", `{"instance-id": "i", "local-hostname": "h"}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if l := MetaData(diag.File("f"), []byte(c.in), guest(t, c.guest)); brief(l) != c.want {
				t.Errorf("got %s, want %s\n%s", brief(l), c.want, printed(l))
			}
		})
	}
}

func TestVendor(t *testing.T) {
	parse := func(text string) *cloudconfig.Document {
		d, l := cloudconfig.Parse(diag.File("f"), []byte(text))
		if l.HasErrors() {
			t.Fatal(l)
		}
		return d
	}
	vendor := parse("runcmd: &r [a, {b: c}]\nhostname: x\nmerge_how: dict()\nntp: {enabled: true, pools: [p]}\nbootcmd: *r\n")
	for in, want := range map[string]string{
		"runcmd: [b]\nmerge_how: list()\n":                 "VS3119@1:9",
		"runcmd: [a, {b: c}]\nhostname: x\n":               "",
		"hostname: y\n":                                    "VS3119@2:11",
		"runcmd: [a, {b: c, d: e}]\nbootcmd: []\n":         "VS3119@1:9 VS3119@1:9",
		"x: &n {servers: [s], enabled: 'true'}\nntp: *n\n": "VS3119@4:16",
		"ntp: {pools: [q], enabled: true}\n":               "VS3119@4:29",
		"ntp:\n":                                           "VS3119@4:6",
		"vendor_data: {enabled: false}\nruncmd: [b]\n":     "VS3119@1:14",
		"vendor_data: {enabled: yes}\na: 1\n":              "",
	} {
		if got := brief(Vendor(parse(in), vendor)); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
	if l := Vendor(nil, vendor); len(l) > 0 {
		t.Errorf("got %v without user-data", l)
	}
	l := Vendor(parse("hostname: y\nruncmd: [b]\n"), vendor)
	if len(l) != 2 || l[0].Severity != diag.Warning || l[1].Severity != diag.Note {
		t.Errorf("a lost list is to be warned of, another scalar to be noted: %v", l)
	}
}

func TestParseGuest(t *testing.T) {
	for in, want := range map[string]string{
		"debian-12": "debian-12 (cloud-init 22.4)", "ubuntu-24.04": "ubuntu-24.04 (cloud-init 26.1)",
		"cloud-init=23.4": "cloud-init 23.4", "cloud-init=22.4.2-1+deb12u4": "cloud-init 22.4", "cloud-init=99.1": "cloud-init 26.2",
	} {
		if g, err := ParseGuest(in); err != nil || g.String() != want {
			t.Errorf("%s: got %s, %v, want %s", in, g, err, want)
		}
	}
	for _, in := range []string{"", "debian", "cloud-init", "cloud-init=", "cloud-init=21.4", "cloud-init=x", "cloud-init=24.0"} {
		if g, err := ParseGuest(in); err == nil {
			t.Errorf("%q is taken for %s", in, g)
		}
	}
	if names := Guests(); len(names) != len(distributions)+1 {
		t.Errorf("got %v", names)
	}
	if s := (Guest{}).String(); s != "cloud-init 26.2" {
		t.Errorf("the zero guest is %s", s)
	}
}

// TestTable reads the whole table and checks that no two lines hold for the same place in one release.
func TestTable(t *testing.T) {
	keys, err := keyTable()
	if err != nil {
		t.Fatal(err)
	}
	if len(keys) < 95 {
		t.Errorf("the table has %d keys only", len(keys))
	}
	var check func(path string, vs variants)
	check = func(path string, vs variants) {
		for i, a := range vs {
			for _, b := range vs[i+1:] {
				if a.until == (version{}) || b.since.before(a.until) {
					t.Errorf("%s: two lines hold for cloud-init %s", path, b.since)
				}
			}
			for name, c := range a.keys {
				check(path+"."+name, c)
			}
			check(path+"[]", a.items)
			for _, group := range [][]variants{a.one, a.some} {
				for _, c := range group {
					check(path+"|", c)
				}
			}
		}
	}
	for name, vs := range keys {
		check(name, vs)
	}
}

func TestTableComplains(t *testing.T) {
	for _, in := range []string{"a", "a: strange", "a: string foo=1", "    a: string", "a: $none", "/[/: string", "a: string since=x",
		"a: string enum=x", `a: string enum=["a<x"]`, `a: string enum=["a>=x"]`, "a: string deprecated=x@y", "a: list minItems=x"} {
		r := tableReader{shared: map[string]*shape{}}
		if err := r.read(&shape{}, in); err == nil {
			t.Errorf("%q is accepted", in)
		}
	}
}

func TestCodesAreExplained(t *testing.T) {
	for i, e := range Codes() {
		if e.Code != CodeUnknownKey+diag.Code(i) || e.Title == "" || e.Text == "" {
			t.Errorf("explanation %d is of %s", i, e.Code)
		}
	}
	if last := Codes()[len(Codes())-1].Code; last != CodeScript {
		t.Errorf("the last explained code is %s, want %s", last, CodeScript)
	}
}

// large is a document of 10 KB such as real machines have.
func large() []byte {
	var b strings.Builder
	b.WriteString("#cloud-config\nusers:\n  - default\nruncmd:\n")
	for i := range 60 {
		fmt.Fprintf(&b, "  - [sh, -c, 'echo %d > /tmp/x']\n", i)
	}
	b.WriteString("write_files:\n")
	for i := range 60 {
		fmt.Fprintf(&b, "  - path: /etc/file%d\n    permissions: '0644'\n    owner: root:root\n    content: |\n      line one\n      line two\n", i)
	}
	return []byte(b.String())
}

func BenchmarkLint(b *testing.B) {
	data := large()
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if l := UserData(diag.File("f"), data, Guest{}); len(l) > 0 {
			b.Fatal(l)
		}
	}
}

// FuzzLint checks anything as user-data and as meta-data of two guests: it must end, say the same twice, and give
// places in the file.
func FuzzLint(f *testing.F) {
	for _, seed := range []string{"#cloud-config\nusers: [{name: a, passwd: x}]\nwrite_files: [{path: a, permissions: 644}]\n",
		"## template: jinja\n#cloud-config\na: {{ x }}\n", "#cloud-config-archive\n- a\n- {content: \"#cloud-config\"}\n",
		"#cloud-config\nmounts: [[a]]\nchpasswd: {list: [a]}\nreporting: {a: {type: log}}\n", "instance-id: i\npublic-keys: {a: [1]}\n",
		"#cloud-config\na: &a [*a]\n", "MIME-Version: 1.0\nContent-Type: text/cloud-config\n\nrun_cmd: 5\n", string(large())} {
		f.Add([]byte(seed))
	}
	for _, c := range userDataCases {
		f.Add([]byte(c.in))
	}
	old, err := ParseGuest("debian-12")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, g := range []Guest{{}, old} {
			l := UserData(diag.File("f"), data, g)
			if again := UserData(diag.File("f"), data, g); printed(again) != printed(l) {
				t.Fatalf("first %s\nthen %s", printed(l), printed(again))
			}
			l = append(l, MetaData(diag.File("f"), data, g)...)
			lines := bytes.Count(data, []byte("\n")) + 2
			for _, d := range l {
				if d.Range.File != "f" || d.Range.Start.Line > lines {
					t.Fatalf("a place outside of the file: %s", d.Error())
				}
			}
		}
	})
}
