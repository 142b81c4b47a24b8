package metadataservice

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/machine"
)

// TestUnknownNIC tells no guest of a MAC that vmseed has made up: somebody else has made the NIC, with another one.
func TestUnknownNIC(t *testing.T) {
	placed, _ := machine.Place(machine.Machine{Name: "web", Network: machine.Network{NICs: []machine.NIC{{Name: "eth0"}}}}, machine.Facts{})
	derived := placed.Network.NICs[0].MAC
	other := `{name: back, mac: "52:54:00:00:00:02", addresses: [198.51.100.7/24]}`
	for _, tt := range []struct {
		name, nics string
		told       []string // what the trees hold; empty means nothing of a network
		severity   diag.Severity
	}{
		{"dhcp", "{name: eth0, dhcp4: true}", nil, diag.Note},
		{"nothing said", "{name: eth0}", nil, 0},
		{"an address", "{name: eth0, addresses: [192.0.2.7/24]}", nil, diag.Warning},
		{"beside one that is known", "{name: eth0, dhcp4: true}, " + other, nil, diag.Warning},
		{"found by its name", "{name: eth0, match: name, addresses: [192.0.2.7/24]}", []string{"192.0.2.7"}, 0},
		{"stated", `{name: eth0, mac: "52:54:00:00:00:01", addresses: [192.0.2.7/24]}`, []string{"52:54:00:00:00:01", "192.0.2.7"}, 0},
		{"stated as vmseed makes it", fmt.Sprintf(`{name: eth0, mac: %q, addresses: [192.0.2.7/24]}`, derived), []string{derived, "192.0.2.7"}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := open(t, define("web", "network: {nics: ["+tt.nics+"]}"), at(t, "web=127.0.0.1"))
			var all []string
			for _, path := range []string{"/latest/meta-data/", "/latest/meta-data/mac", "/latest/meta-data/network/interfaces/macs/",
				"/openstack/latest/network_data.json", "/nocloud/network-config"} {
				_, body := s.get("127.0.0.1", path)
				all = append(all, path+" "+body)
			}
			text := strings.Join(all, "\n")
			for _, want := range tt.told {
				if !strings.Contains(text, want) {
					t.Errorf("no %s in %s", want, text)
				}
			}
			if len(tt.told) == 0 {
				for _, not := range []string{derived, "52:54:00", "192.0.2.7", "198.51.100.7", "eth0"} {
					if strings.Contains(text, not) {
						t.Errorf("there is %s in %s", not, text)
					}
				}
			}
			l := s.Reload(t.Context()).Diagnostics
			i := slices.IndexFunc(l, func(d diag.Diagnostic) bool { return d.Code == CodeUnknownNIC })
			if tt.severity == 0 != (i < 0) || i >= 0 && (l[i].Severity != tt.severity || l[i].Range.IsZero() || !strings.Contains(l[i].Remedy, derived)) {
				t.Errorf("want severity %v: %v", tt.severity, []diag.Diagnostic(l))
			}
		})
	}
}
