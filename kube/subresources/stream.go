package subresources

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// subprotocol is the one that KubeVirt's clients name: binary messages, whose borders mean nothing.
const subprotocol = "plain.kubevirt.io"

// Bounds of a stream.
const (
	// upgradeTimeout is how long a client may take to take the stream over, and to read why it ends.
	upgradeTimeout = 10 * time.Second
	// openTimeout is how long the node may take to open its end.
	openTimeout = 30 * time.Second
	// A client that answers no ping, or reads nothing, for so long is gone.
	silence   = time.Minute
	pingEvery = 10 * time.Second
	// lingering is how long a stream goes on for what its client said last.
	lingering = 2 * time.Second
	// messageBytes is the largest message that is taken; messages are buffers of the sender, of some KiB.
	messageBytes = 1 << 20
	bufferBytes  = 32 << 10
	// reasonBytes is how much of a reason fits a close message, a control frame of at most 125 bytes.
	reasonBytes = 120
)

// Why a stream ended, beside what the node says.
var (
	errReplaced = errors.New("another client opened the console")
	errShutdown = errors.New("the server shuts down")
	errOpen     = errors.New("the node did not open the stream in time")
	errAtOnce   = errors.New("the node closed the stream at once")
)

// source is the node's end of a stream.
type source struct {
	// open copies between the node and the two until one of them ends. It calls opened, before it moves the first byte, when
	// the node has taken the stream.
	open func(ctx context.Context, in io.Reader, out io.Writer, opened func()) error
	// taken is called when the client has the stream too, with what ends it; it may be nil. What it returns is called at the end.
	taken func(end context.CancelCauseFunc) (release func())
	// abrupt ends the stream without a close message when the node ends it: KubeVirt's client explains that (code 1006) to its
	// user as a VM that was powered off.
	abrupt bool
}

// stream joins a client's WebSocket with a source. The client is answered with a Status as long as the node has not taken
// the stream, and with a close message that says why after that.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, from source) *apierrors.StatusError {
	if !websocket.IsWebSocketUpgrade(r) {
		return apierrors.NewBadRequest("this subresource is a stream: use a WebSocket with the subprotocol " + subprotocol)
	}
	release := s.streams.begin(caller(r))
	if release == nil {
		return apierrors.NewTooManyRequests("too many consoles and forwarded ports are open", 10)
	}
	defer release()
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	defer context.AfterFunc(s.streams.ended, func() { cancel(errShutdown) })()

	opened := make(chan struct{})
	b := &bridge{finished: make(chan error, 1), end: cancel, every: s.pingEvery, abrupt: from.abrupt}
	var in *io.PipeReader
	var out *io.PipeWriter
	in, b.fromClient = io.Pipe()
	b.toClient, out = io.Pipe()
	defer b.close()
	go func() {
		err := from.open(ctx, in, out, sync.OnceFunc(func() { close(opened) }))
		out.Close()
		b.fromClient.Close()
		b.finished <- err
	}()
	timeout := time.NewTimer(openTimeout)
	defer timeout.Stop()
	select {
	case <-opened:
	case err := <-b.finished:
		if err == nil {
			err = errAtOnce
		}
		noteEnd(r, err.Error())
		return apierrors.NewInternalError(err)
	case <-timeout.C:
		cancel(errOpen)
		noteEnd(r, errOpen.Error())
		return apierrors.NewInternalError(errOpen)
	}
	upgrader := websocket.Upgrader{
		HandshakeTimeout: upgradeTimeout, ReadBufferSize: bufferBytes, WriteBufferSize: bufferBytes, Subprotocols: []string{subprotocol},
		// The front proxy has authenticated the caller by credentials that no browser adds on its own.
		CheckOrigin: func(*http.Request) bool { return true },
		Error: func(w http.ResponseWriter, _ *http.Request, code int, reason error) {
			writeStatus(w, apierrors.NewGenericServerResponse(code, http.MethodGet, groupResource(""), "", reason.Error(), 0, true))
		},
	}
	var err error
	if b.socket, err = upgrader.Upgrade(w, r, nil); err != nil {
		noteEnd(r, err.Error())
		return nil
	}
	if from.taken != nil {
		defer from.taken(cancel)()
	}
	if err := b.join(ctx); err != nil {
		noteEnd(r, err.Error())
	} else {
		noteEnd(r, "closed")
	}
	return nil
}

// bridge is a stream both of whose ends are open.
type bridge struct {
	socket     *websocket.Conn
	fromClient *io.PipeWriter
	toClient   *io.PipeReader
	// finished is what the node's end returns, once.
	finished chan error
	// end ends the node's end.
	end    context.CancelCauseFunc
	every  time.Duration // between pings
	abrupt bool
}

// close lets whoever reads or writes the pipes go.
func (b *bridge) close() {
	b.end(nil)
	b.fromClient.Close()
	b.toClient.Close()
}

// join copies until one end ends, and returns why; nil is an end that somebody asked for. A stream is a dialogue, of which
// a half is no use, so that the first end is the end of both; but what the client said before its end is delivered.
func (b *bridge) join(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	defer b.close()
	defer b.socket.Close()
	b.socket.SetReadLimit(messageBytes)
	b.socket.SetPongHandler(func(string) error { return b.alive() })
	hungUp, sent := make(chan error, 2), make(chan error, 1)
	running.Go(func() { hungUp <- b.fromSocket() })
	running.Go(func() {
		sent <- b.toSocket()
		_, _ = io.Copy(io.Discard, b.toClient) // a node that cannot write would not read
	})
	running.Go(func() {
		// While the node does not read, nothing else notices that the client has gone.
		if err := b.pings(ctx); err != nil {
			hungUp <- err
		}
	})
	select {
	case err := <-hungUp:
		if err == nil {
			b.linger(ctx)
		}
		return err
	case err := <-sent:
		if err != nil {
			return err
		}
		// The node has closed its output and is about to say why.
		err = <-b.finished
		if ctx.Err() != nil {
			return b.cut(context.Cause(ctx))
		}
		b.farewell(err)
		return err
	case <-ctx.Done():
		return b.cut(context.Cause(ctx))
	}
}

// linger gives the node's end time for the last words of a client that has closed the stream: they have been read, but
// need not be on their way to the guest yet.
func (b *bridge) linger(ctx context.Context) {
	b.fromClient.Close()
	timer := time.NewTimer(lingering)
	defer timer.Stop()
	select {
	case <-b.finished:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// cut ends a stream that this server ends.
func (b *bridge) cut(why error) error {
	if errors.Is(why, errShutdown) {
		b.say(websocket.CloseGoingAway, why.Error())
	}
	return why
}

// farewell tells the client how the node's end ended.
func (b *bridge) farewell(err error) {
	switch {
	case err != nil:
		b.say(websocket.CloseInternalServerErr, err.Error())
	case !b.abrupt:
		b.say(websocket.CloseNormalClosure, "")
	}
}

func (b *bridge) say(code int, reason string) {
	if len(reason) > reasonBytes {
		reason = reason[:reasonBytes]
	}
	reason = strings.ToValidUTF8(reason, "") // or clients take it for a broken protocol
	_ = b.socket.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, reason), time.Now().Add(upgradeTimeout))
}

// alive gives the client time until its next sign of life.
func (b *bridge) alive() error { return b.socket.SetReadDeadline(time.Now().Add(silence)) }

// fromSocket copies what the client sends. Its error is nil when the client ended the stream.
func (b *bridge) fromSocket() error {
	buffer := make([]byte, bufferBytes)
	for {
		_ = b.alive() // a node that does not read is not the client's silence
		kind, message, err := b.socket.NextReader()
		if closed := (*websocket.CloseError)(nil); errors.As(err, &closed) {
			return nil
		}
		if err != nil {
			return err
		}
		for kind == websocket.BinaryMessage {
			n, err := message.Read(buffer)
			if n > 0 {
				_, _ = b.fromClient.Write(buffer[:n]) // fails when the node has ended its end, which says so itself
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
			_ = b.alive()
		}
	}
}

// toSocket copies what the node's end says. Its error is nil when the node ended the stream.
func (b *bridge) toSocket() error {
	buffer := make([]byte, bufferBytes)
	for {
		n, err := b.toClient.Read(buffer)
		if n > 0 {
			_ = b.socket.SetWriteDeadline(time.Now().Add(silence))
			if err := b.socket.WriteMessage(websocket.BinaryMessage, buffer[:n]); err != nil {
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

// pings asks the client whether it is there, until the stream ends or the question cannot be sent.
func (b *bridge) pings(ctx context.Context) error {
	ticker := time.NewTicker(b.every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			if err := b.socket.WriteControl(websocket.PingMessage, nil, time.Now().Add(silence)); err != nil {
				return err
			}
		}
	}
}

// streamLimit counts streams, which http.Server does not, and ends them.
type streamLimit struct {
	// perUser is how many of the places one user may take.
	perUser int
	places  chan struct{}
	ended   context.Context
	endAll  context.CancelCauseFunc

	mu     sync.Mutex
	byUser map[string]int
}

func newStreamLimit(n int) *streamLimit {
	l := &streamLimit{perUser: max(1, n/4), places: make(chan struct{}, n), byUser: map[string]int{}}
	l.ended, l.endAll = context.WithCancelCause(context.Background())
	return l
}

// begin takes a place, which the function that it returns gives back; nil means that there is none.
func (l *streamLimit) begin(user string) (release func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byUser[user] >= l.perUser {
		return nil
	}
	select {
	case l.places <- struct{}{}:
	default:
		return nil
	}
	l.byUser[user]++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.byUser[user]--; l.byUser[user] == 0 {
			delete(l.byUser, user)
		}
		<-l.places
	}
}

// end ends all streams.
func (l *streamLimit) end() { l.endAll(errShutdown) }

// wait takes all places, which is possible when the streams have ended.
func (l *streamLimit) wait(ctx context.Context) error {
	for range cap(l.places) {
		select {
		case l.places <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
