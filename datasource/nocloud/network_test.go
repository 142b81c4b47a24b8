package nocloud

import (
	"strings"
	"testing"

	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// TestNetworkDocument passes the author's own document as it is, unless no reader of NoCloud understands its form.
func TestNetworkDocument(t *testing.T) {
	const netplan = "{version: 2, ethernets: {eth0: {dhcp4: true}}} # mine\n"
	for _, tt := range []struct{ name, document, want, said string }{
		{"netplan", netplan, netplan, ""},
		{"OpenStack's form", `{"links": [{"id": "a", "type": "phy", "ethernet_mac_address": "02:00:00:84:e9:58"}], "networks": [{"id": "n", "link": "a", "type": "ipv4_dhcp"}]}`,
			"version: 1\n", "VS3220"},
		{"OpenStack's form, broken", `{"links": [{"type": "phy"}], "networks": []}`, "", "error"},
	} {
		m, _ := machine.Place(machine.Machine{Name: "vm", Network: machine.Network{Document: machine.Layer{Data: secret.New(tt.document)}}}, machine.Facts{})
		s, l := New().Render(m, datasource.Options{})
		got, _ := s.Volumes[0].File("network-config")
		if tt.want == "" && !got.IsZero() || !strings.HasPrefix(got.Reveal(), tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got.Reveal(), tt.want)
		}
		said := ""
		for _, d := range l {
			said += d.Error() + "\n"
		}
		if tt.said == "" && said != "" || !strings.Contains(said, tt.said) {
			t.Errorf("%s: said %q, want %q", tt.name, said, tt.said)
		}
	}
}
