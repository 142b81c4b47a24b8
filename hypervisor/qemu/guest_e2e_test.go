//go:build e2e && linux && amd64

package qemu_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/internal/supervisor"
	"github.com/vmseed/vmseed/internal/testguest"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/report"
	"github.com/vmseed/vmseed/seed"
)

// libraries are the lines of ldd.
var libraries = regexp.MustCompile(`(?m)^\s*(?:\S+ => )?(/\S+) \(0x`)

// agentFiles are the real guest agent and the libraries that it needs, for a guest that has nothing else.
func agentFiles(t *testing.T) map[string][]byte {
	t.Helper()
	program := "/usr/sbin/qemu-ga"
	if found, err := exec.LookPath("qemu-ga"); err == nil {
		program = found
	}
	if _, err := os.Stat(program); err != nil {
		t.Skip("SKIP-MISSING: qemu-ga is not installed (Debian package qemu-guest-agent)")
	}
	needed, err := exec.Command("ldd", program).Output()
	if err != nil {
		t.Fatalf("ldd: %v", err)
	}
	out := map[string][]byte{}
	add := func(name, file string) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out["agent/"+name] = data
	}
	add("qemu-ga", program)
	for _, m := range libraries.FindAllStringSubmatch(string(needed), -1) {
		name := filepath.Base(m[1])
		if strings.HasPrefix(name, "ld-linux") {
			name = "ld.so"
		}
		add(name, m[1])
	}
	return out
}

// Linux finds an Ignition config byte for byte in both places where Ignition looks, whatever the files are called.
func TestIgnitionConfigs(t *testing.T) {
	q, vm := guest(t, "vmseed.configs=1", "qemu_fw_cfg")
	dir := filepath.Join(t.TempDir(), "a,b c")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	config := []byte(`{"ignition": {"version": "3.0.0"}, "note": "` + strings.Repeat("x", 5000) + `"}` + "\n")
	file, device := filepath.Join(dir, "config,.ign"), filepath.Join(dir, "config,.img")
	padded := append(slices.Clone(config), make([]byte, 512-len(config)%512)...)
	if err := errors.Join(os.WriteFile(file, config, 0o600), os.WriteFile(device, padded, 0o600)); err != nil {
		t.Fatal(err)
	}
	vm.Attachments = []seed.Attachment{
		{Kind: seed.FwCfgFile, Name: seed.IgnitionItem, Path: file},
		{Kind: seed.Drive, Path: device, Serial: "ignition", Bus: "virtio"},
	}
	sum := fmt.Sprintf("%x", sha256.Sum256(config))
	if got, want := firstBoot(t, start(t, q, vm)).Result.Warnings, []string{"fw_cfg: " + sum, "block device: " + sum}; !slices.Equal(got, want) {
		t.Errorf("the guest finds\n%q, want\n%q", got, want)
	}
}

// A guest whose kernel is started directly gets what lets Ignition run at its first boot alone: not when it is reset, and
// not when the VM is started again.
func TestFirstBootOnce(t *testing.T) {
	q, vm := guest(t, "vmseed.stay=1")
	vm.Attachments = []seed.Attachment{{Kind: seed.KernelArg, Value: "ignition.firstboot"}}
	vm.Options.Detach = true
	c := start(t, q, vm)
	first := firstBoot(t, c)
	if !slices.Equal(first.Result.Warnings, []string{"Ignition would run"}) {
		t.Errorf("at the first boot: %q", first.Result.Warnings)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	if err := c.Reset(ctx); err != nil {
		t.Fatal(err)
	}
	second, done := report.Event{}, errors.New("done")
	if err := c.Events(ctx, 0, func(e supervisor.Event) error {
		if e.Report != nil && e.Report.Stage.Ended() && e.Report.Boot != first.Boot {
			second = *e.Report
			return done
		}
		return nil
	}); !errors.Is(err, done) {
		t.Fatalf("no report after a reset: %v", err)
	}
	if err := c.Stop(ctx, 0); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(ctx, true); err != nil {
		t.Fatal(err)
	}
	for name, e := range map[string]report.Event{"after a reset": second, "after another start": firstBoot(t, c)} {
		if len(e.Result.Warnings) > 0 {
			t.Errorf("%s: %q", name, e.Result.Warnings)
		}
	}
}

// The guest's own agent sets keys for a user that the guest makes only after the agent came up, on a port that nobody in
// the guest had open when the credentials were handed over.
func TestGuestAgent(t *testing.T) {
	q, vm := guestWith(t, testguest.InitramfsConfig{Files: agentFiles(t)}, "vmseed.agent=1 vmseed.stay=1")
	vm.Machine.AgentUsers = []machine.AgentUser{{Name: "core", SSHAuthorizedKeys: []string{"ssh-ed25519 AAAA one", "ssh-ed25519 BBBB two"}}}
	c := start(t, q, vm)
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	waited := false
	if err := c.WaitCredentials(ctx, func(e supervisor.Event) {
		waited = waited || e.Condition != nil && strings.Contains(e.Condition.Message, `user "core"`)
	}); err != nil {
		t.Fatal(err)
	}
	if !waited {
		t.Error("the user was there from the beginning, so nothing shows that its making is awaited")
	}
	said := fmt.Sprintf("guest: keys %q", "ssh-ed25519 AAAA one\nssh-ed25519 BBBB two")
	for ctx.Err() == nil {
		text, err := os.ReadFile(filepath.Join(c.Dir, supervisor.SerialLog))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), said) {
			return
		}
		console, err := c.Console(ctx) // each tick of the guest is a reason to look again
		if err != nil {
			t.Fatal(err)
		}
		_, _ = bufio.NewReader(console).ReadString('\n')
		console.Close()
	}
	t.Error("the guest's user has no keys")
}
