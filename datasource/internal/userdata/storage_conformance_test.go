//go:build conformance

package userdata

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/internal/judge"
	"github.com/vmseed/vmseed/machine"
)

// needTools skips the test unless every program is there.
func needTools(t *testing.T, names ...string) {
	t.Helper()
	t.Setenv("PATH", os.Getenv("PATH")+":/usr/sbin:/sbin")
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("SKIP-MISSING: %s", name)
		}
	}
}

// blank makes an empty disk of 300 MiB.
func blank(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "disk-1.img")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(300 << 20); err != nil {
		t.Fatal(err)
	}
	return path
}

// scripts returns the shell text of the commands that make a machine's storage.
func scripts(t *testing.T, s machine.Storage) []string {
	t.Helper()
	m := machine.Machine{Storage: s}
	g := generator{m: m, list: new(diag.List)}
	var out []string
	for _, command := range g.storage() {
		args := command.([]string)
		out = append(out, args[len(args)-1])
	}
	if len(*g.list) > 0 {
		t.Fatal(*g.list)
	}
	return out
}

func carryOut(t *testing.T, script string) error {
	t.Helper()
	out, err := exec.Command("sh", "-c", script).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// tableOf shows a partition table as sfdisk reads it.
func tableOf(t *testing.T, disk string) (id string, lines []string) {
	t.Helper()
	out, err := exec.Command("sfdisk", "--json", disk).Output()
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Table struct {
			Label, ID  string
			Partitions []struct {
				Node, Type, Name string
				Start, Size      int64
			}
		} `json:"partitiontable"`
	}
	if err := json.Unmarshal(out, &answer); err != nil {
		t.Fatal(err)
	}
	lines = []string{answer.Table.Label}
	for _, p := range answer.Table.Partitions {
		lines = append(lines, fmt.Sprintf("%s %dMiB+%dMiB %s %s", strings.TrimPrefix(p.Node, disk), p.Start>>11, p.Size>>11, p.Type, p.Name))
	}
	return answer.Table.ID, lines
}

// TestPartitionTables has the real sfdisk make tables on blank disks. A second run changes nothing, unless the disk is to
// be wiped.
func TestPartitionTables(t *testing.T) {
	needTools(t, "sfdisk", "blkid", "wipefs", "mkfs.ext4")
	for _, x := range []struct {
		name   string
		layout machine.DiskLayout
		want   []string
	}{
		{"one", machine.DiskLayout{Partitions: []machine.Partition{{}}}, []string{"gpt", "1 1MiB+298MiB 0FC63DAF-8483-4772-8E79-3D69D8477DE4 "}},
		{"gpt", machine.DiskLayout{Partitions: []machine.Partition{
			{Number: 2, Label: "it's $data", Start: 8 << 20, Size: 64 << 20}, {Size: 32 << 20, Type: "swap", Start: 128 << 20},
			{Type: "4f68bce3-e8cd-4db1-96e7-fbcaf984b709", Start: 200 << 20}}},
			[]string{"gpt", "1 128MiB+32MiB 0657FD6D-A4AB-43C4-84E5-0933C84B4F4F ", "2 8MiB+64MiB 0FC63DAF-8483-4772-8E79-3D69D8477DE4 it's $data",
				"3 200MiB+99MiB 4F68BCE3-E8CD-4DB1-96E7-FBCAF984B709 "}},
		{"mbr", machine.DiskLayout{Table: "mbr", Partitions: []machine.Partition{{Size: 64 << 20, Type: "efi"}, {Size: 32 << 20, Type: "swap"}, {}}},
			[]string{"dos", "1 1MiB+64MiB ef ", "2 65MiB+32MiB 82 ", "3 97MiB+203MiB 83 "}},
		{"wiped", machine.DiskLayout{Wipe: true, Partitions: []machine.Partition{{Size: 5 << 20}}}, []string{"gpt", "1 1MiB+5MiB 0FC63DAF-8483-4772-8E79-3D69D8477DE4 "}},
	} {
		t.Run(x.name, func(t *testing.T) {
			disk := blank(t)
			x.layout.Device = disk
			script := scripts(t, machine.Storage{Disks: []machine.DiskLayout{x.layout}})[0]
			if err := carryOut(t, script); err != nil {
				t.Fatal(err)
			}
			id, got := tableOf(t, disk)
			if d := cmp.Diff(x.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if err := carryOut(t, script); err != nil {
				t.Fatal(err)
			}
			if again, _ := tableOf(t, disk); (again == id) == x.layout.Wipe {
				t.Errorf("the second run: table %s was %s, wipe is %v", again, id, x.layout.Wipe)
			}
		})
	}
	t.Run("a disk with a file system is left alone", func(t *testing.T) {
		disk := blank(t)
		if err := carryOut(t, "mkfs.ext4 -q -F "+disk); err != nil {
			t.Fatal(err)
		}
		if err := carryOut(t, scripts(t, machine.Storage{Disks: []machine.DiskLayout{{Device: disk, Partitions: []machine.Partition{{}}}}})[0]); err != nil {
			t.Fatal(err)
		}
		if kind, _ := exec.Command("blkid", "-p", "-o", "value", "-s", "TYPE", disk).Output(); string(kind) != "ext4\n" {
			t.Errorf("the file system is gone: %q", kind)
		}
	})
}

// TestFilesystems has the real tools make file systems, and looks what the next run does with them.
func TestFilesystems(t *testing.T) {
	needTools(t, "blkid", "wipefs", "mkfs.ext4", "mkfs.vfat", "mkswap")
	export := func(disk string) string {
		out, _ := exec.Command("blkid", "-p", "-o", "value", "-s", "TYPE", "-s", "LABEL", "-s", "UUID", disk).Output()
		return string(out)
	}
	for _, f := range []machine.Filesystem{
		{Type: "ext4", Label: "it's data", Options: []string{"-m", "1", "-O", "^metadata_csum"}}, {Type: "ext4", Wipe: true}, {Type: "vfat", Label: "EFI"}, {Type: "swap", Label: "swap"},
	} {
		t.Run(f.Type, func(t *testing.T) {
			f.Device = blank(t)
			script := scripts(t, machine.Storage{Filesystems: []machine.Filesystem{f}})[0]
			if err := carryOut(t, script); err != nil {
				t.Fatal(err)
			}
			first := export(f.Device)
			if !strings.Contains(first, f.Type+"\n") || !strings.Contains(first, f.Label) {
				t.Errorf("blkid finds %q", first)
			}
			if err := carryOut(t, script); err != nil {
				t.Fatal(err)
			}
			if again := export(f.Device); (again == first) == f.Wipe {
				t.Errorf("the second run: %q was %q, wipe is %v", again, first, f.Wipe)
			}
			f.Label, f.Wipe = "other", false
			if err := carryOut(t, scripts(t, machine.Storage{Filesystems: []machine.Filesystem{f}})[0]); err == nil {
				t.Error("a file system with another label is no error")
			}
		})
	}
}

// TestDataIsKept: without wipe nothing is written to a device that holds anything, or of which nobody can tell.
func TestDataIsKept(t *testing.T) {
	needTools(t, "sfdisk", "blkid", "wipefs", "mkfs.ext4")
	blind := t.TempDir() // a guest without wipefs(8)
	for _, name := range []string{"sfdisk", "mkfs.ext4", "blkid"} {
		path, err := exec.LookPath(name)
		if err == nil {
			err = os.Symlink(path, filepath.Join(blind, name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, x := range []struct{ name, prepare, path string }{
		{"a partition table", "echo 'label: gpt' | sfdisk --quiet $disk", ""},
		{"signs of two file systems", "mkfs.ext4 -q -F $disk && printf %s -rom1fs- | dd of=$disk conv=notrunc status=none", ""},
		{"nothing can tell", "true", "PATH=" + blind + "\n"},
	} {
		t.Run(x.name, func(t *testing.T) {
			disk := blank(t)
			if err := carryOut(t, "disk="+disk+"\n"+x.prepare); err != nil {
				t.Fatal(err)
			}
			before, err := os.ReadFile(disk)
			if err != nil {
				t.Fatal(err)
			}
			for _, script := range scripts(t, machine.Storage{
				Disks:       []machine.DiskLayout{{Device: disk, Partitions: []machine.Partition{{}}}},
				Filesystems: []machine.Filesystem{{Device: disk, Type: "ext4"}},
			}) {
				failed := carryOut(t, x.path+script)
				if failed == nil && strings.Contains(script, "mkfs") {
					t.Error("a file system that is not made is no error")
				}
				if after, err := os.ReadFile(disk); err != nil || !bytes.Equal(before, after) {
					t.Fatalf("the disk has changed (%v, %v) by\n%s", err, failed, script)
				}
			}
		})
	}
}

// TestCommandsRunOnce runs a command as a guest does, by cloud-init's own cloud-init-per: the second time it does nothing.
func TestCommandsRunOnce(t *testing.T) {
	needTools(t, "unshare", "sfdisk", "blkid")
	if os.Geteuid() != 0 {
		t.Skip("SKIP-MISSING: the rights of root, for a mount namespace")
	}
	disk := blank(t)
	g := generator{m: machine.Machine{Storage: machine.Storage{Disks: []machine.DiskLayout{{Device: disk, Wipe: true, Partitions: []machine.Partition{{}}}}}}, list: new(diag.List)}
	args := g.storage()[0].([]string)
	for _, release := range judge.Releases(t) {
		args[0] = filepath.Join(release.Root, "usr/bin/cloud-init-per")
		show := `sfdisk --json "$0" | grep -o '"id".*'`
		script := `mount -t tmpfs tmpfs /var/lib && mkdir -p /var/lib/cloud/instance/sem /var/lib/cloud/sem || exit 9
"$@" && ` + show + ` && "$@" && ` + show
		out, err := exec.Command("unshare", append([]string{"--mount", "sh", "-c", script, disk}, args...)...).Output()
		if err != nil {
			t.Fatalf("%s: %v", release.Name, err)
		}
		if lines := strings.Split(strings.TrimSpace(string(out)), "\n"); len(lines) != 2 || lines[0] != lines[1] {
			t.Errorf("%s: %q", release.Name, lines)
		}
	}
}

// TestSchemaOfStorage holds the cloud-config of units and storage to cloud-init's own schemas.
func TestSchemaOfStorage(t *testing.T) {
	text, l := User(placed(t, stored()), datasource.Options{})
	if l.HasErrors() {
		t.Fatal(l)
	}
	for _, release := range judge.Releases(t) {
		verdict := release.Schema(t, judge.CloudConfig, [][]byte{[]byte(text.Reveal())})[0]
		if !verdict.OK() || len(verdict.Deprecations) > 0 {
			t.Errorf("%s: %+v", release.Name, verdict)
		}
	}
}
