package kubevirt

import (
	"regexp"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/machine"
)

// pciForm is the form of PCI addresses: domain:bus:slot.function.
var pciForm = regexp.MustCompile(`^[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[01][0-9a-fA-F]\.[0-7]$`)

// devices reads the devices of the domain that belong to no volume and no network.
func (r *reader) devices() {
	v := r.spec.At("domain", "devices")
	if !v.Want(&r.list, tree.Map) {
		return
	}
	r.sort(v, deviceFields)
	h := &r.m.Hardware
	if rng := v.Get("rng"); rng.Want(&r.list, tree.Map) {
		r.empty(rng)
		h.RNG = true
		r.at(rng.Range(), "hardware.rng")
	}
	if tpm := v.Get("tpm"); tpm.Want(&r.list, tree.Map) {
		tpm.Only(&r.list, "enabled", "persistent")
		if keep := tpm.Get("persistent"); keep.Exists() {
			keep.Bool(&r.list)
			r.note(keep, CodeTuning, "vmseed always keeps the state of the TPM with the machine")
		}
		h.TPM = true
		if on := tpm.Get("enabled"); on.Exists() && on.Kind() != tree.Null {
			h.TPM = on.Bool(&r.list)
		}
		r.at(tpm.Range(), "hardware.tpm")
	}
	r.watchdog(v.Get("watchdog"))
	for _, list := range []struct{ field, kind string }{{"hostDevices", "pci"}, {"gpus", "gpu"}} {
		devices := v.Get(list.field)
		devices.Want(&r.list, tree.List)
		for _, item := range devices.Items() {
			r.hostDevice(item, list.kind)
		}
	}
}

func (r *reader) hostDevice(v tree.Value, kind string) {
	if !v.Want(&r.list, tree.Map) {
		return
	}
	r.sort(v, hostDeviceFields)
	d := machine.HostDevice{Name: v.Get("name").Str(&r.list), Kind: kind, DeviceName: v.Get("deviceName").Str(&r.list), Tag: v.Get("tag").Str(&r.list)}
	if d.Name == "" {
		v.Errorf(&r.list, CodeDevice, "", "the device has no name")
	}
	i := len(r.m.Hardware.HostDevices)
	r.at(v.Range(), "hardware.hostDevices[%d]", i)
	r.at(v.Get("tag").Range(), "hardware.hostDevices[%d].tag", i)
	r.m.Hardware.HostDevices = append(r.m.Hardware.HostDevices, d)
}

// watchdogs are the models of watchdogs.
var watchdogs = []string{"i6300esb", "diag288"}

var watchdogActions = []string{"poweroff", "reset", "shutdown"}

func (r *reader) watchdog(v tree.Value) {
	if !v.Want(&r.list, tree.Map) {
		return
	}
	v.Only(&r.list, "name", "i6300esb", "diag288")
	if name := v.Get("name"); name.Exists() {
		name.Str(&r.list)
		r.note(name, CodeTuning, "the guest does not see the name of the watchdog")
	}
	for _, model := range watchdogs {
		device := v.Get(model)
		if !device.Want(&r.list, tree.Map) {
			continue
		}
		if r.m.Hardware.Watchdog != "" {
			device.Errorf(&r.list, CodeDevice, "remove one of the two", "a machine has one watchdog")
		}
		device.Only(&r.list, "action")
		action := device.Get("action")
		switch text := action.Str(&r.list); {
		case text == "" || text == "reset":
		case slices.Contains(watchdogActions, text):
			action.Warnf(&r.list, CodeNoEffect, "", "a watchdog that is not fed resets the machine; vmseed knows no other action")
		default:
			action.Errorf(&r.list, CodeDevice, tree.SuggestOf("actions", text, watchdogActions), "a watchdog has no action %q", text)
		}
		r.m.Hardware.Watchdog = model
		r.at(device.Range(), "hardware.watchdog")
	}
}

// pci reads a PCI address. Messages call the device what.
func (r *reader) pci(v tree.Value, what string) string {
	text := v.Loose(&r.list) // YAML 1.1 has it for a number of base 60, but not the readers on the way to KubeVirt
	if text != "" && !pciForm.MatchString(text) {
		r.refuse(v, CodeDevice, "write it as 0000:00:05.0", "%s has malformed PCI address (%s).", what, text)
	}
	return text
}

// bootOrder reads the boot order of the device at path, which no other device may have.
func (r *reader) bootOrder(v tree.Value, path string) int {
	if !v.Exists() || v.Kind() == tree.Null {
		return 0
	}
	n := v.Int(&r.list, -1<<31, 1<<31)
	if v.Kind() != tree.Scalar {
		return 0
	}
	if n < 1 {
		r.refuse(v, CodeDevice, "", "%s must have a boot order > 0, if supplied", path)
		return 0
	}
	if first, taken := r.bootOrders[n]; taken {
		r.refuse(v, CodeDevice, "", "Boot order for %s.bootOrder already set for a different device.", path)
		last := &r.list[len(r.list)-1]
		*last = last.With(first.Range(), "the other device is here")
		return 0
	}
	if r.bootOrders == nil {
		r.bootOrders = map[int64]tree.Value{}
	}
	r.bootOrders[n] = v
	return int(n)
}

// targets are the ways in which a disk is shown to the guest. The first is the default.
var targets = []string{"disk", "cdrom", "lun", "floppy"}

var buses = []string{"virtio", "scsi", "sata", "usb"}

var caches = []string{"none", "writethrough", "writeback"}

// findDisks reads the entries of spec.domain.devices.disks.
func (r *reader) findDisks() {
	list := r.spec.At("domain", "devices", "disks")
	list.Want(&r.list, tree.List)
	for i, v := range list.Items() {
		if !v.Want(&r.list, tree.Map) {
			continue
		}
		r.sort(v, diskFields)
		d := disk{value: v, path: r.in("domain.devices.disks[%d]", i), device: targets[0]}
		name := v.Get("name")
		d.name = name.Str(&r.list)
		volumeName := v.Get("volumeName")
		if volume := volumeName.Str(&r.list); volume != "" {
			if r.version != "v1alpha2" && r.version != "v1alpha1" {
				volumeName.Errorf(&r.list, tree.CodeUnknownField, "give disk and volume the same name", "there is no field %q here since v1alpha3", "volumeName")
			}
			d.volume = volume
		} else {
			d.volume = d.name
		}
		if wrong := dnsLabel(d.name); wrong != "" {
			name.Errorf(&r.list, CodeDisk, "", "%q cannot be the name of a disk: %s", d.name, wrong)
		}
		if j := slices.IndexFunc(r.disks, func(o disk) bool { return o.name == d.name }); j >= 0 {
			r.refuse(name, CodeDisk, "rename one of them", "%s and %s must not have the same Name.", d.path, r.disks[j].path)
			v.Consume()
			continue
		}
		r.target(&d)
		r.disks = append(r.disks, d)
	}
}

// target reads how a disk is shown to the guest.
func (r *reader) target(d *disk) {
	found := 0
	for _, kind := range targets {
		if t := d.value.Get(kind); t.Want(&r.list, tree.Map) {
			if found++; found > 1 {
				t.Consume()
				continue
			}
			d.device, d.target = kind, t
			r.sort(t, targetFields[kind])
		}
	}
	if found > 1 {
		r.refuse(d.value, CodeDisk, "make two disks of it", "%s can only have a single target type defined", d.path)
	}
}

// disk makes a disk of the machine of an entry. A disk without an entry is one of the default bus.
func (r *reader) disk(d disk) machine.Disk {
	out := machine.Disk{Name: d.name, Bus: r.bus(d)}
	if d.device != targets[0] {
		out.Device = d.device
	}
	cache := d.value.Get("cache")
	out.Serial = r.serial(d.value.Get("serial"), d.path)
	if out.Cache = cache.Str(&r.list); out.Cache != "" && !slices.Contains(caches, out.Cache) {
		r.refuse(cache, CodeDisk, "the modes are "+strings.Join(caches, ", "), "%s has invalid value %s", d.path+".cache", out.Cache)
	}
	out.Tag = d.value.Get("tag").Str(&r.list)
	out.BootOrder = r.bootOrder(d.value.Get("bootOrder"), d.path)
	out.Shareable = d.value.Get("shareable").Bool(&r.list)
	readonly, pci := d.target.Get("readonly"), d.target.Get("pciAddress")
	out.ReadOnly = d.device == "cdrom"
	if readonly.Exists() && readonly.Kind() != tree.Null {
		out.ReadOnly = readonly.Bool(&r.list)
	}
	if out.ReadOnly && out.Bus == "sata" && d.device == "disk" {
		r.refuse(readonly, CodeDisk, "choose the bus virtio, or make it a cdrom", "%s hard-disks do not support read-only.", out.Bus)
	}
	if out.PCI = r.pci(pci, "disk "+d.path+".name"); out.PCI != "" && out.Bus != "virtio" {
		r.refuse(pci, CodeDisk, "", "disk %s - setting a PCI address is only possible with bus type virtio.", d.path+".name")
	}
	return out
}

// diskPlaces records where the values of the next disk stand. place is that of the whole.
func (r *reader) diskPlaces(d disk, place diag.Range) {
	i := len(r.m.Disks)
	r.at(place, "disks[%d]", i)
	for _, field := range []string{"serial", "cache", "tag", "bootOrder", "shareable"} {
		if v := d.value.Get(field); v.Exists() {
			r.at(v.Range(), "disks[%d].%s", i, field)
		}
	}
	for field, path := range map[string]string{"bus": "bus", "readonly": "readOnly", "pciAddress": "pciAddress"} {
		if v := d.target.Get(field); v.Exists() {
			r.at(v.Range(), "disks[%d].%s", i, path)
		}
	}
}

// bus reads the bus of a disk. KubeVirt's default is sata, and virtio on architectures that have none.
func (r *reader) bus(d disk) string {
	v := d.target.Get("bus")
	text := v.Str(&r.list)
	switch {
	case text == "" && (r.m.Hardware.Arch == "arm64" || r.m.Hardware.Arch == "s390x") && d.device != "cdrom":
		return "virtio"
	case text == "":
		return "sata"
	case text == "ide":
		r.refuse(v, CodeDisk, "choose sata", "IDE bus is not supported")
	case text == "virtio" && d.device == "cdrom":
		r.refuse(v, CodeDisk, "choose sata", "Bus type %s is invalid for CD-ROM device", text)
	case !slices.Contains(buses, text):
		r.refuse(v, CodeDisk, tree.SuggestOf("buses", text, buses), "%s is set with an unrecognized bus %s, must be one of: [%s]", d.path, text, strings.Join(buses, " "))
	}
	return text
}
