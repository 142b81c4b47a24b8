//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// The guest agent's files, and the home of the user whose keys it sets.
const (
	agentDir = "/agent"
	home     = "/home/core"
)

// runAgent starts the real guest agent, and makes the user that it is asked for only after that: as a guest does that
// sets itself up. Then it tells which keys the user got.
func runAgent(console func(string, ...any)) error {
	port, err := portCalled("org.qemu.guest_agent.0")
	if err != nil {
		return err
	}
	loader := filepath.Join(agentDir, "ld.so")
	for _, name := range []string{loader, filepath.Join(agentDir, "qemu-ga")} {
		if err := os.Chmod(name, 0o755); err != nil {
			return err
		}
	}
	if err := os.MkdirAll("/run", 0o755); err != nil {
		return err
	}
	agent := exec.Command(loader, "--library-path", agentDir, filepath.Join(agentDir, "qemu-ga"), "-m", "virtio-serial", "-p", port, "-t", "/run", "-f", "/run/qga.pid")
	agent.Stdout, agent.Stderr = os.Stdout, os.Stderr
	if err := agent.Start(); err != nil {
		return err
	}
	console("guest: agent started")
	go func() {
		time.Sleep(2 * time.Second)
		if err := makeUser(); err != nil {
			console("guest: %v", err)
		}
		for range time.Tick(100 * time.Millisecond) {
			keys, err := os.ReadFile(filepath.Join(home, ".ssh", "authorized_keys"))
			if err == nil && len(keys) > 0 {
				console("guest: keys %q", strings.TrimSpace(string(keys)))
				return
			}
		}
	}()
	return nil
}

func makeUser() error {
	for _, dir := range []string{"/etc", home} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if err := os.WriteFile("/etc/passwd", []byte("root:x:0:0::/:/bin/sh\ncore:x:1000:1000::"+home+":/bin/sh\n"), 0o644); err != nil {
		return err
	}
	return os.Chown(home, 1000, 1000)
}

// portCalled finds the device of a virtio-serial port.
func portCalled(want string) (string, error) {
	files, _ := filepath.Glob("/sys/class/virtio-ports/*/name")
	for _, file := range files {
		name, err := os.ReadFile(file)
		if err == nil && strings.TrimSpace(string(name)) == want {
			return filepath.Join("/dev", filepath.Base(filepath.Dir(file))), nil
		}
	}
	return "", fmt.Errorf("there is no port %s", want)
}
