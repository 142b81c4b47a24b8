package qemu

import (
	"os"
	"path/filepath"
	"testing"
)

// TestInspectDevice tells devices from files by what they are: QEMU opens one in another way than the other, and a file may
// stand below /dev as a device may be linked to from elsewhere.
func TestInspectDevice(t *testing.T) {
	file := filepath.Join(t.TempDir(), "disk.img")
	if err := os.WriteFile(file, make([]byte, 512), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(os.DevNull, link); err != nil {
		t.Skip("there are no symbolic links here: ", err)
	}
	for path, want := range map[string]bool{file: false, os.DevNull: true, link: true} {
		info, err := inspect(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Device != want {
			t.Errorf("%s is a device: %t, want %t", path, info.Device, want)
		}
	}
}
