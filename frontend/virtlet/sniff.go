package virtlet

import (
	"bytes"
	"regexp"

	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/frontend/internal/kubedoc"
)

// The patterns look at lines, because the head of a document may end in the middle of it. Those for JSON look anywhere.
var (
	yamlKind  = regexp.MustCompile(`^["']?kind["']?[ \t]*:[ \t]*["']?([A-Za-z]+)["']?[ \t]*(?:#.*)?\r?$`)
	yamlMark  = regexp.MustCompile(`(?:^|[{, \t])["']?(?:Virtlet[A-Z][A-Za-z0-9]*|kubernetes\.io/target-runtime)["']?[ \t]*:`)
	yamlImage = regexp.MustCompile(`(?:^|[{, \t-])["']?image["']?[ \t]*:[ \t]*["']?virtlet\.cloud/`)
	jsonPod   = regexp.MustCompile(`"kind"\s*:\s*"Pod"`)
	jsonMark  = regexp.MustCompile(`"(?:Virtlet[A-Z][A-Za-z0-9]*|kubernetes\.io/target-runtime)"\s*:`)
	jsonImage = regexp.MustCompile(`"image"\s*:\s*"virtlet\.cloud/`)
)

// Sniff is sure of a Pod that names a runtime or has an annotation of Virtlet's, and takes a Pod with an image of Virtlet's if nobody else
// does, as well as an object that makes such pods, to say what to give instead.
func (Frontend) Sniff(head []byte) frontend.Match {
	if trimmed := bytes.TrimLeft(head, " \t\r\n"); bytes.HasPrefix(trimmed, []byte("{")) {
		return match(jsonPod.Match(head), jsonMark.Match(head), jsonImage.Match(head))
	}
	kind, mark, image := "", false, false
	for line, outermost := range kubedoc.Lines(head) {
		if m := yamlKind.FindSubmatch(outermost); m != nil && kind == "" {
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
