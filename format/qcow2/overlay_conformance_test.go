//go:build conformance

package qcow2

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestQEMUReadsOverlays has qemu-img judge new images: whether they are sound, what they show, and that they can be written to.
func TestQEMUReadsOverlays(t *testing.T) {
	for _, tool := range []string{"qemu-img", "qemu-io"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("SKIP-MISSING: " + tool + " is not installed")
		}
	}
	dir := t.TempDir()
	run := func(name string, args ...string) {
		t.Helper()
		if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
	}
	content := bytes.Repeat([]byte("what the base holds "), 100_000)[:1<<20]
	raw := filepath.Join(dir, "base, with: marks.raw")
	if err := os.WriteFile(raw, content, 0o600); err != nil {
		t.Fatal(err)
	}
	below, format := raw, "raw"
	for name, size := range map[string]int64{"same": 1 << 20, "larger": 3 << 20, "huge": 3 << 40} {
		o := Overlay{Base: below, Format: format, Size: size}
		image, err := o.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name+".qcow2")
		if err := os.WriteFile(path, image, 0o600); err != nil {
			t.Fatal(err)
		}
		run("qemu-img", "check", "-q", path)
		if size < 1<<30 {
			flat := filepath.Join(dir, name+".flat")
			run("qemu-img", "convert", "-f", "qcow2", "-O", "raw", path, flat)
			got, err := os.ReadFile(flat)
			if err != nil || !bytes.Equal(got, append(bytes.Clone(content), make([]byte, size-1<<20)...)) {
				t.Errorf("%s shows something else, %v", name, err)
			}
		}
		run("qemu-io", "-f", "qcow2", "-c", "write -P 7 70000 4096", "-c", "read -P 7 70000 4096", path)
		run("qemu-img", "check", "-q", path)
	}
	if now, err := os.ReadFile(raw); err != nil || !bytes.Equal(now, content) {
		t.Error("writing to overlays changed their base")
	}
}
