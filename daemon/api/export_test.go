package api

// Routes are the method and path of each route.
func Routes() []string {
	var out []string
	for _, r := range (&api{}).routes() {
		out = append(out, r.method+" "+r.path)
	}
	return out
}
