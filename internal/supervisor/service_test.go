//go:build linux

package supervisor_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/vmseed/vmseed/delivery"
	"github.com/vmseed/vmseed/delivery/metadata"
	"github.com/vmseed/vmseed/internal/supervisor"
	"github.com/vmseed/vmseed/internal/supervisor/supervisortest"
	"github.com/vmseed/vmseed/internal/vmnet"
	"github.com/vmseed/vmseed/internal/vmnet/vmnettest"
	"github.com/vmseed/vmseed/report"
	"github.com/vmseed/vmseed/report/intake"
	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

const (
	instance = "11111111-2222-3333-4444-555555555555"
	base     = metadata.DefaultBase
	latest   = base + "openstack/latest/"
)

// served makes a VM of which the supervisor serves metadata, and sealed after the first boot. change may change the plan.
func served(t *testing.T, change func(*supervisor.Plan), behaviours ...string) *supervisor.Client {
	t.Helper()
	root, err := os.MkdirTemp("", "vmseed") // short enough for the address of a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	return vmIn(t, root, func(dir string, plan *supervisor.Plan) {
		file := filepath.Join(dir, "seed.metadata")
		s := seed.Seed{Machine: seed.Name{Namespace: "ns", Name: "vm"}, Identity: seed.Identity{InstanceID: instance}, Seal: true,
			Trees: []seed.Tree{{Name: "openstack", Roots: []string{"openstack/latest"}, Blobs: []seed.Blob{
				{Path: "meta_data.json", Content: secret.New(`{"uuid": "` + instance + `"}`)},
				{Path: "user_data", Content: secret.New("canary user-data"), Sealable: true},
			}}}}
		if _, err := metadata.New().Deliver(t.Context(), s, delivery.Target{Path: file}); err != nil {
			t.Fatal(err)
		}
		plan.Metadata = &supervisor.Metadata{File: file, Listen: netip.MustParseAddrPort("169.254.169.254:80"), Instance: instance, Seal: true}
		for i := range 2 {
			plan.NICs = append(plan.NICs, supervisor.NIC{Name: fmt.Sprint("nic", i), Socket: fmt.Sprintf("net%d.sock", i), Network: network(i)})
		}
		if change != nil {
			change(plan)
		}
	}, true, behaviours...)
}

func network(i int) vmnet.Config {
	a := func(last byte) netip.Addr { return netip.AddrFrom4([4]byte{192, 168, byte(127 + i), last}) }
	return vmnet.Config{MAC: fmt.Sprintf("52:54:00:00:00:%02x", i), Subnet: netip.PrefixFrom(a(0), 24), Gateway: a(1), Guest: a(2)}
}

// cable is QEMU's end of the network of a NIC: the supervisor connects to it.
func cable(t *testing.T, c *supervisor.Client, nic int) net.Listener {
	t.Helper()
	path := filepath.Join(c.Dir, fmt.Sprintf("net%d.sock", nic))
	l, err := net.Listen("unix", path)
	if err == nil {
		err = os.Chmod(path, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// plug makes a guest at a cable, when a supervisor connects to it.
func plug(t *testing.T, l net.Listener, nic int) *vmnettest.Guest {
	t.Helper()
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	g, err := vmnettest.New(conn, network(nic))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return g
}

// ask sends a request of the guest and returns what it is answered.
func ask(t *testing.T, g *vmnettest.Guest, method, url, body string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(within(t), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := g.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Sprint(answer.StatusCode)
	}
	return string(text)
}

// TestReportKey has one key for each VM, which who only looks does not make.
func TestReportKey(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		if _, err := supervisor.OpenReportKey(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("there is a key that nobody has made: %v", err)
		}
	}
	key, err := supervisor.ReportKey(dir)
	if err != nil || key.Len() != 64 {
		t.Fatal(key.Len(), err)
	}
	for _, open := range []func(string) (secret.Text, error){supervisor.OpenReportKey, supervisor.ReportKey} {
		if again, err := open(dir); err != nil || again.Reveal() != key.Reveal() {
			t.Errorf("the key is another one: %v", err)
		}
	}
}

// The guest reads its metadata on every NIC, from whichever supervisor the VM has, and no secret of it once its first boot
// is over. What it posts is kept.
func TestService(t *testing.T) {
	c := served(t, nil, supervisortest.Held)
	key, err := supervisor.ReportKey(c.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(within(t), true); err != nil {
		t.Fatal(err)
	}
	sockets := []net.Listener{cable(t, c, 0), cable(t, c, 1)}
	for nic, l := range sockets {
		g := plug(t, l, nic)
		if got := ask(t, g, "GET", latest+"user_data", ""); got != "canary user-data" {
			t.Errorf("NIC %d: the guest reads %q", nic, got)
		}
		if nic == 0 {
			ask(t, g, "POST", latest+"password", "ZW5jcnlwdGVk")
		}
	}
	if s := state(t, c); s.Password == nil || *s.Password != (supervisor.Password{Instance: instance, Encrypted: "ZW5jcnlwdGVk"}) {
		t.Errorf("the password that was posted: %+v", s.Password)
	}

	if err := syscall.Kill(state(t, c).Supervisor, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	state(t, c) // which starts another supervisor
	g := plug(t, sockets[1], 1)
	for path, want := range map[string]string{"user_data": "canary user-data", "password": "ZW5jcnlwdGVk", "nothing": "404"} {
		if got := ask(t, g, "GET", latest+path, ""); got != want {
			t.Errorf("from the next supervisor the guest reads %q of %s, want %q", got, path, want)
		}
	}
	word := `{"name": "init-network", "description": "", "event_type": "start", "origin": "cloudinit", "timestamp": 1.5}`
	for _, url := range []string{base + intake.Path(key, "ns/other", instance).Reveal(), base + intake.Path(key, "ns/vm", "other").Reveal()} {
		if got := ask(t, g, "POST", url+"/webhook", word); got != "404" {
			t.Errorf("a report for another machine or instance: %s", got)
		}
	}
	if got := ask(t, g, "POST", base+intake.Path(key, "ns/vm", instance).Reveal()+"/webhook", word); got != "204" {
		t.Errorf("a report: %s", got)
	}

	if err := os.WriteFile(filepath.Join(c.Dir, supervisortest.Release), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var heard []string
	posted := false
	e, err := c.WaitFirstBoot(within(t), func(e supervisor.Event) {
		posted = posted || e.Note != "" && e.Password != nil && e.Password.Encrypted == "ZW5jcnlwdGVk"
		if e.Report != nil {
			heard = append(heard, string(e.Report.Source))
		}
	})
	if err != nil || e.Source != report.Agent || e.Stage != report.Done || !strings.HasPrefix(strings.Join(heard, " "), "http agent") {
		t.Errorf("%+v, %v, after reports from %q", e, err, heard)
	}
	if !posted {
		t.Error("those who follow the VM are not told of the password")
	}
	sealed(t, c, g)

	// So it stays when the VM is started again.
	g.Close()
	for _, l := range sockets {
		l.Close()
	}
	if err := c.Stop(within(t), limit); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(within(t), true); err != nil {
		t.Fatal(err)
	}
	g = plug(t, cable(t, c, 0), 0)
	sealed(t, c, g)
	if s := state(t, c); s.Password == nil || ask(t, g, "GET", latest+"password", "") != "ZW5jcnlwdGVk" {
		t.Errorf("the password that was posted is lost: %+v", s.Password)
	}
	private(t, c.Dir)
}

// sealed checks that the user-data is neither to be had nor on the disk, and the rest is.
func sealed(t *testing.T, c *supervisor.Client, g *vmnettest.Guest) {
	t.Helper()
	if got := ask(t, g, "GET", latest+"user_data", ""); got != "404" {
		t.Errorf("after the first boot the guest reads the user-data %q", got)
	}
	if got := ask(t, g, "GET", latest+"meta_data.json", ""); !strings.Contains(got, instance) {
		t.Errorf("after the first boot the guest reads the meta-data %q", got)
	}
	site, err := metadata.Load(filepath.Join(c.Dir, "seed.metadata"))
	if err != nil || !site.Sealed() {
		t.Errorf("the file is not sealed, %v", err)
	}
}

// A VM whose guest cannot be served does not start.
func TestServiceFails(t *testing.T) {
	for want, change := range map[string]func(*supervisor.Plan){
		"seed.metadata.gone: no such file": func(p *supervisor.Plan) { p.Metadata.File += ".gone" },
		"the guest has this address":       func(p *supervisor.Plan) { p.Metadata.Listen = netip.MustParseAddrPort("192.168.128.2:80") },
		"not a seed":                       func(p *supervisor.Plan) { p.Metadata.File = filepath.Join(filepath.Dir(p.Metadata.File), "lock") },
	} {
		c := served(t, change, supervisortest.Good)
		err := c.Start(within(t), true)
		if err == nil || !strings.Contains(err.Error(), "the metadata service: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		if s := state(t, c); s.Status != supervisor.Failed {
			t.Errorf("%s: %+v", want, s)
		}
	}
}

// A plan with a metadata service or a tap device is none for an older vmseed, and others are.
func TestPlanVersion(t *testing.T) {
	for _, c := range []struct {
		plan supervisor.Plan
		want string
	}{{supervisor.Plan{}, `"version": 1,`}, {supervisor.Plan{Metadata: &supervisor.Metadata{}}, `"version": 2,`},
		{supervisor.Plan{Metadata: &supervisor.Metadata{}, Taps: []supervisor.Tap{{}}}, `"version": 3,`}} {
		dir := t.TempDir()
		c.plan.Attempts = []supervisor.Attempt{{Accel: "tcg"}}
		if err := c.plan.Save(dir); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, "plan.json"))
		if err != nil || !strings.Contains(string(text), c.want) {
			t.Errorf("%v: %s, want %s", err, text, c.want)
		}
		if _, err := supervisor.LoadPlan(dir); err != nil {
			t.Error(err)
		}
		newer := strings.Replace(string(text), c.want, `"version": 4,`, 1)
		if err := os.WriteFile(filepath.Join(dir, "plan.json"), []byte(newer), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := supervisor.LoadPlan(dir); err == nil || errors.Is(err, os.ErrNotExist) {
			t.Errorf("a plan of the next version: %v", err)
		}
	}
}
