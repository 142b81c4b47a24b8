// Package atomicfile writes files so that a reader sees the old content or the new, never a part, whatever happens: a
// crash, a full disk, a link put in the way. Files are private (0600 in directories of 0700) from the first instant.
//
// A crash between two steps leaves a temporary file behind that may hold a secret. Sweep, which every write calls for
// its own directory, removes those.
//
// Lock, TryLock and Hold keep processes apart that would change the same files.
package atomicfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Modes of what this package creates.
const (
	FileMode fs.FileMode = 0o600
	DirMode  fs.FileMode = 0o700
)

// prefix begins the name of every temporary file; the process id of its writer and a counter follow.
const prefix = ".vmseed-tmp-"

// Write replaces the file at path by what fill writes. Missing parent directories are created. On an error the old file
// is untouched and nothing is left behind. The path is followed through existing links of its directory, but a link at
// path itself is replaced, not followed.
func Write(path string, fill func(io.Writer) error) (err error) {
	dir, name := filepath.Dir(path), filepath.Base(path)
	if err := os.MkdirAll(dir, DirMode); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return WriteIn(root, name, fill)
}

// WriteIn is Write for a name inside an open root. Nothing outside the root is written, even when links lead there.
func WriteIn(root *os.Root, name string, fill func(io.Writer) error) (err error) {
	if err := sweep(root); err != nil {
		return err
	}
	if info, err := root.Lstat(name); err == nil && info.IsDir() {
		return &fs.PathError{Op: "write", Path: filepath.Join(root.Name(), name), Err: syscall.EISDIR}
	}
	f, temp, err := create(root)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = root.Remove(temp)
		}
	}()
	buffered := bufio.NewWriterSize(f, 64<<10)
	if err := errors.Join(fill(buffered), buffered.Flush()); err != nil {
		return errors.Join(explain(root, name, err), f.Close())
	}
	if err := f.Sync(); err != nil {
		return errors.Join(explain(root, name, err), f.Close())
	}
	if err := f.Close(); err != nil {
		return explain(root, name, err)
	}
	if err := root.Rename(temp, name); err != nil {
		return err
	}
	return syncDir(root)
}

// WriteBytes is Write for content at hand.
func WriteBytes(path string, content []byte) error {
	return Write(path, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

// WriteBytesIn is WriteIn for content at hand.
func WriteBytesIn(root *os.Root, name string, content []byte) error {
	return WriteIn(root, name, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

// IsTemporary reports whether a file name is that of a temporary file of this package.
func IsTemporary(name string) bool { return strings.HasPrefix(name, prefix) }

// explain gives errors of the disk the name of the file that was to be written.
func explain(root *os.Root, name string, err error) error {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		err = pathError.Err
	}
	return fmt.Errorf("cannot write %s: %w", filepath.Join(root.Name(), name), err)
}

// create opens a new temporary file. Its name carries the process id, so that Sweep can tell a crashed writer's from a
// living one's.
func create(root *os.Root) (*os.File, string, error) {
	for n := range 10_000 {
		name := prefix + strconv.Itoa(os.Getpid()) + "-" + strconv.Itoa(n)
		f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, FileMode)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		return f, name, err
	}
	return nil, "", fmt.Errorf("%s: too many temporary files", root.Name())
}

// Sweep removes the temporary files that writers which no longer run left in dir.
func Sweep(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return sweep(root)
}

func sweep(root *os.Root) error {
	d, err := root.Open(".")
	if err != nil {
		return err
	}
	names, err := d.Readdirnames(-1)
	if err = errors.Join(err, d.Close()); err != nil {
		return err
	}
	for _, name := range names {
		rest, ok := strings.CutPrefix(name, prefix)
		if !ok {
			continue
		}
		pid, err := strconv.Atoi(strings.Split(rest, "-")[0])
		if err == nil && (pid == os.Getpid() || running(pid)) {
			continue
		}
		if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// syncDir makes the rename durable. File systems that cannot sync a directory say EINVAL, which is no loss.
func syncDir(root *os.Root) error {
	d, err := root.Open(".")
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) {
		return explain(root, ".", err)
	}
	return nil
}
