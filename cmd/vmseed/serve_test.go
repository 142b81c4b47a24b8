package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/vmseed/vmseed/daemon/client"
	"github.com/vmseed/vmseed/secret"
)

// daemons are the commands of scripts about vmseed serve.
func daemons() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){"serve": serve, "define": define, "page": page}
}

var (
	// ready is the line that the daemon prints when it answers.
	ready = regexp.MustCompile(`^vmseed serves (\S+), `)
	// export is a line of what it tells to put into the environment.
	export = regexp.MustCompile(`^ +export (\w+)=(.*)`)
)

// serve starts a daemon with these flags on a free port and sets the variables of the environment that it prints. It replaces
// the one that an earlier serve has started; serve stop only ends that. What the daemon prints on standard output is in the
// file serve.out when it has ended.
func serve(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("serve does not fail; use exec")
	}
	if end, ok := ts.Value(running{}).(*func()); ok && *end != nil {
		(*end)()
		*end = nil
	}
	if len(args) == 1 && args[0] == "stop" {
		return
	}
	cmd := exec.Command("vmseed", append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+ts.Getenv("XDG_STATE_HOME"), "XDG_CACHE_HOME="+ts.Getenv("WORK")+"/cache")
	cmd.Dir = ts.MkAbs(".")
	log, err := os.Create(ts.MkAbs("serve.err"))
	ts.Check(err)
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	lines := bufio.NewScanner(out)
	var said strings.Builder
	for lines.Scan() {
		said.WriteString(lines.Text() + "\n")
		if m := export.FindStringSubmatch(lines.Text()); m != nil {
			ts.Setenv(m[1], m[2])
		}
		if m := ready.FindStringSubmatch(lines.Text()); m != nil {
			ts.Setenv("VMSEED_HOST", m[1])
			break
		}
	}
	end := func() {
		ts.Check(cmd.Process.Signal(syscall.SIGTERM))
		for lines.Scan() {
			said.WriteString(lines.Text() + "\n")
		}
		failed := cmd.Wait()
		ts.Check(os.WriteFile(ts.MkAbs("serve.out"), []byte(said.String()), 0o600))
		if failed != nil {
			text, _ := os.ReadFile(log.Name())
			ts.Fatalf("the daemon: %v\n%s", failed, text)
		}
	}
	if !ready.MatchString(last(said.String())) {
		failed := cmd.Wait()
		text, _ := os.ReadFile(log.Name())
		ts.Fatalf("the daemon does not start: %v\n%s", failed, text)
	}
	*ts.Value(running{}).(*func()) = end
}

// running is the key of the function that ends a script's daemon.
type running struct{}

func last(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// page opens a page of the daemon, and looks for a text in it.
func page(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: page PATH TEXT")
	}
	c, err := client.New(client.Options{URL: ts.Getenv("VMSEED_HOST"), CAFile: ts.Getenv("VMSEED_CA")})
	ts.Check(err)
	defer c.Close()
	answer, err := c.HTTP().Get(ts.Getenv("VMSEED_HOST") + args[0])
	ts.Check(err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	ts.Check(err)
	if answer.StatusCode != http.StatusOK || !strings.Contains(string(text), args[1]) {
		ts.Fatalf("%s: %s\n%s", args[0], answer.Status, text)
	}
}

// define has the daemon take in the machines of files, without starting them.
func define(ts *testscript.TestScript, neg bool, args []string) {
	c, err := client.New(client.Options{URL: ts.Getenv("VMSEED_HOST"), CAFile: ts.Getenv("VMSEED_CA"), Username: ts.Getenv("VMSEED_USERNAME"),
		Password: secret.New(ts.Getenv("VMSEED_PASSWORD"))})
	ts.Check(err)
	defer c.Close()
	var r client.CreateRequest
	for _, name := range args {
		r.Documents = append(r.Documents, client.Document{Name: filepath.Base(name), Text: secret.New(ts.ReadFile(name))})
	}
	if _, err = c.Create(context.Background(), r); (err != nil) != neg {
		ts.Fatalf("define: %v", err)
	}
}
