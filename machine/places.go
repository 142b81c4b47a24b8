package machine

import (
	"strings"

	"github.com/vmseed/vmseed/diag"
)

// Places maps data paths of a machine, such as users[0].name, to where their values stand in the user's files. The nil
// map knows no places.
type Places map[string]diag.Range

// Find returns the place of a path, or of the closest value around it, or a zero range.
func (p Places) Find(path string) diag.Range {
	for {
		if r, ok := p[path]; ok {
			return r
		}
		i := strings.LastIndexAny(path, ".[")
		if i < 0 {
			return p[""]
		}
		path = path[:i]
	}
}
