package native

import "github.com/vmseed/vmseed/diag"

// The diagnostics of this package.
const (
	// CodeVersion is for a document of another version or kind.
	CodeVersion diag.Code = 2100 + iota
	// CodeForm is for a text that is not of the form its field needs.
	CodeForm
	// CodeChoice is for a value that is none of those its field takes.
	CodeChoice
	// CodeMissing is for a field that must be there.
	CodeMissing
	// CodeExclusive is for fields of which another number may be set.
	CodeExclusive
	// CodeReference is for a name of something that the document does not have.
	CodeReference
	// CodeDuplicate is for two things of one name.
	CodeDuplicate
	// CodeConflict is for values that contradict each other.
	CodeConflict
	// CodeResolve is for a Secret or ConfigMap that cannot be read.
	CodeResolve
	// CodeRole is for a native document where a plain file was asked for.
	CodeRole
)

// Codes explains the diagnostics of this package.
func Codes() []diag.Explanation {
	return []diag.Explanation{
		{Code: CodeVersion, Title: "not this version of the native form",
			Text: "vmseed reads native documents of `apiVersion: vmseed.dev/v1alpha1` and `kind: Machine`."},
		{Code: CodeForm, Title: "text of the wrong form",
			Text: "The field takes texts of one form only, as the message says: an absolute path, a MAC, a size with a unit. " +
				"docs/reference/native.md lists the form of every field, and the JSON schema holds it as a pattern."},
		{Code: CodeChoice, Title: "unknown value",
			Text: "The field takes one of a few words. docs/reference/native.md lists them."},
		{Code: CodeMissing, Title: "missing field",
			Text: "The mapping needs a field that is not there: a file has no meaning without its path, a disk cannot be " +
				"mounted without a name. An item of a list that holds nothing is reported the same way."},
		{Code: CodeExclusive, Title: "fields exclude each other",
			Text: "Some fields are alternatives: a mount is of a disk, of a share or of a device; a command is a line for the " +
				"shell or a list of arguments. Set as many as the message says."},
		{Code: CodeReference, Title: "name of something that is not there",
			Text: "Mounts and links name disks and shares, and bonds, bridges and VLANs name NICs, of the same document. " +
				"Nothing of the name that is used here exists. Check the spelling, or add what is missing."},
		{Code: CodeDuplicate, Title: "two things of one name",
			Text: "Names identify the members of a list, so each may be used once."},
		{Code: CodeConflict, Title: "values contradict each other",
			Text: "Each of the values is fine by itself, but together they describe no machine, as the message says."},
		{Code: CodeResolve, Title: "Secret or ConfigMap cannot be read",
			Text: "A `secretRef` or `configMapRef` names an object of the machine's own namespace and a key in it. Put the " +
				"manifest of the object among the input files, or correct the name or the key."},
		{Code: CodeRole, Title: "definition used as a plain file",
			Text: "The file was named by a flag such as `--user-data`, which takes files that the guest reads as they are. A " +
				"definition is given without a flag."},
	}
}
