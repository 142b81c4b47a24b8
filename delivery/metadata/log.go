package metadata

import (
	"log/slog"
	"net/http"
	"strings"
)

// maxLogged is how much of a path is logged.
const maxLogged = 200

// log writes the line of an answered request.
func (h *Handler) log(r *http.Request, done Request) {
	if !h.config.Log.Enabled(r.Context(), slog.LevelInfo) {
		return
	}
	machine := ""
	if done.Site != nil {
		machine = done.Site.machine.Namespace + "/" + done.Site.machine.Name
	}
	h.config.Log.LogAttrs(r.Context(), slog.LevelInfo, "metadata", slog.String("machine", machine), slog.String("remote", r.RemoteAddr),
		slog.String("method", clip(r.Method, 16)), slog.String("path", logged(r.URL.Path)), slog.String("route", done.Route),
		slog.Int("status", done.Status), slog.Int64("bytes", done.Bytes), slog.Duration("duration", done.Duration))
}

const (
	// signatureMin is the length from which the end of a part of a path is taken for a signature.
	signatureMin = 16
	// maxPart is that from which a whole part is. Signatures have 43 letters.
	maxPart = 40
)

// logged is a path without signatures, which may be anywhere in a path that somebody got wrong: what follows a dot and is
// long, long parts, and whatever is below the directory of reports.
func logged(path string) string {
	if strings.HasPrefix(path, "/"+reportsRoot+"/") {
		return "/" + reportsRoot + "/…"
	}
	if len(path) <= signatureMin {
		return path
	}
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if dot := strings.IndexByte(part, '.'); dot >= 0 && len(part)-dot > signatureMin {
			part = part[:dot+1] + "…"
		}
		if len(part) > maxPart {
			part = "…"
		}
		parts[i] = part
	}
	return clip(strings.Join(parts, "/"), maxLogged)
}

func clip(text string, n int) string {
	if len(text) > n {
		return strings.ToValidUTF8(text[:n], "") + "…"
	}
	return text
}
