package delivery

import (
	"fmt"
	"io/fs"
	"strings"
	"unicode"

	"github.com/vmseed/vmseed/seed"
)

// CheckNames refuses names of files that some delivery could not store or some guest not read: what is no clean relative
// path, control characters, backslashes, and names that are there twice. A delivery whose format is not as strict by
// itself calls it, so that a seed which fits one delivery fits all. The error wraps ErrName.
func CheckNames(v seed.Volume) error {
	taken := map[string]bool{}
	for _, f := range v.Files {
		if !fs.ValidPath(f.Path) || f.Path == "." || strings.ContainsFunc(f.Path, func(r rune) bool { return r == '\\' || unicode.IsControl(r) }) {
			return fmt.Errorf("%w: %q is no clean relative path", ErrName, f.Path)
		}
		if taken[f.Path] {
			return fmt.Errorf("%w: %q is there twice", ErrName, f.Path)
		}
		taken[f.Path] = true
	}
	return nil
}
