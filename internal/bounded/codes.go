package bounded

import "github.com/vmseed/vmseed/diag"

// The diagnostics of this package.
const (
	// CodeTooLarge is for input over its byte budget.
	CodeTooLarge diag.Code = 1200 + iota
	// CodeTooDeep is for nesting over its budget.
	CodeTooDeep
	// CodeTooManyNodes is for documents that grow beyond their budget, usually through aliases.
	CodeTooManyNodes
	// CodeNotText is for bytes that no text holds.
	CodeNotText
	// CodeSyntax is for YAML or JSON that does not parse.
	CodeSyntax
	// CodeDuplicateKey is for a mapping that has a key twice.
	CodeDuplicateKey
)

// Codes explains the diagnostics of this package.
func Codes() []diag.Explanation {
	return []diag.Explanation{
		{Code: CodeTooLarge, Title: "input is too large",
			Text: "vmseed reads definitions of at most 4 MiB, so that a wrong file name does not fill the memory. " +
				"Split the input into several files, or move large contents into volumes of the machine."},
		{Code: CodeTooDeep, Title: "nesting is too deep",
			Text: "No real definition nests deeper than a few dozen levels. Deeper input is refused, because some readers " +
				"of the same document would exhaust their stack on it."},
		{Code: CodeTooManyNodes, Title: "the document explodes",
			Text: "Aliases can make a small file stand for billions of values. vmseed counts values as a reader of the " +
				"expanded document would meet them, and stops early. Write the values out, or use fewer aliases."},
		{Code: CodeNotText, Title: "input is not text",
			Text: "YAML and JSON are UTF-8 text without NUL bytes. The file may be in another encoding, or binary. " +
				"Binary content belongs into `binaryData`, or into base64."},
		{Code: CodeSyntax, Title: "syntax error",
			Text: "The document does not parse at the place that is named. The trouble often starts a line earlier: a " +
				"missing quote or bracket, a tab used for indentation, a comma too many in JSON."},
		{Code: CodeDuplicateKey, Title: "duplicate key",
			Text: "One mapping holds the same key twice. Some readers take the first value, most take the last, all of " +
				"them silently. Remove one of the two."},
	}
}
