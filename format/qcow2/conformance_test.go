//go:build conformance

package qcow2

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadsWhatQEMUWrites holds what is read of images of qemu-img against what qemu-img info says of them.
func TestReadsWhatQEMUWrites(t *testing.T) {
	tool, err := exec.LookPath("qemu-img")
	if err != nil {
		t.Skip("SKIP-MISSING: qemu-img is not installed")
	}
	dir := t.TempDir()
	base := filepath.Join(dir, "base, ünï.qcow2")
	for _, tt := range []struct {
		name, size string
		args       []string
	}{
		{filepath.Base(base), "64M", nil},
		{"old.qcow2", "63999488", []string{"-o", "compat=0.10"}},
		{"zero.qcow2", "0", nil},
		{"large.qcow2", "64T", []string{"-o", "cluster_size=2M"}},
		{"zstd.qcow2", "5G", []string{"-o", "compression_type=zstd,extended_l2=on,lazy_refcounts=on"}},
		{"overlay.qcow2", "65M", []string{"-b", base, "-F", "qcow2"}},
		{"relative.qcow2", "65M", []string{"-b", filepath.Base(base), "-F", "qcow2", "-o", "compat=0.10"}},
		{"data.qcow2", "64M", []string{"-o", "data_file=" + filepath.Join(dir, "data.raw") + ",data_file_raw=on"}},
	} {
		path := filepath.Join(dir, tt.name)
		if out, err := exec.Command(tool, append(append([]string{"create", "-q", "-f", "qcow2"}, tt.args...), path, tt.size)...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", tt.name, err, out)
		}
		out, err := exec.Command(tool, "info", "--output=json", path).Output()
		if err != nil {
			t.Fatal(err)
		}
		var info struct {
			Size    int64  `json:"virtual-size"`
			Backing string `json:"backing-filename"`
			Format  struct {
				Data struct {
					Compat string `json:"compat"`
					File   string `json:"data-file"`
				} `json:"data"`
			} `json:"format-specific"`
		}
		if err := json.Unmarshal(out, &info); err != nil {
			t.Fatal(err)
		}
		image, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		h, err := Parse(image)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		backing, err := h.BackingFile(strings.NewReader(string(image)))
		version := map[string]int{"0.10": 2, "1.1": 3}[info.Format.Data.Compat]
		if err != nil || h.Size != info.Size || h.Version != version || backing != info.Backing || h.ExternalData != (info.Format.Data.File != "") {
			t.Errorf("%s: %+v on %q, %v; qemu-img says %s", tt.name, h, backing, err, out)
		}
	}
}
