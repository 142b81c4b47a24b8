package ignconfig

import "github.com/vmseed/vmseed/diag"

// Lint says what a guest would reject, ignore or stop its boot at although the config is valid. It says nothing about a
// config that Read refuses.
func Lint(origin diag.Origin, data []byte, guest Guest) diag.List {
	return nil
}
