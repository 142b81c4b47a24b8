package bounded

import "github.com/vmseed/vmseed/diag"

// Text is for parsers of other formats: it refuses input over its byte budget, bytes that are not UTF-8, and NUL, with a
// place in file, and returns the budgets with defaults for those that are zero.
func Text(file string, data []byte, limits Limits) (Limits, diag.List) {
	limits = limits.orDefaults()
	var l diag.List
	checkBytes(&l, file, data, limits)
	return limits, l
}
