package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"

	diskfs "github.com/diskfs/go-diskfs"
	"github.com/diskfs/go-diskfs/disk"
	"github.com/diskfs/go-diskfs/filesystem"
	diskiso "github.com/diskfs/go-diskfs/filesystem/iso9660"
	kdomanski "github.com/kdomanski/iso9660"

	"github.com/vmseed/vmseed/format/fat"
	"github.com/vmseed/vmseed/format/iso9660"
)

// contender is one way to write a workload to the file out.
type contender struct {
	name    string
	process bool   // runs programs, else a library
	program string // that must be installed
	fat     bool   // writes FAT, else ISO 9660
	memory  bool   // writes no file
	write   func(w *workload, out string) error
}

// errSkip means that a contender does not do this workload.
var errSkip = errors.New("not for this workload")

// The names of the contenders that the others are compared with.
const (
	ourISO        = "vmseed format/iso9660"
	ourFAT        = "vmseed format/fat"
	ourISOProcess = "vmseed format/iso9660, as a program"
	ourFATProcess = "vmseed format/fat, as a program"
	rawWrite      = "the same bytes, written at once"
)

// contenders lists everything that is measured. program is a vmseed program.
func contenders(program string) []contender {
	return []contender{
		{name: ourISO, write: oursToFile},
		{name: ourISO + ", to memory", memory: true, write: oursToMemory()},
		{name: rawWrite, write: raw()},
		{name: "kdomanski/iso9660 v0.4.0", write: kdomanskiISO},
		{name: "diskfs/go-diskfs v1.9.4, Rock Ridge", write: diskfsISO(false)},
		{name: "diskfs/go-diskfs v1.9.4, Rock Ridge and Joliet", write: diskfsISO(true)},
		{name: ourISOProcess, process: true, write: oursAsProgram(isoMode)},
		{name: "vmseed cloud-localds", process: true, program: program, write: cloudLocalds(program, "cloud-localds")},
		{name: "genisoimage -r -J", process: true, program: "genisoimage", write: mkisofs("genisoimage")},
		{name: "xorrisofs -r -J", process: true, program: "xorrisofs", write: mkisofs("xorrisofs")},
		{name: "cloud-localds", process: true, program: "cloud-localds", write: cloudLocalds("cloud-localds")},
		{name: ourFAT, fat: true, write: oursFAT},
		{name: "diskfs/go-diskfs v1.9.4, FAT", fat: true, write: diskfsFAT},
		{name: ourFATProcess, fat: true, process: true, write: oursAsProgram(fatMode)},
		{name: "vmseed cloud-localds -f vfat", fat: true, process: true, program: program,
			write: cloudLocalds(program, "cloud-localds", "-f", "vfat")},
		{name: "mkfs.vfat and mcopy", fat: true, process: true, program: "mcopy", write: mtools},
		{name: "cloud-localds -f vfat", fat: true, process: true, program: "cloud-localds",
			write: cloudLocalds("cloud-localds", "-f", "vfat")},
	}
}

// writeFile creates out and lets im write to it.
func writeFile(im io.WriterTo, out string) error {
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	_, err = im.WriteTo(f)
	return errors.Join(err, f.Close())
}

func oursToFile(w *workload, out string) error {
	im, err := iso9660.New(w.isoFiles(), iso9660.Options{Label: w.label})
	if err != nil {
		return err
	}
	return writeFile(im, out)
}

// oursToMemory returns a function that keeps its buffer.
func oursToMemory() func(*workload, string) error {
	var buf bytes.Buffer
	return func(w *workload, _ string) error {
		im, err := iso9660.New(w.isoFiles(), iso9660.Options{Label: w.label})
		if err != nil {
			return err
		}
		buf.Reset()
		_, err = im.WriteTo(&buf)
		return err
	}
}

// raw returns a function that writes a volume that was made before: what the disk costs.
func raw() func(*workload, string) error {
	volumes := make(map[*workload][]byte)
	return func(w *workload, out string) error {
		if volumes[w] == nil {
			im, err := iso9660.New(w.isoFiles(), iso9660.Options{Label: w.label})
			if err != nil {
				return err
			}
			var buf bytes.Buffer
			if _, err := im.WriteTo(&buf); err != nil {
				return err
			}
			volumes[w] = buf.Bytes()
		}
		return os.WriteFile(out, volumes[w], 0o644)
	}
}

func oursFAT(w *workload, out string) error {
	im, err := fat.New(w.fatFiles(), fat.Options{Label: w.label})
	if err != nil {
		return err
	}
	return writeFile(im, out)
}

// oursAsProgram runs this program in a mode in which it reads a directory and writes a volume, as the others do.
func oursAsProgram(mode string) func(*workload, string) error {
	return func(w *workload, out string) error {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		return command(self, mode, w.label, w.dir, out)
	}
}

func kdomanskiISO(w *workload, out string) (err error) {
	writer, err := kdomanski.NewWriter()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, writer.Cleanup()) }()
	for _, f := range w.files {
		if err := writer.AddFile(bytes.NewReader(f.data), f.path); err != nil {
			return err
		}
	}
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	return errors.Join(writer.WriteTo(f, w.label), f.Close())
}

// diskfsISO stages the tree in a directory, as the library wants.
func diskfsISO(joliet bool) func(*workload, string) error {
	return func(w *workload, out string) error {
		d, err := create(out, 20*iso9660.SectorSize) // the least; it grows as needed
		if err != nil {
			return err
		}
		d.LogicalBlocksize = iso9660.SectorSize
		fsys, err := d.CreateFilesystem(disk.FilesystemSpec{FSType: filesystem.TypeISO9660, VolumeLabel: w.label})
		if err != nil {
			return err
		}
		if err := fillDisk(fsys, w); err != nil {
			return err
		}
		iso, ok := fsys.(*diskiso.FileSystem)
		if !ok {
			return fmt.Errorf("go-diskfs made a %T", fsys)
		}
		options := diskiso.FinalizeOptions{RockRidge: true, Joliet: joliet, VolumeIdentifier: w.label}
		return errors.Join(iso.Finalize(options), fsys.Close(), d.Close())
	}
}

func diskfsFAT(w *workload, out string) error {
	size, kind := int64(1<<20), filesystem.TypeFat12
	if w.bytes() > 1<<19 {
		size, kind = 32<<20, filesystem.TypeFat16
	}
	d, err := create(out, size)
	if err != nil {
		return err
	}
	fsys, err := d.CreateFilesystem(disk.FilesystemSpec{FSType: kind, VolumeLabel: w.label})
	if err != nil {
		return err
	}
	return errors.Join(fillDisk(fsys, w), fsys.Close(), d.Close())
}

// create makes a disk image in a new file.
func create(out string, size int64) (*disk.Disk, error) {
	if err := os.Remove(out); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return diskfs.Create(out, size, diskfs.SectorSizeDefault)
}

// fillDisk copies the workload to a file system of go-diskfs.
func fillDisk(fsys filesystem.FileSystem, w *workload) error {
	made := map[string]bool{".": true}
	for _, f := range w.files {
		if dir := path.Dir(f.path); !made[dir] {
			if err := fsys.Mkdir(dir); err != nil {
				return err
			}
			made[dir] = true
		}
		to, err := fsys.OpenFile(f.path, os.O_CREATE|os.O_RDWR)
		if err != nil {
			return err
		}
		_, err = to.Write(f.data)
		if err := errors.Join(err, to.Close()); err != nil {
			return err
		}
	}
	return nil
}

func mkisofs(program string) func(*workload, string) error {
	return func(w *workload, out string) error {
		return command(program, "-quiet", "-r", "-J", "-V", w.label, "-o", out, w.dir)
	}
}

// cloudLocalds can write the files of a NoCloud seed, and nothing else.
func cloudLocalds(program string, args ...string) func(*workload, string) error {
	return func(w *workload, out string) error {
		in := func(name string) string { return filepath.Join(w.dir, name) }
		if _, err := os.Stat(in("user-data")); err != nil {
			return errSkip
		}
		all := append(append([]string{}, args...), "-N", in("network-config"), out, in("user-data"), in("meta-data"))
		return command(program, all...)
	}
}

func mtools(w *workload, out string) error {
	if err := os.Remove(out); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	kib := "1024"
	if w.bytes() > 1<<19 {
		kib = "32768"
	}
	label := "CIDATA"
	if w.label == "config-2" {
		label = "CONFIG-2"
	}
	if err := command("mkfs.vfat", "-n", label, "-C", out, kib); err != nil {
		return err
	}
	top, err := filepath.Glob(filepath.Join(w.dir, "*"))
	if err != nil {
		return err
	}
	return command("mcopy", append(append([]string{"-i", out, "-s"}, top...), "::")...)
}

// command runs a program and shows what it says only if it fails.
func command(program string, args ...string) error {
	if said, err := exec.Command(program, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", program, err, said)
	}
	return nil
}
