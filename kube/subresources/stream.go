package subresources

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// subprotocol is the one that KubeVirt's clients name: binary messages, whose borders mean nothing.
const subprotocol = "plain.kubevirt.io"

// Bounds of a stream.
const (
	// upgradeTimeout is how long a client may take to take the stream over.
	upgradeTimeout = 10 * time.Second
	// openTimeout is how long the node may take to open its end.
	openTimeout = 30 * time.Second
	// A client that answers no ping for silence is gone.
	pingEvery  = 10 * time.Second
	silence    = time.Minute
	writeLimit = 30 * time.Second
	// messageBytes is the largest message that is taken; messages are buffers of the sender, of some KiB.
	messageBytes = 1 << 20
	bufferBytes  = 32 << 10
)

// Why a stream ended, beside what the node says.
var (
	errReplaced = errors.New("another client opened the console")
	errShutdown = errors.New("the server shuts down")
	errOpen     = errors.New("the node did not open the stream in time")
)

// opener opens the node's end: it calls copying between the two of them until one ends, and reports by opened, before it
// moves the first byte, that the node took the stream.
type opener func(ctx context.Context, in io.Reader, out io.Writer, opened func()) error

// streamLimit counts streams, which http.Server does not.
type streamLimit struct {
	slots   chan struct{}
	ended   context.Context
	endAll  context.CancelCauseFunc
	running sync.WaitGroup
}

func newStreamLimit(n int) *streamLimit {
	l := &streamLimit{slots: make(chan struct{}, n)}
	l.ended, l.endAll = context.WithCancelCause(context.Background())
	return l
}

// begin takes a place, and reports whether there is one. The caller gives it back by done.
func (l *streamLimit) begin() bool {
	select {
	case l.slots <- struct{}{}:
		l.running.Add(1)
		return true
	default:
		return false
	}
}

func (l *streamLimit) done() {
	<-l.slots
	l.running.Done()
}

// end ends all streams.
func (l *streamLimit) end() { l.endAll(errShutdown) }

// wait returns when all streams have ended.
func (l *streamLimit) wait(ctx context.Context) error {
	over := make(chan struct{})
	go func() { defer close(over); l.running.Wait() }()
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stream joins a client's WebSocket with what open opens. The client is answered with a Status as long as the node has not
// taken the stream, and with a close message that says why after that. Whoever cancels the context given to register ends
// the stream.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, register func(context.CancelCauseFunc) (release func()), open opener) *apierrors.StatusError {
	if !websocket.IsWebSocketUpgrade(r) {
		return apierrors.NewBadRequest("this subresource is a stream: use a WebSocket with the subprotocol " + subprotocol)
	}
	if !s.streams.begin() {
		return apierrors.NewTooManyRequests("too many consoles and forwarded ports are open", 10)
	}
	defer s.streams.done()
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	defer context.AfterFunc(s.streams.ended, func() { cancel(errShutdown) })()

	opened := make(chan struct{})
	in, fromClient := io.Pipe()
	toClient, out := io.Pipe()
	defer in.Close()
	defer out.Close()
	finished := make(chan error, 1)
	go func() {
		err := open(ctx, in, out, sync.OnceFunc(func() { close(opened) }))
		out.CloseWithError(io.EOF)
		in.CloseWithError(io.ErrClosedPipe)
		finished <- err
	}()
	timeout := time.NewTimer(openTimeout)
	defer timeout.Stop()
	select {
	case <-opened:
	case err := <-finished:
		if err == nil {
			err = errors.New("the node closed the stream at once")
		}
		noteEnd(r, err.Error())
		return apierrors.NewInternalError(err)
	case <-timeout.C:
		cancel(errOpen)
		<-finished
		return apierrors.NewInternalError(errOpen)
	}
	// The request's context ends with the handler; a client that hangs up is noticed by the copying.
	defer register(cancel)()
	upgrader := websocket.Upgrader{
		HandshakeTimeout: upgradeTimeout, ReadBufferSize: bufferBytes, WriteBufferSize: bufferBytes, Subprotocols: []string{subprotocol},
		// The front proxy has authenticated the caller by credentials that no browser adds on its own.
		CheckOrigin: func(*http.Request) bool { return true },
		Error: func(w http.ResponseWriter, _ *http.Request, code int, reason error) {
			writeStatus(w, apierrors.NewGenericServerResponse(code, http.MethodGet, groupResource(""), "", reason.Error(), 0, true))
		},
	}
	socket, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		cancel(err)
		<-finished
		noteEnd(r, err.Error())
		return nil
	}
	end := join(ctx, cancel, socket, fromClient, toClient, finished)
	if end == nil {
		noteEnd(r, "closed")
	} else {
		noteEnd(r, end.Error())
	}
	return nil
}

// join copies between a socket and the node's end until one of them ends, and returns why.
func join(ctx context.Context, cancel context.CancelCauseFunc, socket *websocket.Conn, fromClient *io.PipeWriter, toClient *io.PipeReader, finished <-chan error) error {
	var running sync.WaitGroup
	defer running.Wait()
	defer socket.Close()
	socket.SetReadLimit(messageBytes)
	alive := func(string) error { return socket.SetReadDeadline(time.Now().Add(silence)) }
	_ = alive("")
	socket.SetPongHandler(alive)
	hungUp := make(chan error, 1)
	running.Go(func() {
		err := fromSocket(socket, fromClient, alive)
		fromClient.CloseWithError(io.EOF)
		hungUp <- err
	})
	sent := make(chan error, 1)
	running.Go(func() { sent <- toSocket(socket, toClient) })
	running.Go(func() { pings(ctx, socket) })
	// Whatever ends first ends the rest: what is copied is a dialogue, of which a half is no use.
	select {
	case err := <-hungUp:
		cancel(err)
		<-finished
		return err
	case err := <-finished:
		<-sent // what the guest said last
		cancel(nil)
		farewell(socket, err)
		return err
	case err := <-sent:
		cancel(err)
		if node := <-finished; err == nil {
			farewell(socket, node)
			return node
		}
		return err
	case <-ctx.Done():
		err := context.Cause(ctx)
		socket.Close()
		<-finished
		return err
	}
}

// farewell tells the client that the node's end is over. A client of KubeVirt takes a normal close for the end that it asked
// for, and explains the missing one (1006) to its user as a VM that is off: so that is how a console ends without an error.
func farewell(socket *websocket.Conn, why error) {
	if why == nil {
		return
	}
	message := why.Error()
	if len(message) > 120 { // a control frame holds 125 bytes
		message = message[:120]
	}
	_ = socket.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseInternalServerErr, message), time.Now().Add(upgradeTimeout))
}

// fromSocket copies what the client sends. Its error is nil when the client closed the stream.
func fromSocket(socket *websocket.Conn, to io.Writer, alive func(string) error) error {
	for {
		kind, message, err := socket.NextReader()
		if websocket.IsCloseError(err, websocket.CloseNormalClosure, websocket.CloseGoingAway, websocket.CloseNoStatusReceived, websocket.CloseAbnormalClosure) {
			return nil
		}
		if err != nil {
			return err
		}
		_ = alive("")
		if kind != websocket.BinaryMessage {
			continue
		}
		if _, err := io.Copy(to, message); err != nil {
			return err
		}
	}
}

// toSocket copies what the node's end says.
func toSocket(socket *websocket.Conn, from io.Reader) error {
	buffer := make([]byte, bufferBytes)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			_ = socket.SetWriteDeadline(time.Now().Add(writeLimit))
			if err := socket.WriteMessage(websocket.BinaryMessage, buffer[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// pings asks the client whether it is there.
func pings(ctx context.Context, socket *websocket.Conn) {
	ticker := time.NewTicker(pingEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if socket.WriteControl(websocket.PingMessage, nil, time.Now().Add(writeLimit)) != nil {
				return
			}
		}
	}
}
