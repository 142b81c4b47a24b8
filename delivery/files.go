package delivery

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/vmseed/vmseed/seed"
)

// FilePath is where a part of a seed is written as a file: at the target's path, or in its directory under the machine's
// name. A part with a name of its own stands beside the one without, as <namespace>_<name>.<part>.<extension>.
func (t Target) FilePath(machine seed.Name, part, extension string) string {
	dir, name := t.Path, machine.String()
	if !t.Dir {
		if part == "" {
			return t.Path
		}
		dir = filepath.Dir(filepath.Clean(t.Path))
	}
	if part != "" {
		name += "." + part
	}
	return filepath.Join(dir, name+"."+extension)
}

// RemoveFiles removes the files of a receipt. One that is gone already is no error.
func RemoveFiles(r Receipt) error {
	var errs []error
	for _, p := range r.Paths {
		if err := os.Remove(p); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
