package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/vmseed/vmseed/daemon/auth"
)

const (
	// maxMessage is the largest message that a page sends to a console, in bytes: what somebody pastes.
	maxMessage = 1 << 20
	// pingEvery is how often a page is asked whether it is still there.
	pingEvery = 30 * time.Second
)

// webConsole turns the connection into a WebSocket with the machine's serial console in binary messages, and in text messages
// what the page's terminal says without its user. It ends with the code 1000 when the
// console does, with 1001 when the daemon does, and with 1008 when the user's session does. Pages of other origins get none.
func (a *api) webConsole(w http.ResponseWriter, r *http.Request) error {
	guest, err := a.daemon.Console(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	defer guest.Close()
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return nil // Accept has said what is wrong
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(maxMessage)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	s := &pageConsole{conn: conn, guest: guest, used: func() {
		if id, ok := auth.FromContext(r.Context()); ok {
			a.options.Guard.Use(id)
		}
	}}
	var all sync.WaitGroup
	for _, part := range []func(context.Context){s.listen, s.tell, s.ping} {
		all.Go(func() {
			defer cancel()
			part(ctx)
		})
	}
	<-ctx.Done()
	code, reason := websocket.StatusNormalClosure, "the console has ended"
	if r.Context().Err() != nil {
		code, reason = a.interrupted(r)
	}
	_ = conn.Close(code, reason)
	_ = guest.Close()
	all.Wait()
	return nil
}

// interrupted says why a request was ended before its time.
func (a *api) interrupted(r *http.Request) (websocket.StatusCode, string) {
	if id, ok := auth.FromContext(r.Context()); ok && errors.Is(a.options.Guard.Still(id), auth.ErrExpired) {
		return websocket.StatusPolicyViolation, "the session has ended"
	}
	return websocket.StatusGoingAway, "the daemon ends"
}

// pageConsole is a console in a page.
type pageConsole struct {
	conn  *websocket.Conn
	guest io.ReadWriteCloser
	// used is called whenever the user does something.
	used func()
}

// listen gives the guest what the user types. Its end is that of the connection, which is closed with a word to the page.
func (s *pageConsole) listen(ctx context.Context) {
	for {
		kind, message, err := s.conn.Reader(context.WithoutCancel(ctx))
		if err != nil {
			return
		}
		// What the terminal answers by itself comes as text: a guest that asks it again and again is no user.
		if kind == websocket.MessageBinary {
			s.used()
		}
		if _, err := io.Copy(s.guest, message); err != nil {
			return
		}
	}
}

// tell gives the page what the guest writes.
func (s *pageConsole) tell(ctx context.Context) {
	_, _ = io.Copy(writerFunc(func(p []byte) (int, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), takeTime)
		defer cancel()
		return len(p), s.conn.Write(ctx, websocket.MessageBinary, p)
	}), s.guest)
}

// ping notices a page that went away without a word.
func (s *pageConsole) ping(ctx context.Context) {
	ticker := time.NewTicker(pingEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		limited, cancel := context.WithTimeout(ctx, takeTime)
		err := s.conn.Ping(limited)
		cancel()
		if err != nil {
			return
		}
	}
}
