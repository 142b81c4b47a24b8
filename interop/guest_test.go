//go:build e2e

package interop

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	ovirtsdk "github.com/ovirt/go-ovirt"

	"github.com/vmseed/vmseed/internal/testguest"
)

// requireGuests skips the test when a program for its guests is not installed.
func requireGuests(t *testing.T) {
	t.Helper()
	for program, debianPackage := range map[string]string{"qemu-system-x86_64": "qemu-system-x86", "qemu-img": "qemu-utils",
		"debugfs": "e2fsprogs", "genisoimage": "genisoimage", "ssh-keygen": "openssh-client"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("SKIP-MISSING: %s is not installed (Debian package %s)", program, debianPackage)
		}
	}
}

// is makes a check.
func is(name, command, want string) testguest.Check {
	return testguest.Check{Name: name, Command: command, Want: want}
}

// console relays the console of a VM.
func (s *service) console(t *testing.T, name string) *exec.Cmd {
	return s.command(t.Context(), "console", name)
}

// examine logs in at the console of a VM and makes checks there.
func (s *service) examine(t *testing.T, name string, login testguest.Login, checks []testguest.Check) {
	t.Helper()
	c := testguest.OpenConsole(t, s.console(t, name), login)
	defer c.Close()
	testguest.Examine(t, func(script string) string { return c.Ask(t, script) }, checks)
}

// awaitEnd waits until a guest that was started has switched itself off.
func (s *service) awaitEnd(t *testing.T, vmService *ovirtsdk.VmService) {
	t.Helper()
	started := false
	await(t, "the end of the guest", func() bool {
		vm := vmService.Get().MustSend().MustVm()
		if vm.MustStatus() != ovirtsdk.VMSTATUS_DOWN {
			started = true
		}
		_, stopped := vm.StopTime()
		return vm.MustStatus() == ovirtsdk.VMSTATUS_DOWN && (started || stopped)
	})
}

// vmFiles are the files of a VM below the state directory, by their paths.
func (s *service) vmFiles(t *testing.T, vmService *ovirtsdk.VmService) []string {
	t.Helper()
	id := vmService.Get().MustSend().MustVm().MustId()
	var found []string
	err := filepath.WalkDir(filepath.Join(s.dir, "vms"), func(path string, _ os.DirEntry, err error) error {
		if err == nil && strings.Contains(path, id) {
			found = append(found, path)
		}
		return err
	})
	if err != nil || len(found) == 0 {
		t.Fatalf("no files of VM %s: %v", id, err)
	}
	return found
}

// seedFiles are the seeds that the daemon made for a VM.
func (s *service) seedFiles(t *testing.T, vmService *ovirtsdk.VmService) []string {
	t.Helper()
	var seeds []string
	for _, path := range s.vmFiles(t, vmService) {
		if head := readHead(path); bytes.Contains(head, []byte("config-2")) {
			seeds = append(seeds, path)
		}
	}
	return seeds
}

// readHead is the beginning of a file, with the volume descriptors of an ISO 9660 in it.
func readHead(path string) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	head := make([]byte, 64<<10)
	n, _ := f.Read(head)
	return head[:n]
}

func now() time.Time { return time.Now() }

func since(begin time.Time) float64 { return time.Since(begin).Seconds() }

// link makes a file known by another path, and the directories above it.
func link(t *testing.T, from, to string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(from, to); err != nil {
		t.Fatal(err)
	}
}

// write writes a file of the test, and the directories above it.
func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// run runs a program of the host that must succeed.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), answerLimit)
	defer cancel()
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// fileOnDisk is the content of a file on the first disk of a VM that is down.
func (s *service) fileOnDisk(t *testing.T, vmService *ovirtsdk.VmService, path string) string {
	t.Helper()
	disk := vmService.DiskAttachmentsService().List().MustSend().MustAttachments().Slice()[0].MustId()
	var image string
	for _, root := range []string{s.dir, s.domain} {
		err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
			if err == nil && entry.Type().IsRegular() && strings.Contains(path, disk) {
				image = path
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if image == "" {
		t.Fatalf("no file for disk %s", disk)
	}
	raw := filepath.Join(t.TempDir(), "disk.raw")
	run(t, "qemu-img", "convert", "-O", "raw", image, raw)
	_, content, _ := strings.Cut(run(t, "debugfs", "-R", "cat "+path, raw), "\n")
	return content
}
