//go:build linux

package supervisor_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vmseed/vmseed/internal/supervisor"
)

// TestMain lets the test's own program be the supervisor, and a QEMU without a guest.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 4 && os.Args[1] == "supervise":
		if err := supervisor.Main(context.Background(), os.Args[3], os.Stdin); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	case len(os.Args) == 3 && os.Args[1] == "start":
		c, err := supervisor.Open(os.Args[2], os.Args[0], "supervise")
		if err == nil {
			err = c.Start(context.Background(), false)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println("started")
		select {}
	case len(os.Args) > 2 && os.Args[1] == "fake-qemu":
		os.Exit(fakeQEMU(os.Args[2]))
	}
	os.Exit(m.Run())
}

// fake plays QEMU, and a guest that behaves in a way that its name says: its monitor, console and report port are those
// that QEMU has.
type fake struct {
	behaviour string
	mutex     sync.Mutex
	monitor   net.Conn
	status    string
	ended     chan int
	// restarts means that QEMU ends when the guest restarts.
	restarts bool
	// asked is how often the agent was asked to set a password.
	asked int
}

// The behaviours of the fake.
const (
	good      = "good"       // speaks, reports, and shuts down when asked
	deaf      = "deaf"       // speaks, but ignores the power button
	silent    = "silent"     // runs, but never speaks
	broken    = "broken"     // is stopped by QEMU after it spoke, before it wrote
	wrote     = "wrote"      // is stopped by QEMU after it wrote
	stillborn = "stillborn"  // QEMU ends before its monitor answers
	shortLife = "short-life" // speaks and powers off
	reboots   = "reboots"    // as good, and restarts once it has reported, if that was its first boot
	withAgent = "with-agent" // as good, with a guest agent
)

func fakeQEMU(behaviour string) int {
	if behaviour == stillborn {
		fmt.Fprintln(os.Stderr, "fake: cannot open the display")
		return 1
	}
	f := &fake{behaviour: behaviour, status: "prelaunch", ended: make(chan int, 1)}
	for name, serve := range map[string]func(net.Conn){
		supervisor.MonitorSocket: f.serveMonitor, supervisor.SerialSocket: f.serveSerial, supervisor.ReportSocket: f.serveReports,
		supervisor.AgentSocket: f.serveAgent,
	} {
		l, err := net.Listen("unix", name)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				serve(conn) // one client at a time, as QEMU
				conn.Close()
			}
		}()
	}
	return <-f.ended
}

func (f *fake) event(name, data string) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.monitor != nil {
		fmt.Fprintf(f.monitor, `{"event": %q, "data": %s, "timestamp": {"seconds": 1, "microseconds": 0}}`+"\n", name, data)
	}
}

func (f *fake) serveMonitor(conn net.Conn) {
	f.mutex.Lock()
	f.monitor = conn
	fmt.Fprintln(conn, `{"QMP": {"version": {}, "capabilities": []}}`)
	f.mutex.Unlock()
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		var command struct {
			Execute string
			ID      json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &command); err != nil {
			return
		}
		result := "{}"
		var after func()
		switch command.Execute {
		case "query-status":
			f.mutex.Lock()
			result = fmt.Sprintf(`{"status": %q}`, f.status)
			f.mutex.Unlock()
		case "query-blockstats":
			writes := 0
			if f.behaviour == wrote {
				writes = 1
			}
			result = fmt.Sprintf(`[{"stats": {"wr_operations": %d}}]`, writes)
		case "cont":
			after = func() { f.set("running") }
			if f.behaviour == broken || f.behaviour == wrote {
				after = func() {
					f.set("internal-error")
					f.event("STOP", "{}")
				}
			}
		case "system_powerdown":
			if f.behaviour != deaf {
				after = func() { f.end("guest-shutdown") }
			}
		case "set-action":
			f.restarts = true
		case "quit":
			after = func() { f.end("host-qmp-quit") }
		}
		f.mutex.Lock()
		fmt.Fprintf(conn, `{"return": %s, "id": %s}`+"\n", result, command.ID)
		f.mutex.Unlock()
		if after != nil {
			after()
		}
	}
}

func (f *fake) set(status string) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.status = status
}

func (f *fake) end(reason string) {
	f.event("SHUTDOWN", fmt.Sprintf(`{"reason": %q}`, reason))
	f.ended <- 0
}

// running waits until the guest runs.
func (f *fake) running() {
	for {
		f.mutex.Lock()
		status := f.status
		f.mutex.Unlock()
		if status == "running" {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func (f *fake) serveSerial(conn net.Conn) {
	if f.behaviour == silent {
		f.drain(conn)
		return
	}
	if f.behaviour != broken && f.behaviour != wrote {
		f.running()
	}
	fmt.Fprint(conn, "fake guest speaks\r\n")
	if f.behaviour == shortLife {
		f.end("guest-shutdown")
	}
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		fmt.Fprintf(conn, "heard %s\r\n", lines.Text())
	}
}

func (f *fake) drain(conn net.Conn) {
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
	}
}

func (f *fake) serveReports(conn net.Conn) {
	if f.behaviour != good && f.behaviour != deaf && f.behaviour != withAgent && f.behaviour != reboots {
		f.drain(conn)
		return
	}
	f.running()
	answers := bufio.NewScanner(conn)
	for i, line := range []string{
		`{"boot": "b", "seq": 1, "stage": "init-network", "module": "ssh"}`,
		`no report at all`,
		`{"boot": "b", "seq": 2, "stage": "done", "result": {"firstBoot": true, "agent": "fake"}}`,
		`{"boot": "b", "seq": 2, "stage": "done", "result": {"firstBoot": true, "agent": "fake"}}`,
	} {
		fmt.Fprintln(conn, line)
		if i != 1 && (!answers.Scan() || !strings.HasPrefix(answers.Text(), "ack ")) {
			return
		}
	}
	if f.behaviour == reboots && f.restarts && strings.Contains(os.Args[len(os.Args)-2], "first.boot") {
		f.end("guest-reset")
	}
	f.drain(conn)
}

// serveAgent plays the guest agent. The user core is there at the second attempt only, as one that the guest still makes.
func (f *fake) serveAgent(conn net.Conn) {
	if f.behaviour != withAgent {
		f.drain(conn)
		return
	}
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		var command struct {
			Execute   string
			Arguments struct {
				ID                 int64
				Username, Password string
				Keys               []string
			}
		}
		if err := json.Unmarshal(bytes.TrimLeft(lines.Bytes(), "\xff"), &command); err != nil {
			return
		}
		a := command.Arguments
		ok := true
		switch command.Execute {
		case "guest-sync-delimited":
			fmt.Fprintf(conn, "\xff{\"return\": %d}\n", a.ID)
			continue
		case "guest-set-user-password":
			f.asked++
			ok = f.asked > 1 && a.Username == "core" && a.Password == "Y2FuYXJ5LXBhc3N3b3Jk"
		case "guest-ssh-add-authorized-keys":
			ok = a.Username == "root" && slices.Equal(a.Keys, []string{"canary-key 1", "canary-key 2"})
		}
		if ok {
			fmt.Fprintln(conn, `{"return": {}}`)
		} else {
			fmt.Fprintln(conn, `{"error": {"class": "GenericError", "desc": "no such user"}}`)
		}
	}
}
