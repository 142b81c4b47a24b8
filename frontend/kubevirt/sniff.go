package kubevirt

import (
	"bytes"
	"regexp"

	"github.com/vmseed/vmseed/frontend"
)

// The patterns look at lines, because the head of a document may end in the middle of it. That for JSON looks anywhere.
var (
	yamlVersion = regexp.MustCompile(`^["']?apiVersion["']?[ \t]*:[ \t]*["']?([^"'# \t\r]*)`)
	jsonVersion = regexp.MustCompile(`"apiVersion"\s*:\s*"(?:[a-z]+\.)?kubevirt\.io/`)
	ownGroup    = regexp.MustCompile(`^(?:[a-z]+\.)?kubevirt\.io/`)
	listItem    = regexp.MustCompile(`^(?:-[ \t]+)+`)
	noContent   = regexp.MustCompile(`^[ \t]*(?:#.*|---.*|%.*)?\r?$`)
)

// Sniff is sure of whatever belongs to the API group kubevirt.io and those below it.
func (Frontend) Sniff(head []byte) frontend.Match {
	head = bytes.TrimPrefix(head, []byte("\ufeff")) // editors of Windows begin texts with it
	if bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n"), []byte("{")) {
		return match(jsonVersion.Match(head))
	}
	indent := -1
	for line := range bytes.Lines(head) {
		line = bytes.TrimRight(line, "\n")
		if noContent.Match(line) {
			continue
		}
		// An item of a list begins with a dash, which counts as indentation of what follows.
		rest := bytes.TrimLeft(line, " \t")
		if indent < 0 {
			rest = rest[len(listItem.Find(rest)):]
			indent = len(line) - len(rest)
		}
		if len(line)-len(rest) != indent {
			continue
		}
		if m := yamlVersion.FindSubmatch(rest); m != nil {
			return match(ownGroup.Match(m[1]))
		}
	}
	return frontend.No
}

func match(ours bool) frontend.Match {
	if ours {
		return frontend.Strong
	}
	return frontend.No
}
