package netconfig_test

import (
	"fmt"
	"net/netip"

	"github.com/vmseed/vmseed/format/netconfig"
)

// A NIC with a fixed address in the form that every guest reads.
func ExampleEncodeV1() {
	data, list := netconfig.EncodeV1(netconfig.Config{Links: []netconfig.Link{{
		ID: "nic0", Kind: netconfig.Physical, Name: "eth0", MAC: "52:54:00:12:34:56", MTU: 1450,
		Addresses: []netip.Prefix{netip.MustParsePrefix("10.1.0.4/24")},
		Gateway4:  netip.MustParseAddr("10.1.0.1"),
		DNS:       netconfig.DNS{Servers: []netip.Addr{netip.MustParseAddr("10.1.0.53")}},
	}}})
	fmt.Print(string(data), len(list), " diagnostics")
	// Output:
	// version: 1
	// config:
	// - type: physical
	//   name: "eth0"
	//   mac_address: "52:54:00:12:34:56"
	//   mtu: 1450
	//   subnets:
	//   - type: static
	//     address: "10.1.0.4/24"
	//     gateway: "10.1.0.1"
	//     dns_nameservers:
	//     - "10.1.0.53"
	// 0 diagnostics
}

// What a form cannot say is named, never dropped in silence.
func ExampleEncode() {
	_, list := netconfig.Encode(netconfig.OpenStack, netconfig.Config{Links: []netconfig.Link{{
		ID: "nic0", Kind: netconfig.Physical, MAC: "52:54:00:12:34:56", DHCP4: true,
		DHCP4Overrides: netconfig.DHCPOverrides{UseDNS: netconfig.Off},
	}}})
	for _, d := range list {
		fmt.Println(d)
	}
	// Output:
	// warning[VS3210]: links[nic0].dhcp4Overrides.useDNS: the form has no key for it; leave it out or use another form than network_data.json
}

// Lint knows what each release of cloud-init makes of a document.
func ExampleLint() {
	doc := []byte(`network:
  version: 2
  ethernets:
    nic0:
      match: {macaddress: 52:54:00:12:34:56}
      addresses: [10.1.0.4/24]
      routes: [{to: default, via: 10.1.0.1}]
`)
	for _, d := range netconfig.Lint("network-config", doc, netconfig.Release{Major: 22, Minor: 4}) {
		fmt.Println(d)
	}
	// Output:
	// network-config:5:27: error[VS3218]: cloud-init reads this MAC address as the number 41135085296; put it into quotes
	// network-config:7:21: warning[VS3216]: cloud-init before 25.3 fails on the document at "to: default" unless the guest renders with netplan; write 0.0.0.0/0 for IPv4, gateway6 or ::/0 for IPv6
}

// A netplan document in a ConfigDrive is the classic mistake: cloud-init reads an empty network from it.
func ExampleConvertForOpenStack() {
	doc := []byte("version: 2\nethernets:\n  eth0: {dhcp4: true}\n")
	data, list := netconfig.ConvertForOpenStack("networkData", doc)
	fmt.Print(string(data))
	fmt.Println(list.Max())
	// Output:
	// {
	//   "links": [
	//     {
	//       "id": "eth0",
	//       "type": "phy",
	//       "name": "eth0"
	//     }
	//   ],
	//   "networks": [
	//     {
	//       "id": "network0",
	//       "network_id": "network0",
	//       "link": "eth0",
	//       "type": "ipv4_dhcp"
	//     }
	//   ],
	//   "services": []
	// }
	// note
}
