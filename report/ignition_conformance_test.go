//go:build conformance

package report_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vmseed/vmseed/report"
)

// The guest's tools, as far as the reporter asks them, with what is awkward in a JSON text.
const fakeTools = `
journalctl() {
	case "$*" in
	*--priority=warning*) printf '%s\n' 'warning at $.x, line 1: Unused key "a\b"' 'warning at a	tab' 'GET error: no route' ;;
	*--output=short-monotonic*) printf '%s\n' '[    8.012345] localhost ignition[232]: Ignition Debian 2.14.0+ds1-1+b6' \
		'[    8.098765] localhost ignition[232]: Stage: fetch-offline' '[    9.100000] localhost ignition[232]: Ignition finished successfully' \
		'[   10.000001] localhost ignition[240]: Stage: disks"}' '[x] localhost ignition[240]: Stage: files' '-- a note of the journal --' \
		'[   12.500000] localhost ignition[250]: Stage: files' '[   12.600000] localhost ignition[250]: op(1): [started]  writing' \
		'[   14.250000] web ignition[250]: Ignition finished successfully' '[   15.250000] web ignition[250]: Ignition finished successfully' ;;
	*) printf '%s\n' 'Ignition Debian 2.14.0+ds1-1+b6' 'Stage: fetch' ;;
	esac
}
systemctl() {
	case "$*" in
	list-units*) printf '%s\n' 'odd\x2dname.service loaded failed failed It "failed"' ;;
	show*) echo exit-code ;;
	esac
}
`

// The reporter's own code in the shells that guests have, each of which must make the same sense of it.
func TestIgnitionReporterSpeaksJSON(t *testing.T) {
	functions, err := os.ReadFile("facts.sh")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "report.sh")
	if err := os.WriteFile(file, []byte(string(functions)+fakeTools+"boot=b\nprintf '{\"boot\":\"b\",\"seq\":1,\"stage\":\"done\",%s}\\n' \"$(result)\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, shell := range [][]string{{"dash"}, {"bash"}, {"bash", "--posix"}, {"busybox", "sh"}} {
		t.Run(strings.Join(shell, " "), func(t *testing.T) {
			if _, err := exec.LookPath(shell[0]); err != nil {
				t.Skipf("SKIP-MISSING: %s is not installed", shell[0])
			}
			out, err := exec.CommandContext(t.Context(), shell[0], append(shell[1:], file)...).Output()
			if err != nil {
				t.Fatal(err)
			}
			if !json.Valid(out) {
				t.Fatalf("this is no JSON:\n%s", out)
			}
			m, err := report.Parse(out, "ns/vm", time.Now())
			if err != nil {
				t.Fatal(err)
			}
			parts := []report.Module{{Stage: report.Local, Name: "fetch-offline", Start: 8.098, Seconds: 1.002, Outcome: report.Success},
				{Stage: report.Config, Name: "files", Start: 12.5, Seconds: 1.75, Outcome: report.Success}}
			if diff := cmp.Diff(parts, m.Event.Modules); diff != "" || m.Event.Uptime <= 0 {
				t.Errorf("uptime %v, modules: -want +got:\n%s", m.Event.Uptime, diff)
			}
			got := m.Event.Result
			want := []string{`warning at $.x, line 1: Unused key "a\b"`, "warning at atab", `the unit odd\x2dname.service failed (exit-code)`}
			if diff := cmp.Diff(want, got.Warnings); diff != "" {
				t.Errorf("warnings: -want +got:\n%s", diff)
			}
			hostname, err := os.Hostname()
			if err != nil || got.Agent != "Ignition 2.14.0+ds1-1+b6" || got.Hostname != hostname || got.FirstBoot || m.Event.Stage != report.Done {
				t.Errorf("%v: %+v", err, m.Event)
			}
		})
	}
}
