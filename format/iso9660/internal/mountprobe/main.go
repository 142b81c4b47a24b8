//go:build linux

// Command mountprobe runs in a guest of the conformance tests of format/iso9660 and format/fat. It mounts disks as
// Linux mounts them and prints what Linux shows, so that the tests can compare it with what was written.
//
// The file /mounts.json lists the mounts. For each entry below each of them the probe prints one line of JSON.
package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// mount is one way to mount one disk.
type mount struct {
	Serial  string // of the virtio-blk disk
	Type    string // of the file system
	Options string
}

// entry is what Linux shows of a file or directory.
type entry struct {
	mount
	Path   string      // relative to the root of the file system, which is not printed
	Mode   fs.FileMode // Go's form
	MTime  int64       // seconds since 1970
	Size   int64       // of regular files
	SHA256 string      // of regular files
	Error  string      // of the mount or of reading the entry; then the rest is not set
}

const target = "/mnt/probe"

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	plan, err := os.ReadFile("/mounts.json")
	if err != nil {
		return err
	}
	var mounts []mount
	if err := json.Unmarshal(plan, &mounts); err != nil {
		return err
	}
	if err := os.MkdirAll(target, 0o755); err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	for _, m := range mounts {
		if err := m.show(out); err != nil {
			return err
		}
	}
	return nil
}

// show mounts a disk and prints its entries. What fails in the file system is printed as well.
func (m mount) show(out *json.Encoder) error {
	device, err := disk(m.Serial)
	if err != nil {
		return err
	}
	if err := syscall.Mount(device, target, m.Type, syscall.MS_RDONLY, m.Options); err != nil {
		return out.Encode(entry{mount: m, Error: "mount: " + err.Error()})
	}
	err = filepath.WalkDir(target, func(path string, d fs.DirEntry, err error) error {
		if path == target && err == nil {
			return nil
		}
		e := entry{mount: m, Path: strings.TrimPrefix(path, target+"/")}
		if err == nil {
			err = e.read(path)
		}
		if err != nil {
			e.Error = err.Error()
		}
		return out.Encode(e)
	})
	return errors.Join(err, syscall.Unmount(target, 0))
}

func (e *entry) read(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	e.Mode, e.MTime = info.Mode(), info.ModTime().Unix()
	if !info.Mode().IsRegular() {
		return nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	e.Size, e.SHA256 = info.Size(), hex.EncodeToString(sum[:])
	return nil
}

// disk returns the device of the disk with the given serial.
func disk(serial string) (string, error) {
	files, err := filepath.Glob("/sys/block/*/serial")
	if err != nil {
		return "", err
	}
	for _, file := range files {
		if content, err := os.ReadFile(file); err == nil && strings.TrimSpace(string(content)) == serial {
			return "/dev/" + filepath.Base(filepath.Dir(file)), nil
		}
	}
	return "", fmt.Errorf("no disk has the serial %q", serial)
}
