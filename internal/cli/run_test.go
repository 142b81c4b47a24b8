package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/internal/supervisor"
	"github.com/vmseed/vmseed/machine/machinetest"
)

// TestReplaceKeepsTheOld has a definition that cannot be built: the VM that it should replace must stay.
func TestReplaceKeepsTheOld(t *testing.T) {
	t.Chdir(t.TempDir())
	dir := filepath.Join("s", supervisor.DirName("default", "vm"))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	plan := supervisor.Plan{Namespace: "default", Name: "vm", Program: "qemu", Attempts: []supervisor.Attempt{{Accel: "tcg"}}}
	if err := plan.Save(dir); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"share":     "apiVersion: vmseed.dev/v1alpha1\nkind: Machine\nmetadata: {name: vm}\nspec:\n  shares: [{name: home, hostPath: /nowhere}]\n",
		"user-data": "apiVersion: vmseed.dev/v1alpha1\nkind: Machine\nmetadata: {name: vm}\nspec:\n  userData: {layers: [{data: '{\"ignition\": {}}'}]}\n",
	} {
		if err := os.WriteFile("m.yaml", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		status, _, stderr := command(t, "", "run", "m.yaml", "--image", "m.yaml", "--replace", "--state-dir", "s")
		if status != exitInput || !strings.Contains(stderr, "error[VS") {
			t.Errorf("%s: exit status %d\n%s", name, status, stderr)
		}
		if _, err := supervisor.LoadPlan(dir); err != nil {
			t.Errorf("%s: the old VM is gone: %v", name, err)
		}
	}
}

// TestUnbounded says once that the processor time of a machine is not limited.
func TestUnbounded(t *testing.T) {
	if l := unbounded(machinetest.Full()); len(l) == 0 || l[len(l)-1].Code != CodeProcessorTime || l.Max() != diag.Note {
		t.Errorf("got %v", l)
	}
}

func TestStopGrace(t *testing.T) {
	for given, want := range map[time.Duration]time.Duration{0: 2 * time.Minute, 7 * time.Second: 7 * time.Second} {
		dir := t.TempDir()
		plan := supervisor.Plan{Name: "vm", StopGrace: given, Attempts: []supervisor.Attempt{{}}}
		if err := plan.Save(dir); err != nil {
			t.Fatal(err)
		}
		c, err := supervisor.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := stopGrace(localVM{Client: c}); err != nil || got != want {
			t.Errorf("the definition says %s: %s, %v", given, got, err)
		}
	}
}

// TestProgressLines ends every line, and shows each phase once.
func TestProgressLines(t *testing.T) {
	for _, tt := range []struct {
		live   bool
		ending string
	}{{false, "\n"}, {true, "\n"}, {false, "\r\n"}} {
		var b strings.Builder
		p := &progress{out: &b, live: tt.live, start: time.Now(), ending: tt.ending}
		p.phase("seed", "one")
		p.phase("boot", "vm")
		p.phase("boot", "vm")
		p.end()
		p.end()
		lines := strings.SplitAfter(b.String(), tt.ending)
		if len(lines) != 3 || !strings.HasSuffix(lines[0], "seed       one"+tt.ending) || !strings.HasSuffix(lines[1], "boot       vm"+tt.ending) || lines[2] != "" {
			t.Errorf("%+v: %q", tt, b.String())
		}
	}
}

// TestOutputThatFails has a standard output that takes nothing: that must not look like success.
func TestOutputThatFails(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("there is no /dev/full")
	}
	defer full.Close()
	const pod = "../../examples/native/minimal.yaml"
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	for _, line := range []string{"serve --listen 127.0.0.1:0", "show " + pod, "show --json " + pod, "convert " + pod, "render -o - " + pod, "diff " + pod + " ../../examples/native/web.yaml", "version", "explain VS1002"} {
		var stderr strings.Builder
		if status := Main(append([]string{"vmseed"}, strings.Fields(line)...), Streams{In: strings.NewReader(""), Out: full, Err: &stderr}); status != exitEnvironment {
			t.Errorf("%s: exit status %d, %s", line, status, stderr.String())
		}
	}
}

// TestNotesElsewhere names for notes that are left out the command that shows them.
func TestNotesElsewhere(t *testing.T) {
	for noted, want := range map[string]string{"": "1 note not shown; vmseed check shows it\n", "vmseed run --dry-run": "1 note not shown; vmseed run --dry-run shows it\n"} {
		var stderr strings.Builder
		a := &app{Streams: Streams{Err: &stderr}, diagnostics: string(diag.Text), noted: noted}
		if err := a.report(diag.List{{Code: CodeProcessorTime, Severity: diag.Note, Summary: "x"}}, false); err != nil || stderr.String() != want {
			t.Errorf("%q: %q, %v", noted, stderr.String(), err)
		}
	}
}
