//go:build linux

// Command probe serves testguest's own test: it prints what it finds on
// the disk with the serial "seed".
package main

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/vmseed/vmseed/internal/testguest/inguest"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	device, err := inguest.Disk("seed")
	if err != nil {
		return err
	}
	if err := os.MkdirAll("/mnt/seed", 0o755); err != nil {
		return err
	}
	if err := unix.Mount(device, "/mnt/seed", "iso9660", unix.MS_RDONLY, ""); err != nil {
		return fmt.Errorf("mount: %w", err)
	}
	content, err := os.ReadFile("/mnt/seed/user-data")
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(content)
	return err
}
