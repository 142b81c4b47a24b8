package translate

import "github.com/vmseed/vmseed/diag"

// The diagnostics of this package.
const (
	// CodeLost is for keys of a cloud-config that nothing but cloud-init carries out.
	CodeLost diag.Code = 4100 + iota
	// CodeIdle is for keys that are about cloud-init itself or what it prints.
	CodeIdle
	// CodeValue is for values that cloud-init would not take either, or takes for something else.
	CodeValue
	// CodeReplaces is for a value that replaces what the definition says.
	CodeReplaces
	// CodeApart is for what is carried out in a slightly different way.
	CodeApart
)

// Codes explains the diagnostics of this package.
func Codes() []diag.Explanation {
	return []diag.Explanation{
		{Code: CodeLost, Title: "only cloud-init does this",
			Text: "The user-data is a cloud-config, and the guest has Ignition in place of cloud-init. vmseed translates users, files, commands, " +
				"mounts and the like; for the key named here there is nothing to translate it to, so the guest is not told. The message names what to do instead."},
		{Code: CodeIdle, Title: "key without a meaning here",
			Text: "The key steers cloud-init itself or what it prints, and the guest has no cloud-init. Nothing is lost."},
		{Code: CodeValue, Title: "value that cannot be translated",
			Text: "The value is of a type or form that cloud-init would refuse or pass over as well, so it is left out. The message says what is expected."},
		{Code: CodeReplaces, Title: "cloud-config replaces a field",
			Text: "The cloud-config sets something that the definition, or an earlier layer, sets as well. The cloud-config wins. Remove one of the two."},
		{Code: CodeApart, Title: "translated with a difference",
			Text: "The key is carried out, but not exactly as cloud-init does. The message says what differs."},
	}
}
