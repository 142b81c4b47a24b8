package metadata

import (
	"fmt"
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/machine"
)

// device is an entry of the member devices: a device of the guest with the tag that its author gave it.
//
// Source: nova's documentation of metadata, section on device tags; KubeVirt has the same entries.
type device struct {
	Type    string   `json:"type"`
	Bus     string   `json:"bus"`
	Address string   `json:"address,omitempty"`
	MAC     string   `json:"mac,omitempty"`
	Serial  string   `json:"serial,omitempty"`
	Tags    []string `json:"tags"`
}

// TagFields are the fields that Tags shows.
func TagFields() machine.FieldSet {
	return machine.NewFieldSet("network.nics.tag", "disks.tag", "hardware.hostDevices.tag")
}

// Tags puts the tagged devices of a placed machine into the member devices: NICs by address and MAC, host devices, disks
// by serial number and, where they sit on the PCI bus themselves, by address.
func (o Object) Tags(m machine.Machine) diag.List {
	var l diag.List
	var out []device
	for i, n := range m.Network.NICs {
		switch {
		case n.Tag == "":
		case n.Physical():
			out = append(out, device{Type: "nic", Bus: "pci", Address: address(n.PCI), MAC: n.MAC, Tags: []string{n.Tag}})
		default:
			path := fmt.Sprintf("network.nics[%d].tag", i)
			l.Add(diag.Diagnostic{Code: CodeTag, Severity: diag.Warning, Range: m.Places.Find(path), Field: path,
				Summary: "this interface is made by the guest, so the machine has no device for the tag", Remedy: "tag the NICs below it"})
		}
	}
	for i, d := range m.Hardware.HostDevices {
		if d.Tag == "" {
			continue
		}
		out = append(out, device{Type: "hostdev", Bus: "pci", Tags: []string{d.Tag}})
		path := fmt.Sprintf("hardware.hostDevices[%d].tag", i)
		l.Add(diag.Diagnostic{Code: CodeTag, Severity: diag.Warning, Range: m.Places.Find(path), Field: path,
			Summary: "the guest is told the tag of this device, but not at which address it sits: only the hypervisor knows",
			Remedy:  "let the guest find the device by its vendor and model"})
	}
	for _, d := range m.Disks {
		if d.Tag == "" {
			continue
		}
		entry := device{Type: "disk", Bus: d.Bus, Serial: d.Serial, Tags: []string{d.Tag}}
		switch d.Bus {
		case "virtio":
			entry.Bus, entry.Address = "pci", address(d.PCI)
		case "scsi":
			entry.Address = fmt.Sprintf("0:0:0:%d", d.Unit)
		}
		out = append(out, entry)
	}
	if len(out) > 0 {
		o["devices"] = out
	}
	return l
}

// address returns a PCI address in full: domain, bus, slot and function.
func address(pci string) string {
	if strings.Count(pci, ":") == 1 {
		pci = "0000:" + pci
	}
	return strings.ToLower(pci)
}
