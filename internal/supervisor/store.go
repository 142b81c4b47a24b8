package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/vmseed/vmseed/internal/atomicfile"
)

// Marks in the names of files that say what a crashed process was doing.
const (
	// makingMark begins the name of a file in a VM's directory that is being made; the maker's process id follows.
	makingMark = ".making-"
	// removedMark begins the name of a VM's directory that is being removed.
	removedMark = ".removed-"
)

// Root returns the directory that holds the VMs of the user: $XDG_STATE_HOME/vmseed/vms (XDG Base Directory
// Specification), by default ~/.local/state/vmseed/vms.
func Root() (string, error) {
	if state := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(state) {
		return filepath.Join(state, "vmseed", "vms"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(home, ".local", "state", "vmseed", "vms"), nil
}

// DirName is the name of a VM's directory.
func DirName(namespace, name string) string { return namespace + "_" + name }

// ErrExists means that there is a VM of that name already.
var ErrExists = errors.New("there is a VM of that name already")

// Create makes the directory of a new VM below root. The caller fills it, ends with Plan.Save and calls keep; when it
// fails it calls discard. A directory whose maker crashed before keep is removed by Sweep, with the secrets in it.
func Create(root, namespace, name string) (dir string, keep, discard func() error, err error) {
	if err := os.MkdirAll(root, atomicfile.DirMode); err != nil {
		return "", nil, nil, err
	}
	dir = filepath.Join(root, DirName(namespace, name))
	if err := sweepDir(dir, runs); err != nil {
		return "", nil, nil, err
	}
	if err := os.Mkdir(dir, atomicfile.DirMode); err != nil {
		if errors.Is(err, fs.ErrExist) {
			err = fmt.Errorf("%s/%s: %w", namespace, name, ErrExists)
		}
		return "", nil, nil, err
	}
	mark := filepath.Join(dir, makingMark+strconv.Itoa(os.Getpid()))
	discard = func() error { return removeDir(dir) }
	if err := os.WriteFile(mark, nil, atomicfile.FileMode); err != nil {
		return "", nil, nil, errors.Join(err, discard())
	}
	return dir, func() error { return os.Remove(mark) }, discard, nil
}

// List returns the state directories of the VMs below root, in the order of their names.
func List(root string) ([]string, error) {
	entries, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		dir := filepath.Join(root, e.Name())
		if _, err := os.Stat(filepath.Join(dir, planFile)); err == nil && !strings.HasPrefix(e.Name(), ".") {
			out = append(out, dir)
		}
	}
	return out, nil
}

// Remove ends a VM at once and removes everything that belongs to it.
func (c *Client) Remove(ctx context.Context) error {
	if err := ignore(c.Stop(ctx, 0), ErrNotRunning); err != nil {
		return err
	}
	// The supervisor has ended when its lock is free. Holding it keeps another from starting meanwhile.
	for pause := firstPause; ; pause = min(2*pause, longPause) {
		held, busy, err := atomicfile.Hold(filepath.Join(c.Dir, lockFile))
		if err != nil {
			return err
		}
		if !busy {
			defer held.Close()
			break
		}
		if err := sleep(ctx, pause); err != nil {
			return err
		}
	}
	return removeDir(c.Dir)
}

// removeDir removes a VM's directory. It is renamed first, so that a crash leaves no half of a VM.
func removeDir(dir string) error {
	gone := filepath.Join(filepath.Dir(dir), removedMark+strconv.Itoa(os.Getpid())+"-"+filepath.Base(dir))
	if err := os.RemoveAll(gone); err != nil {
		return err
	}
	if err := os.Rename(dir, gone); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	return os.RemoveAll(gone)
}

// Sweep removes what crashed processes left below root: VMs that were being made or removed, temporary files, which may
// hold secrets, and sockets of VMs that have ended. The command calls it at its start.
func Sweep(root string) error { return sweep(root, runs) }

// SweepOwn is Sweep for a root that belongs to the caller alone, who is making and removing nothing yet. A mark there is that
// of a crashed process even when another has its number now, as the processes of a container often do.
func SweepOwn(root string) error {
	return sweep(root, func(string) bool { return false })
}

func sweep(root string, runs func(pid string) bool) error {
	entries, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var errs []error
	for _, e := range entries {
		dir := filepath.Join(root, e.Name())
		switch {
		case !e.IsDir():
		case strings.HasPrefix(e.Name(), removedMark):
			pid, _, _ := strings.Cut(strings.TrimPrefix(e.Name(), removedMark), "-")
			if !runs(pid) {
				errs = append(errs, os.RemoveAll(dir))
			}
		default:
			errs = append(errs, sweepDir(dir, runs))
		}
	}
	return errors.Join(append(errs, err)...)
}

// sweepDir sweeps a VM's directory, and removes it when its maker crashed.
func sweepDir(dir string, runs func(pid string) bool) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	state, err := loadState(dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		pid, ok := strings.CutPrefix(e.Name(), makingMark)
		switch {
		case !ok || runs(pid):
		case state.Status.Alive():
			// Its maker died after the start: the VM is complete, and may run.
			errs = append(errs, remove(filepath.Join(dir, e.Name())))
		default:
			return removeDir(dir)
		}
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".sock") && !state.Status.Alive() {
			held, busy, err := atomicfile.Hold(filepath.Join(dir, lockFile))
			if err == nil && !busy {
				errs = append(errs, remove(filepath.Join(dir, e.Name())), held.Close())
			}
		}
	}
	return errors.Join(append(errs, atomicfile.Sweep(dir))...)
}
