package cloudconfig

import "github.com/vmseed/vmseed/diag"

// The diagnostics of this package.
const (
	// CodeKind is for user-data of another kind where a cloud-config is needed.
	CodeKind diag.Code = 3000 + iota
	// CodeNotMapping is for YAML whose root is no mapping.
	CodeNotMapping
	// CodeManyDocuments is for a second YAML document.
	CodeManyDocuments
	// CodeTemplate is for a template that nobody rendered.
	CodeTemplate
	// CodeRefused is for what PyYAML refuses and other readers accept.
	CodeRefused
	// CodeSameKey is for keys that differ in spelling only.
	CodeSameKey
	// CodeMerge is for documents that cannot be merged.
	CodeMerge
	// CodeClash is for values of different types in two layers.
	CodeClash
	// CodeArchive is for a cloud-config-archive that cannot be read.
	CodeArchive
)

// Codes explains the diagnostics of this package.
func Codes() []diag.Explanation {
	return []diag.Explanation{
		{Code: CodeKind, Title: "not a cloud-config",
			Text: "Only a cloud-config is a YAML document that can be merged with others. Scripts, MIME messages, archives, " +
				"includes, jinja templates and compressed data reach the guest as they are, as a part of their own."},
		{Code: CodeNotMapping, Title: "cloud-config is not a mapping",
			Text: "A cloud-config is a YAML mapping from module names to their settings. cloud-init drops a document whose " +
				"root is a list or a single value, with no more than a warning in its log."},
		{Code: CodeManyDocuments, Title: "more than one YAML document",
			Text: "cloud-init reads exactly one YAML document from a part. A second one, even an empty one behind a final " +
				"`---`, makes it drop the whole part. Put further documents into further parts of a MIME multipart."},
		{Code: CodeTemplate, Title: "template was not rendered",
			Text: "The text holds marks of a template language (`{{ .Values.x }}`, `{% if %}`, `${name}`, `%{ if }`) that " +
				"cloud-init does not know. Render it with its own tool first. Only jinja is rendered by the guest itself, " +
				"and only when the very first line is `## template: jinja`."},
		{Code: CodeRefused, Title: "refused by the guest's YAML reader",
			Text: "cloud-init reads YAML 1.1 with PyYAML, which is stricter in some places than the tools you may have tried: " +
				"control characters, tags it does not know, a lone `=`, dates that don't exist (`2024-02-31`), numbers " +
				"without digits (`0x_`), lists and mappings as keys. One such value makes it drop the whole document."},
		{Code: CodeSameKey, Title: "two keys are one to the guest",
			Text: "YAML 1.1 reads `yes`, `on` and `true` as the same boolean, and `1` and `1.0` as the same number. As keys " +
				"of one mapping they collide, and the last one wins silently."},
		{Code: CodeMerge, Title: "documents cannot be merged",
			Text: "The way of merging that a part asks for, by `merge_how`, `merge_type` or a `Merge-Type` header, is unknown " +
				"to cloud-init or fails on these values. A guest drops such a part. Mergers are `dict`, `list` and `str`, each " +
				"with options in brackets, joined by `+`, such as `list(append)+dict(recurse_array)+str()`."},
		{Code: CodeClash, Title: "layers disagree about a type",
			Text: "Two layers of user-data give the same key values of different types, such as a list and a text. They cannot " +
				"be united, so the later one replaces the earlier one. Give both the same type if both are to count."},
		{Code: CodeArchive, Title: "archive cannot be read",
			Text: "A cloud-config-archive is a YAML list. Each item is a text, or a mapping with `content` and, if wanted, " +
				"`type`, `filename` and `launch-index`. A guest ignores other items and, if the list itself is broken, everything."},
	}
}
