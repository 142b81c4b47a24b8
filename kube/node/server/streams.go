package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gorilla/mux"
	"github.com/virtual-kubelet/virtual-kubelet/node/api"
	"k8s.io/apimachinery/pkg/util/httpstream/wsstream"
	"k8s.io/apimachinery/pkg/util/remotecommand"
	utilexec "k8s.io/utils/exec"
)

// The kubelet's times: a stream may be silent for long, and must be made soon.
const (
	streamIdle     = 4 * time.Hour
	streamCreation = 30 * time.Second
)

// exec answers /exec.
func (s *Server) exec(w http.ResponseWriter, r *http.Request) {
	streams, ok := s.streams(w, r)
	if !ok {
		return
	}
	if len(r.URL.Query()["command"]) == 0 {
		http.Error(w, "there is no command to run", http.StatusBadRequest)
		return
	}
	run := func(ctx context.Context, namespace, pod, container string, command []string, io api.AttachIO) error {
		ctx, end := context.WithCancel(ctx)
		defer end()
		err := streams.RunInContainer(ctx, namespace, pod, container, command, terminal(ctx, io))
		// The exit status is looked for in the error itself, not in what it wraps.
		if exit, ok := errors.AsType[utilexec.ExitError](err); ok {
			return exit
		}
		if err != nil {
			return cannotRun(io, err)
		}
		return nil
	}
	api.HandleContainerExec(run, api.WithExecStreamIdleTimeout(streamIdle), api.WithExecStreamCreationTimeout(streamCreation))(w, forVirtualKubelet(r))
}

// exitCannotRun is the status of a command that could not be run, as of a shell (POSIX, Shell Command Language, 2.8.2).
const exitCannotRun = 126

// cannotRun tells why a command could not be run as container runtimes do: in words where its own would be, and by a status. What
// is returned as another error, clients show as an internal error of the server's.
func cannotRun(streams api.AttachIO, err error) error {
	to := streams.Stderr()
	if streams.TTY() || to == nil {
		to = streams.Stdout()
	}
	if to == nil {
		return err
	}
	if _, lost := fmt.Fprintf(to, "vmseed: %v\r\n", err); lost != nil {
		return err
	}
	return utilexec.CodeExitError{Err: err, Code: exitCannotRun}
}

// attach answers /attach.
func (s *Server) attach(w http.ResponseWriter, r *http.Request) {
	streams, ok := s.streams(w, r)
	if !ok {
		return
	}
	connect := func(ctx context.Context, namespace, pod, container string, io api.AttachIO) error {
		ctx, end := context.WithCancel(ctx)
		defer end()
		return streams.AttachToContainer(ctx, namespace, pod, container, terminal(ctx, io))
	}
	api.HandleContainerAttach(connect, api.WithExecStreamIdleTimeout(streamIdle), api.WithExecStreamCreationTimeout(streamCreation))(w, forVirtualKubelet(r))
}

// portForward answers /portForward. Connections over one SPDY session are told apart by Virtual Kubelet's handler; its web
// sockets have no ports, so those are served here.
func (s *Server) portForward(w http.ResponseWriter, r *http.Request) {
	streams, ok := s.streams(w, r)
	if !ok {
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	if wsstream.IsWebSocketRequest(r) {
		s.portForwardWebSocket(ctx, w, r, streams)
		return
	}
	// The session's end is the handler's, and ends all connections.
	forward := func(_ context.Context, namespace, pod string, port int32, stream io.ReadWriteCloser) error {
		return streams.PortForward(ctx, namespace, pod, port, stream)
	}
	api.HandlePortForward(forward, api.WithPortForwardStreamIdleTimeout(streamIdle), api.WithPortForwardCreationTimeout(streamCreation))(w, forVirtualKubelet(r))
}

// streams finds what a request for streams needs; it answers the request when something is missing.
func (s *Server) streams(w http.ResponseWriter, r *http.Request) (Streams, bool) {
	if r.Method != http.MethodGet && r.Method != http.MethodPost {
		http.Error(w, "streams are opened by GET or POST", http.StatusMethodNotAllowed)
		return nil, false
	}
	streams, ok := s.config.Provider.(Streams)
	if !ok {
		lacks(w)
		return nil, false
	}
	_, ok = s.podOf(w, r)
	return streams, ok
}

// forVirtualKubelet puts a request into the form that Virtual Kubelet's handlers take: names as mux leaves them; of the
// stream protocols, which they read from the first header line only, the best that they speak; and a terminal has no
// standard error of its own.
func forVirtualKubelet(r *http.Request) *http.Request {
	r = mux.SetURLVars(r, map[string]string{"namespace": r.PathValue("namespace"), "pod": r.PathValue("pod"), "container": r.PathValue("container")})
	const header = "X-Stream-Protocol-Version"
	var offered []string
	for _, line := range r.Header.Values(header) {
		for name := range strings.SplitSeq(line, ",") {
			offered = append(offered, strings.TrimSpace(name))
		}
	}
	for _, known := range []string{remotecommand.StreamProtocolV5Name, remotecommand.StreamProtocolV4Name, remotecommand.StreamProtocolV3Name,
		remotecommand.StreamProtocolV2Name, remotecommand.StreamProtocolV1Name} {
		if slices.Contains(offered, known) {
			r.Header.Set(header, known)
			break
		}
	}
	if q := r.URL.Query(); q.Get("tty") == "1" && q.Get("error") == "1" {
		q.Set("error", "0")
		r.URL.RawQuery = q.Encode()
	}
	return r
}

// terminal is io with a channel of sizes that is closed when the client sends no more. Virtual Kubelet's own goes on with
// sizes of zero for as long as somebody reads.
func terminal(ctx context.Context, io api.AttachIO) api.AttachIO {
	if !io.TTY() || io.Resize() == nil {
		return io
	}
	sizes := make(chan api.TermSize)
	go func() {
		defer close(sizes)
		for {
			select {
			case size := <-io.Resize():
				if size == (api.TermSize{}) {
					return
				}
				select {
				case sizes <- size:
				case <-ctx.Done():
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return resized{io, sizes}
}

type resized struct {
	api.AttachIO
	sizes <-chan api.TermSize
}

func (r resized) Resize() <-chan api.TermSize { return r.sizes }
