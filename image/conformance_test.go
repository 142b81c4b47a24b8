//go:build conformance

package image

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// tool runs a program of the host.
func tool(t *testing.T, name string, args ...string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("SKIP-MISSING: %s is not installed", name)
	}
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

// TestReadsWhatSkopeoWrites has skopeo copy a container image into every place that vmseed reads.
func TestReadsWhatSkopeoWrites(t *testing.T) {
	h, s := newHub(t), newStore(t)
	data := disk(1, 3<<20)
	from := "docker://" + h.push(t, "source:1", containerDisk(t, data)).Name
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, tt := range []struct{ to, ref string }{
		{"oci:" + at("layout") + ":web", "oci:" + at("layout")},
		{"oci:" + at("layout") + ":other", "oci:" + at("layout") + ":other"},
		{"oci-archive:" + at("oci.tar") + ":web", "oci-archive:" + at("oci.tar") + ":web"},
		{"docker-archive:" + at("docker.tar") + ":team/web:1", "docker-archive:" + at("docker.tar")},
		{"docker://" + h.host + "/team/web:1", h.host + "/team/web:1"},
	} {
		for _, compress := range []string{"gzip", "zstd"} {
			tool(t, "skopeo", "--insecure-policy", "copy", "--src-tls-verify=false", "--dest-tls-verify=false", "--dest-compress-format="+compress, from, tt.to)
			holds(t, resolve(t, s, parse(t, tt.ref), Options{Arch: "amd64", Policy: Always}), data)
			if strings.HasSuffix(tt.to, ".tar:team/web:1") {
				remove(t, at("docker.tar")) // skopeo does not add to an archive
			}
		}
	}
}

// TestRecognisesWhatQEMUWrites has qemu-img make images of its formats, on bases and with data files.
func TestRecognisesWhatQEMUWrites(t *testing.T) {
	dir := t.TempDir()
	base := filepath.Join(dir, "base.qcow2")
	for _, tt := range []struct {
		name, format, say string
		args              []string
	}{
		{"base.qcow2", "qcow2", "", nil},
		{"old.qcow2", "qcow2", "", []string{"-o", "compat=0.10"}},
		{"zstd.qcow2", "qcow2", "", []string{"-o", "compression_type=zstd"}},
		{"raw.img", "raw", "", nil},
		{"overlay.qcow2", "qcow2", "names another file", []string{"-b", base, "-F", "qcow2"}},
		{"data.qcow2", "qcow2", "names another file", []string{"-o", "data_file=" + filepath.Join(dir, "data.raw")}},
		{"x.vmdk", "vmdk", "VMDK", nil}, {"x.vdi", "vdi", "VDI", nil}, {"x.vhdx", "vhdx", "VHDX", nil}, {"x.vhd", "vpc", "VHD", nil}, {"x.qed", "qed", "QED", nil},
		{"x.qcow", "qcow", "another version", nil},
	} {
		path := filepath.Join(dir, tt.name)
		tool(t, "qemu-img", append(append([]string{"create", "-q", "-f", tt.format}, tt.args...), path, "64M")...)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		format, size, err := recognise(text[:min(len(text), headSize)], int64(len(text)))
		if tt.say == "" && (err != nil || string(format) != tt.format || size != 64<<20) || tt.say != "" && (err == nil || !strings.Contains(err.Error(), tt.say)) {
			t.Errorf("%s: %s, %d, %v", tt.name, format, size, err)
		}
		want := ""
		if tt.name == "overlay.qcow2" {
			want = base
		}
		if got, err := Backing(path); err != nil || got != want {
			t.Errorf("%s is an overlay on %q, %v", tt.name, got, err)
		}
	}
}

// TestStoreSaysWhatQEMUReads has qemu-img compare an image with holes in the store with the one that was pushed.
func TestStoreSaysWhatQEMUReads(t *testing.T) {
	h, s := newHub(t), newStore(t)
	raw := append(append(make([]byte, 5<<20), "in the middle"...), make([]byte, 5<<20)...)
	from := filepath.Join(t.TempDir(), "from.raw")
	if err := os.WriteFile(from, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	i := resolve(t, s, h.push(t, "web:1", containerDisk(t, raw)), amd64)
	tool(t, "qemu-img", "compare", "-f", "raw", "-F", "raw", from, i.Path)
	out, err := exec.Command("du", "-k", i.Path).Output()
	if err != nil || !bytes.HasPrefix(out, []byte("64\t")) {
		t.Errorf("the holes of the image take room: %s, %v", out, err)
	}
}
