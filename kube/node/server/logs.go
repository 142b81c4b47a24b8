package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/virtual-kubelet/virtual-kubelet/errdefs"
	"github.com/virtual-kubelet/virtual-kubelet/node/api"
)

// logs answers /containerLogs, with the parameters of PodLogOptions (Kubernetes API, v1).
func (s *Server) logs(w http.ResponseWriter, r *http.Request) {
	provider, ok := s.config.Provider.(Logs)
	if !ok {
		lacks(w)
		return
	}
	pod, ok := s.podOf(w, r)
	if !ok {
		return
	}
	opts, err := logOptions(r.URL.Query())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if opts.Tail < 0 && !opts.Follow {
		return
	}
	log, err := provider.GetContainerLogs(r.Context(), pod.Namespace, pod.Name, r.PathValue("container"), opts)
	if err != nil {
		s.failed(w, r, err)
		return
	}
	defer log.Close() //nolint:errcheck // It was only read.
	// A reader that waits for more is woken when the client has gone.
	stop := context.AfterFunc(r.Context(), func() { log.Close() }) //nolint:errcheck // As above.
	defer stop()
	var from io.Reader = log
	if opts.LimitBytes > 0 {
		from = io.LimitReader(log, int64(opts.LimitBytes))
	}
	out := flusher{w, http.NewResponseController(w)}
	if opts.Follow {
		out.c.Flush() //nolint:errcheck // The client has gone, which the next write finds.
	}
	if _, err := io.Copy(out, from); err != nil && r.Context().Err() == nil {
		s.config.Logger.Debug("a log was not sent whole", "namespace", pod.Namespace, "pod", pod.Name, "error", err)
	}
}

// flusher sends on at once what is written, so that whoever follows a log sees each line.
type flusher struct {
	w io.Writer
	c *http.ResponseController
}

func (f flusher) Write(p []byte) (int, error) {
	n, err := f.w.Write(p)
	if err == nil {
		err = f.c.Flush()
	}
	return n, err
}

// failed answers a request that the provider has refused.
func (s *Server) failed(w http.ResponseWriter, r *http.Request, err error) {
	status := http.StatusInternalServerError
	switch {
	case errdefs.IsNotFound(err):
		status = http.StatusNotFound
	case errdefs.IsInvalidInput(err):
		status = http.StatusBadRequest
	default:
		s.config.Logger.Error("a request to the kubelet server failed", "path", short(r.URL.Path), "error", err)
	}
	http.Error(w, err.Error(), status)
}

// logOptions reads the parameters of a request for a log.
func logOptions(q url.Values) (o api.ContainerLogOpts, err error) {
	number := func(key string, least int) int {
		text := q.Get(key)
		if text == "" || err != nil {
			return 0
		}
		n, bad := strconv.Atoi(text)
		if bad != nil || n < least {
			err = fmt.Errorf("%s must be a number of at least %d", key, least)
		}
		return n
	}
	flag := func(key string) bool {
		text := q.Get(key)
		if text == "" || err != nil {
			return false
		}
		b, bad := strconv.ParseBool(text)
		if bad != nil {
			err = fmt.Errorf("%s must be true or false", key)
		}
		return b
	}
	o = api.ContainerLogOpts{
		Tail:         number("tailLines", 0),
		LimitBytes:   number("limitBytes", 1),
		SinceSeconds: number("sinceSeconds", 1),
		Follow:       flag("follow"),
		Previous:     flag("previous"),
		Timestamps:   flag("timestamps"),
	}
	// Virtual Kubelet's options cannot tell no lines from all lines otherwise.
	if o.Tail == 0 && q.Get("tailLines") != "" {
		o.Tail = -1
	}
	if text := q.Get("sinceTime"); text != "" && err == nil {
		if o.SinceTime, err = time.Parse(time.RFC3339, text); err != nil {
			err = errors.New("sinceTime must be a time as in RFC 3339")
		}
		if o.SinceSeconds > 0 {
			err = errors.New("at most one of sinceTime and sinceSeconds may be given")
		}
	}
	if stream := q.Get("stream"); stream != "" && stream != "All" && err == nil {
		err = errors.New("a VM has one console: stream must be All")
	}
	return o, err
}
