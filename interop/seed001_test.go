//go:build e2e

package interop

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	ovirtsdk "github.com/ovirt/go-ovirt"

	"github.com/vmseed/vmseed/internal/testguest"
)

// ignition is the config of oVirt's page on Ignition, word for word: user core with the password changeme.
const ignition = `
{
  "ignition": { "version": "3.0.0" },
  "passwd": {
    "users": [
      {
        "name": "core",
        "passwordHash": "$y$j9T$skCa2x5kFis7p58gYjz3C1$ykelHfCckRToZKAVYK7GDdLOCi3pcF2WMioI.vmYkj5"
      }
    ]
  }
}
`

// The disk images of these tests, by the names that their sidecars give them.
const (
	fedoraCoreOS = "Fedora CoreOS 30.337 for x86_64"
	// stopping is the same, in a guest that ends where Ignition has ended, which takes a fraction of a boot.
	stopping = "Fedora CoreOS that stops in the initramfs"
)

// ignitionImages makes an image directory with both.
func ignitionImages(t *testing.T) string {
	image, kernel, initrd := testguest.Ignition(t)
	dir := t.TempDir()
	link(t, kernel, filepath.Join(dir, "boot", "vmlinuz"))
	link(t, initrd, filepath.Join(dir, "boot", "initrd.img"))
	for file, about := range map[string][2]string{"fcos.img": {fedoraCoreOS, ""}, "fcos-stop.img": {stopping, " ignition.firstboot vmseed.stop"}} {
		link(t, image, filepath.Join(dir, file))
		write(t, filepath.Join(dir, file+".yaml"), `name: `+about[0]+`
boot:
  kernel: boot/vmlinuz
  initrd: boot/initrd.img
  append: root=LABEL=root rw console=ttyS0 quiet mitigations=off no_timer_check systemd.firstboot=off ip=dhcp rd.neednet=1`+
			` ignition.platform.id=openstack`+about[1]+`
hardware: {memory: 1Gi, cpus: 2}
`)
	}
	return dir
}

// TestSeed001 is the program printed in oVirt's page on Ignition, call by call in the SDK for Go, and then what the page
// says in its section Testing.
func TestSeed001(t *testing.T) {
	t.Parallel()
	defer failPanic(t)
	requireGuests(t)
	s := serve(t, ignitionImages(t))
	connection := s.connect(t)

	systemService := connection.SystemService()
	sdsService := systemService.StorageDomainsService()
	templatesService := systemService.TemplatesService()
	sd := sdsService.List().Search("name=ovirt-image-repository").MustSend().MustStorageDomains().Slice()[0]
	imagesService := sdsService.StorageDomainService(sd.MustId()).ImagesService()
	if len(templatesService.List().Search("name=fcos").MustSend().MustTemplates().Slice()) != 0 {
		t.Fatal("the template is there before it is imported")
	}
	importTemplate(t, connection, imagesService, fedoraCoreOS, "fcos")
	importTemplate(t, connection, imagesService, stopping, "fcos-stop")

	vmsService := systemService.VmsService()
	vmService := addVM(t, connection, "fcosvm", "fcos")
	begin := now()
	vmService.Start().UseCloudInit(true).Vm(ovirtsdk.NewVmBuilder().Initialization(
		ovirtsdk.NewInitializationBuilder().CustomScript(ignition).MustBuild()).MustBuild()).MustSend()
	awaitStatus(t, vmService, ovirtsdk.VMSTATUS_UP)
	t.Logf("boot of Seed001: %.0f s", since(begin))

	core := testguest.Login{User: "core", Password: "changeme"}
	if !testguest.Refuses(t, s.console(t, "fcosvm"), testguest.Login{User: "core", Password: "changeyou"}) {
		t.Error("any password opens the console")
	}
	s.examine(t, "fcosvm", core, []testguest.Check{
		is("password hash of core", "getent shadow core | cut -d: -f2", "$y$j9T$skCa2x5kFis7p58gYjz3C1$ykelHfCckRToZKAVYK7GDdLOCi3pcF2WMioI.vmYkj5"),
		is("platform", "grep -o 'ignition.platform.id=[a-z]*' /proc/cmdline | sort -u", "ignition.platform.id=openstack"),
		is("no cloud-init", "command -v cloud-init || echo none", "none"),
		is("identity", "cat /sys/class/dmi/id/product_uuid", vmsService.List().Search("name=fcosvm").MustSend().MustVms().Slice()[0].MustId()),
	})
	vmService.Stop().MustSend()
	awaitStatus(t, vmService, ovirtsdk.VMSTATUS_DOWN)

	t.Run("file of the section Testing", func(t *testing.T) {
		defer failPanic(t)
		vmService := addVM(t, connection, "fcosvm2", "fcos-stop")
		begin := now()
		vmService.Start().UseCloudInit(true).Vm(ovirtsdk.NewVmBuilder().Initialization(
			ovirtsdk.NewInitializationBuilder().CustomScript(exampleFile).MustBuild()).MustBuild()).MustSend()
		s.awaitEnd(t, vmService)
		t.Logf("initramfs of Seed001: %.0f s", since(begin))
		if got := s.fileOnDisk(t, vmService, "/foo/bar"); got != "example file" {
			t.Errorf("/foo/bar holds %q", got)
		}
	})
	t.Run("the user's own config disk", func(t *testing.T) {
		defer failPanic(t)
		ownConfigDisk(t, s, connection)
	})
}

// exampleFile writes what the section Testing looks for.
const exampleFile = `{"ignition": {"version": "3.0.0"}, "storage": {"files": [{"path": "/foo/bar", "mode": 420, "contents": {"source": "data:,example%20file"}}]}}`

// importTemplate imports an image by its name and waits for the template, as the program of seed 001 does.
func importTemplate(t *testing.T, connection *ovirtsdk.Connection, imagesService *ovirtsdk.ImagesService, name, template string) {
	t.Helper()
	var found *ovirtsdk.Image
	for _, i := range imagesService.List().MustSend().MustImages().Slice() {
		if i.MustName() == name {
			found = i
		}
	}
	if found == nil {
		t.Fatalf("there is no image %q", name)
	}
	imagesService.ImageService(found.MustId()).Import().
		ImportAsTemplate(true).
		Template(ovirtsdk.NewTemplateBuilder().Name(template).MustBuild()).
		Cluster(ovirtsdk.NewClusterBuilder().Name("Default").MustBuild()).
		StorageDomain(ovirtsdk.NewStorageDomainBuilder().Name("iscsi_new").MustBuild()).
		MustSend()
	await(t, "template "+template, func() bool {
		for _, found := range connection.SystemService().TemplatesService().List().Search("name=" + template).MustSend().MustTemplates().Slice() {
			if found.MustStatus() == ovirtsdk.TEMPLATESTATUS_OK {
				return true
			}
		}
		return false
	})
}

// addVM makes a VM from a template and waits until it is there.
func addVM(t *testing.T, connection *ovirtsdk.Connection, name, template string) *ovirtsdk.VmService {
	t.Helper()
	vmsService := connection.SystemService().VmsService()
	vm := vmsService.Add().Vm(ovirtsdk.NewVmBuilder().
		Name(name).
		Template(ovirtsdk.NewTemplateBuilder().Name(template).MustBuild()).
		Cluster(ovirtsdk.NewClusterBuilder().Name("Default").MustBuild()).
		MustBuild()).MustSend().MustVm()
	vmService := vmsService.VmService(vm.MustId())
	awaitStatus(t, vmService, ovirtsdk.VMSTATUS_DOWN)
	return vmService
}

// ownConfigDisk starts a VM without any initialization, and with a config disk that the user has prepared.
func ownConfigDisk(t *testing.T, s *service, connection *ovirtsdk.Connection) {
	tree := t.TempDir()
	write(t, filepath.Join(tree, "openstack", "latest", "meta_data.json"), `{"uuid": "prepared"}`)
	write(t, filepath.Join(tree, "openstack", "latest", "user_data"), strings.Replace(exampleFile, "example", "prepared", 1))
	disk := filepath.Join(s.images, "prepared.iso")
	run(t, "genisoimage", "-quiet", "-V", "config-2", "-J", "-R", "-o", disk, tree)
	before, err := os.ReadFile(disk)
	if err != nil {
		t.Fatal(err)
	}

	vmService := addVM(t, connection, "prepared", "fcos-stop")
	vmService.Start().Vm(ovirtsdk.NewVmBuilder().CdromsOfAny(cdrom(t, connection, "prepared.iso")).MustBuild()).MustSend()
	s.awaitEnd(t, vmService)
	if got := s.fileOnDisk(t, vmService, "/foo/bar"); got != "prepared file" {
		t.Errorf("/foo/bar holds %q", got)
	}
	if seeds := s.seedFiles(t, vmService); len(seeds) > 0 {
		t.Errorf("beside the user's config disk there is %v", seeds)
	}
	if after, err := os.ReadFile(disk); err != nil || string(after) != string(before) {
		t.Errorf("the user's disk was changed (%v)", err)
	}
}
