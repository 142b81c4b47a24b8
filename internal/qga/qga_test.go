package qga

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"
)

// heard is a command as it came to the agent.
type heard struct {
	Execute   string
	Arguments map[string]any
}

// agent plays qemu-ga: it answers guest-sync-delimited, and everything else by its name. What the answers hold goes out
// as it is, so that a test can have an agent of any kind.
func agent(t *testing.T, answers map[string]string) (*Client, func() []heard) {
	t.Helper()
	here, there := net.Pipe()
	var log []heard
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer there.Close()
		for r := bufio.NewReader(there); ; {
			line, err := r.ReadBytes('\n')
			if err != nil {
				return
			}
			var h heard
			if err := json.Unmarshal([]byte(strings.TrimLeft(string(line), "\xff")), &h); err != nil {
				t.Errorf("the client sent %q: %v", line, err)
				return
			}
			answer, known := answers[h.Execute]
			if h.Execute == "guest-sync-delimited" {
				answer, known = answer+fmt.Sprintf("\xff{\"return\": %.0f}\n", h.Arguments["id"]), true
			} else {
				log = append(log, h)
			}
			if !known {
				answer = `{"error": {"class": "CommandNotFound", "desc": "The command ` + h.Execute + ` has not been found"}}` + "\n"
			}
			if _, err := io.WriteString(there, answer); err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		here.Close()
		<-ended
	})
	return New(here), func() []heard {
		here.Close()
		<-ended
		return log
	}
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// TestSync: whatever an earlier conversation left behind is dropped.
func TestSync(t *testing.T) {
	for _, before := range []string{"", "{\"return\": {}}\n", "\xff{\"return\": 7}\n", "\xff\xff\xff", "{\"error\": {\"desc\": \"JSON parse error\"}}\n", "no JSON\n\xff\n",
		"\xff" + strings.Repeat("x", maxAnswer+2) + "\n"} {
		c, _ := agent(t, map[string]string{"guest-sync-delimited": before, "guest-ping": "{\"return\": {}}\n"})
		if err := c.Sync(within(t)); err != nil {
			t.Errorf("%.20q: %v", before, err)
		}
		if err := c.Ping(within(t)); err != nil {
			t.Errorf("%.20q: ping: %v", before, err)
		}
	}
}

// TestHostile has an agent that says what no agent should.
func TestHostile(t *testing.T) {
	for name, answer := range map[string]string{
		"no JSON":      "hello\n",
		"neither":      "{}\n",
		"null":         "null\n",
		"a list":       "[]\n",
		"endless":      strings.Repeat("x", maxAnswer+8192),
		"wrong result": "{\"return\": 7}\n",
	} {
		c, _ := agent(t, map[string]string{"guest-info": answer})
		if _, err := c.Info(within(t)); !errors.Is(err, ErrAnswer) {
			t.Errorf("%s: %v", name, err)
		}
	}
	c, _ := agent(t, map[string]string{"guest-ping": "{\"error\": {\"class\": \"X\", \"desc\": \"a\\u001b[31m" + strings.Repeat("long ", 200) + "\"}}\n"})
	err := c.Ping(within(t))
	var refused *Error
	if !errors.As(err, &refused) || strings.Contains(err.Error(), "\x1b") || len(err.Error()) > 400 {
		t.Errorf("got %q", err)
	}
}

// TestLate: an agent that is silent costs no more than the time given, and its late answer is nobody's.
func TestLate(t *testing.T) {
	here, there := net.Pipe()
	defer there.Close()
	c := New(here)
	ctx, cancel := context.WithCancel(t.Context())
	asked := make(chan string)
	go func() {
		r := bufio.NewReader(there)
		for range 2 {
			line, _ := r.ReadString('\n')
			asked <- line
		}
		var h heard
		line, _ := r.ReadString('\n')
		_ = json.Unmarshal([]byte(strings.TrimLeft(line, "\xff")), &h)
		fmt.Fprintf(there, "\xff{\"return\": 1}\n{\"return\": {}}\n\xff{\"return\": %.0f}\n", h.Arguments["id"])
		line, _ = r.ReadString('\n')
		if strings.Contains(line, "guest-ping") {
			fmt.Fprintln(there, `{"return": {}}`)
		}
	}()
	failed := make(chan error)
	go func() { failed <- c.Sync(ctx) }()
	<-asked
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	go func() { failed <- c.Ping(ctx) }()
	<-asked
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := c.Ping(within(t)); err != nil {
		t.Errorf("after that: %v", err)
	}
}

func TestSetPassword(t *testing.T) {
	c, log := agent(t, map[string]string{"guest-set-user-password": "{\"return\": {}}\n"})
	if err := c.SetPassword(within(t), "core", "pä ss"); err != nil {
		t.Fatal(err)
	}
	got := log()[0].Arguments
	if text, _ := base64.StdEncoding.DecodeString(got["password"].(string)); got["username"] != "core" || string(text) != "pä ss" || got["crypted"] != false {
		t.Errorf("the agent heard %v", got)
	}
	for _, desc := range []string{"cannot set canary-password", base64.StdEncoding.EncodeToString([]byte("canary-password"))} {
		c, _ := agent(t, map[string]string{"guest-set-user-password": fmt.Sprintf("{\"error\": {\"class\": \"GenericError\", \"desc\": %q}}\n", desc)})
		if err := c.SetPassword(within(t), "core", "canary-password"); err == nil || strings.Contains(err.Error(), desc) {
			t.Errorf("got %v", err)
		}
	}
	for _, name := range []string{"", "-c", "a b", "a:b", "../x", "a\nb"} {
		if err := New(nil).SetPassword(within(t), name, "x"); err == nil {
			t.Errorf("%q is taken for a user", name)
		}
	}
}

func TestSetAuthorizedKeys(t *testing.T) {
	keys := []string{"ssh-ed25519 AAAA one", "ssh-ed25519 BBBB two"}
	c, log := agent(t, map[string]string{"guest-ssh-add-authorized-keys": "{\"return\": {}}\n"})
	if err := c.SetAuthorizedKeys(within(t), "core", keys); err != nil {
		t.Fatal(err)
	}
	if got := log()[0].Arguments; got["username"] != "core" || fmt.Sprint(got["keys"]) != fmt.Sprint(keys) || got["reset"] != true {
		t.Errorf("the agent heard %v", got)
	}
	if err := New(nil).SetAuthorizedKeys(within(t), "core", []string{"a\nb"}); err == nil {
		t.Error("two lines are taken for a key")
	}
}

// TestOldAgent has no command for keys, and runs programs.
func TestOldAgent(t *testing.T) {
	for _, tt := range []struct {
		status string
		want   error
	}{
		{`{"exited": true, "exitcode": 0}`, nil},
		{`{"exited": true, "exitcode": 3}`, ErrExit},
		{`{"exited": true, "signal": 9}`, ErrExit},
	} {
		c, log := agent(t, map[string]string{"guest-exec": "{\"return\": {\"pid\": 42}}\n", "guest-exec-status": "{\"return\": " + tt.status + "}\n"})
		if err := c.SetAuthorizedKeys(within(t), "core", []string{"one", "two"}); !errors.Is(err, tt.want) {
			t.Fatalf("%s: %v", tt.status, err)
		}
		var names []string
		said := log()
		for _, h := range said {
			names = append(names, h.Execute)
		}
		if !slices.Equal(names, []string{"guest-ssh-add-authorized-keys", "guest-exec", "guest-exec-status"}) {
			t.Fatalf("the agent heard %v", names)
		}
		run := said[1].Arguments
		input, _ := base64.StdEncoding.DecodeString(run["input-data"].(string))
		if args := run["arg"].([]any); string(input) != "one\ntwo\n" || args[len(args)-1] != "core" || said[2].Arguments["pid"] != 42.0 {
			t.Errorf("the agent heard %v and %v", run, said[2].Arguments)
		}
	}
	c, _ := agent(t, nil)
	if err := c.SetAuthorizedKeys(within(t), "core", nil); !unknown(err) {
		t.Errorf("an agent without any of it: %v", err)
	}
}
