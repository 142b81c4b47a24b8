//go:build conformance

package intake_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vmseed/vmseed/report"
	"github.com/vmseed/vmseed/report/intake"
	"github.com/vmseed/vmseed/secret"
)

// checkIn returns the program and the URL that the Ignition config of a URL installs.
func checkIn(t *testing.T, url secret.Text) (program, at string) {
	t.Helper()
	var config struct {
		Storage struct {
			Files []struct {
				Path     string
				Mode     int
				Contents struct{ Source string }
			}
		}
	}
	layers := intake.Layers(url)
	if err := json.Unmarshal([]byte(layers[len(layers)-1].Data.Reveal()), &config); err != nil {
		t.Fatal(err)
	}
	for _, f := range config.Storage.Files {
		text, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(f.Contents.Source, "data:;base64,"))
		switch {
		case err != nil:
			t.Fatal(err)
		case strings.HasSuffix(f.Path, ".sh"):
			program = string(text)
		case strings.HasSuffix(f.Path, ".url") && f.Mode == 0o600:
			at = string(text)
		}
	}
	return program, at
}

// bin makes a directory for PATH with some programs of this machine, and what the guest's systemd would answer.
func bin(t *testing.T, programs ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range append(programs, "cat", "tr", "sort", "sleep", "timeout") {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Skipf("SKIP-MISSING: %s is not installed", name)
		}
		if path, err = filepath.EvalSymlinks(path); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"journalctl": "case \"$*\" in *warning*) ;; *) echo 'Ignition 2.14.0' ;; esac",
		"systemctl": "case \"$1\" in is-system-running) echo degraded ;; list-units) echo 'bad.service loaded failed failed It \"failed\"' ;; show) echo exit-code ;;" +
			" esac",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestCheckInScript runs the check-in in the shells and with the programs that guests have. The host is not there at
// first, answers with errors then, and cuts a connection; the report arrives all the same, and once.
func TestCheckInScript(t *testing.T) {
	for _, c := range []struct {
		shell string
		tools []string
	}{
		{"dash", []string{"curl"}}, {"dash", []string{"wget"}}, {"dash", []string{"bash"}}, {"bash", []string{"curl"}},
		{"bash", []string{"bash"}}, {"busybox sh", []string{"busybox wget"}}, {"busybox sh", []string{"bash"}},
	} {
		t.Run(c.shell+" "+strings.Join(c.tools, " "), func(t *testing.T) {
			t.Parallel()
			d := newDesk(nil)
			var asked atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch asked.Add(1) {
				case 1, 5:
					w.WriteHeader(http.StatusServiceUnavailable)
				case 2, 6:
					panic(http.ErrAbortHandler)
				case 7:
					d.ServeHTTP(httptest.NewRecorder(), r) // the answer gets lost
					panic(http.ErrAbortHandler)
				default:
					d.ServeHTTP(w, r)
				}
			}))
			defer server.Close()
			if err := d.Open("ns/vm", "i-1", nil); err != nil {
				t.Fatal(err)
			}
			program, at := checkIn(t, secret.New(server.URL+d.url("ns/vm", "i-1")))
			file := filepath.Join(t.TempDir(), "checkin.url")
			if err := os.WriteFile(file, []byte(at), 0o600); err != nil {
				t.Fatal(err)
			}
			var path string
			if tool, ok := strings.CutPrefix(c.tools[0], "busybox "); ok {
				path = bin(t, "busybox")
				if err := os.WriteFile(filepath.Join(path, tool), []byte("#!/bin/sh\nexec busybox "+tool+" \"$@\"\n"), 0o700); err != nil {
					t.Fatal(err)
				}
			} else {
				path = bin(t, c.tools...)
			}
			shell := strings.Fields(c.shell)
			full, err := exec.LookPath(shell[0])
			if err != nil {
				t.Skipf("SKIP-MISSING: %s is not installed", shell[0])
			}
			run := func() string {
				cmd := exec.CommandContext(t.Context(), full, append(shell[1:], "-s", "--", file, "0.1")...)
				cmd.Env, cmd.Stdin = []string{"PATH=" + path}, strings.NewReader(program)
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				return string(out)
			}
			if out := run(); out != "" {
				t.Errorf("it says\n%s", out)
			}
			hostname, err := os.Hostname()
			if err != nil || len(d.events) != 2 || d.events[0].Stage != report.Final || d.events[1].Stage != report.Done {
				t.Fatalf("%v: %+v", err, d.events)
			}
			got := d.events[1].Result
			if diff := cmp.Diff([]string{"the unit bad.service failed (exit-code)"}, got.Warnings); diff != "" || got.Hostname != hostname || got.Agent != "Ignition 2.14.0" {
				t.Errorf("%+v\n%s", got, diff)
			}
			// This machine's Ignition, if it had one, did not run in this boot, so the URL stays open; a first boot closes it.
			if got := d.post(d.url("ns/vm", "i-1")+"/check-in", ready); got != 204 {
				t.Errorf("status %d", got)
			}
			heard := len(d.events)
			if out := run(); out != "" || len(d.events) != heard {
				t.Errorf("a later boot: %d events more, %s", len(d.events)-heard, out)
			}
		})
	}
}
