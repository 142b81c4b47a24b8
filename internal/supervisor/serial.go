package supervisor

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// serial shares the guest's serial console among those who look at it.
type serial struct {
	dir string
	// heard is called with everything that the guest writes.
	heard func([]byte)
	// used means that connecting has begun.
	used bool

	mutex    sync.Mutex
	guest    net.Conn
	watchers map[*watcher]bool
	closed   bool
}

// watcher is a client that looks at the console. One that does not keep up is cut off, so that it holds up no other.
type watcher struct {
	conn   io.ReadWriteCloser
	output chan []byte
	once   sync.Once
}

// backlog is how many pieces of output may wait for a watcher.
const backlog = 4096

func newSerial(dir string, heard func([]byte)) *serial {
	return &serial{dir: dir, heard: heard, watchers: map[*watcher]bool{}}
}

// serve passes on what comes over a connection to QEMU until it ends.
func (s *serial) serve(conn net.Conn) error {
	s.mutex.Lock()
	s.guest = conn
	s.mutex.Unlock()
	defer func() {
		s.mutex.Lock()
		s.guest = nil
		s.mutex.Unlock()
	}()
	buffer := make([]byte, 16<<10)
	for {
		n, err := conn.Read(buffer)
		if n > 0 {
			s.heard(buffer[:n])
			s.broadcast(append([]byte(nil), buffer[:n]...))
		}
		if err != nil {
			return err
		}
	}
}

func (s *serial) broadcast(piece []byte) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for w := range s.watchers {
		select {
		case w.output <- piece:
		default:
			s.drop(w)
		}
	}
}

// drop forgets a watcher. The mutex is held.
func (s *serial) drop(w *watcher) {
	if s.watchers[w] {
		delete(s.watchers, w)
		close(w.output)
	}
}

// attach connects a client to the console until it hangs up or the VM ends.
func (s *serial) attach(conn io.ReadWriteCloser) {
	w := &watcher{conn: conn, output: make(chan []byte, backlog)}
	s.mutex.Lock()
	if s.closed {
		s.mutex.Unlock()
		_ = conn.Close()
		return
	}
	s.watchers[w] = true
	s.mutex.Unlock()
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		defer conn.Close()
		for piece := range w.output {
			if _, err := conn.Write(piece); err != nil {
				return
			}
		}
	}()
	_, _ = io.Copy(guestWriter{s}, conn)
	s.mutex.Lock()
	s.drop(w)
	s.mutex.Unlock()
	<-finished
}

// guestWriter types into the guest's console.
type guestWriter struct{ s *serial }

// typeTime is how long the guest may take to read what is typed. Output that it makes meanwhile is read by serve.
const typeTime = 10 * time.Second

func (w guestWriter) Write(p []byte) (int, error) {
	w.s.mutex.Lock()
	guest := w.s.guest
	w.s.mutex.Unlock()
	if guest == nil {
		return len(p), nil // as a cable that is not plugged in
	}
	_ = guest.SetWriteDeadline(time.Now().Add(typeTime))
	if _, err := guest.Write(p); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		return len(p), nil
	}
	return len(p), nil
}

// close cuts everybody off, once what waits for them is written.
func (s *serial) close() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.closed = true
	for w := range s.watchers {
		s.drop(w)
	}
}

// mark writes a line into the log of the serial console that tells where another boot begins, with the time of the host.
// QEMU appends to the log, and so does this. A log in which nothing is yet needs no mark.
func (s *supervisor) mark(what string) {
	err := func() error {
		f, err := os.OpenFile(filepath.Join(s.dir, SerialLog), os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return err
		}
		info, err := f.Stat()
		if err == nil && info.Size() > 0 {
			_, err = fmt.Fprintf(f, "\r\n[vmseed: %s, %s]\r\n", what, time.Now().UTC().Format(time.RFC3339))
		}
		return errors.Join(err, f.Close())
	}()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.log.Warn("marking the log of the console", "error", err)
	}
}

const (
	// maxLog is how much of a log is kept in its current and in its older part each.
	maxLog      = 4 << 20
	rotatePause = time.Second
)

// rotateLogs keeps the logs within bounds. Whoever writes them appends, so a log can be cut under its hands.
func (s *supervisor) rotateLogs() {
	ticker := time.NewTicker(rotatePause)
	defer ticker.Stop()
	for {
		for _, name := range []string{SerialLog, QEMULog, SupervisorLog} {
			if err := rotate(filepath.Join(s.dir, name)); err != nil {
				s.log.Warn("rotating a log", "error", err)
			}
		}
		select {
		case <-ticker.C:
		case <-s.ctx.Done():
			return
		}
	}
}

// rotate moves the contents of a log that is too long to its older part.
func rotate(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() <= maxLog {
		return nil
	}
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	// What was written faster than it is rotated is not kept.
	if over := info.Size() - 2*maxLog; over > 0 {
		if _, err := f.Seek(over, io.SeekStart); err != nil {
			return err
		}
	}
	older, err := os.OpenFile(path+".1", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if _, err := io.Copy(older, f); err != nil {
		return errors.Join(err, older.Close())
	}
	return errors.Join(f.Truncate(0), older.Close())
}
