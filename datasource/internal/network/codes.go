package network

import "github.com/vmseed/vmseed/diag"

// The diagnostics of this package.
const (
	// CodeDown is for NICs that the guest shall leave down.
	CodeDown diag.Code = 4060 + iota
	// CodeMode is for a network document that the mode of network leaves out.
	CodeMode
)

// Codes explains the diagnostics of this package.
func Codes() []diag.Explanation {
	return []diag.Explanation{
		{Code: CodeDown, Title: "NIC is left down",
			Text: "No form of network document that cloud-init reads everywhere can say that an interface is configured but not brought up. The " +
				"NIC is left out of the document, and a guest does not touch interfaces that no document names."},
		{Code: CodeMode, Title: "network document is left out",
			Text: "The machine asks for DHCP or for no network set-up at all, and also has a network document. The mode wins."},
	}
}
