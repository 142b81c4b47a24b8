//go:build conformance

package judge_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vmseed/vmseed/internal/judge"
)

// The releases differ in what they accept, so a test that ran with one twice
// would show.
func TestReleases(t *testing.T) {
	releases := judge.Releases(t)
	if len(releases) != 2 || releases[0].Name != "22.4" || releases[1].Name != "25.1" {
		t.Fatalf("Releases = %v", releases)
	}
	for _, r := range releases {
		if !strings.HasPrefix(r.Version, r.Name+".") {
			t.Errorf("release %s has version %s", r.Name, r.Version)
		}
		examples, _ := r.ExampleDocs()
		if found, err := filepath.Glob(filepath.Join(examples, "cloud-config*")); err != nil || len(found) < 20 {
			t.Errorf("%s: %d example documents in %s (%v)", r.Name, len(found), examples, err)
		}
	}
	if got := judge.Newest(t).Name; got != "25.1" {
		t.Errorf("Newest = %s", got)
	}
}

// Where packages cannot be had, the script says so with a status of its own and
// leaves nothing behind.
func TestFetchUnavailable(t *testing.T) {
	cache := t.TempDir()
	cmd := exec.Command("/bin/sh", "fetch.sh")
	cmd.Env = []string{"PATH=" + t.TempDir(), "VMSEED_CACHE=" + cache}
	output, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 69 || !strings.Contains(string(output), "apt-get") {
		t.Errorf("%v: %s", err, output)
	}
	if left, err := os.ReadDir(cache); err != nil || len(left) > 0 {
		t.Errorf("left %v (%v)", left, err)
	}
}

func TestCommand(t *testing.T) {
	for _, r := range judge.Releases(t) {
		if status, output := r.Command(t, nil, "--version"); status != 0 || !strings.Contains(output, strings.SplitN(r.Version, "-", 2)[0]) {
			t.Errorf("%s: status %d, %s", r.Name, status, output)
		}
		if status, _ := r.Command(t, nil, "bogus"); status == 0 {
			t.Errorf("%s: an unknown subcommand is accepted", r.Name)
		}
	}
}

// Pairs whose results are known from cloud-init's documentation or were seen in
// guests; the last ones must fail.
func TestMerge(t *testing.T) {
	const appending = "list(append)+dict(recurse_array)+str()"
	tests := []struct{ how, base, over, want string }{
		{appending, "{l: [1]}", "{l: [2]}", `{"l":[1,2]}`},
		{appending, "{l: [1], x: 1}", "{l: [2], x: 2}", `{"l":[1,2],"x":1}`},
		{"[{name: list, settings: [append]}, {name: dict, settings: [recurse_array]}]", "{l: [1]}", "{l: [2]}", `{"l":[1,2]}`},
		{"dict(replace)+list()+str()", "{a: 1, b: [1, 2]}", "{b: [3]}", `{"a":1,"b":[3]}`},
		{"dict(allow_delete,replace)+list()+str()", "{a: 1, b: 2}", "{a: null}", `{"b":2}`},
		{"", "{l: [1]}", "{l: [2]}", `{"l":[1]}`},
		{"bogus()", "{}", "{}", ""},
		{appending, "{a: ", "{}", ""},
	}
	var pairs []judge.MergePair
	for _, tt := range tests {
		pairs = append(pairs, judge.MergePair{Base: tt.base, Over: tt.over, How: tt.how})
	}
	for _, release := range judge.Releases(t) {
		for i, got := range release.Merge(t, pairs) {
			tt := tests[i]
			if (got.Err == "") != (tt.want != "") || tt.want != "" && got.Value.JSON() != tt.want {
				t.Errorf("%s: merge %s of %s into %s = %s %s, want %s",
					release.Name, tt.how, tt.over, tt.base, got.Value.JSON(), got.Err, tt.want)
			}
		}
	}
}

func TestPyYAML(t *testing.T) {
	tests := []struct{ doc, tag, text string }{
		{"52:54:00:12:34:56", "int", "41135085296"},
		{`"52:54:00:12:34:56"`, "str", "52:54:00:12:34:56"},
		{"52:54:00:aa:00:01", "str", "52:54:00:aa:00:01"},
		{"1:30", "int", "90"},
		{"0644", "int", "420"},
		{"0o644", "str", "0o644"},
		{"NO", "bool", "false"},
		{"y", "str", "y"},
		{"3.10", "float", "3.1"},
		{".inf", "float", "inf"},
		{"1e3", "str", "1e3"},
		{"2024-01-01", "date", "2024-01-01"},
		{"~", "null", ""},
		{"!!binary QQ==", "bytes", "QQ=="},
		{`"\ud83d\ude00"`, "surrogates", `\ud83d\ude00`},
		{"[1, '1']", "list", ""},
		{"&a [*a]", "list", ""},
		{"=", "error", "ConstructorError"},
		{"@x", "error", "ScannerError"},
		{"\xff", "error", "UnicodeDecodeError"},
		{strings.Repeat("[", 5000), "error", ""},
		{strings.Repeat("9", 5000), "int", strings.Repeat("9", 5000)},
	}
	var docs [][]byte
	for _, tt := range tests {
		docs = append(docs, []byte(tt.doc))
	}
	got := judge.PyYAML(t, docs)
	for i, tt := range tests {
		text := got[i].Text
		if got[i].IsError() {
			text = text[:min(len(text), len(tt.text))]
		}
		if got[i].Tag != tt.tag || text != tt.text {
			t.Errorf("PyYAML(%.40q) = %s %.80q, want %s %.80q", tt.doc, got[i].Tag, got[i].Text, tt.tag, tt.text)
		}
	}

	ordered := judge.PyYAML(t, [][]byte{[]byte("{b: 1, a: 2, 1: x, '1': y}")})[0]
	if keys := strings.Join(ordered.Keys(), " "); keys != "b a 1 1" {
		t.Errorf("keys = %q", keys)
	}
	if one := ordered.Get("1"); one.Text != "y" {
		t.Errorf(`key "1" = %v, want y: the number 1 is another key`, one)
	}
	if missing := ordered.Get("b", "c"); missing.Tag != "" {
		t.Errorf("b.c = %v, want no value", missing)
	}
}

// A differential test hands over this many at once.
func TestPyYAMLManyScalars(t *testing.T) {
	docs := make([][]byte, 20000)
	for i := range docs {
		docs[i] = fmt.Appendf(nil, "%d:%02d", i+1, i%60)
	}
	start := time.Now()
	for i, got := range judge.PyYAML(t, docs) {
		if want := fmt.Sprint((i+1)*60 + i%60); got.Tag != "int" || got.Text != want {
			t.Fatalf("%s = %v, want %s", docs[i], got, want)
		}
	}
	t.Logf("%d scalars in %v", len(docs), time.Since(start))
}

// The documents and the exit status of the command in each release.
var schemaDocs = []struct {
	name, doc  string
	old, newer int
}{
	{"valid", "#cloud-config\nhostname: a\nruncmd: [ls, [echo, a]]\n", 0, 0},
	{"wrong type", "#cloud-config\nhostname: 5\n", 1, 1},
	{"two wrong types", "#cloud-config\nhostname: 5\nruncmd: x\n", 1, 1},
	{"unknown key", "#cloud-config\nhostnam: a\n", 0, 1},
	{"deprecated", "#cloud-config\nchpasswd: {list: 'a:b'}\n", 0, 0},
	{"deprecated and wrong", "#cloud-config\nchpasswd: {list: 'a:b', expire: 5}\n", 1, 1},
	{"number for permissions", "#cloud-config\nwrite_files: [{path: /a, permissions: 644}]\n", 1, 1},
	{"no header", "hostname: a\n", 1, 1},
	{"header only", "#cloud-config\n", 1, 1},
	{"not YAML", "#cloud-config\na: [\n", 1, 1},
	{"a list", "#cloud-config\n- a\n", 1, 1},
	{"script", "#!/bin/sh\nls\n", 1, 0},
	{"template", "## template: jinja\n#cloud-config\nhostname: '{{ v1.local_hostname }}'\n", 1, 0},
	{"broken template", "## template: jinja\n#cloud-config\nhostname: {{ v1.local_hostname\n", 1, 1},
	{"wrong template", "## template: jinja\n#cloud-config\nhostname: {{ 5 }}\n", 1, 1},
}

func schemaInput() [][]byte {
	var docs [][]byte
	for _, tt := range schemaDocs {
		docs = append(docs, []byte(tt.doc))
	}
	return docs
}

func TestSchema(t *testing.T) {
	for _, r := range judge.Releases(t) {
		for i, got := range r.Schema(t, judge.CloudConfig, schemaInput()) {
			tt := schemaDocs[i]
			want := tt.newer
			if r.Name == "22.4" {
				want = tt.old
			}
			if got.RC != want || got.OK() != (want == 0) || (len(got.Errors) == 0) != (want == 0) {
				t.Errorf("%s: %s: %+v, want exit status %d", r.Name, tt.name, got, want)
			}
			if deprecated := strings.HasPrefix(tt.name, "deprecated"); deprecated != (len(got.Deprecations) > 0) {
				t.Errorf("%s: %s: deprecations %v", r.Name, tt.name, got.Deprecations)
			}
		}
	}
}

// The judge asks many documents in one process; the command itself must say the
// same of each.
func TestSchemaAgreesWithCommand(t *testing.T) {
	for _, r := range judge.Releases(t) {
		results := r.Schema(t, judge.CloudConfig, schemaInput())
		for i, tt := range schemaDocs {
			code, output := schemaCommand(t, r, judge.CloudConfig, tt.doc)
			if results[i].RC != code {
				t.Errorf("%s: %s: judge %d, command %d\n%s", r.Name, tt.name, results[i].RC, code, output)
			}
			for _, problem := range append(results[i].Errors, results[i].Deprecations...) {
				// Only the command's own problems have a path; the rest are exceptions.
				message := strings.ReplaceAll(problem.Message, "FILE", "doc.yaml")
				if problem.Path != "" && !strings.Contains(squeeze(output), squeeze(message)) {
					t.Errorf("%s: %s: the command does not say %q\n%s", r.Name, tt.name, message, output)
				}
			}
		}
	}
}

func TestSchemaOfNetworkConfig(t *testing.T) {
	docs := [][]byte{
		[]byte("network:\n  version: 1\n  config: [{type: physical, name: eth0, subnets: [{type: dhcp4}]}]\n"),
		[]byte("network:\n  version: 2\n  ethernets: {eth0: {dhcp4: true}}\n"),
		[]byte("network:\n  version: 1\n  config: [{type: physical}]\n"),
		[]byte("network:\n  version: 2\n  ethernets: {eth0: {addresses: 5}}\n"),
	}
	want := []int{0, 0, 1, 1}
	for _, r := range judge.Releases(t) {
		if !r.HasNetworkSchema() {
			continue
		}
		for i, got := range r.Schema(t, judge.NetworkConfig, docs) {
			code, output := schemaCommand(t, r, judge.NetworkConfig, string(docs[i]))
			if got.RC != want[i] || code != want[i] {
				t.Errorf("%s: %s: judge %+v, command %d, want %d\n%s", r.Name, docs[i], got, code, want[i], output)
			}
		}
	}
}

// schemaCommand runs "cloud-init schema" as a user would.
func schemaCommand(t *testing.T, r *judge.Release, kind judge.SchemaKind, doc string) (int, string) {
	t.Helper()
	files := map[string][]byte{"doc.yaml": []byte(doc), "instance-data.json": []byte(judge.InstanceData)}
	args := []string{"schema", "-c", "doc.yaml"}
	if r.HasNetworkSchema() {
		args = append(args, "-t", string(kind), "-i", "instance-data.json")
	}
	return r.Command(t, files, args...)
}

func squeeze(s string) string { return strings.Join(strings.Fields(s), "") }

// What runs inside a judge must not reach this machine: the handler in this
// user-data tries to write a file, to run a program and to open a connection.
func TestSandbox(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	handler := fmt.Sprintf(`#part-handler
import os, socket, subprocess

def list_types():
    return ["text/x-judge"]

def handle_part(data, ctype, filename, payload):
    report = []
    attempts = (
        lambda: open(%[1]q, "w"),
        lambda: os.mkdir(%[1]q),
        lambda: os.symlink("/", %[1]q),
        lambda: os.system("touch " + %[1]q),
        lambda: subprocess.run(["touch", %[1]q]),
        lambda: socket.create_connection(("192.0.2.1", 80), timeout=1),
        lambda: socket.getaddrinfo("example.org", 80),
    )
    if ctype != "text/x-judge":
        return
    for number, attempt in enumerate(attempts):
        try:
            attempt()
            report.append("%%d reached" %% number)
        except OSError as error:
            if "judge" not in str(error):
                report.append("%%d failed otherwise: %%s" %% (number, error))
    data.paths  # the handler got what cloud-init gives
    from cloudinit import util
    util.write_file("/report", ", ".join(report) or "held")
`, outside)
	parts := []judge.Part{
		{Type: "text/part-handler", Content: []byte(handler)},
		{Type: "text/x-judge", Content: []byte("x")},
	}
	for _, r := range judge.Releases(t) {
		got := r.MergeParts(t, [][]judge.Part{parts})[0]
		if report := string(got.Files["/report"].Content); report != "held" {
			t.Errorf("%s: %q; log %+v", r.Name, report, got.Log)
		}
		if _, err := os.Lstat(outside); err == nil {
			t.Errorf("%s: user-data wrote %s", r.Name, outside)
		}
	}
}
