package api

import "github.com/vmseed/vmseed/daemon"

// Found reports whether the search of a listing finds a machine.
func Found(m daemon.Machine, text string) bool { return found(m, text) }

// Routes are the method and path of each route.
func Routes() []string {
	var out []string
	for _, r := range (&api{}).routes() {
		out = append(out, r.method+" "+r.path)
	}
	return out
}
