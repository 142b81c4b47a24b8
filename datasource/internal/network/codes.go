package network

import "github.com/vmseed/vmseed/diag"

// CodeDown is for NICs that the guest shall leave down.
const CodeDown diag.Code = 4060

// Codes explains the diagnostics of this package.
func Codes() []diag.Explanation {
	return []diag.Explanation{{Code: CodeDown, Title: "NIC is left down",
		Text: "No form of network document that cloud-init reads everywhere can say that an interface is configured but not brought up. The NIC is " +
			"left out of the document, and a guest does not touch interfaces that no document names."}}
}
