package metadata

import "github.com/vmseed/vmseed/diag"

// CodeValue is for meta-data values that JSON cannot hold.
const CodeValue diag.Code = 4050

// Codes explains the diagnostics of this package.
func Codes() []diag.Explanation {
	return []diag.Explanation{{Code: CodeValue, Title: "meta-data value has no form in JSON",
		Text: "vmseed writes meta-data as JSON, which every guest agent reads. Binary values, infinities and YAML's sets have no form in it. " +
			"Write the value as text."}}
}
