package userdata

import (
	"encoding/base64"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/datasource/internal/ignition"
	"github.com/vmseed/vmseed/datasource/internal/ignitiontest"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/cloudconfig"
	"github.com/vmseed/vmseed/format/mimepart"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// corpus are documents of every kind, right and wrong.
func corpus() []string {
	return []string{
		"", " ", "\n", "#cloud-config\n", config, script, "#cloud-config\r\na: 1\r\n", "#cloud-config\nwrite_files: text\n",
		"#cloud-config\nusers: [{name: u}]\nmerge_how: dict(replace)+list()+str()\n", "#cloud-config\na: [\n", "\ufeff#cloud-config\na: 1\n",
		"## template: jinja\n#cloud-config\na: {{ b }}\n", "#include\nhttp://h/x\n", "#cloud-boothook\n#!/bin/sh\n", "#part-handler\ndef list_types(): pass\n",
		"#cloud-config-archive\n- {type: text/cloud-config, content: \"a: 1\"}\n", "\x1f\x8b\x08\x00\x00\x00\x00\x00", "text\n", "a: 1\n", "\x00\xff",
		"Content-Type: multipart/mixed; boundary=b\nMIME-Version: 1.0\n\n--b\nContent-Type: text/x-shellscript\n\n#!/bin/sh\n--b--\n",
		"Content-Type: text/cloud-config\nMIME-Version: 1.0\nMerge-Type: list()\n\n#cloud-config\na: 1\n", `{"ignition": {"version": "3.0.0"}}`,
		"#cloud-config\nx: &a {b: 1}\ny: *a\nwrite_files: [{path: /generated}]\n", "#cloud-config\nruncmd:\n- |\n  a\n\n   b\nname: !!binary aGk=\n",
	}
}

// TestVerbatim renders documents that nothing is added to: not a byte may change, right or wrong.
func TestVerbatim(t *testing.T) {
	for _, text := range corpus() {
		for _, o := range []datasource.Options{{}, {NoMultipart: true}} {
			if got, _ := User(placed(t, machine.Machine{UserData: plain(text)}), o); got.Reveal() != text {
				t.Errorf("%q became %q", text, got.Reveal())
			}
		}
		raw := plain(text)
		raw.Raw = true
		m := machine.Machine{Files: []machine.File{file("/generated", "g")}, UserData: raw, DeviceLinks: []machine.DeviceLink{{Path: "/", Disk: "d"}},
			Disks: []machine.Disk{{Name: "d"}}}
		if got, _ := User(placed(t, m), datasource.Options{}); got.Reveal() != text {
			t.Errorf("raw %q became %q", text, got.Reveal())
		}
		if got, _ := Vendor(machine.Machine{VendorData: plain(text).Layers}, datasource.Options{}); got.Reveal() != text {
			t.Errorf("vendor-data %q became %q", text, got.Reveal())
		}
	}
}

// secretContent is the content of the generated file that must arrive.
const secretContent = "generated \x00\xff content"

// FuzzUserData puts any two documents beside a generated file. Whatever they are, both renders are the same; and unless
// there is an error, cloud-init recognises the result and finds the file in it.
func FuzzUserData(f *testing.F) {
	for i, text := range corpus() {
		f.Add(text, corpus()[(i+7)%len(corpus())], uint8(i))
		f.Add(text, "", uint8(i*3))
	}
	f.Fuzz(func(t *testing.T, first, second string, flags uint8) {
		merge := []machine.Merge{machine.MergeParts, machine.MergeVirtlet, machine.MergeReplace}[int(flags)%3]
		m := machine.Machine{Name: "vm", Files: []machine.File{file("/generated", secretContent)},
			UserData: machine.UserData{Raw: flags&4 != 0, Layers: []machine.Layer{{Data: secret.New(first)}}}}
		if second != "" {
			m.UserData.Layers = append(m.UserData.Layers, machine.Layer{Data: secret.New(second), Merge: merge})
		}
		o := datasource.Options{NoMultipart: flags&8 != 0}
		text, l := User(m, o)
		again, l2 := User(m, o)
		if text.Reveal() != again.Reveal() || everything(l) != everything(l2) {
			t.Fatalf("two renders differ:\n%q %v\n%q %v", text.Reveal(), l, again.Reveal(), l2)
		}
		if strings.Contains(everything(l), secretContent) {
			t.Fatalf("a message holds a secret: %v", l)
		}
		if l.HasErrors() {
			return
		}
		if said(l, CodeLostRaw, "files[0].content") || said(l, ignition.CodeLost, "files[0].content") {
			last := m.UserData.Layers[len(m.UserData.Layers)-1]
			if m.UserData.Raw && text.Reveal() != last.Data.Reveal() {
				t.Fatalf("raw %q became %q", last.Data.Reveal(), text.Reveal())
			}
			return
		}
		if got, ok := writtenFile([]byte(text.Reveal())); !ok || got != secretContent {
			t.Fatalf("the generated file is not in the user-data, or is %q:\n%q", got, text.Reveal())
		}
	})
}

// everything is the text of all diagnostics, notes too.
func everything(l diag.List) string {
	var b strings.Builder
	for _, d := range l {
		b.WriteString(d.Error() + "\n")
	}
	return b.String()
}

func said(l diag.List, code diag.Code, field string) bool {
	for _, d := range l {
		if d.Code == code && d.Field == field {
			return true
		}
	}
	return false
}

// writtenFile finds the last file /generated in user-data, as cloud-init would.
func writtenFile(data []byte) (string, bool) {
	switch cloudconfig.Recognise(data) {
	case cloudconfig.MIME:
		parts, l := mimepart.Parse(diag.Origin{}, data)
		if l.HasErrors() || len(parts) == 0 {
			return "", false
		}
		return writtenFile(parts[len(parts)-1].Data)
	case cloudconfig.Ignition:
		c, err := ignitiontest.Read(string(data))
		content, ok := c.Files["/generated"]
		return content, ok && err == nil
	case cloudconfig.CloudConfig:
		doc, l := cloudconfig.Parse(diag.Origin{}, data)
		if l.HasErrors() || doc.Get("write_files") == nil {
			return "", false
		}
		files := doc.Get("write_files").Content
		last := files[len(files)-1]
		path, content := field(last, "path"), field(last, "content")
		if path == nil || path.Value != "/generated" || content == nil || content.Kind != yaml.ScalarNode {
			return "", false
		}
		out, err := base64.StdEncoding.DecodeString(content.Value)
		return string(out), err == nil
	}
	return "", false
}
