package kubedoc

import (
	"bytes"
	"iter"
	"regexp"
)

var (
	listItem    = regexp.MustCompile(`^(?:-[ \t]+)+`)
	noContent   = regexp.MustCompile(`^[ \t]*(?:#.*|---.*|%.*)?\r?$`)
	indentation = regexp.MustCompile(`^[ \t]*`)
)

// Lines yields the lines of the head of a YAML document that hold something, each with what stands on it of the outermost
// mapping, which is nil for lines further in. The head may end in the middle of the document. The items of a list begin
// with a dash, which counts as indentation of what follows.
func Lines(head []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(line, outermost []byte) bool) {
		indent := -1
		for line := range bytes.Lines(head) {
			line = bytes.TrimRight(line, "\n")
			if noContent.Match(line) {
				continue
			}
			own := len(indentation.Find(line))
			if indent < 0 {
				own += len(listItem.Find(line[own:]))
				indent = own
			}
			var outermost []byte
			if own == indent {
				outermost = line[own:]
			}
			if !yield(line, outermost) {
				return
			}
		}
	}
}
