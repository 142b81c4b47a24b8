//go:build conformance && linux

package podnet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/vmseed/vmseed/kube/internal/hosttest"
)

// pluginDir is where Debian's package containernetworking-plugins has the reference plugins.
const pluginDir = "/usr/lib/cni"

// TestMain runs the tests in a network and a mount namespace of their own: what plugins do to "the host" they do there.
func TestMain(m *testing.M) {
	if uid := os.Getenv(killedNode); uid != "" {
		setUpAndWait(uid)
	}
	os.Exit(hosttest.Main("CNI plugins need root", func() int {
		// As on a node, packets are forwarded. Addresses are used at once, instead of a second after they were given.
		if err := errors.Join(linkUp("lo"), sysctl("ipv4/ip_forward", "1"), sysctl("ipv6/conf/default/accept_dad", "0")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}))
}

// node is a manager with directories of its own.
type node struct {
	*Manager
	cfg Config
}

func newNode(t *testing.T, confs map[string]string) node {
	t.Helper()
	if _, err := os.Stat(filepath.Join(pluginDir, "bridge")); err != nil {
		t.Skip("SKIP-MISSING: the package containernetworking-plugins is not installed")
	}
	dir := t.TempDir()
	cfg := Config{ConfDir: filepath.Join(dir, "net.d"), BinDirs: []string{pluginDir, filepath.Join(dir, "bin")}, StateDir: filepath.Join(dir, "state"),
		NetnsDir: filepath.Join(dir, "netns"), ResolvConf: filepath.Join(dir, "resolv.conf")}
	for _, sub := range []string{"net.d", "bin", "ipam"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	n := node{cfg: cfg}
	for name, text := range confs {
		n.configure(t, name, text)
	}
	n.restart(t)
	t.Cleanup(func() {
		if err := n.collect(); err != nil {
			t.Errorf("collect everything at the end: %v", err)
		}
		_ = syscall.Unmount(cfg.NetnsDir, syscall.MNT_DETACH)
	})
	return n
}

// restart makes the manager anew, as a node process that starts again does.
func (n *node) restart(t *testing.T) {
	t.Helper()
	m, err := New(n.cfg)
	if err != nil {
		t.Fatal(err)
	}
	n.Manager = m
}

// configure writes a network's configuration. $DIR is a directory for the plugin's own state.
func (n *node) configure(t *testing.T, name, text string) {
	t.Helper()
	text = os.Expand(text, func(string) string { return filepath.Join(filepath.Dir(n.cfg.ConfDir), "ipam") })
	if err := os.WriteFile(filepath.Join(n.cfg.ConfDir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// plugin installs a plugin that is a shell script.
func (n *node) plugin(t *testing.T, name, script string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(n.cfg.BinDirs[1], name), []byte("#!/bin/sh\nset -e\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
}

// collect tears down every pod but those of the given UIDs, and tidies up, as a node does that finds out what it runs.
func (n node) collect(keep ...string) error {
	ctx := context.Background()
	known, err := n.List()
	if err != nil {
		return err
	}
	var errs []error
	for _, uid := range known {
		if !slices.Contains(keep, uid) {
			errs = append(errs, n.Teardown(ctx, uid))
		}
	}
	return errors.Join(append(errs, n.Tidy(ctx))...)
}

// check reports what is missing of a pod's networks.
func (n node) check(uid string) error {
	rec, err := n.records.read(uid)
	switch {
	case err != nil:
		return err
	case rec == nil:
		return errors.New("nothing is recorded for the pod")
	case !isNamespace(rec.Netns):
		return errors.New("its namespace is gone")
	}
	return rec.check()
}

func (n *node) setup(t *testing.T, pod Pod) Attachment {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	a, err := n.Setup(ctx, pod)
	if err != nil {
		t.Fatalf("set up %s: %v", pod.Name, err)
	}
	return a
}

func pod(name string) Pod {
	return Pod{Namespace: "default", Name: name, UID: name + "-5d0f0a3e-3d8b-4a5c-9d0e-000000000001", DNS: DNS{Policy: "None"}}
}

// bridged is a network of the plugin bridge, whose bridge on the host has an address.
func bridged(name, bridge, subnets, more string) string {
	return `{"cniVersion": "1.0.0", "name": "` + name + `", "plugins": [{"type": "bridge", "bridge": "` + bridge + `", "isGateway": true, "isDefaultGateway": true, ` + more + `
	"ipam": {"type": "host-local", "dataDir": "$DIR", "ranges": [` + subnets + `]}}, {"type": "portmap", "capabilities": {"portMappings": true}}]}`
}
