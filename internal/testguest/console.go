package testguest

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// The limits bound what should take far less, so that only what hangs reaches them, however busy the machine is.
const (
	consoleLimit = 5 * time.Minute
	// typeAgain is how long an answer is waited for before the same is typed once more: what reaches a terminal before
	// somebody reads from it may be lost.
	typeAgain = 10 * time.Second
)

// Login is a user of the guest and the password for the prompt on the console. The zero Login is for a guest that gives
// a root shell there without asking.
type Login struct{ User, Password string }

// Console is a root shell on the guest's serial console.
type Console struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	// loggedIn tells that the shell ends with the log-in.
	loggedIn bool
	mutex    sync.Mutex
	heard    bytes.Buffer
	// changed gets a value when more was heard.
	changed chan struct{}
}

// OpenConsole starts a command that relays the console, logs in and waits for the shell. A user other than root becomes
// root by sudo, which must not ask. The test fails when the guest refuses the password.
func OpenConsole(t *testing.T, relay *exec.Cmd, login Login) *Console {
	t.Helper()
	c := attach(t, relay)
	if login.User != "" && !c.logIn(t, login) {
		t.Fatalf("the guest does not let %s in:\n%s", login.User, tail(c.text(0)))
	}
	c.loggedIn = login.User != ""
	for deadline := time.Now().Add(consoleLimit); time.Now().Before(deadline); {
		at := len(c.text(0))
		// A plain shell reads much faster than one that lets its user edit. The kernel is told to keep its messages to itself,
		// which would stand in the answers.
		c.send(t, "\n[ $(id -u) = 0 ] && exec sh || exec sudo -n sh\nstty -echo; PS1= PS2=; dmesg -n 1; echo shell is\" \"ready as\" \"$(id -u)\n")
		if c.wait(at, "shell is ready as 0", typeAgain) {
			return c
		}
	}
	t.Fatalf("no root shell answers on the console:\n%s", tail(c.text(0)))
	return nil
}

// Refuses reports whether the guest refuses a password at its console.
func Refuses(t *testing.T, relay *exec.Cmd, login Login) bool {
	t.Helper()
	c := attach(t, relay)
	defer c.Close()
	return !c.logIn(t, login)
}

func attach(t *testing.T, relay *exec.Cmd) *Console {
	t.Helper()
	c := &Console{cmd: relay, changed: make(chan struct{}, 1)}
	relay.Stdout, relay.Stderr = c, c
	var err error
	if c.stdin, err = relay.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := relay.Start(); err != nil {
		t.Fatal(err)
	}
	return c
}

// logIn answers the prompts of login(1) and reports whether it let the user in.
func (c *Console) logIn(t *testing.T, login Login) bool {
	t.Helper()
	for deadline := time.Now().Add(consoleLimit); time.Now().Before(deadline); {
		at := len(c.text(0))
		// An empty line makes getty, or a login that another test left half-way, ask again.
		c.send(t, "\n")
		if !c.wait(at, "login: ", typeAgain) {
			continue
		}
		at = len(c.text(0))
		c.send(t, login.User+"\n")
		if !c.wait(at, "Password: ", consoleLimit) {
			continue
		}
		at = len(c.text(0))
		c.send(t, login.Password+"\n")
		for time.Now().Before(deadline) {
			heard := c.text(at)
			switch {
			case bytes.Contains(heard, []byte("Login incorrect")):
				return false
			case bytes.ContainsAny(heard, "#$"):
				return true
			case bytes.Contains(heard, []byte("timed out")):
				at = len(c.text(0))
			}
			c.wait(at+len(heard), "", typeAgain)
		}
	}
	t.Fatalf("nobody asks for a log-in on the console:\n%s", tail(c.text(0)))
	return false
}

// Write takes what the guest says.
func (c *Console) Write(p []byte) (int, error) {
	c.mutex.Lock()
	c.heard.Write(p)
	c.mutex.Unlock()
	select {
	case c.changed <- struct{}{}:
	default:
	}
	return len(p), nil
}

// text is what was heard since a position.
func (c *Console) text(since int) []byte {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return bytes.Clone(c.heard.Bytes()[min(since, c.heard.Len()):])
}

// wait reports whether a text is heard after a position within a time. The empty text is anything at all.
func (c *Console) wait(since int, text string, limit time.Duration) bool {
	timeout := time.After(limit)
	for {
		if heard := c.text(since); len(heard) > 0 && bytes.Contains(heard, []byte(text)) {
			return true
		}
		select {
		case <-c.changed:
		case <-timeout:
			return false
		}
	}
}

func (c *Console) send(t *testing.T, text string) {
	t.Helper()
	if _, err := io.WriteString(c.stdin, text); err != nil {
		t.Fatalf("write to the console: %v\n%s", err, tail(c.text(0)))
	}
}

// Ask runs a script and returns what it printed. Both ways go in base64, so that the terminal changes nothing and
// messages of the kernel in between are noticed.
func (c *Console) Ask(t *testing.T, script string) string {
	t.Helper()
	for try := range 3 {
		at := len(c.text(0))
		begin, end := fmt.Sprintf("answer %d:", try), fmt.Sprintf(":answer %d", try)
		c.send(t, "base64 -d >/run/script <<'END'\n"+lines(base64.StdEncoding.EncodeToString([]byte(script)))+"END\n"+
			// The marks are put together by the shell: what is typed must not look like the answer.
			fmt.Sprintf("echo answer\" \"%[1]d:; sh /run/script 2>&1 | base64; echo :answer\" \"%[1]d\n", try))
		if !c.wait(at, end, consoleLimit) {
			t.Fatalf("no answer on the console:\n%s", tail(c.text(0)))
		}
		_, after, _ := strings.Cut(string(c.text(at)), begin)
		answer, _, _ := strings.Cut(after, end)
		out, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(answer), ""))
		if err == nil {
			return string(out)
		}
		t.Logf("the console garbled the answer: %v", err)
	}
	t.Fatalf("the console garbles every answer:\n%s", tail(c.text(0)))
	return ""
}

// lines cuts a text into lines that a terminal takes.
func lines(text string) string {
	var b strings.Builder
	for len(text) > 76 {
		b.WriteString(text[:76] + "\n")
		text = text[76:]
	}
	return b.String() + text + "\n"
}

// tail is the end of what was heard.
func tail(text []byte) []byte { return text[max(0, len(text)-3000):] }

// Close logs out and leaves the console as a user does.
func (c *Console) Close() {
	if c.loggedIn {
		at := len(c.text(0))
		_, _ = io.WriteString(c.stdin, "exit\n")
		c.wait(at, "login: ", typeAgain)
	}
	_, _ = c.stdin.Write([]byte{0x1d})
	_ = c.cmd.Wait()
}

// Check is a question to the guest: a command for its shell, run as root, and what it must print, blanks around it aside.
type Check struct{ Name, Command, Want string }

// Examine makes checks inside the guest, all in one go. ask runs a script there and returns what it printed.
func Examine(t *testing.T, ask func(script string) string, checks []Check) {
	t.Helper()
	const mark = "\x1e"
	var script strings.Builder
	for _, c := range checks {
		script.WriteString("( " + c.Command + "\n) 2>&1; printf '\\036'\n")
	}
	answers := strings.Split(ask(script.String()), mark)
	if len(answers) != len(checks)+1 {
		t.Fatalf("the guest answers %d of %d questions:\n%s", len(answers)-1, len(checks), strings.Join(answers, "\n"))
	}
	for i, c := range checks {
		t.Run(c.Name, func(t *testing.T) {
			if got := strings.TrimSpace(answers[i]); got != strings.TrimSpace(c.Want) {
				t.Errorf("in the guest:\n%s\nprints\n%s\nwant\n%s", c.Command, got, c.Want)
			}
		})
	}
}
