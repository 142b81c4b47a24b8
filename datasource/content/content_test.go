package content

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/format/netconfig"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// TestNetwork has a data source of another module ask for the network in each form: what the NICs say, and what the
// author wrote, converted where the form is another one.
func TestNetwork(t *testing.T) {
	own := "version: 2\nethernets:\n  eth0: {addresses: [192.0.2.7/24]} # the author's\n"
	nics := machine.Network{NICs: []machine.NIC{{Name: "eth0", Addrs: []netip.Prefix{netip.MustParsePrefix("192.0.2.7/24")}}}}
	for _, form := range netconfig.Formats() {
		for name, network := range map[string]machine.Network{"NICs": nics, "document": {Document: machine.Layer{Data: secret.New(own)}}} {
			m, problems := machine.Place(machine.Machine{Name: "vm", Network: network}, machine.Facts{})
			if problems.HasErrors() {
				t.Fatal(problems)
			}
			text, l := Network(m, form)
			if l.HasErrors() || !strings.Contains(text.Reveal(), "192.0.2.7") {
				t.Errorf("%s as %s: %v\n%s", name, form, l, text.Reveal())
			}
			if same := text.Reveal() == own; same != (name == "document" && form == netconfig.V2) {
				t.Errorf("%s as %s: the author's bytes: %t", name, form, same)
			}
		}
	}
	m, _ := machine.Place(machine.Machine{Name: "vm"}, machine.Facts{})
	if text, l := Network(m, netconfig.V1); !text.IsZero() || len(l) > 0 {
		t.Errorf("a machine without a network has %q, %v", text.Reveal(), l)
	}
	m.Network.Document.Data = secret.New("version: 2\nethernets: canary\n")
	if text, l := Network(m, netconfig.V1); !text.IsZero() || !l.HasErrors() || strings.Contains(l.Error(), "canary") {
		t.Errorf("a broken document becomes %q, %v", text.Reveal(), l)
	}
	if fields := NetworkFields("network.nics.mtu"); fields.Has("network.nics.mtu") || !fields.Has("network.nics.name") {
		t.Errorf("the fields are %v", fields.Fields())
	}
}
