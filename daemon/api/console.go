package api

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/vmseed/vmseed/daemon/client"
)

// takeTime is how long a client of a console may take to accept what the guest wrote.
const takeTime = 30 * time.Second

// console turns the connection into the machine's serial console: raw bytes for programs, a WebSocket for pages.
func (a *api) console(w http.ResponseWriter, r *http.Request) error {
	switch upgrade := r.Header.Get("Upgrade"); {
	case strings.EqualFold(upgrade, "websocket"):
		return a.webConsole(w, r)
	case !strings.EqualFold(upgrade, client.ConsoleProtocol):
		w.Header().Set("Upgrade", client.ConsoleProtocol+", websocket")
		w.Header().Set("Connection", "Upgrade")
		return &badRequest{http.StatusUpgradeRequired, "the console is a connection that is upgraded to " + client.ConsoleProtocol + " or websocket"}
	}
	guest, err := a.daemon.Console(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	defer guest.Close()
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(ctx, func() { _, _ = guest.Close(), conn.Close() })()
	_ = conn.SetWriteDeadline(time.Now().Add(takeTime))
	if _, err := fmt.Fprintf(conn, "HTTP/1.1 101 %s\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", http.StatusText(http.StatusSwitchingProtocols), client.ConsoleProtocol); err != nil {
		return nil
	}
	var both sync.WaitGroup
	both.Go(func() {
		defer cancel()
		_, _ = io.Copy(guest, rw.Reader)
	})
	both.Go(func() {
		defer cancel()
		_, _ = io.Copy(writerFunc(func(p []byte) (int, error) {
			_ = conn.SetWriteDeadline(time.Now().Add(takeTime))
			return conn.Write(p)
		}), guest)
	})
	both.Wait()
	return nil
}

// writerFunc is a function as io.Writer.
type writerFunc func([]byte) (int, error)

// Write calls the function.
func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// log sends what the guest wrote to its serial console, and what it writes from then on when that is wanted.
func (a *api) log(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	follow, err := flag(r, "follow")
	if err != nil {
		return err
	}
	past, err := a.daemon.SerialLog(id)
	if err != nil {
		return err
	}
	defer past.Close()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if !follow {
		_, _ = io.Copy(w, past)
		return nil
	}
	control := http.NewResponseController(w)
	send := func(p []byte) error {
		if _, err := w.Write(p); err != nil {
			return err
		}
		return control.Flush()
	}
	if send(nil) == nil { // the client knows that it is being served, though the guest may say nothing yet
		_ = a.daemon.FollowLog(r.Context(), id, send)
	}
	return nil
}
