package kubevirt

import (
	"bytes"
	"regexp"

	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/frontend/internal/kubedoc"
)

// The patterns look at lines, because the head of a document may end in the middle of it. That for JSON looks anywhere.
var (
	yamlVersion = regexp.MustCompile(`^["']?apiVersion["']?[ \t]*:[ \t]*["']?([^"'# \t\r]*)`)
	jsonVersion = regexp.MustCompile(`"apiVersion"\s*:\s*"(?:[a-z]+\.)?kubevirt\.io/`)
	ownGroup    = regexp.MustCompile(`^(?:[a-z]+\.)?kubevirt\.io/`)
)

// Sniff is sure of whatever belongs to the API group kubevirt.io and those below it.
func (Frontend) Sniff(head []byte) frontend.Match {
	head = bytes.TrimPrefix(head, []byte("\ufeff")) // editors of Windows begin texts with it
	if bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n"), []byte("{")) {
		return match(jsonVersion.Match(head))
	}
	for _, outermost := range kubedoc.Lines(head) {
		if m := yamlVersion.FindSubmatch(outermost); m != nil {
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
