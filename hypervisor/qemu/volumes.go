package qemu

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/hypervisor"
	"github.com/vmseed/vmseed/internal/atomicfile"
	"github.com/vmseed/vmseed/machine"
)

// stepKind is a way to make a file that QEMU needs.
type stepKind string

const (
	makeOverlay stepKind = "overlay"
	makeDisk    stepKind = "disk"
	copyFile    stepKind = "copy"
)

// step makes a file. A file that is there already is kept: it holds what the guest wrote.
type step struct {
	Kind stepKind
	Path string
	// Base and Format are the image below an overlay, or the file to copy.
	Base, Format string
	Size         machine.Bytes
	Filesystem   string
}

// filesystems are those that a new disk can get.
var filesystems = map[string]bool{"ext2": true, "ext3": true, "ext4": true}

// volume finds where the contents of a disk are: what the caller says, else what the document says.
func volume(vm hypervisor.VM, d machine.Disk) (hypervisor.Volume, bool) {
	if v, ok := vm.Volumes[d.Name]; ok {
		if v.Format == "" {
			v.Format = d.Source.Format
		}
		return v, true
	}
	switch s := d.Source; {
	case s.Path != "":
		return hypervisor.Volume{Path: s.Path, Format: s.Format}, true
	case s.Blank:
		return hypervisor.Volume{Create: true, Size: d.Size, Filesystem: s.Filesystem}, true
	}
	return hypervisor.Volume{}, false
}

// contents returns the file and format of a disk and plans what is needed to make it.
func (b *builder) contents(path string, index int, d machine.Disk) (file, format string, ok bool) {
	v, ok := volume(b.vm, d)
	if !ok {
		b.list.Add(diag.Diagnostic{Code: CodeUnresolvedVolume, Severity: diag.Error, Range: b.at(path), Field: path,
			Summary: fmt.Sprintf("the contents of disk %q are not on this host", d.Name), Remedy: "give them " + b.vm.Options.Supplied(d)})
		return "", "", false
	}
	name := filepath.Join(b.vm.StateDir, fmt.Sprintf("disk%d", index))
	if v.Create {
		return b.newDisk(path, name, d, v)
	}
	info := b.host.Images[v.Path]
	if v.Format == "" && info.Leads {
		b.list.Add(diag.Diagnostic{Code: CodeBackingFile, Severity: diag.Error, Range: b.at(path), Field: path,
			Summary: fmt.Sprintf("the image of disk %q names another file as its base or its data", d.Name), Remedy: "flatten it with qemu-img convert"})
		return "", "", false
	}
	format = v.Format
	if format == "" {
		format = info.Format
	}
	if format != "raw" && format != "qcow2" {
		b.badValue(path+".source.format", "vmseed opens images of the formats raw and qcow2, not %q", format)
		return "", "", false
	}
	if v.Overlay {
		b.volumes = append(b.volumes, step{Kind: makeOverlay, Path: name + ".qcow2", Base: v.Path, Format: format, Size: max(d.Size, info.Size)})
		return name + ".qcow2", "qcow2", true
	}
	if d.Size > info.Size && info.Size > 0 {
		b.list.Add(diag.Diagnostic{Code: CodeBadValue, Severity: diag.Warning, Range: b.at(path + ".size"), Field: path + ".size",
			Summary: fmt.Sprintf("disk %q is used as it is, with %d bytes instead of %d", d.Name, info.Size, d.Size)})
	}
	return v.Path, format, true
}

// newDisk plans a new disk.
func (b *builder) newDisk(path, name string, d machine.Disk, v hypervisor.Volume) (file, format string, ok bool) {
	size := max(v.Size, d.Size)
	fsType := v.Filesystem
	switch {
	case size <= 0:
		b.badValue(path+".size", "disk %q is new and needs a size", d.Name)
		return "", "", false
	case fsType != "" && !filesystems[fsType]:
		b.unsupported(path+".source.filesystem", "choose ext4", "vmseed makes no file system %q", fsType)
		return "", "", false
	case fsType != "" && size < 2*partitionStart:
		b.badValue(path+".size", "disk %q is too small for a partition: %d bytes", d.Name, size)
		return "", "", false
	}
	file = v.Path
	if file == "" {
		file = name + ".raw"
	}
	b.volumes = append(b.volumes, step{Kind: makeDisk, Path: file, Size: size, Filesystem: fsType})
	return file, "raw", true
}

// images looks at the images that a machine's disks are made of.
func images(vm hypervisor.VM) (map[string]imageInfo, error) {
	out := map[string]imageInfo{}
	for _, d := range vm.Machine.Disks {
		v, ok := volume(vm, d)
		if !ok || v.Create || v.Path == "" {
			continue
		}
		info, err := inspect(v.Path)
		if err != nil {
			return nil, &hypervisor.EnvironmentError{What: fmt.Sprintf("the contents of disk %q cannot be read", d.Name), Err: err,
				Remedy: "give them " + vm.Options.Supplied(d)}
		}
		out[v.Path] = info
	}
	return out, nil
}

// run makes the file. It appears under its name when it is complete.
func (s step) run(ctx context.Context) (err error) {
	if _, err := os.Lstat(s.Path); err == nil {
		return nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if s.Kind == copyFile {
		from, err := os.Open(s.Base)
		if err != nil {
			return err
		}
		defer from.Close()
		return atomicfile.Write(s.Path, func(w io.Writer) error {
			_, err := io.Copy(w, from)
			return err
		})
	}
	// The name makes the file one of atomicfile's, which are swept when their maker crashed.
	part := filepath.Join(filepath.Dir(s.Path), fmt.Sprintf(".vmseed-tmp-%d-%s", os.Getpid(), filepath.Base(s.Path)))
	defer func() {
		if err != nil {
			_ = os.Remove(part)
		}
	}()
	// A crashed process may have had the number that this one has.
	if err := os.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(part, os.O_RDWR|os.O_CREATE|os.O_EXCL, atomicfile.FileMode)
	if err != nil {
		return err
	}
	if s.Kind == makeDisk {
		err = s.partition(f)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	switch {
	case s.Kind == makeOverlay:
		err = s.overlay(ctx, part)
	case s.Filesystem != "":
		err = s.format(ctx, part)
	}
	if err != nil {
		return err
	}
	return os.Rename(part, s.Path)
}

// partition gives a new disk its size, and one partition when it gets a file system.
func (s step) partition(f *os.File) error {
	if err := f.Truncate(int64(s.Size) / sectorSize * sectorSize); err != nil || s.Filesystem == "" {
		return err
	}
	_, err := f.WriteAt(mbr(s.Size), 0)
	return err
}

// overlay makes an empty qcow2 image whose base is the image.
func (s step) overlay(ctx context.Context, part string) error {
	base, err := filepath.Abs(s.Base)
	if err != nil {
		return err
	}
	args := []string{"create", "-q", "-f", "qcow2", "-F", s.Format, "-b", base, part}
	if s.Size > 0 {
		args = append(args, strconv.FormatInt(int64(s.Size), 10))
	}
	return tool(ctx, "qemu-img", "qemu-utils", args...)
}

// format makes the file system of the only partition.
func (s step) format(ctx context.Context, part string) error {
	kib := (int64(s.Size)/sectorSize*sectorSize - partitionStart) / 1024
	return tool(ctx, "mke2fs", "e2fsprogs", "-q", "-F", "-t", s.Filesystem, "-E", "offset="+strconv.Itoa(partitionStart), part, strconv.FormatInt(kib, 10)+"k")
}

// tool runs a program of the host. Its words on standard error make the error.
func tool(ctx context.Context, name, pkg string, args ...string) error {
	path, err := program(name, pkg)
	if err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, path, args...).CombinedOutput()
	if err != nil {
		return &hypervisor.EnvironmentError{What: name + " failed: " + strings.TrimSpace(string(out)), Err: err}
	}
	return nil
}
