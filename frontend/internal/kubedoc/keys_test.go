package kubedoc

import (
	"strings"
	"testing"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/internal/bounded"
)

const testCode diag.Code = 2499

// TestKeyLines takes texts apart as sshd reads authorized_keys.
func TestKeyLines(t *testing.T) {
	const (
		key     = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJAhcbYBlKG6qGzj1chVHcFWcQEaK0WxOr9uG7wKrrDX"
		options = `no-pty,command="echo hi" ` + key + " me@here"
	)
	for _, tt := range []struct {
		name, text string
		want       []string
		said       string
	}{
		{"nothing", "\n  \n# a comment\n", nil, ""},
		{"one with its line end", key + "\n", []string{key}, ""},
		{"several, trimmed", "  " + key + "\r\n\n" + options + "\n", []string{key, options}, ""},
		{"no key", "canary\n", []string{"canary"}, "f:1:1: warning[VS2499]: ssh: this line is not an SSH public key"},
		{"another type than that of the blob", "ssh-rsa" + key[len("ssh-ed25519"):], []string{"ssh-rsa" + key[len("ssh-ed25519"):]}, "not an SSH public key"},
		{"a short blob", "ssh-rsa AAA=", []string{"ssh-rsa AAA="}, "not an SSH public key"},
		{"a private key ends it", key + "\n-----BEGIN OPENSSH PRIVATE KEY-----\ncanary\n", []string{key}, "f:2:1: error[VS2499]: ssh: this is a private key"},
	} {
		var l diag.List
		origin := diag.Origin{Whole: diag.At("f", 1, 1), Lines: []diag.Pos{{Line: 1, Column: 1}, {Line: 2, Column: 1}, {Line: 3, Column: 1}}}
		lines := KeyLines(&l, testCode, "ssh", tt.text, origin)
		var got []string
		for _, line := range lines {
			got = append(got, line.Text)
		}
		said := ""
		for _, d := range l {
			said += d.Error() + "\n"
		}
		if strings.Join(got, "\n") != strings.Join(tt.want, "\n") || (said == "") != (tt.said == "") || !strings.Contains(said, tt.said) || strings.Contains(said, "canary") {
			t.Errorf("%s: %q, said %q", tt.name, got, said)
		}
	}
}

// TestMetaField asks for what the downward API offers of the metadata of an object.
func TestMetaField(t *testing.T) {
	v, l := tree.ParseYAML("f", []byte(`{labels: {b: "x\ny", a: "1"}, annotations: {"example.org/rack": r12}}`), bounded.Defaults())
	if l.HasErrors() {
		t.Fatal(l.Err())
	}
	for path, want := range map[string]string{
		"metadata.labels": "a=\"1\"\nb=\"x\\ny\"", "metadata.annotations": `example.org/rack="r12"`,
		"metadata.labels['a']": "1", "metadata.labels['missing']": "", "metadata.annotations['example.org/rack']": "r12",
	} {
		if got, ok := MetaField(v[0], path); !ok || got != want {
			t.Errorf("%s: %q %v, want %q", path, got, ok, want)
		}
	}
	for _, path := range []string{"metadata.name", "spec.nodeName", "metadata.labels['a", ""} {
		if _, ok := MetaField(v[0], path); ok {
			t.Errorf("%q is a field", path)
		}
	}
}
