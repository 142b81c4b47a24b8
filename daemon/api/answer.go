package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"

	"github.com/vmseed/vmseed/daemon"
	"github.com/vmseed/vmseed/daemon/auth"
	"github.com/vmseed/vmseed/daemon/client"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/internal/bounded"
)

const (
	// maxBody is the largest body of a request, in bytes. The engine has budgets of its own for each document.
	maxBody = 32 << 20
	// maxDepth and maxNodes bound what is made of it.
	maxDepth = 20
	maxNodes = 100_000
)

// answer writes a JSON answer.
func answer(w http.ResponseWriter, status int, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(b.Len()))
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes())
	return nil
}

// list writes the answer to a listing.
func list[T any](w http.ResponseWriter, items []T) error {
	return answer(w, http.StatusOK, struct {
		Items []T `json:"items"`
	}{append([]T{}, items...)})
}

// done writes an answer that has nothing more to say.
func done(w http.ResponseWriter) error {
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// badRequest is a request that cannot be understood.
type badRequest struct {
	status int
	text   string
}

// Error says what is wrong.
func (e *badRequest) Error() string { return e.text }

func bad(format string, args ...any) error {
	return &badRequest{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

// fail writes a problem document.
func fail(w http.ResponseWriter, status int, detail string, l ...diag.Diagnostic) {
	problem := client.Error{Status: status, Title: http.StatusText(status), Detail: detail, Request: w.Header().Get("X-Request-Id")}
	if len(l) > 0 {
		problem.Diagnostics = client.Diagnostics(l)
	}
	data, _ := json.Marshal(problem) // texts and numbers only
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Del("Content-Length")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n'))
}

// refuse writes the problem document of an error.
func refuse(w http.ResponseWriter, err error) {
	var (
		badly    *badRequest
		missing  *daemon.NotFoundError
		conflict *daemon.ConflictError
		slow     *auth.SlowDownError
		list     diag.List
		large    *http.MaxBytesError
	)
	switch {
	case errors.As(err, &badly):
		fail(w, badly.status, badly.text)
	case errors.As(err, &missing):
		fail(w, http.StatusNotFound, missing.Error())
	case errors.As(err, &conflict):
		fail(w, http.StatusConflict, conflict.Error())
	case errors.As(err, &list):
		fail(w, http.StatusUnprocessableEntity, "something is wrong with the documents", list.Sorted()...)
	case errors.As(err, &slow):
		w.Header().Set("Retry-After", slow.RetryAfter())
		fail(w, http.StatusTooManyRequests, slow.Error())
	case errors.Is(err, auth.ErrDenied):
		fail(w, http.StatusUnauthorized, err.Error())
	case errors.As(err, &large):
		fail(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is larger than %d bytes", large.Limit))
	case errors.Is(err, daemon.ErrUnsupported):
		fail(w, http.StatusNotImplemented, err.Error())
	case errors.Is(err, daemon.ErrClosed):
		fail(w, http.StatusServiceUnavailable, err.Error())
	default:
		// An error never holds a value that may be secret, and those who get here may read the daemon's log anyway.
		fail(w, http.StatusInternalServerError, err.Error())
	}
}

// read decodes the JSON body of a request. Members that there are not, members twice and text behind the value are
// errors. With optional, no body is an empty one.
func read(w http.ResponseWriter, r *http.Request, into any, optional bool) error {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			return err
		}
		return bad("the body did not come to its end")
	}
	if len(bytes.TrimSpace(data)) == 0 && optional {
		return nil
	}
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "application/json" {
		return &badRequest{http.StatusUnsupportedMediaType, "the body is JSON: Content-Type: application/json"}
	}
	if _, l := bounded.JSON("body", data, bounded.Limits{Bytes: maxBody, Depth: maxDepth, Nodes: maxNodes}); l.HasErrors() {
		return bad("%s", l.Error())
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			return bad("the member %s is a %s, which it cannot be", wrong.Field, wrong.Value)
		}
		return bad("%s", err)
	}
	return nil
}

// flag reads a parameter of the query that is true or false.
func flag(r *http.Request, name string) (bool, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return false, nil
	}
	v, err := strconv.ParseBool(text)
	if err != nil {
		return false, bad("the parameter %s is true or false", name)
	}
	return v, nil
}
