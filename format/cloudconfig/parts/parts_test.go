package parts

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/cloudconfig"
	"github.com/vmseed/vmseed/format/mimepart"
)

func gz(t testing.TB, data string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(data)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func build(t testing.TB, parts ...mimepart.Part) []byte {
	t.Helper()
	data, err := mimepart.Build(parts)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// brief lists kinds and contents.
func brief(parts []Part) string {
	var out []string
	for _, p := range parts {
		out = append(out, p.Kind.String()+"="+strings.TrimSpace(string(p.Data)))
	}
	return strings.Join(out, " | ")
}

const config = "#cloud-config\na: 1"

func TestUnpack(t *testing.T) {
	for _, c := range []struct {
		name string
		in   []byte
		want string
	}{
		{"cloud-config", []byte(config), "text/cloud-config=" + config},
		{"empty", nil, ""},
		{"gzip", gz(t, config), "text/cloud-config=" + config},
		{"gzip of a multipart", gz(t, string(build(t, mimepart.Part{ContentType: "text/plain", Data: []byte(config)}))), "text/cloud-config=" + config},
		{"plain text by its first line", build(t, mimepart.Part{ContentType: "text/plain", Data: []byte("#!/bin/sh")}), "text/x-shellscript=#!/bin/sh"},
		{"plain text of no kind", build(t, mimepart.Part{ContentType: "text/plain", Data: []byte("hi")}), "unknown=hi"},
		{"script that is a cloud-config", build(t, mimepart.Part{ContentType: "text/x-shellscript", Data: []byte(config)}), "text/cloud-config=" + config},
		{"script without hash-bang", build(t, mimepart.Part{ContentType: "text/x-shellscript", Data: []byte("echo")}), "text/x-shellscript=echo"},
		{"cloud-config by its type", build(t, mimepart.Part{ContentType: "text/cloud-config", Data: []byte("a: 1")}), "text/cloud-config=a: 1"},
		{"script per boot", build(t, mimepart.Part{ContentType: "text/x-shellscript-per-boot", Data: []byte("#!/bin/sh")}), "text/x-shellscript-per-boot=#!/bin/sh"},
		{"compressed part", build(t, mimepart.Part{ContentType: "application/x-gzip", Data: gz(t, config)}), "text/cloud-config=" + config},
		{"archive", []byte("#cloud-config-archive\n- |\n  #!/bin/sh\n- a: 1\n- type: text/cloud-boothook\n  content: x\n"),
			"text/x-shellscript=#!/bin/sh | text/cloud-config= | text/cloud-boothook=x"},
		{"archive in a multipart", build(t, mimepart.Part{ContentType: "text/plain", Data: []byte("#cloud-config-archive\n- hi\n")}), "text/cloud-config=hi"},
		{"include", []byte("#include\nhttp://x/\n"), "text/x-include-url=#include\nhttp://x/"},
		{"nothing known", []byte("hello"), "unknown=hello"},
	} {
		t.Run(c.name, func(t *testing.T) {
			parts, l := Unpack(diag.File("f"), c.in)
			if got := brief(parts); got != c.want || l.HasErrors() {
				t.Errorf("got %s, %v, want %s", got, l, c.want)
			}
		})
	}
}

func TestUnpackComplains(t *testing.T) {
	for name, in := range map[string][]byte{
		"gzip": gz(t, config)[:15],
		"part": build(t, mimepart.Part{ContentType: "application/gzip", Data: []byte("x")}),
		"bomb": gz(t, strings.Repeat("\x00", MaxUnpacked+1)),
	} {
		parts, l := Unpack(diag.File("f"), in)
		if len(parts) > 0 || len(l) != 1 || l[0].Code != mimepart.CodeGzip {
			t.Errorf("%s: got %d parts, %v", name, len(parts), l)
		}
	}
}

func TestHeaders(t *testing.T) {
	data := build(t, mimepart.Part{ContentType: "text/cloud-config", Filename: "f", MergeType: "dict()", Data: []byte("a: 1\nb: 2\n")},
		mimepart.Part{ContentType: "application/gzip", MergeType: "dict()", Data: gz(t, config)})
	parts, _ := Unpack(diag.File("f"), data)
	if p := parts[0]; p.MergeType != "dict()" || p.Filename != "f" || p.Archived {
		t.Errorf("got %+v", p)
	}
	if parts[1].MergeType != "" {
		t.Error("the merge type of a compressed part counts")
	}
	at := parts[0].Origin.At(2, 1).Start.Line
	if lines := strings.Split(string(data), "\n"); lines[at-1] != "b: 2" {
		t.Errorf("line 2 of the part is said to be line %d of the message", at)
	}
	archived, _ := Unpack(diag.File("f"), []byte("#cloud-config-archive\n- {content: x, Merge-Type: dict(), merge-type: no}\n"))
	if p := archived[0]; !p.Archived || p.MergeType != "dict()" || p.Kind != cloudconfig.CloudConfig {
		t.Errorf("got %+v", p)
	}
}
