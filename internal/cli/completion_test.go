package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/internal/supervisor"
)

// completed asks for completion as the shells' scripts do.
func completed(t *testing.T, args ...string) []string {
	t.Helper()
	status, out, err := command(t, "", append([]string{"__completeNoDesc"}, args...)...)
	if status != exitDone {
		t.Fatalf("%q: status %d\n%s", args, status, err)
	}
	words := strings.Fields(out)
	return words[:len(words)-1] // the last one is for the script
}

func TestCompleteVMs(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"a/web", "b/web", "a/db"} {
		namespace, short, _ := strings.Cut(name, "/")
		dir, keep, _, err := supervisor.Create(root, namespace, short)
		if err != nil {
			t.Fatal(err)
		}
		plan := supervisor.Plan{Namespace: namespace, Name: short, Attempts: []supervisor.Attempt{{}}}
		if err := plan.Save(dir); err != nil {
			t.Fatal(err)
		}
		if err := keep(); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ args, want string }{
		{"stop ", "a/web b/web db"},
		{"ssh a/", "a/web b/web db"}, // the shell's script leaves out what does not begin like this
		{"stop db ", ""},
		{"remove db ", "a/web b/web"},
		{"remove a/db b/web ", "a/web"},
	} {
		args := strings.Split(tt.args, " ")
		args = slices.Insert(args, 1, "--state-dir", root)
		if got := strings.Join(completed(t, args...), " "); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.args, got, tt.want)
		}
	}
}

func TestCompleteWords(t *testing.T) {
	for args, some := range map[string]string{
		"render --datasource": "nocloud", "render --format": "vfat", "run --delivery": "fw_cfg", "run --accel": "kvm", "check --guest": "flatcar",
		"convert --to": "kubevirt", "run --net": "stack", "run --pull": "never", "wait --fail-on": "deprecated", "show --diagnostics": string(diag.Text),
		"render --ignition-platform": "proxmoxve", "image pull --arch": "arm64", "image ls --output": "json", "explain": "VS1000", "": "image",
	} {
		if got := completed(t, append(strings.Fields(args), "")...); !slices.Contains(got, some) {
			t.Errorf("%q: got %q, which lacks %q", args, got, some)
		}
	}
}

// TestCompletedWordsAreTaken holds the words of run's flags against what the command takes: with each of them it gets as
// far as to miss the file.
func TestCompletedWordsAreTaken(t *testing.T) {
	a := &app{engine: newEngine()}
	for _, flag := range []string{"accel", "delivery", "diagnostics", "fail-on", "net", "pull", "datasource", "ignition-platform"} {
		for _, word := range a.words()[flag] {
			status, _, err := command(t, "", "run", "--state-dir", t.TempDir(), "--"+flag, word, "missing.yaml")
			if status != exitUsage || !strings.Contains(err, "missing.yaml") {
				t.Errorf("--%s %s: status %d, %s", flag, word, status, err)
			}
		}
	}
}
