//go:build e2e

package interop

import (
	"testing"

	ovirtsdk "github.com/ovirt/go-ovirt"
	ovirtclient "github.com/ovirt/go-ovirt-client/v3"

	"github.com/vmseed/vmseed/internal/testguest"
)

// TestClientBoot boots a guest by the calls of go-ovirt-client, which stores the initialization with the VM and starts it
// with an empty action.
func TestClientBoot(t *testing.T) {
	t.Parallel()
	defer failPanic(t)
	requireGuests(t)
	s := serve(t, debianImages(t))
	connection := s.connect(t)
	importDebian(t, connection)

	client := s.clientLibrary(t)
	template, err := client.GetTemplateByName("debian")
	if err != nil {
		t.Fatal(err)
	}
	clusters, err := client.ListClusters()
	if err != nil || len(clusters) != 1 {
		t.Fatalf("clusters: %v, %v", clusters, err)
	}
	const script = "#cloud-config\npassword: fromTheClient\nchpasswd: {expire: false}\nwrite_files:\n- path: /etc/from-the-client\n  content: stored\n"
	parameters := ovirtclient.NewCreateVMParams().MustWithComment("made by go-ovirt-client").MustWithMemory(1 << 30).
		MustWithInitialization(ovirtclient.NewInitialization(script, "client-1").
			WithNicConfiguration(ovirtclient.NewNicConfiguration("eth0", ovirtclient.IP{Version: ovirtclient.IPVERSION_V4,
				Address: "192.0.2.10", Netmask: "255.255.255.0", Gateway: "192.0.2.1"})))
	vm, err := client.CreateVM(clusters[0].ID(), template.ID(), "client", parameters)
	if err != nil {
		t.Fatal(err)
	}
	if vm, err = client.WaitForVMStatus(vm.ID(), ovirtclient.VMStatusDown); err != nil {
		t.Fatal(err)
	}
	// An engine would drop either the payload or the seed; here the guest gets both.
	connection.SystemService().VmsService().VmService(string(vm.ID())).Update().Vm(ovirtsdk.NewVmBuilder().PayloadsOfAny(
		ovirtsdk.NewPayloadBuilder().Type(ovirtsdk.VMDEVICETYPE_CDROM).VolumeId("PAYLOAD").
			FilesOfAny(ovirtsdk.NewFileBuilder().Name("notes/README").Content("beside the seed\n").MustBuild()).MustBuild()).MustBuild()).MustSend()

	begin := now()
	if err := client.StartVM(vm.ID()); err != nil {
		t.Fatal(err)
	}
	if vm, err = client.WaitForVMStatus(vm.ID(), ovirtclient.VMStatusUp, ovirtclient.Timeout(bootLimit), ovirtclient.ExponentialBackoff(1)); err != nil {
		t.Fatal(err)
	}
	t.Logf("boot of go-ovirt-client: %.0f s", since(begin))
	if init := vm.Initialization(); init == nil || init.CustomScript() != script || init.HostName() != "client-1" {
		t.Errorf("the stored initialization comes back as %+v", init)
	}
	s.examine(t, "client", testguest.Login{User: "debian", Password: "fromTheClient"}, []testguest.Check{
		is("cloud-init's own verdict", "cloud-init status", "status: done"),
		is("host name", "hostname", "client-1"),
		is("file", "cat /etc/from-the-client", "stored"),
		is("static address", "ip -o -4 address show dev eth0 | awk '{print $4}'", "192.0.2.10/24"),
		is("payload", "mkdir -p /run/p; mount -o ro /dev/disk/by-label/PAYLOAD /run/p; cat /run/p/notes/README; umount /run/p", "beside the seed"),
		is("memory", `awk '/^MemTotal/ {print ($2 > 0.9*1048576 && $2 <= 1048576) ? "about 1 GiB" : $0}' /proc/meminfo`, "about 1 GiB"),
	})
	if err := client.ShutdownVM(vm.ID(), false); err != nil {
		t.Fatal(err)
	}
	if _, err := client.WaitForVMStatus(vm.ID(), ovirtclient.VMStatusDown, ovirtclient.Timeout(answerLimit), ovirtclient.ExponentialBackoff(1)); err != nil {
		t.Fatal(err)
	}
	if err := client.RemoveVM(vm.ID()); err != nil {
		t.Fatal(err)
	}
	if left, err := client.ListVMs(); err != nil || len(left) != 0 {
		t.Errorf("after the removal there is %v, %v", left, err)
	}
}
