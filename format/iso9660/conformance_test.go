//go:build conformance

package iso9660

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// keep names a directory that gets the volumes of the conformance tests, to look at them with other programs.
var keep = flag.String("keep", "", "keep the volumes of the conformance tests in this `directory`")

// volumeFile writes a volume to a file.
func volumeFile(t *testing.T, files []File, label string) string {
	t.Helper()
	dir := t.TempDir()
	if *keep != "" {
		dir = *keep
	}
	path := filepath.Join(dir, strings.ReplaceAll(t.Name(), "/", "-")+".iso")
	if err := os.WriteFile(path, write(t, files, Options{Label: label}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
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
	return string(out)
}

func TestXorriso(t *testing.T) {
	for name, files := range map[string][]File{"seed": seedFiles(), "tree": treeFiles(), "drive": configDrive()} {
		t.Run(name, func(t *testing.T) {
			volume := volumeFile(t, files, "config-2")
			dir := filepath.Join(t.TempDir(), "out")
			// -acl, -xattr: only what the volume holds. Any complaint of xorriso makes it exit with an error.
			run(t, "xorriso", "xorriso", "-abort_on", "WARNING", "-return_with", "WARNING", "32", "-osirrox", "on",
				"-indev", volume, "-extract", "/", dir)
			t.Cleanup(func() { makeWritable(t, dir) })
			diff(t, snapshot(t, os.DirFS(dir), true), want(files, true))
			out := run(t, "xorriso", "xorriso", "-indev", volume, "-pvd_info")
			if !regexp.MustCompile(`(?m)^Volume Id +: config-2$`).MatchString(out) {
				t.Errorf("xorriso does not show the label:\n%s", out)
			}
		})
	}
}

// makeWritable lets a test remove directories without write permission.
func makeWritable(t *testing.T, dir string) {
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = os.Chmod(path, 0o700)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestIsoinfo(t *testing.T) {
	files := treeFiles()
	volume := volumeFile(t, files, "cidata")
	info := run(t, "genisoimage", "isoinfo", "-d", "-i", volume)
	for _, line := range []string{"Volume id: cidata", "Joliet with UCS level 3 found", "Rock Ridge signatures version 1 found"} {
		if !strings.Contains(info, line+"\n") {
			t.Errorf("isoinfo does not say %q:\n%s", line, info)
		}
	}
	listed := func(flags ...string) []string {
		out := run(t, "genisoimage", "isoinfo", append(flags, "-f", "-i", volume)...)
		names := strings.Split(strings.TrimSpace(out), "\n")
		slices.Sort(names)
		return names
	}
	var expected []string
	for path := range want(files, true) {
		expected = append(expected, "/"+path)
	}
	slices.Sort(expected)
	if got := listed("-R"); !slices.Equal(got, expected) {
		t.Errorf("Rock Ridge names are %q\nwant %q", got, expected)
	}
	for _, f := range []string{"openstack/latest/meta_data.json", "many/file-with-number-0299.conf"} {
		for _, flags := range [][]string{{"-R"}, {"-J"}} {
			path := "/" + f
			if flags[0] == "-J" {
				path += ";1"
			}
			got := run(t, "genisoimage", "isoinfo", append(flags, "-i", volume, "-x", path)...)
			if !slices.ContainsFunc(files, func(file File) bool { return file.Path == f && string(file.Data) == got }) {
				t.Errorf("isoinfo %q -x %s gives %q", flags, path, got)
			}
		}
	}
	if n := len(listed("-J")); n != len(expected) {
		t.Errorf("%d Joliet names, want %d", n, len(expected))
	}
	seed := volumeFile(t, seedFiles(), "cidata")
	if got := run(t, "genisoimage", "isoinfo", "-i", seed, "-x", "/USER-DATA.;1"); got != string(seedFiles()[1].Data) {
		t.Errorf("the plain name gives %q", got)
	}
}

func Test7z(t *testing.T) {
	files := treeFiles()
	volume := volumeFile(t, files, "cidata")
	dir := t.TempDir()
	if out := run(t, "p7zip-full", "7z", "x", "-o"+dir, volume); !strings.Contains(out, "Everything is Ok") ||
		strings.Contains(out, "Warning") {
		t.Errorf("7z says\n%s", out)
	}
	j, err := open(t, write(t, files, Options{})).Through(Joliet)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, withoutTimes(snapshot(t, os.DirFS(dir), false)), withoutTimes(snapshot(t, j, false)))
}

// withoutTimes removes the times from a snapshot: 7z gives directories the current time.
func withoutTimes(shot map[string]string) map[string]string {
	stripped := make(map[string]string)
	for path, d := range shot {
		fields := strings.Split(d, " ")
		stripped[path] = fmt.Sprint(fields[0], fields[2])
	}
	return stripped
}

func TestBlkid(t *testing.T) {
	for _, label := range []string{"cidata", "config-2", "A label of more than 16"} {
		out := run(t, "util-linux", "blkid", "-p", "-o", "export", volumeFile(t, seedFiles(), label))
		for _, line := range []string{"TYPE=iso9660", "LABEL=" + strings.ReplaceAll(label, " ", `\ `)} {
			if !slices.Contains(strings.Split(out, "\n"), line) {
				t.Errorf("blkid does not say %q:\n%s", line, out)
			}
		}
	}
}

// TestForeignPrograms reads what the programs write today from the tree that our own tests use.
func TestForeignPrograms(t *testing.T) {
	dir := t.TempDir()
	// genisoimage gives up on two names that are the same in their first 64 characters.
	files := slices.DeleteFunc(treeFiles(), func(f File) bool { return strings.HasSuffix(f.Path, "2.yaml") })
	for _, f := range files {
		path := filepath.Join(dir, f.Path)
		if f.Mode.IsDir() {
			if err := os.MkdirAll(path, 0o700); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, program := range [][]string{
		{"genisoimage", "genisoimage", "-input-charset", "utf-8"}, {"xorriso", "xorrisofs"},
	} {
		for _, flags := range []string{"-R -J", "-R", "-J -D", "-R -D", "-D"} {
			t.Run(program[1]+" "+flags, func(t *testing.T) {
				volume := filepath.Join(t.TempDir(), "volume.iso")
				args := append(slices.Clone(program[2:]), "-quiet", "-V", "cidata", "-o", volume)
				run(t, program[0], program[1], append(append(args, strings.Fields(flags)...), dir)...)
				image, err := os.ReadFile(volume)
				if err != nil {
					t.Fatal(err)
				}
				r := open(t, image)
				got := withoutTimes(snapshot(t, r, false))
				for path := range got {
					if strings.HasPrefix(path, "rr_moved") {
						delete(got, path)
					}
				}
				if r.Names() == RockRidge {
					diff(t, got, withoutTimes(want(files, false)))
				} else if expected := want(files, false); len(got) != len(expected) {
					t.Errorf("%d entries, want %d", len(got), len(expected))
				}
			})
		}
	}
}
