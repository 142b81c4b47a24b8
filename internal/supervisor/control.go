package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"
)

// Paths and names of the control protocol: HTTP over the control socket.
const (
	pathState   = "/state"
	pathStop    = "/stop"
	pathReset   = "/reset"
	pathEvents  = "/events"
	pathConsole = "/console"
	// pathAgent answers when the guest agent does.
	pathAgent = "/agent"
	// pathGuest asks the guest agent for the guest's operating system.
	pathGuest = "/guest"
	// pathCredentials takes what the guest agent shall set.
	pathCredentials = "/credentials"
	// pathExec runs a program in the guest, pathDial connects to one of its ports, pathUsage counts what it uses.
	pathExec  = "/exec"
	pathDial  = "/dial"
	pathUsage = "/usage"
	// dialProtocol is what a client upgrades to: the bytes of a TCP connection to the guest.
	dialProtocol = "vmseed-tcp"
	// consoleProtocol is what a client upgrades to: the bytes of the console, both ways.
	consoleProtocol = "vmseed-console"
)

// control serves the clients of a supervisor.
type control struct {
	server *http.Server
	done   chan struct{}
}

// stopRequest asks for the end of the VM.
type stopRequest struct {
	Grace time.Duration `json:"grace"`
}

// listenControl starts to serve clients.
func (s *supervisor) listenControl() (*control, error) {
	l, err := listen(s.dir, controlSocket)
	if err != nil {
		return nil, err
	}
	c := &control{done: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+pathState, func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-s.ready:
		case <-r.Context().Done():
			return
		}
		s.mutex.Lock()
		state := s.state
		s.mutex.Unlock()
		answer(w, state)
	})
	mux.HandleFunc("POST "+pathStop, s.serveStop)
	for path, command := range map[string]string{pathReset: "system_reset", pathPause: "stop", pathResume: "cont"} {
		mux.HandleFunc("POST "+path, s.monitored(command))
	}
	mux.HandleFunc("POST "+pathCredentials, s.serveCredentials)
	mux.HandleFunc("GET "+pathAgent, s.serveAgent)
	mux.HandleFunc("GET "+pathGuest, s.serveGuest)
	mux.HandleFunc("POST "+pathExec, s.serveExec)
	mux.HandleFunc("GET "+pathDial, s.serveDial)
	mux.HandleFunc("GET "+pathUsage, s.serveUsage)
	mux.HandleFunc("GET "+pathEvents, s.serveEvents)
	mux.HandleFunc("GET "+pathConsole, s.serveConsole)
	c.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(c.done)
		if err := c.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.log.Error("serving clients", "error", err)
		}
	}()
	return c, nil
}

// farewell is how long clients may take to read the last events.
const farewell = 10 * time.Second

// end lets clients read to the end and stops serving.
func (c *control) end() {
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	if err := c.server.Shutdown(ctx); err != nil {
		_ = c.server.Close()
	}
	<-c.done
}

func answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value)
}

// serveStop ends the VM: by asking the guest when there is a time of grace, and at once after it.
func (s *supervisor) serveStop(w http.ResponseWriter, r *http.Request) {
	var request stopRequest
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 4096)).Decode(&request); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mutex.Lock()
	s.stopping = true
	s.mutex.Unlock()
	s.working.Go(func() { s.shutDown(request.Grace) })
	w.WriteHeader(http.StatusAccepted)
}

// pressPause is the time between presses of the power button: a guest that still boots misses some.
const pressPause = 5 * time.Second

// shutDown asks the guest to end, and ends it after grace.
func (s *supervisor) shutDown(grace time.Duration) {
	ctx, cancel := context.WithTimeout(s.ctx, grace)
	defer cancel()
	for ctx.Err() == nil {
		s.wake(ctx)
		if m := s.qemu(); m != nil {
			if err := m.Execute(ctx, "system_powerdown", nil, nil); err != nil {
				break
			}
		}
		_ = sleep(ctx, pressPause)
	}
	last, cancelLast := context.WithTimeout(s.ctx, quitTime)
	defer cancelLast()
	// A supervisor that has just come may not have reached QEMU yet.
	for last.Err() == nil {
		if m := s.qemu(); m != nil && m.Execute(last, "quit", nil, nil) == nil {
			break
		}
		_ = sleep(last, longPause)
	}
	<-last.Done()
	if s.ctx.Err() == nil {
		_ = endProcesses(s.processes())
	}
}

// serveEvents writes events as JSON lines until the VM has ended.
func (s *supervisor) serveEvents(w http.ResponseWriter, r *http.Request) {
	since, _ := strconv.Atoi(r.URL.Query().Get("since"))
	w.Header().Set("Content-Type", "application/jsonl")
	flush := http.NewResponseController(w)
	_ = flush.Flush()
	encoder := json.NewEncoder(w)
	_ = s.journal.follow(r.Context(), since, func(e Event) error {
		if err := encoder.Encode(e); err != nil {
			return err
		}
		return flush.Flush()
	})
}

// serveConsole turns the connection into the guest's console.
func (s *supervisor) serveConsole(w http.ResponseWriter, r *http.Request) {
	if conn := hijack(w, r, consoleProtocol); conn != nil {
		s.serial.attach(conn)
	}
}

// hijack takes a connection away from HTTP. It returns nil when it has told the client that it cannot.
func hijack(w http.ResponseWriter, r *http.Request, protocol string) net.Conn {
	if r.Header.Get("Upgrade") != protocol {
		http.Error(w, "this is not HTTP but "+protocol, http.StatusUpgradeRequired)
		return nil
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return nil
	}
	_ = conn.SetDeadline(time.Time{})
	fmt.Fprintf(buffered, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", protocol)
	if err := buffered.Flush(); err != nil {
		_ = conn.Close()
		return nil
	}
	return conn
}
