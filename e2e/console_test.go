//go:build e2e

package e2e

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

// rootConsole is what makes the guest's kernel and its init give a root shell on the serial console, for pods that let
// nobody log in.
const rootConsole = "root=LABEL=root ro console=ttyS0 quiet mitigations=off no_timer_check " +
	"systemd.debug_shell=ttyS0 systemd.mask=serial-getty@ttyS0.service"

// console is a root shell on the guest's serial console, reached through vmseed console.
type console struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	mutex sync.Mutex
	heard bytes.Buffer
	// changed gets a value when more was heard.
	changed chan struct{}
}

// openConsole connects to a console and waits for its shell.
func openConsole(t *testing.T, v *vm) *console {
	t.Helper()
	c := &console{cmd: v.command(t.Context(), "console", v.name), changed: make(chan struct{}, 1)}
	c.cmd.Stdout, c.cmd.Stderr = c, c
	var err error
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// What is typed before the shell reads may be lost, so it is typed until there is an answer.
	for deadline := time.Now().Add(answerLimit); !c.wait("shell is ready", 10*time.Second); {
		c.send(t, "\nstty -echo; PS1= PS2=; echo shell is\" \"ready\n")
		if time.Now().After(deadline) {
			t.Fatalf("no shell answers on the console:\n%s", tail(c.text(), 3000))
		}
	}
	return c
}

// Write takes what the guest says.
func (c *console) Write(p []byte) (int, error) {
	c.mutex.Lock()
	c.heard.Write(p)
	c.mutex.Unlock()
	select {
	case c.changed <- struct{}{}:
	default:
	}
	return len(p), nil
}

func (c *console) text() []byte {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return bytes.Clone(c.heard.Bytes())
}

// wait reports whether a text is heard within a time.
func (c *console) wait(text string, limit time.Duration) bool {
	timeout := time.After(limit)
	for !bytes.Contains(c.text(), []byte(text)) {
		select {
		case <-c.changed:
		case <-timeout:
			return false
		}
	}
	return true
}

func (c *console) send(t *testing.T, text string) {
	t.Helper()
	if _, err := io.WriteString(c.stdin, text); err != nil {
		t.Fatalf("vmseed console: %v\n%s", err, tail(c.text(), 3000))
	}
}

// ask runs a script and returns what it printed. Both ways go in base64, so that the terminal changes nothing and
// messages of the kernel in between are noticed.
func (c *console) ask(t *testing.T, script string) string {
	t.Helper()
	for try := range 3 {
		begin, end := fmt.Sprintf("answer %d:", try), fmt.Sprintf(":answer %d", try)
		c.send(t, "base64 -d >/run/script <<'END'\n"+lines(base64.StdEncoding.EncodeToString([]byte(script)))+"END\n"+
			// The marks are put together by the shell: what is typed must not look like the answer.
			fmt.Sprintf("echo answer\" \"%[1]d:; sh /run/script 2>&1 | base64; echo :answer\" \"%[1]d\n", try))
		if !c.wait(end, answerLimit) {
			t.Fatalf("no answer on the console:\n%s", tail(c.text(), 3000))
		}
		_, after, _ := strings.Cut(string(c.text()), begin)
		answer, _, _ := strings.Cut(after, end)
		out, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(answer), ""))
		if err == nil {
			return string(out)
		}
		t.Logf("the console garbled the answer: %v", err)
	}
	t.Fatalf("the console garbles every answer:\n%s", tail(c.text(), 3000))
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

// close leaves the console as a user does.
func (c *console) close() {
	_, _ = c.stdin.Write([]byte{0x1d})
	_ = c.cmd.Wait()
}
