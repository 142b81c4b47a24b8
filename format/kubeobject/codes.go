package kubeobject

import "github.com/vmseed/vmseed/diag"

// The diagnostics of this package.
const (
	// CodeObject is for an object without what every object needs.
	CodeObject diag.Code = 2300 + iota
	// CodeKey is for a key that no Secret or ConfigMap can have.
	CodeKey
	// CodeTwice is for a key under both maps of a ConfigMap.
	CodeTwice
	// CodeDuplicate is for an object that the input has twice.
	CodeDuplicate
	// CodeUnused is for an object that nothing refers to.
	CodeUnused
)

// Codes explains the diagnostics of this package.
func Codes() []diag.Explanation {
	return []diag.Explanation{
		{Code: CodeObject, Title: "incomplete Kubernetes object",
			Text: "An object needs `apiVersion`, `kind` and `metadata.name`, and a List needs `items`. Names are lower-case letters, " +
				"digits, dashes and dots, begin and end with a letter or digit and have at most 253 characters. vmseed refuses what " +
				"an API server would refuse, so that a definition that renders can be applied as well."},
		{Code: CodeKey, Title: "invalid key",
			Text: "Keys of Secrets and ConfigMaps consist of letters, digits, dashes, underscores and dots, have at most 253 " +
				"characters and do not begin with two dots: they become names of files."},
		{Code: CodeTwice, Title: "key in data and binaryData",
			Text: "A key of a ConfigMap stands either under `data` or under `binaryData`. Remove one of the two."},
		{Code: CodeDuplicate, Title: "object stands twice in the input",
			Text: "Two objects of one kind have the same name and namespace, and it is not clear which one is meant. A missing " +
				"namespace means `default`. Remove or rename one of them."},
		{Code: CodeUnused, Title: "object is not used",
			Text: "The object is in the input, but no definition refers to it. Check the name and the namespace in the definition " +
				"if it should be used: a missing namespace means `default`."},
	}
}
