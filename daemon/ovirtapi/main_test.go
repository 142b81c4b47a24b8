//go:build linux

package ovirtapi

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/vmseed/vmseed/daemon"
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
	daemontest.Image(t, dir, "linux.raw", "")
	daemontest.Image(t, dir, "tools.iso", "")
	o := daemontest.Options(dir)
	o.StorageDomains = map[string]string{"iscsi_new": filepath.Join(dir, "iscsi")}
	return New(daemontest.Open(t, o), Options{Version: "test"})
}

// importTemplate makes a template of an image and waits for it.
func importTemplate(t testing.TB, api *API, image, name string) {
	t.Helper()
	images, err := api.d.Images(daemon.ImageRepository)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(images, func(i daemon.Image) bool { return filepath.Base(i.File) == image })
	repository, err := api.d.StorageDomain(daemon.ImageRepository)
	if i < 0 || err != nil {
		t.Fatalf("no image %s: %v", image, err)
	}
	answer := serve(t, api, "POST /ovirt-engine/api/storagedomains/"+repository.ID+"/images/"+images[i].ID+"/import HTTP/1.1\nContent-Type: application/xml\n\n"+
		"<action><async>false</async><import_as_template>true</import_as_template><cluster><name>Default</name></cluster>"+
		"<storage_domain><name>data</name></storage_domain><template><name>"+name+"</name></template></action>")
	if answer.Code != 200 {
		t.Fatal(answer.Body)
	}
}
