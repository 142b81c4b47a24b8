//go:build linux

package ovirtapi

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/vmseed/vmseed/daemon/daemontest"
)

// TestMain lets the test's own program be a supervisor, and QEMU.
func TestMain(m *testing.M) {
	daemontest.Main()
	os.Exit(m.Run())
}

// testAPI is the API of a daemon that has an image of a CoreOS, a CD and the storage domain iscsi_new.
func testAPI(t testing.TB) *API {
	t.Helper()
	dir := t.TempDir()
	daemontest.Image(t, dir, "fcos.raw", "name: Fedora CoreOS 30.337 for x86_64\nguest: {os: coreos, ignitionPlatform: openstack}\nhardware: {memory: 1536Mi, cpus: 2}\n")
	daemontest.Image(t, dir, "tools.iso", "")
	o := daemontest.Options(dir)
	o.StorageDomains = map[string]string{"iscsi_new": filepath.Join(dir, "iscsi")}
	return New(daemontest.Open(t, o), Options{Version: "test"})
}
