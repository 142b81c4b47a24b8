package ignconfig

import "github.com/vmseed/vmseed/diag"

// The diagnostics of this package.
const (
	// CodeInvalid is for configs that Ignition refuses.
	CodeInvalid diag.Code = 3400 + iota
	// CodeButane is for documents that Butane refuses.
	CodeButane
)

// Codes explains the diagnostics of this package.
func Codes() []diag.Explanation {
	return []diag.Explanation{
		{Code: CodeInvalid, Title: "config is not valid",
			Text: "Ignition stops the boot when it cannot accept its config."},
		{Code: CodeButane, Title: "Butane document is not valid",
			Text: "Butane refuses this document."},
	}
}
