package qemu

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/internal/supervisor"
	"github.com/vmseed/vmseed/internal/vmnet"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/seed"
)

// uuidForm is a UUID as RFC 9562, section 4, writes it.
var uuidForm = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// smbiosKey names a string of the firmware tables.
type smbiosKey struct {
	kind  int
	field string
}

// identity adds the strings of the firmware tables (SMBIOS 3.6, sections 7.2, 7.4 and 7.12). The seed's come last and win.
func (b *builder) identity() {
	id, s := b.vm.Machine.Identity, b.hw.SMBIOS
	rows := []struct {
		smbiosKey
		value, path string
	}{
		{smbiosKey{1, "manufacturer"}, s.Manufacturer, "hardware.smbios.manufacturer"},
		{smbiosKey{1, "product"}, s.Product, "hardware.smbios.product"},
		{smbiosKey{1, "version"}, s.Version, "hardware.smbios.version"},
		{smbiosKey{1, "serial"}, id.Serial, "identity.serial"},
		{smbiosKey{1, "uuid"}, id.UUID, "identity.uuid"},
		{smbiosKey{1, "sku"}, s.SKU, "hardware.smbios.sku"},
		{smbiosKey{1, "family"}, s.Family, "hardware.smbios.family"},
		{smbiosKey{3, "asset"}, s.AssetTag, "hardware.smbios.assetTag"},
	}
	values := map[smbiosKey]string{}
	var order []smbiosKey
	set := func(key smbiosKey, value, path string) {
		have, known := values[key]
		if !known {
			order = append(order, key)
		} else if !strings.EqualFold(have, value) && b.stated(path, have) {
			b.list.Add(diag.Diagnostic{Code: CodeFirmwareValue, Severity: diag.Warning, Range: b.at(path), Field: path,
				Summary: fmt.Sprintf("the seed sets the SMBIOS %s of type %d to another value, which is used", key.field, key.kind)})
		}
		values[key] = value
	}
	if b.arch == "arm64" && !uefi(b.vm.Machine) && slices.ContainsFunc(b.vm.Attachments, func(a seed.Attachment) bool { return a.Kind == seed.SMBIOSRow }) {
		b.unsupported("hardware.firmware", "use uefi (--firmware uefi), or choose another data source or delivery",
			"the seed needs SMBIOS strings, which an ARM machine has from UEFI alone")
	}
	paths := map[smbiosKey]string{}
	for _, r := range rows {
		paths[r.smbiosKey] = r.path
		if r.value != "" {
			set(r.smbiosKey, r.value, r.path)
		}
	}
	for i, a := range b.vm.Attachments {
		switch {
		case a.Kind != seed.SMBIOSRow:
		case a.Type == 11:
			b.oemString(i, a)
		default:
			key := smbiosKey{a.Type, a.Field}
			set(key, a.Value, paths[key])
		}
	}
	if uuid, ok := values[smbiosKey{1, "uuid"}]; ok && !uuidForm.MatchString(uuid) {
		b.list.Add(diag.Diagnostic{Code: CodeBadUUID, Severity: diag.Error, Range: b.at("identity.uuid"), Field: "identity.uuid",
			Summary: fmt.Sprintf("%q is no UUID", uuid), Remedy: "write one, or leave it out"})
	}
	slices.SortStableFunc(order, func(x, y smbiosKey) int { return x.kind - y.kind })
	option, kind := "", 0
	for _, key := range order {
		if key.kind != kind {
			if option != "" {
				b.add("-smbios", option)
			}
			option, kind = "type="+strconv.Itoa(key.kind), key.kind
		}
		option += "," + key.field + "=" + comma(values[key])
	}
	if option != "" {
		b.add("-smbios", option)
	}
}

// stated reports whether a firmware string is one that somebody asked for. The UUID mostly is vmseed's own choice, and the
// serial number a copy of it.
func (b *builder) stated(path, value string) bool {
	_, written := b.vm.Machine.Places[path]
	return written || path != "identity.uuid" && !(path == "identity.serial" && value == b.vm.Machine.Identity.UUID)
}

// oemString adds an OEM string from a file, because the arguments of a process are public and the string may be a seed.
func (b *builder) oemString(i int, a seed.Attachment) {
	path := a.Path
	if path == "" {
		name := fmt.Sprintf("smbios-%d", i)
		b.files[name] = a.Value
		path = filepath.Join(b.vm.StateDir, name)
	}
	b.add("-smbios", "type=11,path="+comma(path))
}

// block adds a block device's contents and returns the name of the node.
func (b *builder) block(name, path, format, cache string, readOnly bool) {
	file := map[string]any{"driver": "file", "filename": path}
	if info, seen := b.host.Images[path]; info.Device || !seen && strings.HasPrefix(path, "/dev/") && !strings.HasPrefix(path, "/dev/shm/") {
		file["driver"] = "host_device"
	}
	node := map[string]any{"node-name": name, "driver": format, "read-only": readOnly, "file": file}
	switch cache {
	case "none", "directsync":
		node["cache"] = map[string]any{"direct": true}
	case "unsafe":
		node["cache"] = map[string]any{"no-flush": true}
	}
	if !readOnly && cache != "directsync" {
		node["discard"] = "unmap"
	}
	b.add("-blockdev", encode(node))
}

// disks adds the machine's disks in their order.
func (b *builder) disks() {
	ordered := slices.ContainsFunc(b.vm.Machine.Disks, func(d machine.Disk) bool { return d.BootOrder > 0 }) ||
		slices.ContainsFunc(b.vm.Machine.Network.NICs, func(n machine.NIC) bool { return n.BootOrder > 0 })
	for i, d := range b.vm.Machine.Disks {
		path := fmt.Sprintf("disks[%d]", i)
		file, format, ok := b.contents(path, i, d)
		if !ok {
			continue
		}
		node := "disk" + strconv.Itoa(i)
		properties := map[string]any{"id": "dev-" + node, "drive": node}
		if d.Serial != "" {
			properties["serial"] = d.Serial
		}
		switch {
		case d.BootOrder > 0:
			properties["bootindex"] = d.BootOrder
		case d.Root && !ordered:
			properties["bootindex"] = 1
		}
		switch d.Cache {
		case "", "none", "writeback", "unsafe":
		case "writethrough", "directsync":
			properties["write-cache"] = "off"
		default:
			b.badValue(path+".cache", "the cache mode %q is none of none, writeback, writethrough, directsync and unsafe", d.Cache)
		}
		if d.Shareable {
			properties["share-rw"] = true
		}
		b.block(node, file, format, d.Cache, d.ReadOnly || d.Device == "cdrom")
		b.diskDevice(path, d, properties)
	}
}

// diskDevice adds the device of a disk on its bus.
func (b *builder) diskDevice(path string, d machine.Disk, properties map[string]any) {
	suffix := map[string]string{"": "hd", "disk": "hd", "cdrom": "cd", "lun": "block"}[d.Device]
	if suffix == "" {
		b.unsupported(path+".device", "choose disk or cdrom", "vmseed builds no device %q", d.Device)
		return
	}
	switch {
	case suffix == "block" && d.Bus != "scsi":
		b.unsupported(path+".device", "use the bus scsi", "a lun needs the bus scsi, not %s", d.Bus)
	case d.Bus == "virtio":
		if a, ok := b.address(path+".pciAddress", d.PCI); ok {
			properties["bus"], properties["addr"] = b.bus, a
			b.device("virtio-blk-pci", properties)
		}
	case d.Bus == "scsi":
		a, ok := b.address(path+".pciAddress", d.PCI)
		if !ok {
			return
		}
		if suffix == "block" {
			delete(properties, "serial") // the device of the host has its own
		}
		properties["bus"] = b.scsi(a)
		properties["scsi-id"], properties["lun"] = 0, d.Unit
		b.device("scsi-"+suffix, properties)
	case d.Bus == "sata":
		properties["bus"] = b.sata()
		b.device("ide-"+suffix, properties)
	case d.Bus == "usb":
		properties["bus"] = b.usb()
		b.device("usb-storage", properties)
	default:
		b.unsupported(path+".bus", "choose virtio, scsi, sata or usb", "vmseed builds no bus %q", d.Bus)
	}
}

// scsi returns the SCSI bus of the controller at an address.
func (b *builder) scsi(address string) string {
	key := "scsi " + address
	if _, ok := b.controllers[key]; !ok {
		id := fmt.Sprintf("scsi%d", b.count("scsi "))
		b.controllers[key] = id + ".0"
		b.device("virtio-scsi-pci", map[string]any{"id": id, "bus": b.bus, "addr": address})
	}
	return b.controllers[key]
}

// count returns how many controllers of a kind were made.
func (b *builder) count(kind string) int {
	n := 0
	for key := range b.controllers {
		if strings.HasPrefix(key, kind) {
			n++
		}
	}
	return n
}

// sataPorts is how many disks an AHCI controller takes.
const sataPorts = 6

// sata returns the next free port of a SATA controller. All are vmseed's own, on functions of the slot for shares.
func (b *builder) sata() string {
	n := b.count("sata port")
	id := fmt.Sprintf("sata%d", n/sataPorts)
	port := fmt.Sprintf("%s.%d", id, n%sataPorts)
	if n%sataPorts == 0 {
		b.device("ich9-ahci", map[string]any{"id": id, "bus": b.bus, "addr": b.function(), "multifunction": true})
	}
	b.controllers["sata port "+port] = port
	return port
}

// usb returns the USB bus.
func (b *builder) usb() string {
	if _, ok := b.controllers["usb"]; !ok {
		b.controllers["usb"] = "usb.0"
		b.device("qemu-xhci", map[string]any{"id": "usb", "bus": b.bus, "addr": b.function(), "multifunction": true})
	}
	return b.controllers["usb"]
}

// function returns the next free function of the slot for shares and further controllers.
func (b *builder) function() string {
	n := b.count("function")
	b.controllers[fmt.Sprintf("function %d", n)] = ""
	if n > 7 {
		b.unsupported("shares", "", "there are more than 8 shares and controllers for sata and usb")
	}
	return fmt.Sprintf("%02x.%d", machine.SlotShares, n)
}

// nicDrivers are the models of NICs by the names that documents use.
var nicDrivers = map[string]string{
	"": "virtio-net-pci", "virtio": "virtio-net-pci", "e1000": "e1000", "e1000e": "e1000e", "rtl8139": "rtl8139", "ne2k_pci": "ne2k_pci", "pcnet": "pcnet",
}

// network adds the machine's NICs, each with a network of its own.
func (b *builder) network() {
	b.ssh = supervisor.SSH{NIC: -1, None: true}
	mode := b.vm.Options.Net
	index := 0
	for i, n := range b.vm.Machine.Network.NICs {
		if !n.Physical() {
			continue
		}
		path := fmt.Sprintf("network.nics[%d]", i)
		driver, ok := nicDrivers[n.Model]
		if !ok {
			b.unsupported(path+".model", "choose virtio, e1000e, e1000 or rtl8139", "QEMU has no NIC %q", n.Model)
			continue
		}
		a, ok := b.address(path+".pciAddress", n.PCI)
		if !ok {
			continue
		}
		id := "net" + strconv.Itoa(index)
		properties := map[string]any{"id": "dev-" + id, "mac": n.MAC, "bus": b.bus, "addr": a}
		if n.MTU > 0 && driver == "virtio-net-pci" {
			properties["host_mtu"] = n.MTU
		}
		if n.BootOrder > 0 {
			properties["bootindex"] = n.BootOrder
		} else {
			properties["romfile"] = "" // no network boot, and no wait for it
		}
		if n.LinkDown {
			b.down = append(b.down, "dev-"+id)
		}
		plugged, tapped := tapOf(b.vm.Options.Taps, n)
		switch {
		case tapped:
			b.tapNIC(path, n, id, plugged)
		case mode == "", mode == "stack":
			b.stackNIC(path, n, id, index)
		case mode == "user":
			b.slirpNIC(path, n, id, index)
		}
		if tapped || mode != "none" {
			properties["netdev"] = id
		} else if !n.LinkDown {
			b.down = append(b.down, "dev-"+id) // a guest with a cable would wait for an answer
		}
		b.device(driver, properties)
		index++
	}
	b.strayTaps()
}

// stackNIC connects a NIC to a network in the supervisor. QEMU listens, because version 7.2 cannot connect again.
func (b *builder) stackNIC(path string, n machine.NIC, id string, index int) {
	config, problems := vmnet.Configure(n, b.vm.Machine.Network.DNS, index, b.at(path))
	b.list = append(b.list, problems...)
	socket := id + ".sock"
	b.add("-netdev", encode(map[string]any{"type": "stream", "id": id, "server": true,
		"addr": map[string]any{"type": "unix", "path": socket}}))
	b.nics = append(b.nics, supervisor.NIC{Name: n.Name, Socket: socket, Network: config})
	if !n.LinkDown {
		b.plugged++
		if b.ssh.None {
			b.ssh = supervisor.SSH{NIC: len(b.nics) - 1, Port: b.vm.Options.SSHPort}
		}
	}
}

// slirpNIC connects a NIC to QEMU's own user-mode network. Its subnets hold both metadata addresses, so that slirp takes
// them for hosts of the guest's own network and never asks the host.
func (b *builder) slirpNIC(path string, n machine.NIC, id string, index int) {
	netdev := map[string]any{"type": "user", "id": id, "net": "169.254.0.0/16", "host": "169.254.2.2", "dhcpstart": "169.254.2.15",
		"dns": "169.254.2.3", "ipv4": true, "ipv6": true, "ipv6-prefix": "fd00:ec2::", "ipv6-prefixlen": 64}
	for _, a := range n.Addrs {
		if a.Addr().Is4() {
			b.list.Add(diag.Diagnostic{Code: CodeStaticDHCP, Severity: diag.Warning, Range: b.at(path), Field: path,
				Summary: fmt.Sprintf("NIC %q has the static address %s, which --net user does not route", n.Name, a.Addr()), Remedy: "use --net stack"})
			break
		}
	}
	if index == 0 && b.sshPort > 0 {
		netdev["hostfwd"] = []any{map[string]any{"str": fmt.Sprintf("tcp:127.0.0.1:%d-:22", b.sshPort)}}
		b.ssh = supervisor.SSH{NIC: -1, Port: b.sshPort}
	}
	b.add("-netdev", encode(netdev))
}

// shares adds directories of the host.
func (b *builder) shares() {
	for i, s := range b.vm.Machine.Shares {
		path := fmt.Sprintf("shares[%d]", i)
		if s.Driver != "" && s.Driver != "9p" {
			b.unsupported(path+".driver", "use 9p", "vmseed builds no share by %s", s.Driver)
			continue
		}
		id := "share" + strconv.Itoa(i)
		option := "local,id=" + id + ",security_model=none,path=" + comma(s.HostPath)
		if s.ReadOnly {
			option += ",readonly=on"
		}
		b.add("-fsdev", option)
		b.device("virtio-9p-pci", map[string]any{"fsdev": id, "mount_tag": s.Tag, "bus": b.bus, "addr": b.function(), "multifunction": true})
	}
}

// attachments adds what the deliveries ask for.
func (b *builder) attachments() {
	drives := 0
	for i, a := range b.vm.Attachments {
		switch a.Kind {
		case seed.Drive:
			b.seedDrive(drives, a)
			drives++
		case seed.FwCfgFile:
			if !fwCfg[b.arch] {
				b.list.Add(diag.Diagnostic{Code: CodeNoFwCfg, Severity: diag.Error, Range: b.at("hardware.arch"), Field: "hardware.arch",
					Summary: fmt.Sprintf("a machine of the architecture %s has no firmware configuration device for %s", b.arch, a.Name),
					Remedy:  "choose --delivery virtio-blk"})
				continue
			}
			path := a.Path
			if path == "" {
				name := fmt.Sprintf("fw_cfg-%d", i)
				b.files[name] = a.Value
				path = filepath.Join(b.vm.StateDir, name)
			}
			b.add("-fw_cfg", "name="+comma(a.Name)+",file="+comma(path))
		}
	}
}

// seedDrive adds a medium of the seed, read-only. virtio-blk is the bus that every guest of a cloud can read.
func (b *builder) seedDrive(n int, a seed.Attachment) {
	node := "seed" + strconv.Itoa(n)
	properties := map[string]any{"id": "dev-" + node, "drive": node}
	if a.Serial != "" {
		properties["serial"] = a.Serial
	}
	if n > 7 {
		b.unsupported("media", "", "there are more than 8 media")
		return
	}
	b.block(node, a.Path, "raw", "", true)
	address := fmt.Sprintf("%02x.%d", machine.SlotSeed, n)
	switch a.Bus {
	case "", "virtio":
		properties["bus"], properties["addr"] = b.bus, address
		if n == 0 {
			properties["multifunction"] = true
		}
		b.device("virtio-blk-pci", properties)
	case "scsi":
		id := "scsi-" + node
		b.device("virtio-scsi-pci", map[string]any{"id": id, "bus": b.bus, "addr": address, "multifunction": n == 0})
		properties["bus"] = id + ".0"
		b.device("scsi-cd", properties)
	case "sata":
		properties["bus"] = b.sata()
		b.device("ide-cd", properties)
	case "usb":
		properties["bus"] = b.usb()
		b.device("usb-storage", properties)
	default:
		b.unsupported("media.bus", "choose virtio, scsi, sata or usb", "vmseed builds no bus %q", a.Bus)
	}
}

// hostDevices passes devices of the host through.
func (b *builder) hostDevices() {
	for i, d := range b.hw.HostDevices {
		path := fmt.Sprintf("hardware.hostDevices[%d]", i)
		if d.PCI == "" {
			b.unsupported(path, "state its PCI address on this host", "vmseed finds no device %q on this host", d.Name)
			continue
		}
		b.device("vfio-pci", map[string]any{"id": "host" + strconv.Itoa(i), "host": d.PCI})
	}
}
