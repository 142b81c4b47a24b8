package ovirt

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/format/netconfig"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/machine"
)

// models are the interfaces of NICs as QEMU calls them.
var models = map[string]string{"virtio": "virtio", "e1000": "e1000", "e1000e": "e1000e", "rtl8139": "rtl8139"}

// maxNICs is more than any machine can have.
const maxNICs = 256

// few reports whether a list of NICs is as short as that of a machine.
func (r *reader) few(v tree.Value, nics int) bool {
	if nics > maxNICs {
		r.fail(v, CodeNIC, "", "there are %d NICs, more than the %d that are read", nics, maxNICs)
	}
	return nics <= maxNICs
}

// nics reads the NICs of the machine. How the guest uses them is in the initialization.
func (r *reader) nics() {
	list := r.items(r.vm.Get("nics"), "nic")
	if !r.few(r.vm.Get("nics"), len(list)) {
		return
	}
	for _, v := range list {
		if r.isMap(v) {
			r.nic(v)
		}
	}
}

func (r *reader) nic(v tree.Value) {
	at := fmt.Sprintf("network.nics[%d]", len(r.m.Network.NICs))
	n := machine.NIC{Name: r.text(v.Get("name"))}
	r.others(v, "name", "mac", "interface", "plugged", "linked")
	switch {
	case n.Name == "":
		r.fail(v, CodeNIC, "give it a name such as nic1", "a NIC has no name")
		v.Consume()
		return
	case slices.ContainsFunc(r.m.Network.NICs, func(o machine.NIC) bool { return o.Name == n.Name }):
		r.fail(v.Get("name"), CodeNIC, "rename one of them", "two NICs are called %q", n.Name)
	}
	if mac := v.Get("mac"); r.isMap(mac) {
		r.only(mac, "address")
		address := mac.Get("address")
		if text := r.text(address); text != "" {
			clean, ok := netconfig.ParseMAC(text)
			if !ok {
				r.invalid(address, "a MAC such as 00:1a:4a:16:01:51")
			}
			n.MAC = clean
			r.at(address.Range(), "%s.mac", at)
		}
	}
	model := v.Get("interface")
	kind := r.word(model, "virtio", "e1000", "e1000e", "rtl8139", "rtl8139_virtio", "pci_passthrough", "spapr_vlan")
	n.Model = models[kind]
	r.at(model.Range(), "%s.model", at)
	if kind != "" && n.Model == "" {
		r.warn(model, CodeNotActedUpon, "", "a NIC of the type %s is not made here, so it is the default one", kind)
	}
	if b := r.flag(v.Get("linked")); b != nil && !*b {
		n.LinkDown = true
		r.at(v.Get("linked").Range(), "%s.linkDown", at)
	}
	if b := r.flag(v.Get("plugged")); b != nil && !*b {
		r.note(v.Get("plugged"), CodeNotActedUpon, "the NIC is not plugged in, so the machine goes without it")
		return
	}
	r.m.Network.NICs = append(r.m.Network.NICs, n)
	r.at(v.Range(), "%s", at)
	r.at(v.Get("name").Range(), "%s.name", at)
}

// buses are the interfaces of disks as machines call their buses. There is no IDE bus on q35, where SATA takes its place.
var buses = map[string]string{"virtio": "virtio", "virtio_scsi": "scsi", "scsi": "scsi", "sata": "sata", "ide": "sata", "spapr_vscsi": "scsi"}

// disks reads what is stated of the disks. Where their contents are is the engine's to know, so the user names it.
func (r *reader) disks() {
	for _, v := range r.items(r.vm.Get("disk_attachments"), "disk_attachment") {
		if r.isMap(v) {
			r.disk(v)
		}
	}
	if len(r.m.Disks) > 0 {
		r.note(r.vm.Get("disk_attachments"), CodeDisks, "the contents of the disks stay where they are; virt-v2v copies them")
	}
}

func (r *reader) disk(v tree.Value) {
	at := fmt.Sprintf("disks[%d]", len(r.m.Disks))
	x := machine.Disk{Name: r.text(v.Get("id"))}
	r.others(v, "active", "bootable", "disk", "id", "interface", "read_only")
	if d := v.Get("disk"); r.isMap(d) {
		for _, name := range []string{"id", "name", "alias"} {
			if text := r.text(d.Get(name)); text != "" {
				x.Name = text
			}
		}
		size := d.Get("provisioned_size")
		x.Size = r.bytes(size, 1, maxSize)
		r.at(size.Range(), "%s.size", at)
		r.others(d, "id", "name", "alias", "provisioned_size")
	}
	bus := v.Get("interface")
	x.Bus = buses[r.word(bus, "ide", "sata", "scsi", "spapr_vscsi", "virtio", "virtio_scsi")]
	r.at(bus.Range(), "%s.bus", at)
	if b := r.flag(v.Get("bootable")); b != nil {
		x.Root = *b
		r.at(v.Get("bootable").Range(), "%s.root", at)
	}
	if b := r.flag(v.Get("read_only")); b != nil {
		x.ReadOnly = *b
		r.at(v.Get("read_only").Range(), "%s.readOnly", at)
	}
	if b := r.flag(v.Get("active")); b != nil && !*b {
		r.note(v.Get("active"), CodeNotActedUpon, "the disk is not active, so the machine goes without it")
		return
	}
	if x.Name == "" {
		x.Name = fmt.Sprintf("disk%d", len(r.m.Disks))
	}
	r.m.Disks = append(r.m.Disks, x)
	r.at(v.Range(), "%s", at)
}

// cdroms reads the CD that is inserted: the path or name of an ISO image.
func (r *reader) cdroms() {
	for _, v := range r.items(r.vm.Get("cdroms"), "cdrom") {
		if !r.isMap(v) {
			continue
		}
		r.others(v, "file")
		file := v.Get("file")
		if !r.isMap(file) {
			continue
		}
		r.only(file, "content", "id", "name", "storage_domain", "type")
		r.aside(file, "content", "type")
		id := file.Get("id")
		if !id.Exists() {
			id = file.Get("name")
		} else {
			r.aside(file, "name")
		}
		r.aside(file, "storage_domain")
		text := r.text(id)
		if text == "" {
			continue
		}
		at := fmt.Sprintf("disks[%d]", len(r.m.Disks))
		r.m.Disks = append(r.m.Disks, machine.Disk{Name: strings.TrimSuffix(path.Base(text), path.Ext(text)), Device: "cdrom", ReadOnly: true,
			Bus: "sata", Source: machine.DiskSource{Path: text}})
		r.at(v.Range(), "%s", at)
		r.at(id.Range(), "%s.source", at)
	}
}
