package userdata

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/datasource/internal/shell"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// payloads are texts that mean something to a shell, and 200 mixtures of them.
func payloads() []string {
	pieces := []string{"", " ", "\t", "\n", "'", `"`, `\`, "`id`", "$(id)", "$HOME", "${X:-y}", "$$", "!", "#", "~", "*", "?", "[a]", "{a,b}", "a=b",
		";", "&", "|", "<", ">", "(", ")", "-n", "--", "\\n", "\\\\", `\"`, "$'\\x41'", "é", "\u2028", "\x7f", "\x01", "\r", "EOF\n", "%s", "%%"}
	out := append([]string{}, pieces...)
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var b strings.Builder
		for range 1 + random.IntN(6) {
			b.WriteString(pieces[random.IntN(len(pieces))])
		}
		out = append(out, b.String())
	}
	return out
}

// run gives a script to the system's sh and returns the texts that it printed, each ended by a NUL.
func run(t *testing.T, script string) []string {
	t.Helper()
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no sh")
	}
	out, err := exec.Command(sh, "-eu", "-c", script).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

func equal(t *testing.T, got, want []string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("the shell read %d values, want %d", len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%q became %q", want[i], got[i])
		}
	}
}

// TestShellWords has a real shell read words that package shell has made.
func TestShellWords(t *testing.T) {
	var script strings.Builder
	for _, p := range payloads() {
		fmt.Fprintf(&script, "printf '%%s\\0' %s\n", shell.Word(p))
	}
	equal(t, run(t, script.String()), payloads())
}

// TestEnvironmentFile has a real shell read the environment file.
func TestEnvironmentFile(t *testing.T) {
	var m machine.Machine
	var script strings.Builder
	for i, p := range payloads() {
		name := fmt.Sprintf("V%d", i)
		m.Environment = append(m.Environment, machine.Variable{Name: name, Value: secret.New(p)})
		fmt.Fprintf(&script, "printf '%%s\\0' \"$%s\"\n", name)
	}
	g := generator{m: m, list: &diag.List{}}
	file := filepath.Join(t.TempDir(), "environment")
	if err := os.WriteFile(file, []byte(g.environment()), 0o600); err != nil {
		t.Fatal(err)
	}
	equal(t, run(t, ". "+shell.Word(file)+"\n"+script.String()), payloads())
}

// TestScriptsRun runs the scripts for paths that mean something to a shell, with the programs that change the guest
// replaced by ones that print their arguments.
func TestScriptsRun(t *testing.T) {
	var m machine.Machine
	var want []string
	for _, p := range payloads() {
		path := "/" + p
		m.Mounts = append(m.Mounts, machine.Mount{Device: "d" + p, Path: path, Options: []string{"o" + p}})
		want = append(want, "-o", "o"+p, "d"+p, path)
	}
	const programs = "mountpoint() { false; }\nmkdir() { :; }\nmount() { printf '%s\\0' \"$@\"; }\n"
	equal(t, run(t, programs+mountScript(m)), want)

	m.Disks, want = []machine.Disk{{Name: "d", Bus: "sata", Serial: "s"}}, nil
	for _, p := range payloads() {
		m.DeviceLinks = append(m.DeviceLinks, machine.DeviceLink{Path: "/dev/" + p, Disk: "d"})
		want = append(want, "/dev/disk/by-id/ata-QEMU_HARDDISK_s", "/dev/"+p)
	}
	const links = "mkdir() { :; }\nln() { shift; printf '%s\\0' \"$@\"; }\n"
	equal(t, run(t, links+linkScript(m)), want)
}
