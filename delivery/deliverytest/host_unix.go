//go:build unix

package deliverytest

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// modes delivers under the usual and the unusual umasks: what is made is for its owner alone.
func (c Config) modes(t *testing.T) {
	for _, mask := range []int{0, 0o022, 0o077} {
		dir := t.TempDir()
		old := syscall.Umask(mask)
		_, err := c.Delivery.Deliver(t.Context(), c.full(), target(filepath.Join(dir, "new", "out")))
		syscall.Umask(old)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range entries(t, dir) {
			info, err := os.Lstat(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			want := fs.FileMode(0o600)
			if info.IsDir() {
				want = 0o700
			}
			if info.Mode().Perm() != want {
				t.Errorf("umask %03o: %s is %04o, want %04o", mask, name, info.Mode().Perm(), want)
			}
		}
	}
}
