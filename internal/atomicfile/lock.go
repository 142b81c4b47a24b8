package atomicfile

import (
	"errors"
	"os"
)

// Lock waits for the lock on an open file, which keeps other processes that ask for it out. The kernel releases it when the
// file is closed or its process dies. Systems without flock(2) lock nothing.
func Lock(f *os.File) error {
	_, err := flock(f, exclusive)
	return err
}

// TryLock takes the lock on an open file unless another process has it, and reports whether it did. Several may share one.
func TryLock(f *os.File, shared bool) (ok bool, err error) {
	how := exclusive
	if shared {
		how = common
	}
	return flock(f, how|atOnce)
}

// Hold opens the file at path, which is made where there is none, and takes its lock. Held says that another process has it;
// there is no file then.
func Hold(path string) (f *os.File, held bool, err error) {
	if f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, FileMode); err != nil {
		return nil, false, err
	}
	ok, err := TryLock(f, false)
	if err != nil || !ok {
		return nil, err == nil, errors.Join(err, f.Close())
	}
	return f, false, nil
}
