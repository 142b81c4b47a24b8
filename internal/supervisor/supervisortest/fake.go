//go:build linux

package supervisortest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vmseed/vmseed/internal/supervisor"
)

// Release is the name of the file that a guest which is Held waits for.
const Release = "release"

// The words by which the test's own program is told what to be.
const (
	superviseWord = "supervise"
	qemuWord      = "fake-qemu"
)

// Main is called first by TestMain. When the program was started as a supervisor or as QEMU, it is that, and ends.
func Main() {
	switch {
	case len(os.Args) == 4 && os.Args[1] == superviseWord:
		if err := supervisor.Main(context.Background(), os.Args[3], os.Stdin); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	case len(os.Args) > 2 && os.Args[1] == qemuWord:
		os.Exit(fakeQEMU(os.Args[2]))
	}
}

// Command starts a supervisor.
func Command() []string { return []string{os.Args[0], superviseWord} }

// Args are the arguments with which the test's own program is QEMU with a guest of a behaviour.
func Args(behaviour string, more ...string) []string {
	return append([]string{qemuWord, behaviour}, more...)
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
	// ran is how the program ended that the agent was asked to run last.
	ran string
}

// The behaviours of the fake guest.
const (
	Good      = "good"       // speaks, reports, and shuts down when asked
	Deaf      = "deaf"       // speaks, but ignores the power button
	Silent    = "silent"     // runs, but never speaks
	Broken    = "broken"     // is stopped by QEMU after it spoke, before it wrote
	Wrote     = "wrote"      // is stopped by QEMU after it wrote
	Stillborn = "stillborn"  // QEMU ends before its monitor answers
	ShortLife = "short-life" // speaks and powers off
	Reboots   = "reboots"    // as Good, and restarts once it has reported, if that was its first boot
	WithAgent = "with-agent" // as Good, with a guest agent
	AgentOnly = "agent-only" // never reports, but has a guest agent
	Held      = "held"       // as good, but reports only once there is a file called Release in the VM's directory
)

// fakeQEMU returns the exit status.
func fakeQEMU(behaviour string) int {
	if behaviour == Stillborn {
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
			if f.behaviour == Wrote {
				writes = 1
			}
			result = fmt.Sprintf(`[{"stats": {"wr_operations": %d, "rd_bytes": 4096, "wr_bytes": 512}}, {"stats": {"rd_bytes": 4}}]`, writes)
		case "query-balloon":
			if f.behaviour == WithAgent {
				result = `{"actual": 33554432}`
			}
		case "cont":
			after = func() {
				paused := f.is("paused")
				if f.set("running"); paused {
					f.event("RESUME", "{}")
				}
			}
			if f.behaviour == Broken || f.behaviour == Wrote {
				after = func() {
					f.set("internal-error")
					f.event("STOP", "{}")
				}
			}
		case "stop":
			after = func() {
				f.set("paused")
				f.event("STOP", "{}")
			}
		case "system_powerdown":
			if f.behaviour != Deaf && !f.is("paused") {
				after = func() { f.end("guest-shutdown") }
			}
		case "set-action":
			f.restarts = true
		case "system_reset":
			after = func() { f.event("RESET", "{}") }
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

func (f *fake) is(status string) bool {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.status == status
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
	if f.behaviour == Silent {
		f.drain(conn)
		return
	}
	if f.behaviour != Broken && f.behaviour != Wrote {
		f.running()
	}
	fmt.Fprint(conn, "fake guest speaks\r\n")
	if f.behaviour == ShortLife {
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
	if !slices.Contains([]string{Good, Deaf, WithAgent, Reboots, Held}, f.behaviour) {
		f.drain(conn)
		return
	}
	f.running()
	for f.behaviour == Held {
		if _, err := os.Stat(Release); err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
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
	if f.behaviour == Reboots && f.restarts && strings.Contains(os.Args[len(os.Args)-2], "first.boot") {
		f.end("guest-reset")
	}
	f.drain(conn)
}

// serveAgent plays the guest agent. The user core is there at the second attempt only, as one that the guest still makes.
func (f *fake) serveAgent(conn net.Conn) {
	if f.behaviour != WithAgent && f.behaviour != AgentOnly {
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
				Path               string
				Arg                []string
			}
		}
		if err := json.Unmarshal(bytes.TrimLeft(lines.Bytes(), "\xff"), &command); err != nil {
			return
		}
		a := command.Arguments
		ok := true
		if answer := f.program(command.Execute, a.Path, a.Arg); answer != "" {
			fmt.Fprintln(conn, answer)
			continue
		}
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

// program answers what has to do with programs, and what the guest runs. The guest has some: echo, killed, which is, forever, which goes on and on,
// and sizes, which writes more than other answers hold.
func (f *fake) program(command, path string, args []string) string {
	switch {
	case command == "guest-exec" && f.behaviour == AgentOnly:
		return `{"error": {"class": "CommandNotFound", "desc": "Command guest-exec has been disabled: the command is not allowed"}}`
	case command == "guest-exec":
		out := base64.StdEncoding.EncodeToString([]byte(strings.Join(args, " ")))
		switch path {
		case "echo":
			f.ran = fmt.Sprintf(`{"exited": true, "exitcode": 3, "out-data": %q, "err-data": "b29wcw=="}`, out)
		case "killed":
			f.ran = `{"exited": true, "signal": 9}`
		case "forever":
			f.ran = `{"exited": false}`
		case "sizes":
			f.ran = fmt.Sprintf(`{"exited": true, "exitcode": 0, "out-data": %q}`, base64.StdEncoding.EncodeToString(make([]byte, 3<<20)))
		default:
			return `{"error": {"class": "GenericError", "desc": "Failed to execute child process"}}`
		}
		return `{"return": {"pid": 7}}`
	case command == "guest-exec-status":
		return `{"return": ` + f.ran + `}`
	case command == "guest-get-osinfo":
		return `{"return": {"id": "fake", "pretty-name": "Fake 1", "kernel-release": "6.1", "variant": "server"}}`
	}
	return ""
}
