//go:build !unix

package supervisor

import "os"

// lock opens the lock file. On this system it is the control socket alone that keeps supervisors apart.
func lock(path string) (f *os.File, held bool, err error) {
	f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	return f, false, err
}

// private does nothing: the directories of users are private here.
func private() {}
