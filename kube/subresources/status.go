package subresources

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// groupResource names a resource of KubeVirt in a Status.
func groupResource(resource string) schema.GroupResource {
	return schema.GroupResource{Group: "kubevirt.io", Resource: resource}
}

// writeStatus answers with a Status object.
func writeStatus(w http.ResponseWriter, failure *apierrors.StatusError) {
	status := failure.Status()
	status.Kind, status.APIVersion = "Status", "v1"
	writeJSON(w, int(status.Code), status)
}

func writeJSON(w http.ResponseWriter, code int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		http.Error(w, "the answer cannot be written as JSON", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	_, _ = w.Write(append(body, '\n')) // who hung up needs no answer
}

// noteKey is the context's key of a request's entry in the log.
type noteKey struct{}

// entry is what the log will say about a request beside its line.
type entry struct{ user, end string }

// note adds the caller's name to the line of a request.
func note(r *http.Request, user string) {
	if e, ok := r.Context().Value(noteKey{}).(*entry); ok {
		e.user = user
	}
}

// caller returns the name that was noted.
func caller(r *http.Request) string {
	if e, ok := r.Context().Value(noteKey{}).(*entry); ok {
		return e.user
	}
	return ""
}

// noteEnd adds how a stream ended.
func noteEnd(r *http.Request, how string) {
	if e, ok := r.Context().Value(noteKey{}).(*entry); ok {
		e.end = how
	}
}

// logged writes a line for each request, when it is over. Neither headers nor bodies nor queries are in it.
func (s *Server) logged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/healthz" {
			next.ServeHTTP(w, r)
			return
		}
		e, counted, begin := &entry{}, &codeWriter{ResponseWriter: w}, time.Now()
		next.ServeHTTP(counted, r.WithContext(context.WithValue(r.Context(), noteKey{}, e)))
		if counted.code == 0 {
			counted.code = http.StatusSwitchingProtocols // the handler has taken the connection
		}
		line := []any{"method", r.Method, "path", r.URL.EscapedPath(), "code", counted.code, "user", e.user, "duration", time.Since(begin)}
		if e.end != "" {
			line = append(line, "end", e.end)
		}
		if e.user == "" && (counted.code < http.StatusBadRequest || counted.code == http.StatusNotFound) {
			s.log.Debug("request", line...) // discovery, which the API server asks for all the time
			return
		}
		s.log.Info("request", line...)
	})
}

// codeWriter remembers the status code.
type codeWriter struct {
	http.ResponseWriter
	code int
}

func (w *codeWriter) WriteHeader(code int) {
	if w.code == 0 {
		w.code = code
	}
	w.ResponseWriter.WriteHeader(code)
}

func (w *codeWriter) Write(p []byte) (int, error) {
	if w.code == 0 {
		w.code = http.StatusOK
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap leads http.ResponseController to the connection.
func (w *codeWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
