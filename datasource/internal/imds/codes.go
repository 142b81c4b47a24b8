package imds

import "github.com/vmseed/vmseed/diag"

// The diagnostics of this package.
const (
	// CodeKey is for names that no path of the service can have.
	CodeKey diag.Code = 4440 + iota
	// CodeValue is for values that arrive as something else.
	CodeValue
	// CodeLease is for what the guest takes from its DHCP lease.
	CodeLease
	// CodeNetwork is for what EC2 cannot say of a network.
	CodeNetwork
)

// Codes explains the diagnostics of this package.
func Codes() []diag.Explanation {
	return []diag.Explanation{
		{Code: CodeKey, Title: "name that has no path",
			Text: "EC2's metadata service has a path for each key of meta-data and each instance tag. Names of tags consist of letters, digits and + - = . , _ : @, " +
				"as EC2 wants them, names of meta-data have no slash, control character or blank at an end. An integer with an equals sign behind it is read as the " +
				"number of a public key. Another name is left out."},
		{Code: CodeValue, Title: "value arrives as something else",
			Text: "EC2's metadata service knows texts and directories. cloud-init takes a text with a line break for a list of lines, and one in braces for JSON; " +
				"where that is none, it warns, which counts against the first boot. " +
				"A list whose items are no plain values is sent as JSON, which the guest takes for a text, and an empty one is left out."},
		{Code: CodeLease, Title: "guest takes this from its DHCP lease",
			Text: "A guest of EC2 asks for a lease on every interface. The network of `vmseed run` gives the first static address of the NIC, its gateway, MTU and search " +
				"domains. Where something else answers DHCP, it must be told to give the same."},
		{Code: CodeNetwork, Title: "EC2 has no words for this network",
			Text: "EC2's metadata tells a guest which of its interfaces, named by MAC, to use, and further IPv4 addresses of each. It knows no bonds, bridges and VLANs, no " +
				"routes, no name servers, and no interface without DHCP. Addresses of IPv6 would make the guest wait for DHCPv6, so they are left out. Use the " +
				"data source openstack or nocloud for such a network."},
	}
}
