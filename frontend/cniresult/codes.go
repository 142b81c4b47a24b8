package cniresult

import "github.com/vmseed/vmseed/diag"

// The diagnostics of this package.
const (
	// CodeResult is for a file that is no usable CNI result.
	CodeResult diag.Code = 2280 + iota
	// CodeVersion is for the version of the result.
	CodeVersion
	// CodeValue is for a value that a result cannot have.
	CodeValue
	// CodeRoute is for a route that no interface can take.
	CodeRoute
	// CodeIgnored is for parts of a result that no guest is told.
	CodeIgnored
)

// Codes explains the diagnostics of this package.
func Codes() []diag.Explanation {
	return []diag.Explanation{
		{Code: CodeResult, Title: "not a CNI result",
			Text: "`--cni-result` takes the JSON that network plugins print on success: `cniVersion`, `interfaces`, `ips`, `routes` and " +
				"`dns`. Interfaces with a `sandbox` are inside the pod and become NICs of the VM; at least one must be there. Several " +
				"results, for several networks, stand in a JSON array."},
		{Code: CodeVersion, Title: "version of the CNI result",
			Text: "Results of the versions 0.3.0 to 1.1.0 are read. Older ones have another form: let the plugin print a newer version " +
				"by its configuration's `cniVersion`."},
		{Code: CodeValue, Title: "value that a CNI result cannot have",
			Text: "Addresses of a result have a prefix length (`10.1.2.3/24`), gateways have none, and `interface` is an index into " +
				"`interfaces`, counted from 0."},
		{Code: CodeRoute, Title: "route that no interface can take",
			Text: "The routes of a result name no interface. vmseed gives a route to the interface with an address on the network of its " +
				"gateway, or with this gateway, or to the only interface of the family. A route without a gateway takes that of an address. " +
				"An interface has one default route of each family, unless the routes have priorities."},
		{Code: CodeIgnored, Title: "part of a result that is not used",
			Text: "Interfaces outside the pod and settings that no guest can be told do not reach the guest."},
	}
}
