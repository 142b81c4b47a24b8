//go:build conformance

package vmseed_test

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/vmseed/vmseed"
	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/delivery"
	"github.com/vmseed/vmseed/delivery/metadata"
	"github.com/vmseed/vmseed/internal/judge"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

// service is vmseed's server with one machine, in a network of its own.
type service struct {
	network *judge.Network
	site    *metadata.Site
	args    []string
	// dmi is what the firmware of the machine says, by dmidecode's names.
	dmi  map[string]string
	mu   sync.Mutex
	asks []string // answers by route and status, in the order in which they were given
}

// serve renders a machine, delivers its seed and serves what was delivered.
func serve(t *testing.T, m machine.Machine, source string, o datasource.Options) (*service, machine.Machine) {
	t.Helper()
	e := engine()
	m, l := e.Place(m, machine.Facts{})
	if l.HasErrors() {
		t.Fatal(l.Err())
	}
	m.Media = nil
	s, l := e.Render(m, vmseed.RenderOptions{DataSource: source, Options: o})
	if l.HasErrors() {
		t.Fatal(l.Err())
	}
	path := filepath.Join(t.TempDir(), "seed")
	receipt, err := e.Deliver(t.Context(), s, "metadata", delivery.Target{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	out := &service{network: judge.NewNetwork(t), dmi: map[string]string{"system-uuid": m.Identity.UUID}}
	if out.site, err = metadata.Load(path); err != nil {
		t.Fatal(err)
	}
	for _, a := range receipt.Attachments {
		switch a.Kind {
		case seed.SMBIOSRow:
			out.dmi[map[string]string{"serial": "system-serial-number", "product": "system-product-name"}[a.Field]] = a.Value
		case seed.KernelArg:
			out.args = append(out.args, a.Value)
		}
	}
	handler := metadata.NewHandler(metadata.Config{Identify: metadata.Only(out.site), Observe: func(r metadata.Request) {
		out.mu.Lock()
		defer out.mu.Unlock()
		out.asks = append(out.asks, fmt.Sprint(r.Route, " ", r.Status))
	}})
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	go func() { _ = metadata.Serve(ctx, out.network.Listen(t, judge.MetadataAddress+":80"), handler) }()
	return out, m
}

// boot has a guest boot beside the service, and asks ds-identify first whether it would look for one.
func (s *service) boot(t *testing.T, r *judge.Release, m machine.Machine, found string, change func(*judge.BootRequest)) judge.BootResult {
	t.Helper()
	request := judge.BootRequest{DMI: s.dmi, Network: s.network, Consume: true, Modules: []string{"write_files", "write_files_deferred", "runcmd"}}
	for i, n := range m.Network.NICs {
		if n.Physical() {
			request.NICs = append(request.NICs, judge.NIC{MAC: n.MAC, Name: fmt.Sprintf("eth%d", i)})
		}
	}
	if change != nil {
		change(&request)
	}
	if got := r.DSIdentify(t, request); !got.Enabled || !slices.Contains(got.DataSources, found) {
		t.Errorf("%s: ds-identify found %v, not %s", r.Name, got.DataSources, found)
	}
	request.DataSources = []string{found, "None"}
	return r.Boot(t, request)
}

// answers returns what was answered since the last time, each kind once.
func (s *service) answers() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := slices.Compact(slices.Sorted(slices.Values(s.asks)))
	s.asks = nil
	return out
}

// TestCloudInitFetchesEverything has every release fetch the machine with every field set.
func TestCloudInitFetchesEverything(t *testing.T) {
	for source, found := range map[string]string{"openstack": "OpenStack", "nocloud-net": "NoCloud"} {
		m := everything()
		s, _ := serve(t, m, source, datasource.Options{})
		for _, r := range judge.Releases(t) {
			t.Run(source+"/"+r.Name, func(t *testing.T) {
				b := s.boot(t, r, placed(t, m), found, nil)
				readsEverything(t, m, b)
				if !strings.Contains(b.DataSource, found) || !b.UserDataProcessed {
					t.Errorf("found %s, user-data processed: %v", b.DataSource, b.UserDataProcessed)
				}
				want := "ds"
				if source == "nocloud-net" && r.Name == "22.4" {
					want = "fallback" // which is what the diagnostic VS4421 says
				}
				if b.NetworkError != "" || b.MissingNICs != "" || b.NetworkSource != want {
					t.Errorf("network from %q, want %q: %s %s", b.NetworkSource, want, b.NetworkError, b.MissingNICs)
				}
				if refused := slices.DeleteFunc(s.answers(), func(a string) bool { return strings.HasSuffix(a, fmt.Sprint(" ", http.StatusOK)) }); len(refused) > 0 {
					t.Errorf("not everything that the guest asked for is there: %v", refused)
				}
			})
		}
	}
}

func placed(t *testing.T, m machine.Machine) machine.Machine {
	t.Helper()
	m, l := machine.Place(m, machine.Facts{})
	if l.HasErrors() {
		t.Fatal(l.Err())
	}
	return m
}

// TestCloudInitIsContent has every release fetch machines that say little, and demands that it finds nothing to warn of:
// a warning is a degraded first boot.
func TestCloudInitIsContent(t *testing.T) {
	address := []netip.Prefix{netip.MustParsePrefix("192.0.2.7/24")}
	for name, m := range map[string]machine.Machine{
		"bare": {Name: "vm", Network: machine.Network{NICs: []machine.NIC{{Name: "lan"}}}},
		"static": {Name: "vm", Identity: machine.Identity{Hostname: "web"}, SSH: machine.SSH{AuthorizedKeys: []string{judge.PublicKey}},
			Network: machine.Network{NICs: []machine.NIC{{Addrs: address}}}, RunCmd: []machine.Command{{Shell: "true"}}},
	} {
		for source, found := range map[string]string{"openstack": "OpenStack", "nocloud-net": "NoCloud"} {
			s, m := serve(t, m, source, datasource.Options{})
			for _, r := range judge.Releases(t) {
				b := s.boot(t, r, m, found, nil)
				if b.Err != "" || b.InstanceID != m.Identity.InstanceID || b.Hostname != m.Identity.Hostname && m.Identity.Hostname != "" {
					t.Errorf("%s %s %s: instance %q, host %q: %s", name, source, r.Name, b.InstanceID, b.Hostname, b.Err)
				}
				if problems := judge.Problems(b.Log); len(problems) > 0 {
					t.Errorf("%s %s %s: %v", name, source, r.Name, problems)
				}
				refused := slices.DeleteFunc(s.answers(), func(a string) bool { return strings.HasSuffix(a, " 200") })
				// A machine that says nothing about its network has no network_data.json, like one of nova.
				if allowed := []string{"openstack 404"}; len(refused) > 0 && !(name == "bare" && source == "openstack" && slices.Equal(refused, allowed)) {
					t.Errorf("%s %s %s: refused %v", name, source, r.Name, refused)
				}
			}
		}
	}
}

// TestRebootsBesideAService says of whom the service is asked again when the guest boots next: of every guest but that
// whose instance id is the UUID of its firmware. Sealed or not, none of them takes the boot for its first.
func TestRebootsBesideAService(t *testing.T) {
	for _, instance := range []string{"", "i-1"} {
		m := machine.Machine{Name: "vm", Identity: machine.Identity{InstanceID: instance}, MetadataOptions: machine.MetadataOptions{Seal: true},
			RunCmd: []machine.Command{{Shell: "true"}}}
		s, m := serve(t, m, "openstack", datasource.Options{})
		for _, r := range judge.Releases(t) {
			b := s.boot(t, r, m, "OpenStack", func(request *judge.BootRequest) { request.Reboot = true })
			if b.Rebooted == nil {
				t.Fatalf("%s: %s", r.Name, b.Err)
			}
			again := b.Rebooted
			if cached := len(again.Asked) == 0; cached != (instance == "") || again.New || again.InstanceID != m.Identity.InstanceID {
				t.Errorf("%s, instance %q: asked %v, new %v, id %q: %s", r.Name, instance, again.Asked, again.New, again.InstanceID, again.Err)
			}
		}
		s.site.Seal()
		b := s.boot(t, judge.Newest(t), m, "OpenStack", nil)
		if b.InstanceID != m.Identity.InstanceID || len(b.UserData) > 0 || b.Err != "" {
			t.Errorf("sealed: instance %q, %d bytes of user-data: %s", b.InstanceID, len(b.UserData), b.Err)
		}
	}
}

// TestIgnitionFetches has the real Ignition fetch a config from OpenStack's path, and from where a kernel argument leads it.
func TestIgnitionFetches(t *testing.T) {
	m := machine.Machine{Name: "vm", Identity: machine.Identity{Hostname: "web"}, Files: []machine.File{{Path: "/etc/canary", Content: secret.New("canary\n"), Mode: 0o600}}}
	g := judge.NewIgnition(t)
	for _, platform := range []string{"openstack", "qemu", "flatcar"} {
		s, _ := serve(t, m, "ignition", datasource.Options{HTTP: true, IgnitionPlatform: platform})
		result := g.Fetch(t, s.network, s.args)
		if result.Failed != "" || len(result.Warnings)+len(result.Errors) > 0 {
			t.Errorf("%s: %s failed: %s\n%v %v", platform, result.Failed, result.Reason, result.Warnings, result.Errors)
		}
		if got, want := result.Show("/etc/canary"), "file 0600 root:root\ncanary\n"; got != want {
			t.Errorf("%s: %q, want %q\n%s", platform, got, want, result.Log)
		}
		want := "ignition 200"
		if platform == "openstack" {
			want = "openstack 200"
		}
		if got := s.answers(); !slices.Equal(got, []string{want}) {
			t.Errorf("%s: answers %v", platform, got)
		}
	}
}

// TestOpenStackExample has every release fetch the machine of the example.
func TestOpenStackExample(t *testing.T) {
	m := loadExample(t, "openstack", "", "web.yaml")
	s, m := serve(t, m, "", datasource.Options{})
	for _, r := range judge.Releases(t) {
		b := s.boot(t, r, m, "OpenStack", nil)
		if b.FQDN != "web.shop.example.org" || b.MetaData.Get("meta").Get("role").Text != "front" || b.NetworkSource != "ds" || len(judge.Problems(b.Log)) > 0 {
			t.Errorf("%s: FQDN %q, meta-data %s, network from %q: %v", r.Name, b.FQDN, b.MetaData.JSON(), b.NetworkSource, judge.Problems(b.Log))
		}
		if got := b.Consumed.Files["/etc/nginx/conf.d/shop.conf"]; got.Mode != "0644" || !strings.HasPrefix(string(got.Content), "server {") {
			t.Errorf("%s: the file is %q, mode %s", r.Name, got.Content, got.Mode)
		}
	}
}
