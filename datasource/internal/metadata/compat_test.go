package metadata

import (
	"fmt"
	"testing"

	"github.com/vmseed/vmseed/machine"
)

// TestEncodeIn holds the order of members and the escapes of both styles.
func TestEncodeIn(t *testing.T) {
	o := Object{"z": "<&>", "b": map[string]string{"2": "two", "10": "ten"}, "a": []string{}, "null": nil}
	for _, tt := range []struct {
		m    machine.Machine
		want string
	}{
		{machine.Machine{}, `{"a":[],"b":{"10":"ten","2":"two"},"null":null,"z":"<&>"}`},
		{machine.Machine{Compat: "kubevirt"}, `{"z":"\u003c\u0026\u003e","b":{"10":"ten","2":"two"},"a":[],"null":null}`},
	} {
		got, err := o.EncodeIn(StyleFor(tt.m, "z", "absent", "b"))
		if err != nil || string(got) != tt.want {
			t.Errorf("%s %v, want %s", got, err, tt.want)
		}
	}
	if got, err := (Object{}).Encode(); err != nil || string(got) != "{}" {
		t.Errorf("an empty object is %s %v", got, err)
	}
	if _, err := (Object{"f": func() {}}).Encode(); err == nil {
		t.Error("a function has a form in JSON")
	}
}

func TestKeyMap(t *testing.T) {
	for _, tt := range []struct {
		keys any
		want string
	}{
		{[]string{"a", "b"}, "map[k0:a k1:b]"},
		{[]any{"a", 1}, "map[k0:a k1:1]"},
		{"a", "map[k0:a]"},
		{map[string]any{"n": "a"}, "map[n:a]"},
		{nil, "<nil>"},
	} {
		if got := fmt.Sprint(KeyMap("k", tt.keys)); got != tt.want {
			t.Errorf("%v: %s, want %s", tt.keys, got, tt.want)
		}
	}
}

// TestTags shows devices of each kind, by what a guest can find them.
func TestTags(t *testing.T) {
	m := machine.Machine{
		Network: machine.Network{NICs: []machine.NIC{{Name: "plain"}, {PCI: "01:00.A", MAC: "02:00:00:84:e9:58", Tag: "ptp"},
			{Kind: "vlan", Tag: "virtual"}}},
		Hardware: machine.Hardware{HostDevices: []machine.HostDevice{{PCI: "0000:65:00.1"}, {PCI: "0000:65:00.1", Tag: "nvidia"}}},
		Disks: []machine.Disk{{Bus: "virtio"}, {Bus: "virtio", PCI: "0000:00:05.0", Serial: "a", Tag: "db"},
			{Bus: "scsi", PCI: "0000:00:06.0", Unit: 3, Serial: "b", Tag: "log"}, {Bus: "sata", Serial: "c", Tag: "cd"}},
	}
	o := Object{}
	l := o.Tags(m)
	const want = `{"devices":[{"type":"nic","bus":"pci","address":"0000:01:00.a","mac":"02:00:00:84:e9:58","tags":["ptp"]},` +
		`{"type":"hostdev","bus":"pci","tags":["nvidia"]},` +
		`{"type":"disk","bus":"pci","address":"0000:00:05.0","serial":"a","tags":["db"]},` +
		`{"type":"disk","bus":"scsi","address":"0:0:0:3","serial":"b","tags":["log"]},` +
		`{"type":"disk","bus":"sata","serial":"c","tags":["cd"]}]}`
	if got, err := o.Encode(); err != nil || string(got) != want {
		t.Errorf("%s %v, want %s", got, err, want)
	}
	if len(l) != 2 || l[0].Field != "network.nics[2].tag" || l[1].Field != "hardware.hostDevices[1].tag" {
		t.Errorf("want warnings of the VLAN and of the host device: %v", l)
	}
	bare := Object{}
	if l := bare.Tags(machine.Machine{Disks: []machine.Disk{{Name: "d"}}}); len(l) > 0 || len(bare) > 0 {
		t.Errorf("a machine without tags has %v %v", bare, l)
	}
}

func TestKeyList(t *testing.T) {
	var many, named []string
	numbered := map[string]string{}
	for i := range 12 {
		many = append(many, fmt.Sprint("k", i))
		numbered[fmt.Sprint("key-", i)] = many[i]
	}
	for _, tt := range []struct {
		keys any
		want []string
	}{
		{many, many}, {numbered, many}, {KeyMap("key-", many), many},
		{map[string]any{"b": "2", "a": "1"}, []string{"1", "2"}},
		{[]any{"a", 1}, []string{"a", "1"}}, {"a", []string{"a"}}, {nil, named}, {"a\n\nb\n", []string{"a", "b"}},
		{map[string]any{"2": []any{"b", "c"}, "1": "a\n"}, []string{"a", "b", "c"}},
	} {
		if got := KeyList(tt.keys); fmt.Sprint(got) != fmt.Sprint(tt.want) {
			t.Errorf("%v: %v, want %v", tt.keys, got, tt.want)
		}
	}
}
