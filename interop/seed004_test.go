//go:build e2e

package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	ovirtsdk "github.com/ovirt/go-ovirt"

	"github.com/vmseed/vmseed/internal/testguest"
)

// debian is the disk image of a guest with cloud-init as Debian packages it.
const debian = "Debian 12 with cloud-init"

// debianImages makes an image directory with it.
func debianImages(t *testing.T) string {
	dir := t.TempDir()
	link(t, testguest.Disk(t), filepath.Join(dir, "debian.img"))
	write(t, filepath.Join(dir, "debian.img.yaml"), "name: "+debian+"\nguest: {os: linux}\nhardware: {memory: 1Gi, cpus: 2}\nlogin: debian\n")
	return dir
}

// importDebian imports it as the template called debian.
func importDebian(t *testing.T, connection *ovirtsdk.Connection) {
	t.Helper()
	sdsService := connection.SystemService().StorageDomainsService()
	sd := sdsService.List().Search("name=ovirt-image-repository").MustSend().MustStorageDomains().Slice()[0]
	importTemplate(t, connection, sdsService.StorageDomainService(sd.MustId()).ImagesService(), debian, "debian")
}

// firstExample is the first SDK example of oVirt's page on cloud-init: host name, password of root, and a file whose
// content is a cloud-config, which since oVirt 3.4 is the custom script.
func firstExample() *ovirtsdk.CloudInit {
	return ovirtsdk.NewCloudInitBuilder().
		HostBuilder(ovirtsdk.NewHostBuilder().Address("rheltest001.example.com")).
		UsersOfAny(ovirtsdk.NewUserBuilder().UserName("root").Password("secret").MustBuild()).
		FilesOfAny(ovirtsdk.NewFileBuilder().Name("/etc/resolv.conf").Type("PLAINTEXT").
			Content("write_files:\n-   content: |\n        search example.com\n        nameserver 10.10.10.1\n" +
				"        nameserver 10.10.10.2\n    path: /etc/resolv.conf").MustBuild()).
		MustBuild()
}

// secondExample is the second one: the same with a network, a key and new host keys. Its file is a file. The protocol
// is in lower case, as the SDK's constants of today have it.
func secondExample(key string) *ovirtsdk.CloudInit {
	return ovirtsdk.NewCloudInitBuilder().
		HostBuilder(ovirtsdk.NewHostBuilder().Address("testvm.example.com")).
		AuthorizedKeysOfAny(ovirtsdk.NewAuthorizedKeyBuilder().UserBuilder(ovirtsdk.NewUserBuilder().UserName("root")).Key(key).MustBuild()).
		RegenerateSshKeys(true).
		UsersOfAny(ovirtsdk.NewUserBuilder().UserName("root").Password("SecretPassword").MustBuild()).
		NetworkConfigurationBuilder(ovirtsdk.NewNetworkConfigurationBuilder().NicsOfAny(ovirtsdk.NewNicBuilder().
			Name("eth0").BootProtocol(ovirtsdk.BOOTPROTOCOL_STATIC).OnBoot(true).
			NetworkBuilder(ovirtsdk.NewNetworkBuilder().IpBuilder(ovirtsdk.NewIpBuilder().
				Address("192.168.100.10").Netmask("255.255.255.0").Gateway("192.168.100.1"))).MustBuild())).
		FilesOfAny(ovirtsdk.NewFileBuilder().Name("/etc/motd").Content("Automatic configuration").Type("PLAINTEXT").MustBuild()).
		MustBuild()
}

// startWith is the start action of the examples, which carries no flag.
func startWith(vmService *ovirtsdk.VmService, example *ovirtsdk.CloudInit, cdroms ...*ovirtsdk.Cdrom) {
	vmService.Start().Vm(ovirtsdk.NewVmBuilder().
		InitializationBuilder(ovirtsdk.NewInitializationBuilder().CloudInit(example)).
		CdromsOfAny(cdroms...).MustBuild()).MustSend()
}

// hostKeys prints the guest's public host keys.
const hostKeys = "cat /etc/ssh/ssh_host_*_key.pub | cut -d' ' -f1,2 | sort"

// machineName is the VM's, which is not the host name that it gets.
const machineName = "examples"

// TestSeed004 runs both SDK examples of oVirt's page on cloud-init against one VM, the second as a run-once with changed
// data and with a CD beside the seed, and kills the daemon while the guests boot and while they run.
func TestSeed004(t *testing.T) {
	t.Parallel()
	defer failPanic(t)
	requireGuests(t)
	s := serve(t, debianImages(t))
	connection := s.connect(t)
	importDebian(t, connection)
	vmService := addVM(t, connection, machineName, "debian")

	begin := now()
	startWith(vmService, firstExample())
	vmService = s.crash(t, vmService, "powering up")
	awaitStatus(t, vmService, ovirtsdk.VMSTATUS_UP)
	t.Logf("first boot of seed 004: %.0f s", since(begin))
	s.initialized(t, machineName)
	keys := s.firstBoot(t)
	vmService = s.crash(t, vmService, "up")
	if status := vmService.Get().MustSend().MustVm().MustStatus(); status != ovirtsdk.VMSTATUS_UP {
		t.Errorf("after a crash of the daemon the VM that runs is %s", status)
	}
	s.shutDown(t, vmService)

	key := keyPair(t)
	cd := dataCD(t, s)
	begin = now()
	startWith(vmService, secondExample(key), cdrom(t, connection, cd))
	awaitStatus(t, vmService, ovirtsdk.VMSTATUS_UP)
	t.Logf("run-once of seed 004: %.0f s", since(begin))
	if !vmService.Get().MustSend().MustVm().MustRunOnce() {
		t.Error("the VM does not say that it runs with data of this run")
	}
	keys = s.runOnce(t, keys)
	s.shutDown(t, vmService)

	begin = now()
	vmService.Start().MustSend()
	awaitStatus(t, vmService, ovirtsdk.VMSTATUS_UP)
	t.Logf("plain boot of seed 004: %.0f s", since(begin))
	s.plainBoot(t, keys)
	s.shutDown(t, vmService)
	vmService.Remove().MustSend()
	await(t, "removal", func() bool { _, err := vmService.Get().Send(); return err != nil })
	if left, _ := filepath.Glob(filepath.Join(s.dir, "vms", "*")); len(left) > 0 {
		t.Errorf("the removed VM leaves %v", left)
	}
}

// firstBoot checks what the first example asks for, and returns the guest's host keys.
func (s *service) firstBoot(t *testing.T) (keys string) {
	t.Helper()
	if !testguest.Refuses(t, s.console(t, machineName), testguest.Login{User: "root", Password: "Secret"}) {
		t.Error("any password opens the console")
	}
	root := testguest.Login{User: "root", Password: "secret"}
	t.Run("first example", func(t *testing.T) {
		s.examine(t, machineName, root, []testguest.Check{
			is("cloud-init's own verdict", "cloud-init status", "status: done"),
			is("data source", "cloud-id", "configdrive"),
			is("host name", "hostname", "rheltest001"),
			// systemd-resolved has the last word on this file, but cloud-init writes it.
			is("custom script", "grep -c 'Writing to /etc/resolv.conf' /var/log/cloud-init.log", "1"),
			is("no file of the script's text", "grep -l write_files /etc/resolv.conf || echo none", "none"),
			is("no user for the setup", "getent passwd debian || echo none", "none"),
			is("instances", "ls /var/lib/cloud/instances | wc -l", "1"),
		})
	})
	c := testguest.OpenConsole(t, s.console(t, machineName), root)
	defer c.Close()
	return c.Ask(t, hostKeys)
}

// runOnce checks what the second example asks for, in a guest that was set up with the first.
func (s *service) runOnce(t *testing.T, before string) (keys string) {
	t.Helper()
	root := testguest.Login{User: "root", Password: "SecretPassword"}
	t.Run("second example", func(t *testing.T) {
		s.examine(t, machineName, root, []testguest.Check{
			is("cloud-init's own verdict", "cloud-init status", "status: done"),
			is("data source", "cloud-id", "configdrive"),
			is("host name", "hostname", "testvm"),
			is("a new instance", "ls /var/lib/cloud/instances | wc -l", "2"),
			is("key of root", "awk '{print $NF}' /root/.ssh/authorized_keys; stat -c '%a %U' /root/.ssh/authorized_keys", "operator@interop\n600 root"),
			is("file", "cat /etc/motd", "Automatic configuration"),
			is("static address", "ip -o -4 address show dev eth0 | awk '{print $4}'", "192.168.100.10/24"),
			is("default route", "ip -4 route show default | awk '{print $3, $5}'", "192.168.100.1 eth0"),
			is("the CD", "mkdir -p /run/cd; mount -o ro /dev/disk/by-label/DATA /run/cd; cat /run/cd/README; umount /run/cd", "on the CD"),
			is("the seed beside it", "ls /dev/disk/by-label | grep -c -x config-2", "1"),
		})
	})
	c := testguest.OpenConsole(t, s.console(t, machineName), root)
	defer c.Close()
	if keys = c.Ask(t, hostKeys); keys == before || !strings.Contains(keys, "ssh-ed25519 ") {
		t.Errorf("the host keys were to be made anew:\n%s", keys)
	}
	return keys
}

// plainBoot checks that a later boot, which has no seed as in an engine, changes nothing and waits for nothing.
func (s *service) plainBoot(t *testing.T, before string) {
	t.Helper()
	root := testguest.Login{User: "root", Password: "SecretPassword"}
	t.Run("plain boot", func(t *testing.T) {
		s.examine(t, machineName, root, []testguest.Check{
			is("no seed", "lsblk -n -o LABEL | grep -c -i -x -e cidata -e config-2", "0"),
			is("host name", "hostname", "testvm"),
			is("host keys", hostKeys, before),
			is("static address", "ip -o -4 address show dev eth0 | awk '{print $4}'", "192.168.100.10/24"),
			is("instances", "ls /var/lib/cloud/instances | wc -l", "2"),
			// Without the two sources that the seed named, cloud-init would ask every other, some for minutes.
			is("cloud-init leaves the boot alone", "cloud-init status", "status: disabled"),
		})
	})
}

// shutDown has the guest switch itself off.
func (s *service) shutDown(t *testing.T, vmService *ovirtsdk.VmService) {
	t.Helper()
	vmService.Shutdown().MustSend()
	awaitStatus(t, vmService, ovirtsdk.VMSTATUS_DOWN)
}

// crash kills the daemon and starts it again, and compares what it knew and what runs. The SDK does not log in a second
// time, so it returns the VM for a new connection.
func (s *service) crash(t *testing.T, vmService *ovirtsdk.VmService, when string) *ovirtsdk.VmService {
	t.Helper()
	id := vmService.Get().MustSend().MustVm().MustId()
	t.Run("crash while the VM is "+when, func(t *testing.T) {
		guests := processes(filepath.Join(s.dir, "vms"))
		vms := s.known(t)
		s.kill(t)
		s.start(t)
		if after := s.known(t); after != vms {
			t.Errorf("after the crash there is\n%s\nbefore\n%s", after, vms)
		}
		if after := processes(filepath.Join(s.dir, "vms")); fmt.Sprint(after) != fmt.Sprint(guests) {
			t.Errorf("after the crash there runs\n%v\nbefore\n%v", after, guests)
		}
	})
	return s.connect(t).SystemService().VmsService().VmService(id)
}

// known is every VM and template that the daemon lists.
func (s *service) known(t *testing.T) string {
	t.Helper()
	connection := s.connect(t)
	defer connection.Close()
	var all []string
	for _, vm := range connection.SystemService().VmsService().List().MustSend().MustVms().Slice() {
		all = append(all, vm.MustId()+" "+vm.MustName()+" "+string(vm.MustStatus()))
	}
	for _, template := range connection.SystemService().TemplatesService().List().MustSend().MustTemplates().Slice() {
		all = append(all, template.MustId()+" "+template.MustName())
	}
	return strings.Join(all, "\n")
}

// keyPair makes a key pair and returns its public half.
func keyPair(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key")
	run(t, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "operator@interop", "-f", path)
	public, err := os.ReadFile(path + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(public))
}

// dataCD puts a CD with a file into the image repository and returns its file name.
func dataCD(t *testing.T, s *service) string {
	t.Helper()
	tree := t.TempDir()
	write(t, filepath.Join(tree, "README"), "on the CD\n")
	run(t, "genisoimage", "-quiet", "-V", "DATA", "-J", "-R", "-o", filepath.Join(s.images, "data.iso"), tree)
	return "data.iso"
}

// cdrom is the CD drive of a start action with a CD in it.
func cdrom(t *testing.T, _ *ovirtsdk.Connection, file string) *ovirtsdk.Cdrom {
	t.Helper()
	return ovirtsdk.NewCdromBuilder().FileBuilder(ovirtsdk.NewFileBuilder().Id(file)).MustBuild()
}

// initialized checks that the daemon counts the first boot as done, by the guest's own word.
func (s *service) initialized(t *testing.T, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), answerLimit)
	defer cancel()
	out, err := s.command(ctx, "inspect", name).Output()
	if err != nil {
		t.Fatalf("vmseed inspect: %v\n%s", err, out)
	}
	var inspected struct {
		Machine struct {
			Initialized bool
			FirstBoot   struct {
				OK     bool
				Result struct{ DataSource string }
			}
		}
	}
	err = json.Unmarshal(out, &inspected)
	m := inspected.Machine
	if err != nil || !m.Initialized || !m.FirstBoot.OK || !strings.Contains(m.FirstBoot.Result.DataSource, "ConfigDrive") {
		t.Errorf("the first boot is over, and vmseed inspect says %s (%v)", out, err)
	}
}
