//go:build conformance

package judge_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/internal/judge"
)

func gzipped(t *testing.T, s string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write([]byte(s)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Every kind of user-data, and the spellings that cloud-init ignores without an
// error. "" means that nothing of it takes effect.
func TestUserData(t *testing.T) {
	const config = "#cloud-config\nhostname: a\n"
	const scripts = "/var/lib/cloud/instance/scripts/"
	tests := []struct {
		name string
		user []byte
		want string // the merged cloud-config as JSON
		file string // or a file in the guest
	}{
		{"cloud-config", []byte(config), `{"hostname":"a"}`, ""},
		{"header in capitals", []byte("#Cloud-Config\nhostname: a\n"), `{"hostname":"a"}`, ""},
		{"blank lines first", []byte("\n\n  " + config), `{"hostname":"a"}`, ""},
		{"CRLF", []byte(strings.ReplaceAll(config, "\n", "\r\n")), `{"hostname":"a"}`, ""},
		{"gzip", gzipped(t, config), `{"hostname":"a"}`, ""},
		{"header with a suffix", []byte("#cloud-configfoo\nhostname: a\n"), `{"hostname":"a"}`, ""},
		{"duplicate key", []byte("#cloud-config\nhostname: b\nhostname: a\n"), `{"hostname":"a"}`, ""},
		{"archive", []byte("#cloud-config-archive\n- |\n  #cloud-config\n  hostname: a\n"), `{"hostname":"a"}`, ""},
		{"json patch", []byte("#cloud-config-jsonp\n[{\"op\": \"add\", \"path\": \"/hostname\", \"value\": \"a\"}]\n"), `{"hostname":"a"}`, ""},
		{"template", []byte("## template: jinja\n#cloud-config\nhostname: '{{ v1.instance_id }}'\n"), `{"hostname":"i-judge"}`, ""},
		{"script", []byte("#!/bin/sh\r\nls\r\n"), "", scripts + "part-001"},
		{"boot hook", []byte("#cloud-boothook\n#!/bin/sh\nls\n"), "", "/var/lib/cloud/instance/boothooks/part-001"},
		{"empty", nil, "", ""},
		{"base64", []byte(base64.StdEncoding.EncodeToString([]byte(config))), "", ""},
		{"byte order mark", []byte("\ufeff" + config), "", ""},
		{"space in the header", []byte("# cloud-config\nhostname: a\n"), "", ""},
		{"no header", []byte("hostname: a\n"), "", ""},
		{"JSON", []byte(`{"ignition": {"version": "3.3.0"}}`), "", ""},
		{"header only", []byte("#cloud-config\n"), "", ""},
		{"not YAML", []byte("#cloud-config\na: [\n"), "", ""},
		{"a list", []byte("#cloud-config\n- a\n"), "", ""},
		{"not UTF-8", []byte("#cloud-config\nhostname: \"\xff\"\n"), "", ""},
	}
	var inputs []judge.UserDataInput
	for _, tt := range tests {
		inputs = append(inputs, judge.UserDataInput{UserData: tt.user})
	}
	for _, r := range judge.Releases(t) {
		for i, got := range r.UserDataBatch(t, inputs) {
			tt := tests[i]
			config := got.Config.JSON()
			if config == "null" || config == "{}" {
				config = ""
			}
			if config != tt.want || got.Err != "" {
				t.Errorf("%s: %s: cloud-config %s, want %s; %s %v", r.Name, tt.name, config, tt.want, got.Err, got.Log)
			}
			if tt.file == "" {
				if len(got.Files) > 0 {
					t.Errorf("%s: %s: files %v", r.Name, tt.name, got.Files)
				}
				continue
			}
			if f := got.Files[tt.file]; f.Mode != "0700" || !bytes.Equal(f.Content, []byte("#!/bin/sh\nls\n")) {
				t.Errorf("%s: %s: file %+v of %v", r.Name, tt.name, f, got.Files)
			}
		}
	}
}

func TestUserDataIgnoredIsLogged(t *testing.T) {
	for _, r := range judge.Releases(t) {
		for _, doc := range []string{"# cloud-config\nhostname: a\n", "#cloud-config\na: [\n"} {
			if got := r.UserData(t, []byte(doc), nil); len(judge.Problems(got.Log)) == 0 {
				t.Errorf("%s: nothing logged for %q", r.Name, doc)
			}
		}
		if got := r.UserData(t, []byte("#cloud-config\nhostname: a\n"), nil); len(judge.Problems(got.Log)) != 0 {
			t.Errorf("%s: logged for a good document: %v", r.Name, got.Log)
		}
	}
}

// A user's key hides the vendor's, lists included; vendor scripts still run.
func TestVendorData(t *testing.T) {
	user := []byte("#cloud-config\nruncmd: [user]\n")
	for _, r := range judge.Releases(t) {
		got := r.UserData(t, user, []byte("#cloud-config\nruncmd: [vendor]\npackages: [p]\n"))
		if got.Final.Get("runcmd").JSON() != `["user"]` || got.Final.Get("packages").JSON() != `["p"]` {
			t.Errorf("%s: final %s", r.Name, got.Final.JSON())
		}
		if got.Vendor.Get("runcmd").JSON() != `["vendor"]` {
			t.Errorf("%s: vendor %s", r.Name, got.Vendor.JSON())
		}
		got = r.UserData(t, user, []byte("#!/bin/sh\n"))
		if _, ok := got.Files["/var/lib/cloud/instance/scripts/vendor/part-001"]; !ok {
			t.Errorf("%s: files %v", r.Name, got.Files)
		}
	}
}

func TestMergeParts(t *testing.T) {
	part := func(content string, headers ...string) judge.Part {
		p := judge.Part{Content: []byte("#cloud-config\n" + content), Headers: map[string]string{}}
		for i := 0; i+1 < len(headers); i += 2 {
			p.Headers[headers[i]] = headers[i+1]
		}
		return p
	}
	const appending = "list(append)+dict(recurse_array)+str()"
	tests := []struct {
		parts []judge.Part
		want  string
	}{
		{[]judge.Part{part("l: [1]\na: 1\n"), part("l: [2]\n")}, `{"a":1,"l":[2]}`},
		{[]judge.Part{part("l: [1]\n"), part("l: [2]\nmerge_how: " + appending + "\n")}, `{"l":[1,2]}`},
		{[]judge.Part{part("l: [1]\n"), part("l: [2]\n", "Merge-Type", appending)}, `{"l":[1,2]}`},
		{[]judge.Part{part("l: [1]\n"), part("l: [2]\nmerge_how: " + appending + "\nmerge_type: list()\n")},
			`{"l":[1,2],"merge_type":"list()"}`},
		{[]judge.Part{part("l: [1]\n"), part("l: [2]\nmerge_how: bogus()\n")}, `{"l":[1]}`},
	}
	var lists [][]judge.Part
	for _, tt := range tests {
		lists = append(lists, tt.parts)
	}
	for _, r := range judge.Releases(t) {
		for i, got := range r.MergeParts(t, lists) {
			if config := got.Config.JSON(); config != tests[i].want {
				t.Errorf("%s: parts %d: %s, want %s; %v", r.Name, i, config, tests[i].want, got.Log)
			}
		}
	}
}

// Parts for another instance of a launch are dropped, unless the instance has no
// index at all.
func TestLaunchIndex(t *testing.T) {
	parts := []judge.Part{
		{Content: []byte("#cloud-config\nl: [1]\n")},
		{Content: []byte("#cloud-config\nl: [2]\n"), Headers: map[string]string{"Launch-Index": "1"}},
	}
	inputs := []judge.UserDataInput{
		{Parts: parts, MetaData: map[string]any{"launch-index": 0}},
		{Parts: parts, MetaData: map[string]any{"launch-index": 1}},
		{Parts: parts},
	}
	want := []string{`{"l":[1]}`, `{"l":[2]}`, `{"l":[2]}`}
	for _, r := range judge.Releases(t) {
		for i, got := range r.UserDataBatch(t, inputs) {
			if config := got.Config.JSON(); config != want[i] {
				t.Errorf("%s: %v: %s, want %s", r.Name, inputs[i].MetaData, config, want[i])
			}
		}
	}
}

func TestModules(t *testing.T) {
	input := judge.UserDataInput{
		UserData: []byte("#cloud-config\n" +
			"write_files: [{path: /etc/a/b, content: aGk=, encoding: b64, owner: 'u:g', permissions: '0640'}]\n" +
			"runcmd: [[echo, a b], ls]\n"),
		Modules: []string{"write_files", "runcmd"},
	}
	wrong := judge.UserDataInput{UserData: []byte("#cloud-config\nruncmd: {a: b}\n"), Modules: []string{"runcmd"}}
	for _, r := range judge.Releases(t) {
		results := r.UserDataBatch(t, []judge.UserDataInput{input, wrong})
		if failed := results[1]; failed.Err == "" && len(judge.Problems(failed.Log)) == 0 {
			t.Errorf("%s: runcmd ran a mapping: %+v", r.Name, failed.Files)
		}
		got := results[0]
		if f := got.Files["/etc/a/b"]; f.Mode != "0640" || f.Owner != "u:g" || string(f.Content) != "hi" {
			t.Errorf("%s: /etc/a/b = %+v", r.Name, f)
		}
		if f := got.Files["/var/lib/cloud/instance/scripts/runcmd"]; string(f.Content) != "#!/bin/sh\n'echo' 'a b'\nls\n" {
			t.Errorf("%s: runcmd = %q", r.Name, f.Content)
		}
	}
}

// An include reaches the loopback interface, and nothing else.
func TestInclude(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("#cloud-config\nhostname: included\n"))
	}))
	defer server.Close()
	for _, r := range judge.Releases(t) {
		got := r.UserData(t, []byte("#include\n"+server.URL+"\n"), nil)
		if got.Config.Get("hostname").Text != "included" {
			t.Errorf("%s: %s %s %v", r.Name, got.Config.JSON(), got.Err, got.Log)
		}
		got = r.UserData(t, []byte("#include http://example.org/\n"), nil)
		held := slices.ContainsFunc(got.Log, func(e judge.LogEntry) bool {
			return strings.Contains(e.Message, "judge: no network")
		})
		if !held && !strings.Contains(got.Err, "judge: no network") {
			t.Errorf("%s: an include from elsewhere: %q %v", r.Name, got.Err, got.Log)
		}
	}
}
