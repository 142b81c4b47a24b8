package configdrive

import (
	"slices"
	"testing"

	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/netconfig"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// TestKubeVirtMembers compares meta_data.json with what KubeVirt 1.8 writes, to the byte; what is ours follows behind it.
func TestKubeVirtMembers(t *testing.T) {
	id := machine.Identity{UUID: "5d307ca9-b3ef-428c-8861-06e72d69f223", Hostname: "myvm"}
	small := id
	small.InstanceType = "u1.small"
	nics := machine.Network{NICs: []machine.NIC{{PCI: "0000:01:00.0", MAC: "02:00:00:84:e9:58", Tag: "ptp"}}}
	const names = `,"instance-id":"5d307ca9-b3ef-428c-8861-06e72d69f223","local-hostname":"myvm"`
	for _, tt := range []struct {
		name, theirs, ours string
		m                  machine.Machine
	}{
		{"nothing set", `{"instance_id":"myvm.default","hostname":"myvm","uuid":"5d307ca9-b3ef-428c-8861-06e72d69f223"`, names + `}`,
			machine.Machine{Identity: id}},
		{"tag and key", `{"instance_id":"myvm.default","hostname":"myvm","uuid":"5d307ca9-b3ef-428c-8861-06e72d69f223",` +
			`"devices":[{"type":"nic","bus":"pci","address":"0000:01:00.0","mac":"02:00:00:84:e9:58","tags":["ptp"]}],` +
			`"public_keys":{"0":"ssh-ed25519 AAAA"}`, names + `,"public-keys":["ssh-ed25519 AAAA"]}`,
			machine.Machine{Identity: id, Network: nics, SSH: machine.SSH{AuthorizedKeys: []string{"ssh-ed25519 AAAA"}}}},
		{"instance type and the author's own members", `{"instance_type":"u1.small","instance_id":"myvm.default","hostname":"myvm",` +
			`"uuid":"5d307ca9-b3ef-428c-8861-06e72d69f223"`,
			`,"admin_pass":"a\u0026b","instance-id":"5d307ca9-b3ef-428c-8861-06e72d69f223","local-hostname":"myvm","rack":1}`,
			machine.Machine{Identity: small, MetaData: []machine.Layer{{Data: secret.New("rack: 1\nadmin_pass: a&b\n")}}}},
		{"another namespace and a second first boot", `{"instance_id":"myvm.lab","hostname":"myvm","uuid":"i-r2"`,
			`,"instance-id":"i-r2","local-hostname":"myvm"}`,
			machine.Machine{Namespace: "lab", Identity: machine.Identity{InstanceID: "i", Revision: 2, Hostname: "myvm"}}},
	} {
		tt.m.Name, tt.m.Compat = "myvm", "kubevirt"
		m, _ := machine.Place(tt.m, machine.Facts{})
		s, l := New().Render(m, datasource.Options{})
		got, _ := s.Volumes[0].File(base + "meta_data.json")
		if l.HasErrors() || got.Reveal() != tt.theirs+tt.ours {
			t.Errorf("%s: %v\n%s, want\n%s", tt.name, l, got.Reveal(), tt.theirs+tt.ours)
		}
	}
}

// TestKubeVirtNetworkForm converts a network document in silence only where the reader of the definition has warned of it.
func TestKubeVirtNetworkForm(t *testing.T) {
	for compat, want := range map[string]bool{"kubevirt": false, "": true} {
		m := machine.Machine{Name: "myvm", Compat: compat, DataSource: "configdrive", Network: machine.Network{
			Document: machine.Layer{Data: secret.New("version: 2\nethernets: {eth0: {dhcp4: true}}\n")}}}
		_, l := document(m, m.Network.Document)
		said := slices.ContainsFunc(l, func(d diag.Diagnostic) bool { return d.Code == netconfig.CodeConvert })
		if said != want || l.HasErrors() {
			t.Errorf("compat %q: %v", compat, []diag.Diagnostic(l))
		}
	}
}
