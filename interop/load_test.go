package interop

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	ovirtsdk "github.com/ovirt/go-ovirt"
)

const (
	// manyVMs are defined and listed, by one client.
	manyVMs = 1000
	// manyClients log in and work at one time.
	manyClients = 200
)

// TestLoad defines many VMs, lists them, and lets many clients of the SDK work beside each other. No request may fail. How
// long it takes is printed, not judged: that depends on the machine.
func TestLoad(t *testing.T) {
	t.Parallel()
	defer failPanic(t)
	s := serve(t, "")
	connection := s.connect(t)
	defer connection.Close()
	idle := s.memory(t)

	begin := time.Now()
	s.define(t, connection, manyVMs)
	defined := time.Since(begin)

	begin = time.Now()
	if listed := connection.SystemService().VmsService().List().MustSend().MustVms().Slice(); len(listed) != manyVMs {
		t.Fatalf("%d VMs are listed, want %d", len(listed), manyVMs)
	}
	listed := time.Since(begin)

	begin = time.Now()
	var clients sync.WaitGroup
	errs := make(chan error, manyClients)
	for i := range manyClients {
		clients.Go(func() {
			if err := s.work(i); err != nil {
				errs <- fmt.Errorf("client %d: %w", i, err)
			}
		})
	}
	clients.Wait()
	worked := time.Since(begin)
	close(errs)
	for err := range errs {
		t.Error(err)
	}
	t.Logf("%d VMs defined in %.1f s (%.1f ms each), listed and read by the SDK in %.2f s; %d clients, %d requests in %.1f s; memory of the daemon %d MiB, before %d MiB; its store %d KiB",
		manyVMs, defined.Seconds(), defined.Seconds()*1000/manyVMs, listed.Seconds(), manyClients, manyClients*8, worked.Seconds(), s.memory(t), idle, s.storeSize(t))

	// All of it survives a crash.
	begin = time.Now()
	s.kill(t)
	s.start(t)
	t.Logf("after a crash the daemon answers in %.1f s", time.Since(begin).Seconds())
	again := s.connect(t)
	defer again.Close()
	if left := again.SystemService().VmsService().List().MustSend().MustVms().Slice(); len(left) != manyVMs {
		t.Errorf("after a crash there are %d VMs, want %d", len(left), manyVMs)
	}
}

// define adds VMs with an initialization.
func (s *service) define(t testing.TB, connection *ovirtsdk.Connection, n int) {
	t.Helper()
	vmsService := connection.SystemService().VmsService()
	for i := range n {
		vmsService.Add().Vm(described(fmt.Sprintf("vm-%04d", i))).MustSend()
	}
}

// described is a VM with an initialization of the usual size.
func described(name string) *ovirtsdk.Vm {
	return blank(name).Memory(1 << 30).InitializationBuilder(ovirtsdk.NewInitializationBuilder().HostName(name).
		AuthorizedSshKeys("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKqrq6urq6urq6urq6urq6urq6urq6urq6urq6urq6ur operator@interop").
		CustomScript("#cloud-config\npackages: [nginx]\nruncmd:\n- systemctl enable --now nginx\n").
		NicConfigurationsOfAny(ovirtsdk.NewNicConfigurationBuilder().Name("eth0").OnBoot(true).BootProtocol(ovirtsdk.BOOTPROTOCOL_STATIC).
			IpBuilder(ovirtsdk.NewIpBuilder().Address("192.0.2.11").Netmask("255.255.255.0").Gateway("192.0.2.1")).MustBuild())).MustBuild()
}

// work is what one client does: log in, find a VM, read it, and make, change and remove one of its own.
func (s *service) work(i int) error {
	connection, err := ovirtsdk.NewConnectionBuilder().URL(s.url + "/ovirt-engine/api").
		Username(s.user).Password(s.password).CACert(s.ca).Timeout(answerLimit).Build()
	if err != nil {
		return err
	}
	vmsService := connection.SystemService().VmsService()
	name := fmt.Sprintf("vm-%04d", i*(manyVMs/manyClients))
	found, err := vmsService.List().Search("name=" + name).Send()
	if err != nil {
		return fmt.Errorf("search: %w", err)
	}
	if vms := found.MustVms().Slice(); len(vms) != 1 || vms[0].MustName() != name {
		return fmt.Errorf("the search for %s finds %d VMs", name, len(vms))
	}
	if _, err := vmsService.VmService(found.MustVms().Slice()[0].MustId()).Get().Send(); err != nil {
		return fmt.Errorf("get: %w", err)
	}
	added, err := vmsService.Add().Vm(described("own-" + strconv.Itoa(i))).Send()
	if err != nil {
		return fmt.Errorf("add: %w", err)
	}
	own := vmsService.VmService(added.MustVm().MustId())
	if _, err := own.Update().Vm(ovirtsdk.NewVmBuilder().Description("changed").MustBuild()).Send(); err != nil {
		return fmt.Errorf("update: %w", err)
	}
	read, err := own.Get().Send()
	if err != nil {
		return fmt.Errorf("get of the own VM: %w", err)
	}
	if text := read.MustVm().MustDescription(); text != "changed" {
		return fmt.Errorf("the description is %q", text)
	}
	if _, err := own.Remove().Send(); err != nil {
		return fmt.Errorf("remove: %w", err)
	}
	return connection.Close()
}

// memory is what the daemon's process holds, in MiB.
func (s *service) memory(t testing.TB) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(status), "VmRSS:")
	kib, err := strconv.Atoi(strings.Fields(after)[0])
	if err != nil {
		t.Fatal(err)
	}
	return kib / 1024
}

// storeSize is the size of the daemon's store in KiB.
func (s *service) storeSize(t testing.TB) int64 {
	t.Helper()
	info, err := os.Stat(filepath.Join(s.dir, "store.db"))
	if err != nil {
		t.Fatal(err)
	}
	return info.Size() / 1024
}

func BenchmarkList(b *testing.B) {
	s := serve(b, "")
	connection := s.connect(b)
	defer connection.Close()
	s.define(b, connection, manyVMs)
	token := s.token(b)
	b.ReportAllocs()
	for b.Loop() {
		if status, body := s.get(b, token, "/ovirt-engine/api/vms"); status != 200 || strings.Count(body, "<vm ") != manyVMs {
			b.Fatalf("%d: %d bytes", status, len(body))
		}
	}
}

func BenchmarkSearch(b *testing.B) {
	s := serve(b, "")
	connection := s.connect(b)
	defer connection.Close()
	s.define(b, connection, manyVMs)
	vmsService := connection.SystemService().VmsService()
	for b.Loop() {
		if found := vmsService.List().Search("name=vm-0500").MustSend().MustVms().Slice(); len(found) != 1 {
			b.Fatalf("%d VMs", len(found))
		}
	}
}

func BenchmarkAddRemove(b *testing.B) {
	s := serve(b, "")
	connection := s.connect(b)
	defer connection.Close()
	vmsService := connection.SystemService().VmsService()
	for b.Loop() {
		vm := vmsService.Add().Vm(described("added")).MustSend().MustVm()
		vmsService.VmService(vm.MustId()).Remove().MustSend()
	}
}
