package ignition

import (
	"strings"
	"testing"

	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/datasource/internal/ignitiontest"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// FuzzCompose puts any two documents beside a generated file. Whatever they are, both results are the same and no message
// holds the file's content; and unless there is an error, Ignition's own parser reads the result and the file is in it.
func FuzzCompose(f *testing.F) {
	corpus := []string{"", author, `{"ignition": {"version": "2.2.0"}, "networkd": {}}`, `{"ignition": {"version": "3.9.0"}}`, "{", "#cloud-config\npackages: [x]\n",
		"#cloud-config\nwrite_files: [{path: /a, content: b}]\nmounts: [[vdb, /x]]\nusers: [default, {name: u}]\n", "#!/bin/sh\n", "variant: fcos\nversion: 1.5.0\nstorage: {files: [{path: /b}]}\n",
		`{"ignition": {"version": "3.2.0"}, "storage": {"links": [{"path": "/x", "target": "/y"}]}}`, "## template: jinja\n#cloud-config\n{}\n", "#include\nhttp://h\n", "\x00\xff",
		"Content-Type: multipart/mixed; boundary=b\nMIME-Version: 1.0\n\n--b\nContent-Type: text/x-shellscript\n\n#!/bin/sh\n--b\n\n" + author + "\n--b--\n"}
	for i, text := range corpus {
		f.Add(text, corpus[(i*5+3)%len(corpus)], uint8(i))
	}
	const content = "generated \x00\xff canary"
	f.Fuzz(func(t *testing.T, first, second string, flags uint8) {
		merge := []machine.Merge{machine.MergeParts, machine.MergeVirtlet, machine.MergeReplace}[int(flags)%3]
		m := machine.Machine{Name: "vm", Namespace: "default", Files: []machine.File{{Path: "/generated", Content: secret.New(content)}},
			UserData: machine.UserData{Layers: []machine.Layer{{Data: secret.New(first)}, {Data: secret.New(second), Merge: merge}}}}
		if flags&4 != 0 {
			m.Ignition, m.UserData.Layers = m.UserData.Layers[1:], m.UserData.Layers[:1]
		}
		m.Guest.Release = []string{"", "debian-12", "flatcar"}[int(flags>>3)%3]
		text, l := Compose(m, datasource.Options{})
		again, l2 := Compose(m, datasource.Options{})
		if text.Reveal() != again.Reveal() || said(l) != said(l2) {
			t.Fatalf("two results differ:\n%q %s\n%q %s", text.Reveal(), said(l), again.Reveal(), said(l2))
		}
		if strings.Contains(said(l), content) {
			t.Fatalf("a message holds a secret: %s", said(l))
		}
		if l.HasErrors() {
			if text.Reveal() != "" {
				t.Fatalf("a config in spite of %s", said(l))
			}
			return
		}
		if strings.Contains(text.Reveal(), "http") || strings.Contains(first+second, "generated") {
			return // what is fetched is not ours to read, and what the author says of the file wins
		}
		c, err := ignitiontest.Read(text.Reveal())
		if err != nil {
			t.Fatalf("%v: %q", err, text.Reveal())
		}
		if c.Files["/generated"] != content {
			t.Fatalf("the file is %q in %q", c.Files["/generated"], text.Reveal())
		}
	})
}

func said(l diag.List) string {
	var b strings.Builder
	for _, d := range l {
		b.WriteString(d.Error() + "\n")
	}
	return b.String()
}
