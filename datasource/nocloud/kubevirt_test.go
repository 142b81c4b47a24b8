package nocloud

import (
	"testing"

	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// TestKubeVirtMembers compares meta-data with what KubeVirt 1.8 writes, to the byte; what is ours follows behind it.
func TestKubeVirtMembers(t *testing.T) {
	id := machine.Identity{UUID: "5d307ca9-b3ef-428c-8861-06e72d69f223", Hostname: "myvm"}
	small := id
	small.InstanceType = "u1.small"
	for _, tt := range []struct {
		name, theirs, ours string
		m                  machine.Machine
	}{
		{"nothing set", `{"instance-id":"5d307ca9-b3ef-428c-8861-06e72d69f223","local-hostname":"myvm"`, `}`, machine.Machine{Identity: id}},
		{"no host name", `{"instance-id":"5d307ca9-b3ef-428c-8861-06e72d69f223"`, `}`, machine.Machine{Identity: machine.Identity{UUID: id.UUID}}},
		{"instance type and key", `{"instance-type":"u1.small","instance-id":"5d307ca9-b3ef-428c-8861-06e72d69f223","local-hostname":"myvm",` +
			`"public-keys":{"0":"ssh-ed25519 AAAA user@h"}`, `,"instance_type":"u1.small","public_keys":{"0":"ssh-ed25519 AAAA user@h"}}`,
			machine.Machine{Identity: small, SSH: machine.SSH{AuthorizedKeys: []string{"ssh-ed25519 AAAA user@h"}}}},
		{"eleven keys and a character of HTML", `{"instance-id":"5d307ca9-b3ef-428c-8861-06e72d69f223","local-hostname":"myvm",` +
			`"public-keys":{"0":"a\u003cb","1":"1","10":"10","2":"2","3":"3","4":"4","5":"5","6":"6","7":"7","8":"8","9":"9"}`,
			`,"public_keys":{"0":"a\u003cb","1":"1","10":"10","2":"2","3":"3","4":"4","5":"5","6":"6","7":"7","8":"8","9":"9"}}`,
			machine.Machine{Identity: id, SSH: machine.SSH{AuthorizedKeys: []string{"a<b", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10"}}}},
		{"a tag and the author's own members", `{"instance-id":"5d307ca9-b3ef-428c-8861-06e72d69f223","local-hostname":"myvm"`,
			`,"devices":[{"type":"nic","bus":"pci","address":"0000:01:00.0","mac":"02:00:00:84:e9:58","tags":["ptp"]}],"rack":"r1","zone":"z1"}`,
			machine.Machine{Identity: id, MetaData: []machine.Layer{{Data: secret.New("zone: z1\nrack: r1\n")}},
				Network: machine.Network{NICs: []machine.NIC{{PCI: "0000:01:00.0", MAC: "02:00:00:84:e9:58", Tag: "ptp"}}}}},
		{"the author's own keys", `{"instance-id":"5d307ca9-b3ef-428c-8861-06e72d69f223","local-hostname":"myvm","public-keys":["k"]`,
			`,"public_keys":{"0":"k"}}`, machine.Machine{Identity: id, MetaData: []machine.Layer{{Data: secret.New("public-keys: [k]\n")}}}},
	} {
		tt.m.Name, tt.m.Namespace, tt.m.Compat = "myvm", "default", "kubevirt"
		m, _ := machine.Place(tt.m, machine.Facts{})
		s, l := New().Render(m, datasource.Options{})
		got, _ := s.Volumes[0].File("meta-data")
		if l.HasErrors() || got.Reveal() != tt.theirs+tt.ours {
			t.Errorf("%s: %v\n%s, want\n%s", tt.name, l, got.Reveal(), tt.theirs+tt.ours)
		}
	}
}
