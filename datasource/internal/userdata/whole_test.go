package userdata

import (
	"bytes"
	"compress/gzip"
	"errors"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/cloudconfig/lint"
	"github.com/vmseed/vmseed/machine"
)

// TestWhole looks at what is one document and what becomes a message, and at what is said of that.
func TestWhole(t *testing.T) {
	boothook := machine.Layer{Name: "the reporter", Data: layer("#cloud-boothook\necho report\n", "").Data}
	vendor := layer("#cloud-config\nntp: {}\n", machine.MergeParts)
	const message = "Content-Type: multipart/mixed; boundary=a\nMIME-Version: 1.0\n\n--a\nContent-Type: text/cloud-boothook\nLaunch-Index: 0\n\necho early\n--a--\n"
	for _, tt := range []struct {
		name string
		m    machine.Machine
		o    datasource.Options
		want []string // in this order; one text without an ellipsis is all there is
		said []diag.Code
	}{
		{"nothing", machine.Machine{}, datasource.Options{}, []string{""}, nil},
		{"the author's alone", machine.Machine{UserData: plain(config)}, datasource.Options{}, []string{config}, nil},
		{"generated alone", machine.Machine{NTP: machine.NTP{Enabled: of(true)}}, datasource.Options{}, []string{"…#cloud-config", "ntp"}, nil},
		{"vendor-data alone", machine.Machine{VendorData: []machine.Layer{vendor}}, datasource.Options{}, []string{vendor.Data.Reveal()}, nil},
		{"a reporter alone", machine.Machine{}, datasource.Options{Extra: []machine.Layer{boothook}}, []string{boothook.Data.Reveal()}, nil},
		{"both", machine.Machine{UserData: plain(config), VendorData: []machine.Layer{vendor}}, datasource.Options{Extra: []machine.Layer{boothook}},
			[]string{"…multipart/mixed", "the author's comment", "Merge-Type: list()+dict(no_replace)+str()", "ntp: {}", "text/cloud-boothook", "echo report"}, []diag.Code{CodeMultipart}},
		{"a message and a reporter", machine.Machine{UserData: plain(script), NTP: machine.NTP{Enabled: of(true)}}, datasource.Options{Extra: []machine.Layer{boothook}},
			[]string{"…multipart/mixed", "echo user", "Merge-Type: list(append)+dict(recurse_array)+str()", "echo report"}, []diag.Code{CodeMultipart}},
		{"a compressed message", machine.Machine{UserData: plain(compressed(t, message)), VendorData: []machine.Layer{vendor}}, datasource.Options{},
			[]string{"…multipart/mixed", "text/cloud-boothook", "Launch-Index: 0", "echo early", "ntp: {}"}, []diag.Code{CodeMultipart}},
		{"a compressed message and a field", machine.Machine{UserData: plain(compressed(t, message)), NTP: machine.NTP{Enabled: of(true)}}, datasource.Options{},
			[]string{"…multipart/mixed", "text/cloud-boothook", "echo early", "ntp:"}, []diag.Code{CodeMultipart}},
		{"vendor-data that says nothing", machine.Machine{UserData: plain(config), VendorData: []machine.Layer{layer("", ""), layer("#cloud-config\n{}\n", "")}},
			datasource.Options{}, []string{config}, nil},
		{"vendor-data switched off", machine.Machine{UserData: plain("#cloud-config\nvendor_data: {enabled: no}\n"), VendorData: []machine.Layer{layer(script, "")}},
			datasource.Options{}, []string{"#cloud-config\nvendor_data: {enabled: no}\n"}, []diag.Code{lint.CodeVendor}},
		{"vendor-data that merges its own way", machine.Machine{UserData: plain(config), VendorData: []machine.Layer{vendor,
			layer("#cloud-config\nmerge_how: list(append)+dict()\nlocale: x\n", ""), layer("## template: jinja\n#cloud-config\na: {{ b }}\n", "")}}, datasource.Options{},
			[]string{"…the author's comment", "text/jinja2", "Merge-Type: list()+dict(no_replace)+str()", "a: {{ b }}", "Merge-Type: list()+dict(no_replace)+str()", "ntp: {}\nlocale: x\n"},
			[]diag.Code{CodeMultipart}},
		{"vendor-data that cannot be held back", machine.Machine{UserData: plain(config), VendorData: []machine.Layer{layer("#include\nhttp://192.0.2.1/\n", "")}},
			datasource.Options{}, []string{"…the author's comment", "text/x-include-url", "http://192.0.2.1/"}, []diag.Code{CodeBehind, CodeMultipart}},
		{"raw", machine.Machine{UserData: machine.UserData{Raw: true, Layers: plain(script).Layers}, VendorData: []machine.Layer{vendor}},
			datasource.Options{Extra: []machine.Layer{boothook}}, []string{script}, []diag.Code{CodeLostRaw, CodeLostRaw}},
		{"no multipart", machine.Machine{UserData: plain(config)}, datasource.Options{NoMultipart: true, Extra: []machine.Layer{boothook}},
			[]string{config}, []diag.Code{CodeLostRaw}},
	} {
		got, l := Whole(placed(t, tt.m), tt.o)
		text := got.Reveal()
		if first, ok := strings.CutPrefix(tt.want[0], "…"); ok {
			tt.want[0] = first
			for _, want := range tt.want {
				_, after, found := strings.Cut(text, want)
				if !found {
					t.Errorf("%s: %q is not there, or not in its place:\n%s", tt.name, want, got.Reveal())
				}
				text = after
			}
			if strings.Count(got.Reveal(), "multipart/mixed") > 1 {
				t.Errorf("%s: a message in a message:\n%s", tt.name, got.Reveal())
			}
		} else if text != tt.want[0] {
			t.Errorf("%s: %q, want %q", tt.name, text, tt.want[0])
		}
		var said []diag.Code
		for _, d := range l {
			if d.Code == CodeBehind || d.Code == CodeMultipart || d.Code == CodeLostRaw || d.Code == lint.CodeVendor {
				said = append(said, d.Code)
			}
		}
		if len(said) != len(tt.said) {
			t.Errorf("%s: said %v, want %v", tt.name, l, tt.said)
			continue
		}
		for i, code := range tt.said {
			if said[i] != code {
				t.Errorf("%s: said %v, want %v", tt.name, l[i], code)
			}
		}
	}
}

// TestWindows passes scripts of Windows on to Windows, and wraps them as scripts.
func TestWindows(t *testing.T) {
	for text, ok := range map[string]bool{"#ps1_sysnative\r\nWrite-Host a\r\n": true, "#ps1\nls\n": true, "#PS1_X86\nls\n": true, "rem cmd\ndir\n": true,
		"\n<powershell>ls</powershell>": true, "<script>dir</script>": true, "#ps2\nls\n": false, "dir\n": false, "remcmd\n": false} {
		m := placed(t, machine.Machine{UserData: plain(text), Guest: machine.Guest{OS: "windows"}})
		got, l := Whole(m, datasource.Options{Extra: []machine.Layer{layer("#cloud-boothook\nls\n", "")}})
		if l.HasErrors() == ok || got.Reveal() != text {
			t.Errorf("%q: %q, %v", text, got.Reveal(), l)
		}
		m.NTP.Enabled = of(true)
		got, _ = Whole(m, datasource.Options{})
		if strings.Contains(got.Reveal(), "text/x-shellscript") != ok {
			t.Errorf("%q in a message:\n%s", text, got.Reveal())
		}
		m.Guest.OS = ""
		if _, l := User(m, datasource.Options{}); !l.HasErrors() {
			t.Errorf("%q goes to Linux without an error", text)
		}
	}
}

func compressed(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte(text))
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
