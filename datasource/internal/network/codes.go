package network

import "github.com/vmseed/vmseed/diag"

// The diagnostics of this package.
const (
	// CodeDown is for NICs that the guest shall leave down.
	CodeDown diag.Code = 4060 + iota
	// CodeMode is for parts of the network that have no document to stand in.
	CodeMode
)

// Codes explains the diagnostics of this package.
func Codes() []diag.Explanation {
	return []diag.Explanation{
		{Code: CodeDown, Title: "NIC is left down",
			Text: "No form of network document that cloud-init reads everywhere can say that an interface is configured but not brought up. The " +
				"NIC is left out of the document, and a guest does not touch interfaces that no document names. NetworkManager does: it runs DHCP on an " +
				"interface without a profile. On a config drive a file for the guest keeps it from that; with NoCloud put `no-auto-default` into the " +
				"image's NetworkManager.conf. Guests of Ignition get the whole configuration, with the interface left down."},
		{Code: CodeMode, Title: "network is left out",
			Text: "The machine asks for DHCP or for no network set-up at all, and also has a network document, addresses or name servers; or it has name servers, " +
				"and no NIC says how it gets an address. No network document is written that would hold them."},
	}
}
