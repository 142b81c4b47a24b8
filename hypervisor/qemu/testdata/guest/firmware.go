//go:build linux

package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// configs finds an Ignition config where Ignition looks, and tells what it is: in the firmware configuration device, and on
// the block device with its serial number, without the NUL bytes at its end.
func configs() []string {
	tell := func(where string, data []byte, err error) string {
		if err != nil {
			return where + ": " + err.Error()
		}
		return fmt.Sprintf("%s: %x", where, sha256.Sum256(data))
	}
	data, err := os.ReadFile("/sys/firmware/qemu_fw_cfg/by_name/opt/com.coreos/config/raw")
	out := []string{tell("fw_cfg", data, err)}
	files, _ := filepath.Glob("/sys/block/*/serial")
	for _, file := range files {
		if serial, err := os.ReadFile(file); err != nil || strings.TrimSpace(string(serial)) != "ignition" {
			continue
		}
		data, err := os.ReadFile(filepath.Join("/dev", filepath.Base(filepath.Dir(file))))
		out = append(out, tell("block device", []byte(strings.TrimRight(string(data), "\x00")), err))
	}
	return out
}
