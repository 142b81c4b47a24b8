package ignition

import (
	"strings"
	"testing"

	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// TestVersioned completes configs of oVirt and leaves everything else in them as it is.
func TestVersioned(t *testing.T) {
	for _, tt := range []struct{ script, want, compat string }{
		{`{"ignition": {}, "passwd": {"users": [{"name": "core"}]}}`, `{"ignition": {"version": "3.0.0"}, "passwd": {"users": [{"name": "core"}]}}`, "ovirt"},
		{"\n{ \"passwd\": {} ,\n  \"ignition\" :\t{\n  \"timeouts\": {}}\n}", "\n{ \"passwd\": {} ,\n  \"ignition\" :\t{\"version\": \"3.0.0\", \n  \"timeouts\": {}}\n}", "ovirt"},
		{`{"ignition": {}, "kernelArguments": {"shouldExist": ["quiet"]}}`, `{"ignition": {"version": "3.3.0"}, "kernelArguments": {"shouldExist": ["quiet"]}}`, "ovirt"},
		{`{"ignition": {}, "storage": {"files": [{"filesystem": "root", "path": "/a"}]}}`,
			`{"ignition": {"version": "2.3.0"}, "storage": {"files": [{"filesystem": "root", "path": "/a"}]}}`, "ovirt"},
		{`{"ignition": {"version": "3.4.0"}}`, `{"ignition": {"version": "3.4.0"}}`, "ovirt"},
		{`{"ignition": {"version": ""}}`, `{"ignition": {"version": ""}}`, "ovirt"},
		{`{"ignition": {}}`, `{"ignition": {}}`, ""},
		{`{"ignition": 7}`, `{"ignition": 7}`, "ovirt"},
		{`{"ignition": null}`, `{"ignition": null}`, "ovirt"},
		{`{"ignition": {`, `{"ignition": {`, "ovirt"},
		{"variant: fcos\n", "variant: fcos\n", "ovirt"},
		{`[]`, `[]`, "ovirt"},
	} {
		c := composer{m: machine.Machine{Compat: tt.compat}}
		if got := string(c.versioned(machine.Layer{Data: secret.New(tt.script)})); got != tt.want || (len(c.list) > 0) != (got != tt.script) {
			t.Errorf("%s\nbecomes %s\nwant    %s\n%v", tt.script, got, tt.want, c.list)
		}
	}
}

// TestVersionedWhole has the config of a machine that says nothing else: it is the author's, completed.
func TestVersionedWhole(t *testing.T) {
	m := machine.Machine{Name: "vm", Compat: "ovirt", Ignition: []machine.Layer{{Data: secret.New(`{"ignition": {}, "passwd": {"groups": [{"name": "g"}]}}`)}}}
	text, l := Compose(placed(t, m), datasource.Options{})
	if l.HasErrors() || !strings.Contains(text.Reveal(), `"version": "3.0.0"`) && !strings.Contains(text.Reveal(), `"version":"3.0.0"`) {
		t.Errorf("%v: %s", l, text.Reveal())
	}
}
