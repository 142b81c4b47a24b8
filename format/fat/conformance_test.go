//go:build conformance

package fat

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vmseed/vmseed/internal/testguest"
)

// keep names a directory that gets the volumes of the conformance tests, to look at them with other programs.
var keep = flag.String("keep", "", "keep the volumes of the conformance tests in this `directory`")

// volumes are what the foreign readers read: every kind of FAT and several sizes of clusters.
func volumes() map[string]struct {
	files []File
	opts  Options
} {
	return map[string]struct {
		files []File
		opts  Options
	}{
		"seed":   {seedFiles(), Options{Label: "cidata"}},
		"tree":   {treeFiles(), Options{Label: "config-2"}},
		"none":   {nil, Options{Label: "cidata"}},
		"drive":  {configDrive(), Options{Label: "config-2"}},
		"fat16":  {treeFiles(), Options{Label: "config-2", Size: 16 << 20}},
		"floppy": {seedFiles(), Options{Label: "cidata", Size: 1440 << 10}},
		"small":  {treeFiles(), Options{Size: 400 << 10}},
		"large":  {treeFiles(), Options{Label: "cidata", Size: 300 << 20}},
	}
}

// volumeFile writes a volume to a file.
func volumeFile(t *testing.T, dir, name string) string {
	t.Helper()
	if *keep != "" {
		dir = *keep
	}
	v := volumes()[name]
	im, err := New(v.files, v.opts)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(dir, name+".img"), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := im.WriteTo(f); err != nil {
		t.Fatal(err)
	}
	return f.Name()
}

// run runs a program, or skips the test if it is not installed.
func run(t *testing.T, debianPackage, program string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("SKIP-MISSING: %s is not installed (Debian package %s)", program, debianPackage)
	}
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "TZ=UTC")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s%s", program, args, err, out, stderr.String())
	}
	return string(out) + stderr.String()
}

// TestFsck asks the checker of dosfstools, which exits with an error if it would change anything.
func TestFsck(t *testing.T) {
	for name, v := range volumes() {
		t.Run(name, func(t *testing.T) {
			out := run(t, "dosfstools", "fsck.vfat", "-n", "-V", volumeFile(t, t.TempDir(), name))
			count := 0
			for range want(v.files) {
				count++
			}
			if v.opts.Label != "" {
				count++ // the label counts as a file
			}
			if !strings.Contains(out, fmt.Sprintf(": %d files, ", count)) {
				t.Errorf("want %d files\n%s", count, out)
			}
		})
	}
}

func TestMtools(t *testing.T) {
	for name, v := range volumes() {
		if name == "large" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			volume, dir := volumeFile(t, t.TempDir(), name), t.TempDir()
			listing := run(t, "mtools", "mdir", "-i", volume, "::/")
			if label := strings.ToUpper(v.opts.Label); label != "" && !strings.Contains(listing, " is "+label) {
				t.Errorf("mdir does not show the label %q:\n%s", label, listing)
			}
			if len(v.files) == 0 {
				return
			}
			run(t, "mtools", "mcopy", "-i", volume, "-s", "-m", "::/*", dir)
			got := withoutDirTimes(snapshot(t, os.DirFS(dir)))
			expected := withoutDirTimes(want(v.files))
			if name := "ünïcode-名前-😀.txt"; expected[name] != "" {
				expected["ünïcode-名前-__.txt"] = expected[name] // mtools does not know surrogate pairs
				delete(expected, name)
			}
			diff(t, got, expected)
		})
	}
}

// withoutDirTimes removes the times of directories from a snapshot, as mcopy does not keep them.
func withoutDirTimes(shot map[string]string) map[string]string {
	stripped := make(map[string]string)
	for path, d := range shot {
		if d[0] == 'd' {
			d = "directory"
		}
		stripped[path] = d
	}
	return stripped
}

func TestBlkid(t *testing.T) {
	for name, lines := range map[string][]string{
		"seed":  {"TYPE=vfat", "LABEL=CIDATA", "LABEL_FATBOOT=CIDATA", "VERSION=FAT12"},
		"fat16": {"TYPE=vfat", "LABEL=CONFIG-2", "LABEL_FATBOOT=CONFIG-2", "VERSION=FAT16"},
		"small": {"TYPE=vfat", "VERSION=FAT12"},
	} {
		out := run(t, "util-linux", "blkid", "-p", "-o", "export", volumeFile(t, t.TempDir(), name))
		said := strings.Split(out, "\n")
		for _, line := range lines {
			if !slices.Contains(said, line) {
				t.Errorf("%s: blkid does not say %q:\n%s", name, line, out)
			}
		}
		if name == "small" && strings.Contains(out, "LABEL") {
			t.Errorf("a volume without a label has one:\n%s", out)
		}
	}
}

// linuxMount is one way to mount a volume in the guest; it is the request to the probe and part of its answer.
type linuxMount struct{ Serial, Type, Options string }

// TestLinux mounts volumes in a Linux guest and compares what its vfat shows with what was written.
func TestLinux(t *testing.T) {
	dir := t.TempDir()
	var plan []linuxMount
	var disks []testguest.Drive
	shown := make(map[string]map[string]string)
	for name := range volumes() {
		disks = append(disks, testguest.Drive{Path: volumeFile(t, dir, name), Serial: name, ReadOnly: true})
		plan = append(plan, linuxMount{name, "vfat", ""})
		shown[name] = make(map[string]string)
	}
	mounts, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	output := testguest.Initramfs(t, testguest.InitramfsConfig{
		Probe: "github.com/vmseed/vmseed/format/iso9660/internal/mountprobe",
		Disks: disks,
		Files: map[string][]byte{"mounts.json": mounts},
	})
	for line := range strings.Lines(output) {
		var e struct {
			linuxMount
			Path, SHA256, Error string
			Mode                fs.FileMode
			MTime               int64
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		if e.Error != "" {
			t.Errorf("%s, %q: %s", e.Serial, e.Path, e.Error)
			continue
		}
		if e.SHA256 == "" {
			e.SHA256 = emptySHA256
		}
		shown[e.Serial][e.Path] = fmt.Sprintf("%s %s %s", e.Mode.Type(), time.Unix(e.MTime, 0).UTC().Format(time.RFC3339), e.SHA256)
	}
	for name, v := range volumes() {
		t.Run(name, func(t *testing.T) { diff(t, shown[name], want(v.files)) })
	}
}

// emptySHA256 is what a snapshot has for directories.
const emptySHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
