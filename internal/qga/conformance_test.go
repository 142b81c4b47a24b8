//go:build conformance && linux

package qga

import (
	"bytes"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// start makes a copy of /etc with a user of its own the only one that a real agent sees, and starts the agent there.
// Nothing of the host can change: mounts, users and passwords are those of the agent's own namespace.
const start = `set -eu
mount --bind "$1/etc" /etc
test -f /etc/vmseed-test-guest
exec "$2" -m unix-listen -p "$1/agent.sock" -t "$1" -f "$1/agent.pid" $3`

// realAgent starts qemu-ga as the agent of a guest with the user throwaway. It is told not to run some commands.
func realAgent(t *testing.T, block string) (c *Client, dir string) {
	t.Helper()
	program := "/usr/sbin/qemu-ga"
	if found, err := exec.LookPath("qemu-ga"); err == nil {
		program = found
	}
	for _, p := range []string{program, "mount", "chpasswd", "su"} {
		if _, err := exec.LookPath(p); err != nil && p == program {
			t.Skip("SKIP-MISSING: qemu-ga is not installed (Debian package qemu-guest-agent)")
		} else if err != nil {
			t.Skipf("SKIP-MISSING: %s is not installed", p)
		}
	}
	dir, err := os.MkdirTemp("", "qga") // the address of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	guestEtc(t, dir)
	options := ""
	if block != "" {
		options = "-b " + block
	}
	var words bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", start, "sh", dir, program, options)
	cmd.Stdout, cmd.Stderr = &words, &words
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS, Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	if err := cmd.Start(); err != nil {
		t.Skip("this system does not let the test make a mount namespace: ", err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	for {
		conn, err := net.Dial("unix", filepath.Join(dir, "agent.sock"))
		if err == nil {
			t.Cleanup(func() { conn.Close() })
			return New(conn), dir
		}
		select {
		case <-ended:
			if strings.Contains(words.String(), "mount:") {
				t.Skip("this system does not let the test mount in a namespace: ", words.String())
			}
			t.Fatalf("the agent ended: %s", words.String())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// guestEtc makes the guest's /etc: what programs need of the host's, and one user.
func guestEtc(t *testing.T, dir string) {
	t.Helper()
	etc := filepath.Join(dir, "etc")
	if out, err := exec.Command("cp", "-rL", "/etc", etc).CombinedOutput(); err != nil {
		t.Logf("not all of /etc can be copied, which need not matter: %.200s", out)
	}
	home := filepath.Join(dir, "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"vmseed-test-guest": "",
		"passwd":            "root:x:0:0::/root:/bin/sh\nthrowaway:x:0:0::" + home + ":/bin/sh\n",
		"group":             "root:x:0:\nshadow:x:42:\n",
		"shadow":            "root:*:19000::::::\nthrowaway:!:19000::::::\n",
		"gshadow":           "root:*::\nshadow:*::\n",
		"nsswitch.conf":     "passwd: files\ngroup: files\nshadow: files\n",
	} {
		path := filepath.Join(etc, name)
		_ = os.Remove(path)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRealAgent has qemu-ga itself say what it understands.
func TestRealAgent(t *testing.T) {
	c, dir := realAgent(t, "")
	if err := c.Sync(within(t)); err != nil {
		t.Fatal(err)
	}
	if err := c.Ping(within(t)); err != nil {
		t.Error(err)
	}
	info, err := c.Info(within(t))
	if err != nil || info.Version == "" || len(info.Commands) < 10 {
		t.Errorf("%+v, %v", info, err)
	}
	// What another client left unfinished.
	if _, err := c.conn.Write([]byte(`{"execute": "guest-`)); err != nil {
		t.Fatal(err)
	}
	if err := c.Sync(within(t)); err != nil {
		t.Fatal(err)
	}
	if err := c.SetPassword(within(t), "throwaway", "pass:wörd"); err != nil {
		t.Fatal(err)
	}
	shadow, err := os.ReadFile(filepath.Join(dir, "etc", "shadow"))
	if err != nil || !strings.Contains(string(shadow), "\nthrowaway:$") {
		t.Errorf("the guest's shadow file is %q, %v", shadow, err)
	}
	if err := c.SetPassword(within(t), "nobody-of-that-name", "x"); err == nil {
		t.Error("a user that is not there has a password now")
	}
	setKeys(t, c, dir)
	realRun(t, c)
}

// realRun has the agent run programs, one that says more than an answer of another command may be among them.
func realRun(t *testing.T, c *Client) {
	t.Helper()
	out, err := c.Run(within(t), Program{Path: "/bin/sh", Args: []string{"-c", `cat; echo "$WORD" >&2; exit 5`}, Env: []string{"WORD=said", "PATH=/usr/bin:/bin"}, Input: []byte("given")})
	if err != nil || out.Code != 5 || string(out.Stdout) != "given" || string(out.Stderr) != "said\n" {
		t.Errorf("%+v, %v", out, err)
	}
	out, err = c.Run(within(t), Program{Path: "/bin/sh", Args: []string{"-c", "kill -9 $$"}})
	if err != nil || out.Signal != 9 {
		t.Errorf("%+v, %v", out, err)
	}
	out, err = c.Run(within(t), Program{Path: "head", Args: []string{"-c", "3000000", "/dev/zero"}})
	if err != nil || len(out.Stdout) != 3_000_000 || out.Truncated {
		t.Errorf("%d bytes, %t, %v", len(out.Stdout), out.Truncated, err)
	}
	var refused *Error
	if _, err := c.Run(within(t), Program{Path: "/no/such/program"}); !errors.As(err, &refused) || errors.Is(err, ErrBlocked) {
		t.Errorf("a program that is not there: %v", err)
	}
}

// TestRealBlocked has an agent with the configuration of distributions that let nobody run programs.
func TestRealBlocked(t *testing.T) {
	c, _ := realAgent(t, "guest-exec")
	if _, err := c.Run(within(t), Program{Path: "true"}); !errors.Is(err, ErrBlocked) {
		t.Errorf("got %v", err)
	}
}

// TestRealOldAgent takes the command for keys away from qemu-ga.
func TestRealOldAgent(t *testing.T) {
	c, dir := realAgent(t, "guest-ssh-add-authorized-keys")
	setKeys(t, c, dir)
}

// setKeys sets keys twice: the second time they replace the first.
func setKeys(t *testing.T, c *Client, dir string) {
	t.Helper()
	for _, keys := range [][]string{{"ssh-ed25519 AAAA one", "ssh-ed25519 BBBB two"}, {"ssh-ed25519 CCCC it's three"}} {
		if err := c.SetAuthorizedKeys(within(t), "throwaway", keys); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "home", ".ssh", "authorized_keys")
		text, err := os.ReadFile(path)
		if err != nil || strings.TrimRight(string(text), "\n") != strings.Join(keys, "\n") {
			t.Errorf("the file holds %q, %v", text, err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info, err)
		}
	}
	if err := c.SetAuthorizedKeys(within(t), "nobody-of-that-name", []string{"ssh-ed25519 AAAA one"}); err == nil {
		t.Error("a user that is not there has keys now")
	}
}
