package cloudconfig

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"strings"
	"testing"
)

func zip(t testing.TB, text string) string {
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

func TestRecognise(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     Kind
	}{
		{"cloud-config", "#cloud-config\nhostname: x\n", CloudConfig},
		{"blank lines before", "\n \t\n  #cloud-config\nhostname: x\n", CloudConfig},
		{"any case", "#Cloud-Config\nhostname: x\n", CloudConfig},
		{"more letters", "#cloud-configfoo\nhostname: x\n", CloudConfig},
		{"CRLF", "#cloud-config\r\nhostname: x\r\n", CloudConfig},
		{"byte order mark", "\ufeff#cloud-config\nhostname: x\n", Unknown},
		{"space behind the hash", "# cloud-config\nhostname: x\n", Unknown},
		{"no header", "hostname: x\n", Unknown},
		{"invalid UTF-8 behind the header", "#cloud-config\nhostname: \xff\n", CloudConfig},
		{"script", "#!/bin/sh\necho\n", Script},
		{"script without hash-bang", "echo\n", Unknown},
		{"boothook", "#cloud-boothook\n#!/bin/sh\n", Boothook},
		{"include", "#include\nhttp://x/\n", Include},
		{"include on one line", "#include http://x/\n", Include},
		{"include-once", "#include-once\nhttp://x/\n", IncludeOnce},
		{"archive", "#cloud-config-archive\n- a\n", Archive},
		{"JSON patch", "#cloud-config-jsonp\n[]\n", JSONPatch},
		{"part handler", "#part-handler\n", PartHandler},
		{"jinja", "## template: jinja\n#cloud-config\n", Jinja},
		{"jinja in capitals", "## Template: Jinja\n#cloud-config\n", Jinja},
		{"MIME", "Content-Type: multipart/mixed; boundary=b\nMIME-Version: 1.0\n\n--b--\n", MIME},
		{"MIME in lower case", "mime-version: 1.0\ncontent-type: text/cloud-config\n\na: 1\n", MIME},
		{"MIME-Version in a comment", "#cloud-config\n# MIME-Version: 1.0\n", CloudConfig},
		{"MIME-Version far down", "X: " + strings.Repeat("x", 5000) + "\nMIME-Version: 1.0\n\n", Unknown},
		{"gzip", zip(t, "#cloud-config\n"), Gzip},
		{"base64", base64.StdEncoding.EncodeToString([]byte("#cloud-config\nhostname: x\n")), Base64},
		{"base64 of gzip, wrapped", base64.StdEncoding.EncodeToString([]byte(zip(t, "#!/bin/sh\n")))[:20] + "\n" +
			base64.StdEncoding.EncodeToString([]byte(zip(t, "#!/bin/sh\n")))[20:], Base64},
		{"a word that decodes", "cGFzc3dvcmQxMjM0", Unknown},
		{"Ignition", ` {"ignition": {"version": "3.4.0"}}`, Ignition},
		{"other JSON", `{"hostname": "x"}`, Unknown},
		{"empty", "", Empty},
		{"white space", " \n\t\n", Empty},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Recognise([]byte(c.in)); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestJinjaKind(t *testing.T) {
	for in, want := range map[string]Kind{
		"## template: jinja\n#cloud-config\na: 1\n":        CloudConfig,
		"## template: jinja\n#!/bin/sh\n":                  Script,
		"\n## template: jinja\n\n#cloud-boothook\n":        Boothook,
		"## template: jinja":                               Empty,
		"## template: jinja\n{% if x %}\n#cloud-config\n":  Unknown,
		"## template: jinja\n#cloud-config-archive\n- a\n": Archive,
	} {
		if got := JinjaKind([]byte(in)); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
}

func TestKindOf(t *testing.T) {
	for in, want := range map[string]Kind{
		"text/cloud-config": CloudConfig, "Text/Cloud-Config; charset=utf-8": CloudConfig, "multipart/mixed": MIME,
		"application/x-gzip": Gzip, "text/x-shellscript-per-boot": ScriptPerBoot, "text/plain": Unknown, "": Unknown,
	} {
		if got := KindOf(in); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
	for k := Unknown; k <= Base64; k++ {
		if k.String() == "" || k.Describe() == "" || k.ContentType() == "" {
			t.Errorf("kind %d has no name", k)
		}
	}
}
