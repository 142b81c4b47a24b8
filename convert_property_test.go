package vmseed_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/vmseed/vmseed"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/machine/machinetest"
)

// TestConvertKeeps converts machines whose documents once got lost, or came out twice.
func TestConvertKeeps(t *testing.T) {
	e := converter()
	const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFh ada@example.org"
	for name, x := range map[string]struct {
		spec        string
		want, never []string
		said        []string
	}{
		"two scripts":     {spec: `{userData: {layers: [{data: "#!/bin/sh\necho one\n"}, {data: "#!/bin/sh\necho two\n"}]}}`, want: []string{"echo one", "echo two"}},
		"network is off":  {spec: `{network: {mode: disabled}}`, want: []string{"config: disabled"}, never: []string{"autoattachPodInterface"}},
		"meta-data alone": {spec: `{identity: {hostname: vm, domain: example.org, region: north}}`, said: []string{"identity.domain", "identity.region"}},
		"keys of ignition": {spec: `{dataSource: ignition, identity: {hostname: vm}, ssh: {authorizedKeys: ["` + key + `"]}}`,
			want: []string{"kubevirt.io/ignitiondata", key}, never: []string{"kind: Secret", "cloudInit"}, said: []string{"ExperimentalIgnitionSupport"}},
		"an image of OpenStack": {spec: `{dataSource: ignition, guest: {ignitionPlatform: openstack}, ignition: [{data: '{"ignition": {"version": "3.0.0"}}'}]}`,
			want: []string{"cloudInitConfigDrive"}, never: []string{"ignitiondata"}},
		"meta-data of ignition": {spec: `{dataSource: ignition, metaData: [{data: "color: red"}]}`, want: []string{"ignitiondata"}, never: []string{"cloudInit"},
			said: []string{"metaData: a guest with an Ignition config", "disks: KubeVirt starts nothing"}},
		"users": {spec: `{users: [{name: ada}]}`, want: []string{"name: ada"}, never: []string{"userData: |"}},
		"a new file system": {spec: `{disks: [{name: data, source: {blank: true, filesystem: ext4}, size: 1Gi}], mounts: [{disk: data, partition: 1, path: /data}], userData: {mountScripts: true}}`,
			want: []string{"mkfs.ext4", "/dev/disk/by-id/virtio-data.1", "sfdisk"}, never: []string{"mount-volumes.sh", "pci/devices"}, said: []string{"mount-volumes.sh", "the guest itself makes"}},
		"a new file system beside a claim": {spec: `{disks: [{name: root, root: true, source: {claim: root}}, {name: data, ephemeral: true, source: {blank: true, filesystem: ext4}, size: 1Gi}]}`,
			want: []string{"mkfs.ext4", "blank: {}"}, never: []string{"emptyDisk"}},
		"a scratch disk": {spec: `{disks: [{name: root, root: true, ephemeral: true, source: {image: debian}}, {name: data, ephemeral: true, source: {blank: true, filesystem: ext4}, size: 1Gi}]}`,
			want: []string{"mkfs.ext4", "emptyDisk"}, never: []string{"blank: {}"}},
		"a new file system of ignition": {spec: `{dataSource: ignition, disks: [{name: data, source: {blank: true, filesystem: xfs}, size: 1Gi}]}`, want: []string{"filesystems", "xfs"}},
		"no memory":                     {spec: `{disks: [{name: data, source: {blank: true}, size: 1Gi}]}`, want: []string{"blank: {}"}, said: []string{"hardware.memory", "disks[0].source: the disk \"data\" is a DataVolume"}},
	} {
		t.Run(name, func(t *testing.T) {
			doc := "apiVersion: vmseed.dev/v1alpha1\nkind: Machine\nmetadata: {name: vm}\nspec: " + x.spec + "\n"
			machines, l := e.Load(context.Background(), []vmseed.Input{{File: "vm.yaml", Data: []byte(doc)}}, loadOptions())
			if l.HasErrors() {
				t.Fatal(l.Err())
			}
			text, l := e.Convert(machines[0], "kubevirt", vmseed.RenderOptions{})
			if l.HasErrors() {
				t.Fatal(l.Err())
			}
			said := ""
			for _, d := range l {
				said += d.Error() + "\n"
			}
			for _, want := range x.want {
				if strings.Count(string(text), want) != 1 {
					t.Errorf("%q should stand there once:\n%s", want, text)
				}
			}
			for _, never := range x.never {
				if strings.Contains(string(text), never) {
					t.Errorf("%q should not stand there:\n%s", never, text)
				}
			}
			for _, want := range x.said {
				if !strings.Contains(said, want) {
					t.Errorf("nothing is said of %s:\n%s", want, said)
				}
			}
		})
	}
}

// TestConvertIsReadBack converts machines in which everything is set but one group of fields, for each data source: what
// is written is read back without errors, and no diagnostic holds a secret.
func TestConvertIsReadBack(t *testing.T) {
	e := converter()
	groups := []machine.Field{"identity", "disks", "hardware"}
	for _, source := range []string{"nocloud", "configdrive", "ignition"} {
		if source == "ignition" {
			groups = groups[:1] // its configs are checked with every rendering, which takes long
		}
		for _, f := range groups {
			t.Run(source+" without "+string(f), func(t *testing.T) {
				m := machinetest.Generated()
				m.DataSource = source
				machine.Clear(&m, f)
				if f == "disks" || f == "storage" {
					m.Mounts, m.DeviceLinks, m.Storage = nil, nil, machine.Storage{} // which name disks
				}
				// OpenStack's form has no bridges.
				m.Network.NICs = slices.DeleteFunc(m.Network.NICs, func(n machine.NIC) bool { return !n.Physical() })
				text, l := e.Convert(m, "kubevirt", vmseed.RenderOptions{})
				if l.HasErrors() {
					t.Fatal(l.Err())
				}
				for _, d := range l {
					if strings.Contains(d.Error(), "canary") {
						t.Errorf("a secret is said by %s", d.Code)
					}
				}
				machines, l := e.Load(context.Background(), []vmseed.Input{{File: "converted", Data: text}}, loadOptions())
				if l.HasErrors() || len(machines) != 1 {
					t.Errorf("%d machines are read back: %v", len(machines), l.Err())
				}
			})
		}
	}
}
