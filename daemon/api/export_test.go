package api

import "bytes"

// Routes are the method and path of each route.
func Routes() []string {
	var out []string
	for _, r := range (&api{}).routes() {
		out = append(out, r.method+" "+r.path)
	}
	return out
}

// Mask is mask.
func Mask(text string, values ...string) string {
	out, _ := mask(text, values)
	return out
}

// Seam is seam.
func Seam(past, live string) string { return string(seam([]byte(past), []byte(live))) }

// Tail is the end of what is written in pieces.
func Tail(limit int, pieces ...string) string {
	t := tail{limit: limit}
	for _, p := range pieces {
		_, _ = t.Write([]byte(p))
	}
	return string(bytes.TrimSpace(t.kept))
}
