//go:build conformance

package qemu

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// foreign runs a program of the host that must be there.
func foreign(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	path, err := program(name, name)
	if err != nil {
		t.Skipf("SKIP-MISSING: %v", err)
	}
	out, err := exec.CommandContext(t.Context(), path, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	return out
}

// A new disk has one partition, and in it a file system that is sound and fills it.
func TestNewDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new, disk.raw")
	foreign(t, "mke2fs", "-V")
	s := step{Kind: makeDisk, Path: path, Size: 64<<20 + 700, Filesystem: "ext4"}
	if err := s.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	table := string(foreign(t, "sfdisk", "--dump", path))
	if !strings.Contains(table, "start=        2048, size=      129025, type=83") {
		t.Errorf("the partition table is\n%s", table)
	}
	foreign(t, "e2fsck", "-f", "-n", path+"?offset=1048576")
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 || info.Size() != 64<<20+512 {
		t.Errorf("%v, %v", info, err)
	}
	// What the guest wrote stays when the VM starts again.
	mark := []byte("the guest's")
	if err := os.WriteFile(path, mark, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != string(mark) {
		t.Errorf("the disk was made again: %q, %v", got, err)
	}
}

// An overlay leads to its image by an absolute path and has the greater size.
func TestOverlay(t *testing.T) {
	dir := t.TempDir()
	base := filepath.Join(dir, "nbd:base, image.raw")
	if err := os.WriteFile(base, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	s := step{Kind: makeOverlay, Path: filepath.Join(dir, "over.qcow2"), Base: base, Format: "raw", Size: 3 << 20}
	if err := s.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	var info struct {
		Size   int64  `json:"virtual-size"`
		Base   string `json:"backing-filename"`
		Format string `json:"backing-filename-format"`
	}
	if err := json.Unmarshal(foreign(t, "qemu-img", "info", "--output=json", s.Path), &info); err != nil {
		t.Fatal(err)
	}
	if info.Size != 3<<20 || info.Base != base || info.Format != "raw" {
		t.Errorf("the overlay is %+v", info)
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".vmseed-tmp-*")); err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
	bad := step{Kind: makeOverlay, Path: filepath.Join(dir, "bad.qcow2"), Base: filepath.Join(dir, "missing"), Format: "raw", Size: 1 << 20}
	if err := bad.run(t.Context()); err == nil {
		t.Error("an overlay on nothing is made")
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*bad*")); err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
}
