//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vmseed/vmseed/daemon/client"
	"github.com/vmseed/vmseed/secret"
)

// process is the command that serves, with the lines that it prints.
type process struct {
	t        *testing.T
	cmd      *exec.Cmd
	out, err chan string
}

// launch starts the command. It ends with the test, without an error.
func launch(t *testing.T, dir string, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command("vmseed", args...)}
	p.cmd.Dir, p.cmd.Env = dir, append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(dir, "state"), "XDG_CACHE_HOME="+filepath.Join(dir, "cache"))
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.out, p.err = lines(stdout), lines(stderr)
	t.Cleanup(func() {
		if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		for range p.out {
		}
		for range p.err {
		}
		if err := p.cmd.Wait(); err != nil {
			t.Errorf("%s: %v", args[0], err)
		}
	})
	return p
}

func lines(r io.Reader) chan string {
	out := make(chan string, 1000)
	go func() {
		defer close(out)
		s := bufio.NewScanner(r)
		for s.Buffer(nil, 1<<20); s.Scan(); {
			out <- s.Text()
		}
	}()
	return out
}

// await returns the next line with a text in it.
func (p *process) await(from chan string, text string) string {
	p.t.Helper()
	limit := time.After(2 * time.Minute)
	var seen []string
	for {
		select {
		case line, ok := <-from:
			if !ok {
				p.t.Fatalf("the command ended without %q: %s", text, strings.Join(seen, "\n"))
			}
			if seen = append(seen, line); strings.Contains(line, text) {
				return line
			}
		case <-limit:
			p.t.Fatalf("there is no %q in %s", text, strings.Join(seen, "\n"))
		}
	}
}

func (p *process) get(url string) (int, string) {
	p.t.Helper()
	c := http.Client{Timeout: 2 * time.Minute}
	answer, err := c.Get(url)
	if err != nil {
		p.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

const guestOfLoopback = `apiVersion: vmseed.dev/v1alpha1
kind: Machine
metadata: {name: web}
spec:
  identity: {hostname: web.example.org}
`

// TestMetadata serves a file, takes in its changes on SIGHUP and as they come, and hears the guest.
func TestMetadata(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "vm.yaml")
	define := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	define(guestOfLoopback)
	p := launch(t, dir, "metadata", "vm.yaml", "--listen", "127.0.0.1:0", "--address", "web=127.0.0.1", "--url", "http://192.0.2.1/",
		"--log-format", "json", "--reports", "reports.jsonl", "--metrics", "127.0.0.1:0")
	var start struct {
		Serving []struct {
			Name      string
			Addresses []string
		}
		Listening []string
		Metrics   string
	}
	if err := json.Unmarshal([]byte(p.await(p.out, "serving")), &start); err != nil || len(start.Listening) != 1 || len(start.Serving) != 1 || start.Serving[0].Addresses[0] != "127.0.0.1" {
		t.Fatalf("%+v, %v", start, err)
	}
	name := start.Listening[0] + "latest/meta-data/local-hostname"
	if status, text := p.get(name); status != 200 || text != "web.example.org" {
		t.Errorf("%d, %s", status, text)
	}
	define("spec: [")
	p.await(p.err, "error[")
	if line := p.await(p.err, "the old answers stay"); !strings.Contains(line, `"level":"ERROR"`) {
		t.Error(line)
	}
	if status, text := p.get(name); status != 200 || text != "web.example.org" {
		t.Errorf("%d, %s", status, text)
	}
	define(strings.Replace(guestOfLoopback, "web.example", "new.example", 1))
	if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	p.await(p.err, "reloaded")
	if status, text := p.get(name); status != 200 || text != "new.example.org" {
		t.Errorf("%d, %s", status, text)
	}
	if status, text := p.get(start.Metrics); status != 200 || !strings.Contains(text, `vmseed_metadata_requests_total{code="200",route="ec2"} 3`) {
		t.Errorf("%d, %s", status, text)
	}
	_, vendor := p.get(start.Listening[0] + "nocloud/vendor-data")
	_, path, _ := strings.Cut(vendor, "http://192.0.2.1/")
	path, _, ok := strings.Cut(path, "/webhook")
	body := strings.NewReader(`{"name": "modules-final", "description": "", "event_type": "finish", "origin": "cloudinit", "result": "SUCCESS"}`)
	answer, err := http.Post(start.Listening[0]+path+"/webhook", "", body)
	if err != nil || !ok || answer.StatusCode != http.StatusNoContent {
		t.Fatalf("%v, %v, %s", answer, err, vendor)
	}
	line := p.await(p.out, "default/web")
	if written, err := os.ReadFile(filepath.Join(dir, "reports.jsonl")); err != nil || string(written) != line+"\n" {
		t.Errorf("the file has %s, %v; said was %s", written, err, line)
	}
}

// TestServeMetadata has the daemon serve the machines that it does not run, as they come.
func TestServeMetadata(t *testing.T) {
	dir := t.TempDir()
	p := launch(t, dir, "serve", "--listen", "127.0.0.1:0", "--http", "--metadata-listen", "127.0.0.1:0", "--metadata-address", "web=127.0.0.1", "--metrics", "127.0.0.1:0")
	password := strings.TrimPrefix(p.await(p.out, "password: "), "password: ")
	url := strings.TrimSuffix(strings.Fields(p.await(p.out, "vmseed serves "))[2], ",")
	at := p.await(p.err, "serving metadata")
	_, at, _ = strings.Cut(at, "url=")
	_, metrics, _ := strings.Cut(p.await(p.err, "serving metrics"), "url=")
	if status, _ := p.get(at + "latest/meta-data/local-hostname"); status != 404 {
		t.Errorf("a machine that is not there reads %d", status)
	}
	c, err := client.New(client.Options{URL: url, Username: "admin@internal", Password: secret.New(password)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Create(t.Context(), client.CreateRequest{Documents: []client.Document{{Name: "vm.yaml", Text: secret.New(guestOfLoopback)}}}); err != nil {
		t.Fatal(err)
	}
	p.await(p.err, "machines=1")
	if status, text := p.get(at + "latest/meta-data/local-hostname"); status != 200 || text != "web.example.org" {
		t.Errorf("%d, %s", status, text)
	}
	if status, text := p.get(metrics); status != 200 || !strings.Contains(text, `vmseed_daemon_machines{status="down"} 1`) || !strings.Contains(text, "vmseed_metadata_machines 1") {
		t.Errorf("%d, %s", status, text)
	}
}

// TestMetadataAlone says on all ports where they are, and keeps a second service off the state of the first.
func TestMetadataAlone(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"vm.yaml": guestOfLoopback, "secret": "a shared secret\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"metadata", "vm.yaml", "--listen", "127.0.0.1:0", "--state-dir", "kept"}
	p := launch(t, dir, append(args, "--proxy-listen", "127.0.0.2:0", "--proxy-secret-file", "secret", "--metrics", "127.0.0.1:0")...)
	p.await(p.out, "vmseed serves 1 machine at http://127.0.0.1:")
	p.await(p.out, "proxies at http://127.0.0.2:")
	_, metrics, _ := strings.Cut(p.await(p.out, "metrics at "), " at ")
	if status, text := p.get(metrics); status != http.StatusOK || !strings.Contains(text, "vmseed_metadata_machines 1") {
		t.Errorf("%s: %d, %s", metrics, status, text)
	}
	second := exec.Command("vmseed", args...)
	second.Dir = dir
	text, err := second.CombinedOutput()
	if second.ProcessState == nil || second.ProcessState.ExitCode() != 3 || !strings.Contains(string(text), "another metadata service works on "+filepath.Join(dir, "kept")) {
		t.Errorf("a second service: %v, %s", err, text)
	}
	look := exec.Command("vmseed", append(args, "--list")...)
	look.Dir = dir
	if text, err := look.CombinedOutput(); err != nil || !strings.Contains(string(text), "default/web") {
		t.Errorf("--list: %v, %s", err, text)
	}
}
