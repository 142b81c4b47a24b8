//go:build conformance

package vmseed_test

import (
	"testing"

	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/datasource/ec2"
	"github.com/vmseed/vmseed/delivery/metadata"
	"github.com/vmseed/vmseed/internal/judge"
)

// TestExampleOfEC2 has a guest boot from what examples/ec2 says, read from the service as a session of IMDSv2.
func TestExampleOfEC2(t *testing.T) {
	m := loadExample(t, "ec2", "", "web.yaml")
	s, l := ec2.New().Render(m, datasource.Options{})
	if l.HasErrors() {
		t.Fatal(l)
	}
	site, err := metadata.NewSite(s)
	if err != nil {
		t.Fatal(err)
	}
	network := judge.NewNetwork(t)
	handler := metadata.NewHandler(metadata.Config{Identify: metadata.Only(site)})
	go func() { _ = metadata.Serve(t.Context(), network.Listen(t, judge.MetadataAddress+":80"), handler) }()
	for _, r := range judge.Releases(t) {
		got := r.Boot(t, judge.BootRequest{Network: network, DataSources: []string{"Ec2", "None"}, NICs: []judge.NIC{{MAC: m.Network.NICs[0].MAC, Name: "eth0"}},
			DMI: map[string]string{"system-uuid": s.Firmware.SMBIOS[0].Value, "system-serial-number": s.Firmware.SMBIOS[1].Value}})
		if got.DataSource != "DataSourceEc2Local" || got.FQDN != "web.shop.example.org" || len(got.PublicKeys) != 1 || len(judge.Problems(got.Log)) > 0 {
			t.Errorf("%s: %+v", r.Name, got)
		}
		for path, want := range map[string]string{"tags": `{"instance":{"Name":"web","Role":"frontend"}}`, "shop": `{"languages":["de","fr"],"stage":"test"}`,
			"placement": `{"availability-zone":"eu-test-1b","group-name":"shop","region":"eu-test-1"}`} {
			if have := got.MetaData.Get(path).JSON(); have != want {
				t.Errorf("%s: %s is %s, want %s", r.Name, path, have, want)
			}
		}
		const ethernets = `{"eth0":{"addresses":["192.0.2.11/24"],"dhcp4":true,"dhcp6":false,"match":{"macaddress":"52:54:00:12:34:56"},"set-name":"eth0"}}`
		if have := got.NetworkConfig.Get("ethernets").JSON(); have != ethernets {
			t.Errorf("%s: network %s", r.Name, have)
		}
	}
}
