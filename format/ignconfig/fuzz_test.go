package ignconfig

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/coreos/ignition/config/v2_4"
	v3 "github.com/coreos/ignition/v2/config/v3_6"
	"github.com/google/go-cmp/cmp"

	"github.com/vmseed/vmseed/diag"
)

// FuzzParse holds the reader to the official parsers: they accept what it accepts, with the same result, and what it says
// about a key that is ignored covers all that they say. What is not translated is not changed. What Build makes of the
// result reads back as the same.
func FuzzParse(f *testing.F) {
	for _, tt := range wrong() {
		in, _ := marked(tt.in)
		f.Add([]byte(in))
	}
	for _, tt := range features() {
		if c, l := Build(tt.c); !l.HasErrors() {
			f.Add(c.Text())
		}
	}
	f.Add([]byte(of("2.2.0", `"networkd": {"units": [{"name": "a.network", "contents": "[Match]\n"}]}, "passwd": {"users": [{"name": "a", "create": {"uid": 1}}]}`)))
	f.Add([]byte(of("2.0.0", `"storage": {"files": [{"filesystem": "root", "path": "/x", "contents": {"source": "data:,x"}}]}`)))
	f.Add([]byte(of("2.4.0", `"storage": {"filesystems": [{"name": "d", "mount": {"device": "/dev/vdb", "format": "ext4"}}]}`)))
	f.Add([]byte(`{"ignition":{"version":"3.0.0"},"passwd":{"users":[{"name":"a","uid":null,"groups":null}]}}`))
	f.Add([]byte(`{"ignition":{"version":"3.0.0","config":{"merge":[{}]}}}`)) // refused by later versions
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 64<<10 {
			t.Skip("large texts cost time and find nothing")
		}
		c, l := Parse(diag.File("f"), text)
		everyPlaced(t, l)
		again, l2 := Parse(diag.File("f"), text)
		if !bytes.Equal(c.Text(), again.Text()) || len(l) != len(l2) {
			t.Error("two readings differ")
		}
		if l.HasErrors() {
			if !c.IsZero() {
				t.Error("a config beside an error")
			}
			return
		}
		if Recognise(text) != Ignition {
			t.Error("a config is not recognised as one")
		}
		if old := strings.HasPrefix(c.Stated(), "2."); old {
			if _, rpt, err := v2_4.Parse(text); err != nil {
				t.Errorf("accepted what the library for specification 2 refuses: %v, %v", err, rpt)
			}
		} else {
			unchanged(t, c, l, text)
		}
		official, _, err := v3.ParseCompatibleVersion(c.Text())
		if err != nil {
			t.Fatalf("accepted what the library refuses: %v", err)
		}
		if d := cmp.Diff(official, c.Types()); d != "" {
			t.Errorf("the result differs: %s", d)
		}
		built, l := Build(c.Types())
		if l.HasErrors() {
			t.Fatalf("a valid config cannot be built: %v", l)
		}
		if built.Version() > c.Version() {
			t.Errorf("version %s is built of %s", built.Version(), c.Version())
		}
		again, l = Parse(diag.File("f"), built.Text())
		if want, got := canonical(t, c), canonical(t, again); want != got || l.HasErrors() || got != canonical(t, built) {
			t.Errorf("built %s, which reads %s\nof %s", canonical(t, built), got, want)
		}
	})
}

// everyPlaced demands a place and words of every diagnostic.
func everyPlaced(t *testing.T, l diag.List) {
	for _, d := range l {
		if d.Range.Start.Line < 1 || d.Range.Start.Column < 1 || d.Summary == "" {
			t.Errorf("no place or no words: %+v", d)
		}
	}
}

// unchanged demands the author's bytes, and a remark for every key that the official parser ignores.
func unchanged(t *testing.T, c Config, l diag.List, text []byte) {
	if !bytes.Equal(c.Text(), text) {
		t.Error("the author's bytes have changed")
	}
	unused := 0
	_, rpt, _ := v3.ParseCompatibleVersion(text)
	for _, e := range rpt.Entries {
		if strings.HasPrefix(e.Message, "unused key") {
			unused++
		}
	}
	for _, d := range l {
		if d.Code == CodeUnknownKey {
			unused--
		}
	}
	if unused > 0 {
		t.Errorf("%d ignored keys are not reported", unused)
	}
}

// canonical is a config's meaning as text: what encoding/json makes of the newest types, in which nothing and an empty list
// are the same.
func canonical(t *testing.T, c Config) string {
	text, err := json.Marshal(c.Types())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// FuzzParseButane holds the reader of Butane to places, to the budgets and to silence about values.
func FuzzParseButane(f *testing.F) {
	f.Add("fcos", "1.5.0", "passwd: {users: [{name: a, ssh_authorized_keys: [b]}]}\n")
	f.Add("flatcar", "1.0.0", "storage:\n  files:\n    - path: /x\n      mode: 0644\n      contents: {inline: x}\n")
	f.Add("openshift", "4.18.0", "metadata: {name: a, labels: {machineconfiguration.openshift.io/role: worker}}\n")
	f.Add("fcos", "1.0.0", "a: &a [*a]\n")
	f.Fuzz(func(t *testing.T, variant, version, rest string) {
		text := []byte("variant: " + variant + "\nversion: " + version + "\n" + rest)
		c, l := ParseButane(diag.File("f"), text)
		everyPlaced(t, l)
		if c.IsZero() != l.HasErrors() {
			t.Errorf("there is a config (%v) beside an error (%v)", !c.IsZero(), l.HasErrors())
		}
		if c.IsZero() {
			return
		}
		if _, _, err := v3.ParseCompatibleVersion(c.Text()); err != nil {
			t.Errorf("the library refuses the translation: %v", err)
		}
	})
}
