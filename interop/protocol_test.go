package interop

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	ovirtsdk "github.com/ovirt/go-ovirt"
)

// TestSDK makes the calls of the oVirt SDK that need no guest, against one daemon.
func TestSDK(t *testing.T) {
	t.Parallel()
	s := serve(t, "")
	for _, part := range []struct {
		name string
		test func(t *testing.T, s *service, connection *ovirtsdk.Connection)
	}{
		{"log in and out", logInAndOut}, {"what is there from the start", fromTheStart}, {"life of a VM", lifeOfVM}, {"search", search},
		{"faults", faults}, {"NICs", nics}, {"secrets", secrets}, {"links", links}, {"restart", restart},
	} {
		t.Run(part.name, func(t *testing.T) {
			defer failPanic(t)
			connection := s.connect(t)
			defer connection.Close()
			part.test(t, s, connection)
		})
	}
}

func logInAndOut(t *testing.T, s *service, connection *ovirtsdk.Connection) {
	if err := connection.Close(); err != nil {
		t.Errorf("log out: %v", err)
	}
	wrong, err := ovirtsdk.NewConnectionBuilder().URL(s.url + "/ovirt-engine/api").Username(s.user).Password("wrong").CACert(s.ca).Build()
	if err != nil {
		t.Fatal(err)
	}
	var refused *ovirtsdk.AuthError
	if err := wrong.Test(); !errors.As(err, &refused) {
		t.Errorf("a wrong password is answered by %v", err)
	}
	stranger, err := ovirtsdk.NewConnectionBuilder().URL(s.url + "/ovirt-engine/api").Username(s.user).Password(s.password).Build()
	if err != nil {
		t.Fatal(err)
	}
	if err := stranger.Test(); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a client that does not know the CA gets %v", err)
	}

	// The SDK forgets to send its token when it logs out; the one for Python sends it.
	token := s.token(t)
	if status, _ := s.get(t, token, "/ovirt-engine/api"); status != http.StatusOK {
		t.Errorf("with a token the API answers %d", status)
	}
	s.post(t, "/ovirt-engine/services/sso-logout", url.Values{"scope": {"ovirt-app-api"}, "token": {token}})
	if status, _ := s.get(t, token, "/ovirt-engine/api"); status != http.StatusUnauthorized {
		t.Errorf("after the log-out the API answers %d", status)
	}
}

func fromTheStart(t *testing.T, _ *service, connection *ovirtsdk.Connection) {
	system := connection.SystemService()
	if name := system.Get().MustSend().MustApi().MustProductInfo().MustName(); name == "" {
		t.Error("the product has no name")
	}
	if clusters := system.ClustersService().List().MustSend().MustClusters().Slice(); len(clusters) != 1 || clusters[0].MustName() != "Default" {
		t.Errorf("clusters %v", clusters)
	}
	if centers := system.DataCentersService().List().MustSend().MustDataCenters().Slice(); len(centers) != 1 || centers[0].MustName() != "Default" {
		t.Errorf("data centres %v", centers)
	}
	templates := system.TemplatesService().List().MustSend().MustTemplates().Slice()
	if len(templates) != 1 || templates[0].MustName() != "Blank" || templates[0].MustId() != "00000000-0000-0000-0000-000000000000" {
		t.Errorf("templates %v", templates)
	}
	var domains []string
	for _, sd := range system.StorageDomainsService().List().MustSend().MustStorageDomains().Slice() {
		domains = append(domains, sd.MustName())
	}
	if !slices.Contains(domains, "ovirt-image-repository") || !slices.Contains(domains, "iscsi_new") {
		t.Errorf("storage domains %q", domains)
	}
}

// blank is a VM without a disk.
func blank(name string) *ovirtsdk.VmBuilder {
	return ovirtsdk.NewVmBuilder().Name(name).
		Cluster(ovirtsdk.NewClusterBuilder().Name("Default").MustBuild()).
		Template(ovirtsdk.NewTemplateBuilder().Name("Blank").MustBuild())
}

func lifeOfVM(t *testing.T, _ *service, connection *ovirtsdk.Connection) {
	vmsService := connection.SystemService().VmsService()
	vm := vmsService.Add().Vm(blank("life").Description("first").Memory(512 << 20).MustBuild()).MustSend().MustVm()
	vmService := vmsService.VmService(vm.MustId())
	awaitStatus(t, vmService, ovirtsdk.VMSTATUS_DOWN)
	got := vmService.Get().MustSend().MustVm()
	if got.MustName() != "life" || got.MustDescription() != "first" || got.MustMemory() != 512<<20 {
		t.Errorf("the new VM is %q, %q, %d", got.MustName(), got.MustDescription(), got.MustMemory())
	}
	vmService.Update().Vm(ovirtsdk.NewVmBuilder().Name("death").Memory(1 << 30).MustBuild()).MustSend()
	got = vmService.Get().MustSend().MustVm()
	if got.MustName() != "death" || got.MustDescription() != "first" || got.MustMemory() != 1<<30 {
		t.Errorf("the updated VM is %q, %q, %d", got.MustName(), got.MustDescription(), got.MustMemory())
	}
	vmService.Remove().MustSend()
	var gone *ovirtsdk.NotFoundError
	if _, err := vmService.Get().Send(); !errors.As(err, &gone) {
		t.Errorf("the removed VM is answered by %v", err)
	}
}

func search(t *testing.T, _ *service, connection *ovirtsdk.Connection) {
	vmsService := connection.SystemService().VmsService()
	for _, name := range []string{"web-1", "web-2", "web-10", "db"} {
		vm := vmsService.Add().Vm(blank(name).Description("searched").MustBuild()).MustSend().MustVm()
		defer vmsService.VmService(vm.MustId()).Remove().MustSend()
	}
	for query, want := range map[string]string{
		"name=web-1":                          "web-1",
		"name=WEB-1":                          "web-1",
		"name=web":                            "",
		"name=web-*":                          "web-1 web-10 web-2",
		"name=web-* and status=down":          "web-1 web-10 web-2",
		"name = \"web-1\" OR name = db":       "db web-1",
		"description=searched and name != db": "web-1 web-10 web-2",
		"status != down":                      "",
		"name=web-* sortby name desc":         "web-2 web-10 web-1",
		"template=Blank sortby name asc":      "db web-1 web-10 web-2",
		"(status = down) AND (name = db)":     "db",
	} {
		var names []string
		for _, vm := range vmsService.List().Search(query).MustSend().MustVms().Slice() {
			names = append(names, vm.MustName())
		}
		if !strings.Contains(query, "sortby") {
			slices.Sort(names)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s finds %q, want %q", query, got, want)
		}
	}
	if found := vmsService.List().Max(2).MustSend().MustVms().Slice(); len(found) != 2 {
		t.Errorf("with max=2 there are %d VMs", len(found))
	}
	if _, err := vmsService.List().Search("colour=red").Send(); err == nil || !strings.Contains(err.Error(), "400") {
		t.Errorf("a query that is none is answered by %v", err)
	}
}

func faults(t *testing.T, s *service, connection *ovirtsdk.Connection) {
	vmsService := connection.SystemService().VmsService()
	vm := vmsService.Add().Vm(blank("taken").MustBuild()).MustSend().MustVm()
	vmService := vmsService.VmService(vm.MustId())
	defer vmService.Remove().MustSend()
	cluster := ovirtsdk.NewClusterBuilder().Name("Default").MustBuild()
	send := func(vm *ovirtsdk.VmBuilder) error { _, err := vmsService.Add().Vm(vm.MustBuild()).Send(); return err }
	stop := func() error { _, err := vmService.Stop().Send(); return err }
	start := func(r *ovirtsdk.VmServiceStartRequest) error { _, err := r.Send(); return err }
	initialization := func(init *ovirtsdk.InitializationBuilder) *ovirtsdk.Vm {
		return ovirtsdk.NewVmBuilder().InitializationBuilder(init).MustBuild()
	}
	for _, c := range []struct {
		name string
		err  error
		want []string
	}{
		{"name twice", send(blank("taken")), []string{"409", "Operation Failed"}},
		{"no name", send(ovirtsdk.NewVmBuilder().Cluster(cluster)), []string{"400", "Incomplete parameters"}},
		{"unknown template", send(blank("x").Template(ovirtsdk.NewTemplateBuilder().Name("none").MustBuild())), []string{"404", "Template", "none"}},
		{"unknown cluster", send(blank("x").Cluster(ovirtsdk.NewClusterBuilder().Name("none").MustBuild())), []string{"404", "Cluster", "none"}},
		{"address that is none", send(blank("x").InitializationBuilder(ovirtsdk.NewInitializationBuilder().NicConfigurationsOfAny(
			ovirtsdk.NewNicConfigurationBuilder().Name("eth0").OnBoot(true).BootProtocol(ovirtsdk.BOOTPROTOCOL_STATIC).
				IpBuilder(ovirtsdk.NewIpBuilder().Address("192.0.2.300").Netmask("255.255.255.0")).MustBuild()))), []string{"400"}},
		{"stop what does not run", stop(), []string{"409"}},
		{"two kinds of first boot", start(vmService.Start().UseCloudInit(true).UseSysprep(true)), []string{"409"}},
		{"Ignition for cloud-init", start(vmService.Start().UseIgnition(true).Vm(initialization(ovirtsdk.NewInitializationBuilder().
			CustomScript("#cloud-config\n{}\n")))), []string{"40"}},
		{"script that is none", start(vmService.Start().UseCloudInit(true).Vm(initialization(ovirtsdk.NewInitializationBuilder().
			CustomScript("#cloud-config\nruncmd: [")))), []string{"400"}},
	} {
		for _, text := range c.want {
			if c.err == nil || !strings.Contains(c.err.Error(), text) {
				t.Errorf("%s: %v, want %q", c.name, c.err, text)
			}
		}
	}
	var gone *ovirtsdk.NotFoundError
	if _, err := vmsService.VmService("00000000-0000-0000-0000-000000000001").Get().Send(); !errors.As(err, &gone) {
		t.Errorf("an unknown VM is answered by %v", err)
	}
	if status := vmService.Get().MustSend().MustVm().MustStatus(); status != ovirtsdk.VMSTATUS_DOWN {
		t.Errorf("after refused starts the VM is %s", status)
	}
	if _, err := vmService.SnapshotsService().Add().Snapshot(ovirtsdk.NewSnapshotBuilder().Description("x").MustBuild()).Send(); err == nil || !strings.Contains(err.Error(), "501") {
		t.Errorf("a part of the API that is not offered is answered by %v", err)
	}
	// Go's server answers 417 by itself to what an engine understands.
	request, _ := http.NewRequest(http.MethodPut, s.url+"/ovirt-engine/api/vms/"+vm.MustId(), strings.NewReader("<vm><comment>expected</comment></vm>"))
	request.Header = http.Header{"Authorization": {"Bearer " + s.token(t)}, "Content-Type": {"application/xml"}, "Accept": {"application/xml"}, "Expect": {"200-ok"}}
	if status, body := s.do(t, request); status != http.StatusOK {
		t.Errorf("a request with an Expect header is answered by %d\n%s", status, body)
	}
}

func nics(t *testing.T, _ *service, connection *ovirtsdk.Connection) {
	vmsService := connection.SystemService().VmsService()
	vm := vmsService.Add().Vm(blank("nics").MustBuild()).MustSend().MustVm()
	vmService := vmsService.VmService(vm.MustId())
	defer vmService.Remove().MustSend()
	nicsService := vmService.NicsService()
	first := nicsService.Add().Nic(ovirtsdk.NewNicBuilder().Name("nic1").MustBuild()).MustSend().MustNic()
	nicsService.Add().Nic(ovirtsdk.NewNicBuilder().Name("nic2").
		MacBuilder(ovirtsdk.NewMacBuilder().Address("56:6f:1a:00:00:01")).MustBuild()).MustSend()
	if first.MustMac().MustAddress() == "" {
		t.Error("the NIC has no address")
	}
	nicsService.NicService(first.MustId()).Update().Nic(ovirtsdk.NewNicBuilder().Name("uplink").MustBuild()).MustSend()
	list := func() string {
		var all []string
		for _, nic := range nicsService.List().MustSend().MustNics().Slice() {
			all = append(all, nic.MustName()+" "+nic.MustMac().MustAddress())
		}
		return strings.Join(all, ", ")
	}
	if got, want := list(), "uplink "+first.MustMac().MustAddress()+", nic2 56:6f:1a:00:00:01"; got != want {
		t.Errorf("the NICs are %s, want %s", got, want)
	}
	if _, err := nicsService.Add().Nic(ovirtsdk.NewNicBuilder().Name("nic2").MustBuild()).Send(); err == nil || !strings.Contains(err.Error(), "409") {
		t.Errorf("a name twice is answered by %v", err)
	}
	nicsService.NicService(first.MustId()).Remove().MustSend()
	if got, want := list(), "nic2 56:6f:1a:00:00:01"; got != want {
		t.Errorf("the NICs are %s, want %s", got, want)
	}
}

// secrets checks that neither the answers nor the files and the log of the daemon show a password or a script.
func secrets(t *testing.T, s *service, connection *ovirtsdk.Connection) {
	const password, script = "canary-of-the-password", "canary-of-the-script"
	vmsService := connection.SystemService().VmsService()
	vm := vmsService.Add().Vm(blank("secret").InitializationBuilder(ovirtsdk.NewInitializationBuilder().
		UserName("root").RootPassword(password).HostName("h1").CustomScript("#cloud-config\nbootcmd: ['echo " + script + "']\n")).MustBuild()).MustSend().MustVm()
	vmService := vmsService.VmService(vm.MustId())
	defer vmService.Remove().MustSend()
	awaitStatus(t, vmService, ovirtsdk.VMSTATUS_DOWN)
	init := vmService.Get().MustSend().MustVm().MustInitialization()
	if init.MustRootPassword() != "******" || init.MustHostName() != "h1" || !strings.Contains(init.MustCustomScript(), script) {
		t.Errorf("the initialization comes back as %q, %q, %q", init.MustRootPassword(), init.MustHostName(), init.MustCustomScript())
	}
	// The file of the store is open; what a thief gets is what is on the disk now.
	files := 0
	err := filepath.WalkDir(s.dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		files++
		for _, canary := range []string{password, script, s.password} {
			if bytes.Contains(text, []byte(canary)) {
				t.Errorf("%s holds %q", path, canary)
			}
		}
		if info, _ := entry.Info(); info != nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil || files < 3 {
		t.Errorf("%d files: %v", files, err)
	}
	// The first password is shown to the administrator before the daemon serves, and never again.
	_, said, _ := strings.Cut(s.said.String(), "\nvmseed serves ")
	for _, canary := range []string{password, script, s.password} {
		if strings.Contains(said, canary) {
			t.Errorf("the daemon prints %q", canary)
		}
	}
}

// links follows what an answer points to.
func links(t *testing.T, _ *service, connection *ovirtsdk.Connection) {
	vmsService := connection.SystemService().VmsService()
	id := vmsService.Add().Vm(blank("links").MustBuild()).MustSend().MustVm().MustId()
	defer vmsService.VmService(id).Remove().MustSend()
	vm := vmsService.VmService(id).Get().MustSend().MustVm()
	followed, err := connection.FollowLink(vm.MustCluster())
	if cluster, ok := followed.(*ovirtsdk.Cluster); err != nil || !ok || cluster.MustName() != "Default" {
		t.Errorf("the link to the cluster leads to %v, %v", followed, err)
	}
	if _, err := connection.FollowLink(vm.MustNics()); err != nil {
		t.Errorf("the link to the NICs: %v", err)
	}
	inline := vmsService.VmService(id).Get().Follow("cluster").MustSend().MustVm()
	if inline.MustCluster().MustName() != "Default" {
		t.Error("follow=cluster does not bring the cluster")
	}
}

// restart kills the daemon and compares what it knows then.
func restart(t *testing.T, s *service, connection *ovirtsdk.Connection) {
	vmsService := connection.SystemService().VmsService()
	var want []string
	for _, name := range []string{"a", "b", "c"} {
		want = append(want, vmsService.Add().Vm(blank(name).MustBuild()).MustSend().MustVm().MustId()+" "+name)
	}
	s.kill(t)
	s.start(t)
	connection = s.connect(t)
	defer connection.Close()
	vmsService = connection.SystemService().VmsService()
	var got []string
	for _, vm := range vmsService.List().MustSend().MustVms().Slice() {
		got = append(got, vm.MustId()+" "+vm.MustName())
		defer vmsService.VmService(vm.MustId()).Remove().MustSend()
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("after a crash there is %q, want %q", got, want)
	}
}

// token logs in as the SDK for Python does.
func (s *service) token(t testing.TB) string {
	t.Helper()
	body := s.post(t, "/ovirt-engine/sso/oauth/token", url.Values{"grant_type": {"password"}, "scope": {"ovirt-app-api"},
		"username": {s.user}, "password": {s.password}})
	_, after, _ := strings.Cut(body, `"access_token":`)
	parts := strings.SplitN(after, `"`, 3)
	if len(parts) != 3 {
		t.Fatalf("no token in %s", body)
	}
	return parts[1]
}

func (s *service) post(t testing.TB, path string, form url.Values) string {
	t.Helper()
	request, _ := http.NewRequest(http.MethodPost, s.url+path, strings.NewReader(form.Encode()))
	request.Header = http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Accept": {"application/json"}}
	status, body := s.do(t, request)
	if status != http.StatusOK {
		t.Fatalf("POST %s: %d\n%s", path, status, body)
	}
	return body
}

func (s *service) get(t testing.TB, token, path string) (status int, body string) {
	t.Helper()
	request, _ := http.NewRequest(http.MethodGet, s.url+path, nil)
	request.Header = http.Header{"Authorization": {"Bearer " + token}, "Accept": {"application/xml"}, "Version": {"4"}}
	return s.do(t, request)
}

func (s *service) do(t testing.TB, request *http.Request) (status int, body string) {
	t.Helper()
	client := s.client(t)
	defer client.CloseIdleConnections()
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}
