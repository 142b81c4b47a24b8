package report

import (
	"fmt"

	"github.com/vmseed/vmseed/diag"
)

// FailOn is what makes a first boot a failure.
type FailOn string

// The thresholds, from the most lenient.
const (
	FailOnError      FailOn = "error"
	FailOnWarning    FailOn = "warning"
	FailOnDeprecated FailOn = "deprecated"
)

// ParseFailOn reads a threshold as users type it; empty means FailOnWarning.
func ParseFailOn(s string) (FailOn, error) {
	switch f := FailOn(s); f {
	case "":
		return FailOnWarning, nil
	case FailOnError, FailOnWarning, FailOnDeprecated:
		return f, nil
	}
	return "", fmt.Errorf("%q is none of error, warning and deprecated", s)
}

// Judge says whether a first boot that ended with an event is a success, and if not, why. cloud-init says done of
// itself even when it dropped the user's document or a script failed, so its own verdict is not asked.
func Judge(e Event, failOn FailOn) (ok bool, reasons []string) {
	if e.Stage == Failed {
		reasons = append(reasons, e.Error)
	}
	r := e.Result
	if r == nil {
		r = &Result{}
	}
	reasons = append(reasons, r.Errors...)
	if failOn != FailOnError {
		reasons = append(reasons, r.Warnings...)
	}
	if failOn == FailOnDeprecated {
		reasons = append(reasons, r.Deprecations...)
	}
	reasons = distinct(reasons)
	return len(reasons) == 0 && e.Stage == Done, reasons
}

// distinct drops empty and repeated texts.
func distinct(in []string) []string {
	var out []string
	seen := map[string]bool{"": true}
	for _, s := range in {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

// The diagnostics of this package.
const (
	// CodeVendorDataOff is for user-data that switches vendor-data off, and the reporter with it.
	CodeVendorDataOff diag.Code = 6100 + iota
	// CodeReportingTaken is for user-data that puts something else in the place of the reporting webhook.
	CodeReportingTaken
)

// Codes explains the diagnostics of this package.
func Codes() []diag.Explanation {
	return []diag.Explanation{
		{Code: CodeVendorDataOff, Title: "vendor-data is switched off",
			Text: "`run` learns how the first boot went from a reporter in the vendor-data. The user-data has `vendor_data: {enabled: " +
				"false}`, so the guest ignores it, and `run` reads the serial console instead. Warnings that cloud-init does not print " +
				"there are missed."},
		{Code: CodeReportingTaken, Title: "the reporting webhook is replaced",
			Text: "A guest that gets its seed from the metadata service is told to report its first boot there, by a handler of cloud-init's " +
				"`reporting` with the name `vmseed`. cloud-init joins it with the handlers of the user-data, which keep working, unless the " +
				"user-data has one of that name, or `reporting` is no mapping."},
	}
}
