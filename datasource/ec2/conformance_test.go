//go:build conformance

package ec2

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/delivery/metadata"
	"github.com/vmseed/vmseed/internal/judge"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/seed"
)

// service answers for one seed in a network of its own, and remembers what was refused.
type service struct {
	network *judge.Network
	mu      sync.Mutex
	refused []string
}

func serve(t *testing.T, s seed.Seed) *service {
	t.Helper()
	site, err := metadata.NewSite(s)
	if err != nil {
		t.Fatal(err)
	}
	out := &service{network: judge.NewNetwork(t)}
	handler := metadata.NewHandler(metadata.Config{Identify: metadata.Only(site), Observe: func(r metadata.Request) {
		if r.Status >= http.StatusBadRequest {
			out.mu.Lock()
			defer out.mu.Unlock()
			out.refused = append(out.refused, r.Route+" "+http.StatusText(r.Status))
		}
	}})
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	go func() { _ = metadata.Serve(ctx, out.network.Listen(t, judge.MetadataAddress+":80"), handler) }()
	return out
}

// boot has a guest with the machine's NICs and firmware boot from the service.
func boot(t *testing.T, r *judge.Release, m machine.Machine, s seed.Seed, network *judge.Network) judge.BootResult {
	t.Helper()
	request := judge.BootRequest{DMI: map[string]string{}, DataSources: []string{"Ec2", "None"}, Network: network, Consume: true}
	for _, row := range s.Firmware.SMBIOS {
		request.DMI[map[string]string{"uuid": "system-uuid", "serial": "system-serial-number"}[row.Field]] = row.Value
	}
	for i, n := range m.Network.NICs {
		if n.Physical() {
			request.NICs = append(request.NICs, judge.NIC{MAC: n.MAC, Name: "eth" + string(rune('0'+i))})
		}
	}
	got := r.Boot(t, request)
	request.DataSources = nil // a list of one and None is taken without a look
	if found := r.DSIdentify(t, request); !found.Enabled || !slices.Contains(found.DataSources, "Ec2") {
		t.Errorf("ds-identify found %v: %s", found.DataSources, found.Log)
	}
	return got
}

func prefixes(texts ...string) []netip.Prefix {
	var out []netip.Prefix
	for _, p := range texts {
		out = append(out, netip.MustParsePrefix(p))
	}
	return out
}

func compress(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte(text))
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// full says all that EC2 has words for.
func full() machine.Machine {
	index := 3
	return machine.Machine{Name: "vm", Namespace: "team",
		Identity: machine.Identity{Hostname: "vm", Domain: "example.org", Region: "eu-test-7", AvailabilityZone: "eu-test-7b",
			InstanceType: "m.large", LaunchIndex: &index, Tags: map[string]string{"Name": "the web server", "a=b": "x:y", "empty": ""}},
		SSH: machine.SSH{AuthorizedKeys: []string{"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGE= one", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGI= two"}},
		Network: machine.Network{NICs: []machine.NIC{
			{Name: "front", MAC: "52:54:00:12:34:56", Addrs: prefixes("192.0.2.5/25", "192.0.2.6/25", "192.0.2.7/25")},
			{Name: "back", MAC: "52:54:00:00:00:01", DHCP4: true}}},
		Disks: []machine.Disk{{Name: "root", Root: true}, {Name: "data"}},
		MetaData: []machine.Layer{layer("role: web\nnumbers: [1, 2]\nalone: [x]\nnested: {deep: {leaf: 'yes'}}\nplacement: {group-name: g}\n"),
			layer("odd: {'ä b': v, 'a?b#c': v, '%2e%2F': v, 'a:b@c=d': v, '[x]': v, \"'q' ~+\": v}\n")},
		UserData: machine.UserData{Layers: []machine.Layer{layer("#cloud-config\nfinal_message: user\nruncmd: [[user]]\n")}},
	}
}

// TestGuests has cloud-init of each release read the whole tree of machines, by the real server and with tokens, and
// compares what it derives. Nothing that a directory lists may be missing, and nothing may make cloud-init warn.
func TestGuests(t *testing.T) {
	yes := true
	bare := machine.Machine{Name: "vm", Network: machine.Network{NICs: []machine.NIC{{DHCP4: true}}}}
	optional := full()
	optional.MetadataOptions.HTTPTokens = "optional"
	down, no := full(), false
	down.Network.NICs[1].OnBoot = &no
	packed := full()
	packed.UserData.Layers[0] = layer(compress(t, packed.UserData.Layers[0].Data.Reveal()))
	vendor := full()
	vendor.VendorData = []machine.Layer{layer("#cloud-config\nfinal_message: vendor\nlocale: de_CH.UTF-8\n")}
	two := full()
	two.Network.NICs[1] = machine.NIC{Name: "back", MAC: "52:54:00:00:00:01", Addrs: prefixes("198.51.100.5/24", "198.51.100.6/24")}
	allDown := bare
	allDown.Network.NICs = []machine.NIC{{OnBoot: &no}}
	bare.Network.NICs[0].OnBoot = &yes
	const front = `"eth0":{"addresses":["192.0.2.6/25","192.0.2.7/25"],"dhcp4":true,`
	for _, tt := range []struct {
		name    string
		m       machine.Machine
		network []string
		not     string
	}{
		{"bare", bare, []string{`"eth0":{"dhcp4":true`}, "eth1"},
		{"full", full(), []string{front, `"dhcp4-overrides":{"route-metric":100}`, `"eth1":{"dhcp4":true,"dhcp4-overrides":{"route-metric":200`}, `"dhcp6":true`},
		{"compressed user-data", packed, []string{front}, ""},
		{"vendor-data behind it", vendor, []string{front}, ""},
		{"optional", optional, []string{front}, ""},
		{"down", down, []string{front}, "eth1"},
		{"two with addresses", two, []string{front, `"eth1":{"addresses":["198.51.100.6/24"],"dhcp4":true`}, ""},
		{"all down", allDown, []string{`{"ethernets":{},"version":2}`}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, l := machine.Place(tt.m, machine.Facts{})
			s, more := New().Render(m, datasource.Options{})
			if l = append(l, more...); l.HasErrors() {
				t.Fatal(l)
			}
			service := serve(t, s)
			for _, r := range judge.Releases(t) {
				got := boot(t, r, m, s, service.network)
				if got.DataSource != "DataSourceEc2Local" || got.InstanceID != s.Identity.InstanceID || got.NetworkSource != "ds" {
					t.Errorf("%s: %s, instance %s, network of %s: %s", r.Name, got.DataSource, got.InstanceID, got.NetworkSource, got.Err)
				}
				// From 24.1 on a guest with netplan asks for a lease on each further interface to find its gateway, which this one cannot.
				lease := func(e judge.LogEntry) bool {
					return strings.HasPrefix(e.Message, "Could not perform dhcp discovery on eth1")
				}
				if problems := slices.DeleteFunc(judge.Problems(got.Log), lease); len(problems) > 0 {
					t.Errorf("%s warns: %v", r.Name, problems)
				}
				network := got.NetworkConfig.JSON()
				for _, want := range tt.network {
					if !strings.Contains(network, want) {
						t.Errorf("%s: network %s, want %s in it", r.Name, network, want)
					}
				}
				if tt.not != "" && strings.Contains(network, tt.not) {
					t.Errorf("%s: network %s", r.Name, network)
				}
				if got.FQDN != m.Identity.FQDN() || !slices.Equal(slices.Sorted(slices.Values(got.PublicKeys)), m.SSH.AuthorizedKeys) {
					t.Errorf("%s: host name %s, keys %q", r.Name, got.FQDN, got.PublicKeys)
				}
				if len(m.MetaData) > 0 {
					known(t, r, got)
					if got.Consumed != nil && len(m.VendorData) > 0 && got.Consumed.Config.Get("locale").Text != "de_CH.UTF-8" {
						t.Errorf("%s: vendor-data behind the user-data: %s", r.Name, got.Consumed.Config.JSON())
					}
				}
			}
			for _, refused := range service.refused {
				if len(m.UserData.Layers) > 0 {
					t.Errorf("the guest was refused something: %s", refused)
				}
			}
		})
	}
}

// known compares the meta-data of the full machine.
func known(t *testing.T, r *judge.Release, got judge.BootResult) {
	t.Helper()
	for path, want := range map[string]string{
		"ami-launch-index": `"3"`, "instance-type": `"m.large"`, "placement/region": `"eu-test-7"`, "placement/availability-zone": `"eu-test-7b"`,
		"tags/instance": `{"Name":"the web server","a=b":"x:y","empty":""}`, "block-device-mapping": `{"ami":"/dev/vda","ebs1":"/dev/vdb","root":"/dev/vda"}`,
		"role": `"web"`, "numbers": `["1","2"]`, "alone": `["x"]`, "nested": `{"deep":{"leaf":"yes"}}`, "placement/group-name": `"g"`,
		"odd": `{"%2e%2F":"v","'q' ~+":"v","[x]":"v","a:b@c=d":"v","a?b#c":"v","ä b":"v"}`, "local-ipv4": `"192.0.2.5"`, "mac": `"52:54:00:12:34:56"`, "local-hostname": `"vm.example.org"`, "hostname": `"vm.example.org"`,
		"network/interfaces/macs/52:54:00:12:34:56/local-ipv4s": `["192.0.2.5","192.0.2.6","192.0.2.7"]`,
	} {
		if have := got.MetaData.Get(strings.Split(path, "/")...).JSON(); have != want {
			t.Errorf("%s: %s is %s, want %s", r.Name, path, have, want)
		}
	}
	if got.Consumed == nil || got.Consumed.Config.Get("final_message").Text != "user" {
		t.Errorf("%s: user-data %s", r.Name, got.UserData)
	}
}

// TestIgnitionFetches has Ignition on the platform aws read its config in a session of IMDSv2.
func TestIgnitionFetches(t *testing.T) {
	m := machine.Machine{Name: "vm", Identity: machine.Identity{Hostname: "vm"},
		UserData: machine.UserData{Layers: []machine.Layer{layer(`{"ignition": {"version": "3.3.0"}, "storage": {"files": [{"path": "/etc/motd", "contents": {"source": "data:,hello"}}]}}`)}}}
	m, _ = machine.Place(m, machine.Facts{})
	s, l := New().Render(m, datasource.Options{})
	if l.HasErrors() {
		t.Fatal(l)
	}
	service := serve(t, s)
	got := judge.NewIgnition(t).Fetch(t, service.network, []string{"ignition.platform.id=aws"})
	if got.Content("/etc/motd") != "hello" || got.Content("/etc/hostname") != "vm\n" || len(service.refused) > 0 {
		t.Errorf("motd %q, host name %q, refused %v: %+v", got.Content("/etc/motd"), got.Content("/etc/hostname"), service.refused, got)
	}
}
