package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/vmseed/vmseed/daemon"
	"github.com/vmseed/vmseed/daemon/client"
)

// takeTime is how long a client of a console may take to accept what the guest wrote.
const takeTime = 30 * time.Second

// console turns the connection into the machine's serial console.
func (a *api) console(w http.ResponseWriter, r *http.Request) error {
	if !strings.EqualFold(r.Header.Get("Upgrade"), client.ConsoleProtocol) {
		w.Header().Set("Upgrade", client.ConsoleProtocol)
		w.Header().Set("Connection", "Upgrade")
		return &badRequest{http.StatusUpgradeRequired, "the console is a connection that is upgraded to " + client.ConsoleProtocol}
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
	var live io.ReadWriteCloser
	if follow {
		// Connected before the log is read, so that nothing is missed between the two.
		var conflict *daemon.ConflictError
		if live, err = a.daemon.Console(r.Context(), id); err != nil && !errors.As(err, &conflict) {
			return err
		}
	}
	if live != nil {
		defer live.Close()
		defer context.AfterFunc(r.Context(), func() { _ = live.Close() })()
	}
	past, err := a.daemon.SerialLog(id)
	if err != nil {
		return err
	}
	defer past.Close()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	control := http.NewResponseController(w)
	send := func(p []byte) error {
		if _, err := w.Write(p); err != nil {
			return err
		}
		return control.Flush()
	}
	end := tail{limit: overlapLimit}
	if _, err := io.Copy(io.MultiWriter(w, &end), past); err != nil || live == nil || send(nil) != nil {
		return nil
	}
	pieces := make(chan []byte)
	go func() {
		defer close(pieces)
		for {
			buffer := make([]byte, 16<<10)
			n, err := live.Read(buffer)
			select {
			case pieces <- buffer[:n]:
			case <-r.Context().Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	fresh := seam(end.kept, gather(pieces, settle))
	for ok := true; ok; fresh, ok = <-pieces {
		if len(fresh) > 0 && send(fresh) != nil {
			return nil
		}
	}
	return nil
}

const (
	// overlapLimit is the most that log and live console can both hold: what a guest writes while its log is read.
	overlapLimit = 256 << 10
	// settle is how long it may take until what the log holds has come over the live console as well.
	settle = 300 * time.Millisecond
)

// gather collects what comes within a time.
func gather(pieces <-chan []byte, within time.Duration) []byte {
	timer := time.NewTimer(within)
	defer timer.Stop()
	var out []byte
	for len(out) < overlapLimit {
		select {
		case p, ok := <-pieces:
			if !ok {
				return out
			}
			out = append(out, p...)
		case <-timer.C:
			return out
		}
	}
	return out
}

// seam leaves out of the beginning of a live console what the log, which is read meanwhile, ends with.
func seam(past, live []byte) []byte {
	for n := min(len(live), len(past)); n > 0; n-- {
		if bytes.HasSuffix(past, live[:n]) {
			return live[n:]
		}
	}
	return live
}

// tail keeps the end of what is written to it.
type tail struct {
	limit int
	kept  []byte
}

// Write takes what was written.
func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if len(t.kept) > 2*t.limit {
		t.kept = append(t.kept[:0], t.kept[len(t.kept)-t.limit:]...)
	}
	return len(p), nil
}
