package tree

import "github.com/vmseed/vmseed/diag"

// The diagnostics of this package.
const (
	// CodeWrongType is for a value of another type than its field has.
	CodeWrongType diag.Code = 1210 + iota
	// CodeAmbiguous is for a text that some readers of YAML take for something else.
	CodeAmbiguous
	// CodeOldBool is for a boolean that some readers of YAML take for a text.
	CodeOldBool
	// CodeOutOfRange is for a number that is too small or too large.
	CodeOutOfRange
	// CodeNotBase64 is for a value that does not decode.
	CodeNotBase64
	// CodeUnknownField is for a field that does not exist.
	CodeUnknownField
)

// Codes explains the diagnostics of this package.
func Codes() []diag.Explanation {
	return []diag.Explanation{
		{Code: CodeWrongType, Title: "wrong type",
			Text: "The field wants another type of value, as the message says. A common cause is a missing dash before a list " +
				"item, or wrong indentation that hangs a mapping on the wrong key."},
		{Code: CodeAmbiguous, Title: "text without quotes",
			Text: "YAML decides by spelling whether a value is a text: `no`, `1.10`, `0644`, `12:30` and `2024-01-01` are not, " +
				"for at least one of the readers on the way to the guest. Put the value into quotes."},
		{Code: CodeOldBool, Title: "boolean of YAML 1.1",
			Text: "`yes`, `no`, `on` and `off` are booleans for kubectl and cloud-init, and texts for readers of YAML 1.2. vmseed " +
				"reads them as booleans here. Write `true` or `false`."},
		{Code: CodeOutOfRange, Title: "number out of range",
			Text: "The field takes numbers within the range that the message names."},
		{Code: CodeNotBase64, Title: "not base64",
			Text: "The value should be standard base64 (RFC 4648, section 4) with padding. Line breaks in it are fine. The values " +
				"under `data` of a Secret are base64; plain text goes under `stringData`."},
		{Code: CodeUnknownField, Title: "unknown field",
			Text: "No field of this name exists at this place, so what it says would be lost. Check the spelling and the indentation."},
	}
}
