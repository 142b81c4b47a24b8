package virtlet

import (
	"bytes"
	"regexp"

	"github.com/vmseed/vmseed/frontend"
)

// The patterns look at lines, because the head of a document may end in the middle of it. Those for JSON look anywhere.
var (
	yamlKind    = regexp.MustCompile(`^["']?kind["']?[ \t]*:[ \t]*["']?([A-Za-z]+)["']?[ \t]*(?:#.*)?\r?$`)
	yamlMark    = regexp.MustCompile(`(?:^|[{, \t])["']?(?:Virtlet[A-Z][A-Za-z0-9]*|kubernetes\.io/target-runtime)["']?[ \t]*:`)
	yamlImage   = regexp.MustCompile(`(?:^|[{, \t-])["']?image["']?[ \t]*:[ \t]*["']?virtlet\.cloud/`)
	jsonPod     = regexp.MustCompile(`"kind"\s*:\s*"Pod"`)
	jsonMark    = regexp.MustCompile(`"(?:Virtlet[A-Z][A-Za-z0-9]*|kubernetes\.io/target-runtime)"\s*:`)
	jsonImage   = regexp.MustCompile(`"image"\s*:\s*"virtlet\.cloud/`)
	listItem    = regexp.MustCompile(`^(?:-[ \t]+)+`)
	noContent   = regexp.MustCompile(`^[ \t]*(?:#.*|---.*|%.*)?\r?$`)
	indentation = regexp.MustCompile(`^[ \t]*`)
)

// Sniff is sure of a Pod that names a runtime or has an annotation of Virtlet's, and takes a Pod with an image of Virtlet's if nobody else
// does, as well as an object that makes such pods, to say what to give instead.
func (Frontend) Sniff(head []byte) frontend.Match {
	if trimmed := bytes.TrimLeft(head, " \t\r\n"); bytes.HasPrefix(trimmed, []byte("{")) {
		return match(jsonPod.Match(head), jsonMark.Match(head), jsonImage.Match(head))
	}
	kind, mark, image := "", false, false
	indent := -1
	for line := range bytes.Lines(head) {
		line = bytes.TrimRight(line, "\n")
		if noContent.Match(line) {
			continue
		}
		// The items of a list begin with a dash, which counts as indentation of what follows.
		own := len(indentation.Find(line))
		rest := line[own:]
		if dash := listItem.Find(rest); indent < 0 && dash != nil {
			own, rest = own+len(dash), rest[len(dash):]
		}
		if indent < 0 {
			indent = own
		}
		if m := yamlKind.FindSubmatch(rest); m != nil && own == indent && kind == "" {
			kind = string(m[1])
		}
		mark = mark || yamlMark.Match(line)
		image = image || yamlImage.Match(line)
	}
	if controllers[kind] && (mark || image) {
		return frontend.Weak
	}
	return match(kind == "Pod", mark, image)
}

func match(pod, mark, image bool) frontend.Match {
	switch {
	case pod && mark:
		return frontend.Strong
	case pod && image:
		return frontend.Weak
	}
	return frontend.No
}
