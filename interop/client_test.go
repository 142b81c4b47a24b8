package interop

import (
	"testing"

	ovirtclientlog "github.com/ovirt/go-ovirt-client-log/v3"
	ovirtclient "github.com/ovirt/go-ovirt-client/v3"
)

// clientLibrary logs in with go-ovirt-client.
func (s *service) clientLibrary(t *testing.T) ovirtclient.Client {
	t.Helper()
	client, err := ovirtclient.New(s.url+"/ovirt-engine/api", s.user, s.password,
		ovirtclient.TLS().CACertsFromMemory(s.ca), ovirtclientlog.NewTestLogger(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// TestClient makes the calls of go-ovirt-client that need no guest. It insists on more members in every answer than the
// SDK below it.
func TestClient(t *testing.T) {
	t.Parallel()
	defer failPanic(t)
	s := serve(t, "")
	client := s.clientLibrary(t)
	template, err := client.GetBlankTemplate()
	if err != nil {
		t.Fatal(err)
	}
	clusters, err := client.ListClusters()
	if err != nil || len(clusters) != 1 {
		t.Fatalf("clusters: %v, %v", clusters, err)
	}
	vm, err := client.CreateVM(clusters[0].ID(), template.ID(), "client", ovirtclient.NewCreateVMParams().
		MustWithComment("made by go-ovirt-client").MustWithMemory(1<<30).MustWithInitializationParameters("#cloud-config\n{}\n", "client-1"))
	if err != nil {
		t.Fatal(err)
	}
	if vm, err = client.WaitForVMStatus(vm.ID(), ovirtclient.VMStatusDown); err != nil {
		t.Fatal(err)
	}
	if init := vm.Initialization(); vm.Comment() != "made by go-ovirt-client" || vm.Memory() != 1<<30 || init.HostName() != "client-1" {
		t.Errorf("the VM comes back as %+v", vm)
	}
	clientNICs(t, client, vm)
	clientSearch(t, client, vm)
	if vm, err = vm.Update(ovirtclient.UpdateVMParams().MustWithName("renamed")); err != nil || vm.Name() != "renamed" {
		t.Errorf("the VM is called %v, %v", vm, err)
	}
	if disks, err := vm.ListDiskAttachments(); err != nil || len(disks) != 0 {
		t.Errorf("the disks are %v, %v", disks, err)
	}
	if domains, err := client.ListStorageDomains(); err != nil || len(domains) < 2 {
		t.Errorf("the storage domains are %v, %v", domains, err)
	}
	if centers, err := client.ListDatacenters(); err != nil || len(centers) != 1 {
		t.Errorf("the data centres are %v, %v", centers, err)
	}
	if networks, err := client.ListNetworks(); err != nil || len(networks) == 0 {
		t.Errorf("the networks are %v, %v", networks, err)
	}
	if hosts, err := client.ListHosts(); err != nil || len(hosts) != 1 {
		t.Errorf("the hosts are %v, %v", hosts, err)
	}
	if err := client.RemoveVM(vm.ID()); err != nil {
		t.Fatal(err)
	}
	if left, err := client.ListVMs(); err != nil || len(left) != 0 {
		t.Errorf("after the removal there is %v, %v", left, err)
	}
	if _, err := client.GetVM(vm.ID()); !ovirtclient.HasErrorCode(err, ovirtclient.ENotFound) {
		t.Errorf("the removed VM is answered by %v", err)
	}
}

// clientNICs lists, adds and removes NICs.
func clientNICs(t *testing.T, client ovirtclient.Client, vm ovirtclient.VM) {
	t.Helper()
	profiles, err := client.ListVNICProfiles()
	if err != nil || len(profiles) == 0 {
		t.Fatalf("vNIC profiles: %v, %v", profiles, err)
	}
	nic, err := vm.CreateNIC("nic9", profiles[0].ID(), ovirtclient.CreateNICParams())
	if err != nil {
		t.Fatal(err)
	}
	nics, err := vm.ListNICs()
	if err != nil || len(nics) != 1 || nics[0].Name() != "nic9" || nics[0].Mac() == "" {
		t.Errorf("the NICs are %v, %v", nics, err)
	}
	if err := nic.Remove(); err != nil {
		t.Error(err)
	}
	if nics, err = vm.ListNICs(); err != nil || len(nics) != 0 {
		t.Errorf("the NICs are %v, %v", nics, err)
	}
}

// clientSearch searches as the Terraform provider does. The client puts every condition into parentheses.
func clientSearch(t *testing.T, client ovirtclient.Client, vm ovirtclient.VM) {
	t.Helper()
	for _, c := range []struct {
		search ovirtclient.VMSearchParameters
		want   int
	}{
		{ovirtclient.VMSearchParams().WithName(vm.Name()), 1},
		{ovirtclient.VMSearchParams().WithName(vm.Name()).WithStatuses(ovirtclient.VMStatusList{ovirtclient.VMStatusDown, ovirtclient.VMStatusUp}), 1},
		{ovirtclient.VMSearchParams().WithName("other").WithStatuses(ovirtclient.VMStatusList{ovirtclient.VMStatusDown}), 0},
		{ovirtclient.VMSearchParams().WithNotStatuses(ovirtclient.VMStatusList{ovirtclient.VMStatusDown, ovirtclient.VMStatusUp}), 0},
	} {
		if found, err := client.SearchVMs(c.search); err != nil || len(found) != c.want {
			t.Errorf("%+v finds %v, %v", c.search, found, err)
		}
	}
}
