// Package inguest is what probes use: the programs that testguest.Initramfs
// runs inside a guest.
package inguest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Disk returns the device file, such as /dev/vda, of the virtio-blk disk with
// the given serial.
func Disk(serial string) (string, error) {
	files, err := filepath.Glob("/sys/block/*/serial")
	if err != nil {
		return "", err
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err == nil && strings.TrimSpace(string(content)) == serial {
			return "/dev/" + filepath.Base(filepath.Dir(file)), nil
		}
	}
	return "", fmt.Errorf("no disk has the serial %q", serial)
}
