//go:build conformance

package vmseed_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/internal/judge"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// TestKubeVirtExamples has cloud-init read what becomes of the machines of KubeVirt's documentation on cloud-init, and of a
// machine of today, whichever data source the user chooses.
func TestKubeVirtExamples(t *testing.T) {
	for name, files := range map[string][]string{
		"inline": {"testvm-inline.yaml"}, "secret": {"testvm-secret.yaml", "my-vm-userdata.yaml"},
		"extended": {"extended-vm.yaml", "extended-objects.yaml"},
	} {
		m := loadExample(t, "kubevirt", "", files...)
		t.Run(name, func(t *testing.T) {
			eachSource(t, func(t *testing.T, r *judge.Release, source string) {
				req := request(t, m, source, "iso", datasource.Options{})
				req.Render = []judge.Renderer{"netplan"}
				b := r.Boot(t, req)
				arrived(t, m, m.Identity.UUID, m.Identity.Hostname, b)
				if string(b.UserData) != m.UserData.Layers[0].Data.Reveal() {
					t.Errorf("user-data %q", b.UserData)
				}
				if name != "extended" {
					if got := b.Consumed.Config.Get("password").Text; got != "atomic" {
						t.Errorf("password %q", got)
					}
					return
				}
				netplan := strings.Join(slices.Sorted(maps.Values(b.Rendered["netplan"].Files)), "\n")
				if b.NetworkSource != "ds" || !strings.Contains(netplan, "10.7.0.11/24") {
					t.Errorf("network from %q: %s", b.NetworkSource, netplan)
				}
			})
		})
	}
}

// TestKubeVirtMetaData has cloud-init read meta-data with the members and the order that KubeVirt gives it. More than ten
// keys, because their order is that of texts.
func TestKubeVirtMetaData(t *testing.T) {
	m := machine.Machine{Name: "myvm", Namespace: "lab", Compat: "kubevirt",
		Identity: machine.Identity{UUID: "5d307ca9-b3ef-428c-8861-06e72d69f223", Hostname: "my-host", InstanceType: "u1.small"},
		Network:  machine.Network{NICs: []machine.NIC{{Name: "lan", DHCP4: true, Tag: "wan"}}},
		Disks:    []machine.Disk{{Name: "root"}, {Name: "data", Tag: "database"}},
		MetaData: []machine.Layer{{Data: secret.New("rack: r1\n")}}}
	for i := range 12 {
		m.SSH.AuthorizedKeys = append(m.SSH.AuthorizedKeys, fmt.Sprintf("ssh-ed25519 AAAA%d <me>&you", i))
	}
	eachSource(t, func(t *testing.T, r *judge.Release, source string) {
		b := boot(t, r, m, source, "iso", datasource.Options{})
		if b.Err != "" || b.InstanceID != m.Identity.UUID || b.Hostname != "my-host" {
			t.Errorf("%q: instance id %q, host name %q", b.Err, b.InstanceID, b.Hostname)
		}
		if got := slices.Sorted(slices.Values(b.PublicKeys)); !slices.Equal(got, slices.Sorted(slices.Values(m.SSH.AuthorizedKeys))) {
			t.Errorf("keys %q", got)
		}
		meta := b.MetaData
		for path, want := range map[string]string{"rack": "r1", "instance_type": "u1.small"} {
			if got := meta.Get(path).Text; got != want {
				t.Errorf("%s is %q, want %q", path, got, want)
			}
		}
		devices := meta.Get("devices").Items
		if len(devices) != 2 || devices[0].Get("tags").Items[0].Text != "wan" || devices[1].Get("serial").Text != "data" {
			t.Errorf("devices %s", meta.Get("devices").JSON())
		}
	})
}
