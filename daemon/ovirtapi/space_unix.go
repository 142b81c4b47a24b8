//go:build linux || darwin

package ovirtapi

import "syscall"

// space gives the bytes of the file system of a directory that are free for disks, and those that are in use.
func space(dir string) (available, used int64, known bool) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, 0, false
	}
	block := int64(s.Bsize)
	return int64(s.Bavail) * block, int64(s.Blocks-s.Bfree) * block, true
}
