package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/vmseed/vmseed/delivery/metadata"
)

// The servers of this program itself. Each runs as a process of its own, so that its memory and its time are its own.
const (
	modeOurs = "serve-vmseed"
	modeLog  = "serve-vmseed-with-log"
	modeBare = "serve-net-http"
	// modeCrossed gives every machine what is its neighbour's: whoever measures has to notice.
	modeCrossed = "serve-crossed"
)

// ownServer makes this process a server if its arguments say so; then it does not return.
func ownServer() {
	if len(os.Args) != 3 || !slices.Contains([]string{modeOurs, modeLog, modeBare, modeCrossed}, os.Args[1]) {
		return
	}
	machines, err := strconv.Atoi(os.Args[2])
	if err == nil {
		err = serve(os.Args[1], machines)
	}
	exit(err)
}

// serve is what such a process does: it serves a fleet until its standard input ends.
func serve(mode string, machines int) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	run := func(ctx context.Context) error { return serveBare(ctx, l, bareHandler(machines)) }
	if mode != modeBare {
		h, err := ourHandler(machines, mode)
		if err != nil {
			return err
		}
		run = func(ctx context.Context) error { return metadata.Serve(ctx, l, h) }
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	fmt.Println(l.Addr())
	return run(ctx)
}

// ourHandler is vmseed's with all that a service has beside the answers: sessions, a bound on each machine's rate that no
// round here reaches, numbers for metrics, and if asked for a line of log for each request.
func ourHandler(machines int, mode string) (*metadata.Handler, error) {
	sites := make(map[netip.Addr]*metadata.Site, machines)
	for i := range machines {
		whose := i
		if mode == modeCrossed {
			whose = (i + 1) % machines
		}
		s, err := seedOf(whose)
		if err != nil {
			return nil, err
		}
		site, err := metadata.NewSite(s)
		if err != nil {
			return nil, err
		}
		sites[address(i)] = site
	}
	var table metadata.Table
	table.Set(sites)
	var requests, bytes atomic.Int64
	c := metadata.Config{Identify: table.Identify, Limits: metadata.Limits{Rate: 1 << 30, Burst: 1 << 30},
		Observe: func(r metadata.Request) { requests.Add(1); bytes.Add(r.Bytes) }}
	if mode == modeLog {
		c.Log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	return metadata.NewHandler(c), nil
}

// bareHandler serves the same bytes with as little as net/http allows: a look-up by source address, and whatever is asked
// for is the user-data, an instance id, or a token that nobody checks.
func bareHandler(machines int) http.Handler {
	type own struct{ userData, id []byte }
	fleet := make(map[string]own, machines)
	for i := range machines {
		fleet[address(i).String()] = own{[]byte(userData(i)), []byte(instanceID(i))}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, _ := net.SplitHostPort(r.RemoteAddr)
		body := fleet[host].userData
		switch {
		case r.Method == http.MethodPut:
			body = []byte("a-token-of-fifty-four-characters-as-long-as-real-ones-")
		case strings.HasSuffix(r.URL.Path, "/instance-id"):
			body = fleet[host].id
		}
		// Without these net/http would look for the type, and cut the answer in chunks.
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body)
	})
}

func serveBare(ctx context.Context, l net.Listener, h http.Handler) error {
	s := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second}
	defer context.AfterFunc(ctx, func() { _ = s.Close() })()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// process is a server under measurement.
type process struct {
	address string
	cmd     *exec.Cmd
	stop    func()
}

// memoryLimit is what an administrator with as many machines sets: without it Go lets garbage grow to the size of what is
// in use. It is no hard limit.
const memoryLimit = "GOMEMLIMIT=448MiB"

// startOwn starts this program as one of its servers.
func startOwn(mode string, machines int) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, mode, strconv.Itoa(machines))
	cmd.Env = append(os.Environ(), memoryLimit)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if mode != modeLog {
		cmd.Stderr = os.Stderr
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, stop: func() {
		_ = stdin.Close()
		_ = cmd.Wait()
	}}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		p.stop()
		return nil, fmt.Errorf("%s does not start: %w", mode, err)
	}
	p.address = strings.TrimSpace(line)
	return p, nil
}

// startPeer starts somebody else's server, which is ended by a signal, and waits until it answers.
func startPeer(program, address string, args ...string) (*process, error) {
	cmd := exec.Command(program, args...)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	p := &process{address: address, cmd: cmd, stop: func() {
		_ = cmd.Process.Kill()
		<-ended
	}}
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			return p, conn.Close()
		}
		select {
		case err := <-ended:
			return nil, fmt.Errorf("%s ends at once: %v", filepath.Base(program), err)
		default:
		}
		if time.Now().After(deadline) {
			p.stop()
			return nil, fmt.Errorf("%s does not answer: %w", filepath.Base(program), err)
		}
	}
}

// peak is the most memory that the process has held, in MiB, or -1 where the system does not say.
func (p *process) peak() int {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return -1
	}
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	kib, err := strconv.Atoi(strings.Fields(after + " 0")[0])
	if err != nil {
		return -1
	}
	return kib / 1024
}

// processor is the time that the process' threads have had on processors, or 0 where the system does not say.
func (p *process) processor() time.Duration {
	var total time.Duration
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", p.cmd.Process.Pid))
	for _, path := range tasks {
		if text, err := os.ReadFile(path); err == nil {
			ns, _ := strconv.ParseInt(strings.Fields(string(text) + " 0")[0], 10, 64)
			total += time.Duration(ns)
		}
	}
	return total
}
