package kubedoc

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/tree"
)

// subscript matches a reference to one label or annotation.
var subscript = regexp.MustCompile(`^metadata\.(labels|annotations)\['([^']+)'\]$`)

// MetaField returns what Kubernetes' downward API says for a path such as metadata.labels or metadata.annotations['a'] out of
// the metadata of an object. It returns false for other paths.
func MetaField(meta tree.Value, path string) (string, bool) {
	var unheard diag.List
	if m := subscript.FindStringSubmatch(path); m != nil {
		return meta.At(m[1], m[2]).Loose(&unheard), true
	}
	if path != "metadata.labels" && path != "metadata.annotations" {
		return "", false
	}
	values := map[string]string{}
	for _, e := range meta.Get(strings.TrimPrefix(path, "metadata.")).Entries() {
		values[e.Key] = e.Value.Loose(&unheard)
	}
	// Sorted lines of key="value" without a final line break.
	var lines []string
	for _, k := range slices.Sorted(maps.Keys(values)) {
		lines = append(lines, fmt.Sprintf("%s=%s", k, strconv.Quote(values[k])))
	}
	return strings.Join(lines, "\n"), true
}
