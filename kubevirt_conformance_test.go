//go:build conformance

package vmseed_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/internal/judge"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

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
