package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vmseed/vmseed"
	"github.com/vmseed/vmseed/internal/supervisor"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/machine/machinetest"
)

// command runs a command line and returns what it wrote.
func command(t *testing.T, stdin string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	status = Main(append([]string{"vmseed"}, args...), Streams{In: strings.NewReader(stdin), Out: &out, Err: &err})
	return status, out.String(), err.String()
}

// native writes a machine as a document.
func native(t *testing.T, m machine.Machine) string {
	t.Helper()
	text, l := newEngine().Convert(m, "native", vmseed.RenderOptions{})
	if l.HasErrors() {
		t.Fatal(l)
	}
	return string(text)
}

// TestNoSecretIsSaid gives machines with every field set, right and wrong ones, to the commands that do not exist to show
// secrets. None may stand in what they write to the terminal.
func TestNoSecretIsSaid(t *testing.T) {
	t.Chdir(t.TempDir())
	hidden := map[string]bool{"canary": true}
	documents := map[string]string{}
	for name, m := range map[string]machine.Machine{"full": machinetest.Full(), "generated": machinetest.Generated()} {
		for _, s := range machinetest.Secrets(m) {
			hidden[strings.TrimSpace(s)] = true
		}
		text := native(t, m)
		documents[name] = text
		documents[name+" with an unknown field"] = text + "\nbogus: 1\n"
		documents[name+" that is no YAML"] = text + "\n  x: [\n"
		documents[name+" of other types"] = strings.NewReplacer("content:", "content: !!int", "value:", "value: !!map").Replace(text)
	}
	if err := os.WriteFile("image", make([]byte, 1024), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, text := range documents {
		if err := os.WriteFile("m.yaml", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{
			"check m.yaml", "check m.yaml --guest debian-12 --diagnostics json", "check m.yaml --diagnostics sarif", "check m.yaml --datasource configdrive",
			"render m.yaml -o seed.iso", "render m.yaml -o seed.img --format vfat --no-multipart", "render m.yaml -o tree/ --datasource configdrive",
			"diff m.yaml nothing", "diff nothing m.yaml", "show m.yaml --name nobody", "convert m.yaml --to nothing", "convert m.yaml --name nobody",
			"run m.yaml --image image --dry-run --state-dir s --net user --accel tcg",
			"run m.yaml --image image --dry-run --state-dir s --volume disk-path=image --volume disk-claim=image --volume disk-ceph=image --volume shares-name=. --accel tcg",
		} {
			status, stdout, stderr := command(t, "", strings.Fields(line)...)
			for secret := range hidden {
				if strings.Contains(stdout+stderr, secret) {
					t.Errorf("%s: %s (exit status %d) shows %q:\n%s%s", name, line, status, secret, stdout, stderr)
				}
			}
		}
	}
}

// TestInspectShowsThePlan prints what is kept of a VM, which is a plan without secrets.
func TestInspectShowsThePlan(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, supervisor.DirName("default", "vm"))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	plan := supervisor.Plan{Namespace: "default", Name: "vm", Program: "qemu", Attempts: []supervisor.Attempt{{Accel: "tcg", Args: []string{"-m", "1"}}}}
	if err := plan.Save(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "seed.iso"), []byte("canary"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"inspect vm", "list -o json", "list", "inspect default/vm"} {
		status, stdout, stderr := command(t, "", append(strings.Fields(line), "--state-dir", root)...)
		if status != exitDone || !strings.Contains(stdout, "vm") || strings.Contains(stdout, "canary") || stderr != "" {
			t.Errorf("%s: exit status %d\n%s%s", line, status, stdout, stderr)
		}
	}
	// Commands about what runs say that it does not, and leave the VM alone.
	for _, line := range []string{"stop vm", "console vm", "ssh vm", "ssh-config vm", "cp vm:/x ."} {
		if status, _, stderr := command(t, "", append(strings.Fields(line), "--state-dir", root)...); status == exitDone || !strings.Contains(stderr, "does not run") {
			t.Errorf("%s: exit status %d, %s", line, status, stderr)
		}
	}
	if status, _, stderr := command(t, "", "rm", "vm", "--state-dir", root); status != exitDone || stderr != "" {
		t.Errorf("rm: exit status %d, %s", status, stderr)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the VM's directory is still there: %v", err)
	}
}
