//go:build conformance

package metadataservice

import (
	"context"
	"fmt"
	"testing"

	"github.com/vmseed/vmseed/internal/judge"
)

// TestGuestOfUnknownNIC has cloud-init of each release boot a guest whose NIC somebody else has made: where the definition does not
// say its MAC, the guest must come up by DHCP rather than look for a NIC that it does not have.
func TestGuestOfUnknownNIC(t *testing.T) {
	const mac = "52:54:00:aa:bb:cc"
	for protocol, found := range map[string]string{ec2: "Ec2", openstack: "OpenStack", nocloud: "NoCloud"} {
		for nic, want := range map[string]string{"dhcp4: true": "fallback", "addresses: [192.0.2.7/24]": "fallback", fmt.Sprintf("mac: %q, dhcp4: true", mac): "ds"} {
			s := open(t, define("web", "network: {nics: [{name: eth0, "+nic+"}]}"), func(o *Options) {
				at(t, "web="+judge.MetadataAddress)(o) // a guest on loopback asks from the address that it asks
				o.Render.DataSource = protocol
			})
			network := judge.NewNetwork(t)
			ctx, stop := context.WithCancel(t.Context())
			t.Cleanup(stop)
			l := network.Listen(t, judge.MetadataAddress+":80")
			go func() { _ = s.Serve(ctx, l) }()
			request := judge.BootRequest{DMI: map[string]string{}, Network: network, DataSources: []string{found, "None"}, NICs: []judge.NIC{{MAC: mac, Name: "ens3"}}}
			for _, row := range s.Machines()[0].Told[0].SMBIOS {
				request.DMI[map[string]string{"uuid": "system-uuid", "serial": "system-serial-number", "product": "system-product-name"}[row.Field]] = row.Value.Reveal()
			}
			for _, r := range judge.Releases(t) {
				t.Run(protocol+"/"+nic+"/"+r.Name, func(t *testing.T) {
					want := want
					if protocol == nocloud && r.Name == "22.4" {
						want = "fallback" // which is what the diagnostic VS4421 says
					}
					got := r.Boot(t, request)
					if got.DataSource == "" || got.DataSource == "DataSourceNone" || got.Hostname != "web" {
						t.Errorf("found %s, host name %s: %s", got.DataSource, got.Hostname, got.Err)
					}
					if got.NetworkSource != want || got.NetworkError != "" || got.MissingNICs != "" {
						t.Errorf("network from %q, want %q: %s %s %s", got.NetworkSource, want, got.NetworkError, got.MissingNICs, got.NetworkConfig.JSON())
					}
				})
			}
		}
	}
}
