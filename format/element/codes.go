package element

import "github.com/vmseed/vmseed/diag"

// The diagnostics of this package. Sizes, depth, numbers of values and JSON's grammar are those of internal/bounded.
const (
	// CodeSyntax is for text that is no well-formed XML.
	CodeSyntax diag.Code = 3500 + iota
	// CodeForbidden is for what XML allows and this reader does not: DTDs, entities, processing instructions.
	CodeForbidden
	// CodeEncoding is for a declared encoding other than UTF-8.
	CodeEncoding
	// CodeDuplicateAttr is for an attribute that an element has twice.
	CodeDuplicateAttr
	// CodeMixed is for text beside elements.
	CodeMixed
	// CodeShape is for JSON that no element can hold.
	CodeShape
)

// Codes explains the diagnostics of this package.
func Codes() []diag.Explanation {
	return []diag.Explanation{
		{Code: CodeSyntax, Title: "not well-formed XML",
			Text: "The document breaks a rule of XML 1.0 at the place that is named: an element that is not closed, a `<` or `&` in a text " +
				"that is not written as `&lt;` or `&amp;`, an attribute without quotes, a second outermost element."},
		{Code: CodeForbidden, Title: "XML that is not read",
			Text: "Document type definitions, entities other than `&amp;`, `&lt;`, `&gt;`, `&quot;`, `&apos;` and character references, and " +
				"processing instructions other than the XML declaration are ways to make a parser fetch files or fill the memory. No document of " +
				"oVirt needs them. Write the text out."},
		{Code: CodeEncoding, Title: "encoding is not UTF-8",
			Text: "The XML declaration names another encoding than UTF-8. Save the file as UTF-8 and correct or remove the declaration."},
		{Code: CodeDuplicateAttr, Title: "attribute given twice",
			Text: "XML forbids two attributes of one name in an element, and readers differ in which they take. Remove one."},
		{Code: CodeMixed, Title: "text beside elements",
			Text: "An element of oVirt's documents holds a text or other elements, never both. A text that contains `<`, such as a script, is " +
				"written with `&lt;`, or whole between `<![CDATA[` and `]]>`."},
		{Code: CodeShape, Title: "JSON of another shape",
			Text: "oVirt's JSON mirrors its XML: objects with named members, lists of objects or values, no list directly in a list, no member " +
				"with an empty name."},
	}
}
