package ovirt

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/element"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/internal/bounded"
)

// The resource types of CIM that items of hardware have (DSP0004, CIM_ResourceAllocationSettingData).
const (
	resourceCPU     = "3"
	resourceMemory  = "4"
	resourceNetwork = "10"
)

// fromOVF makes of the envelope of an OVF the vm that an engine would make of it, with the places of the envelope. Sources:
// oVirt's OvfWriter and OvfReader; DSP0243 for what other programs write. It returns an absent element when there is no
// machine in it.
func (r *reader) fromOVF(v tree.Value) element.Element {
	defer v.Consume() // an envelope says much that no engine reads either
	system := v.Get("VirtualSystem")
	if !system.Exists() {
		system = v.Get("Content") // of an export domain, and of configuration/data
	}
	if several := system.Kind() == tree.List || v.Get("VirtualSystemCollection").Exists(); several || system.Kind() != tree.Map {
		what := "the envelope describes no virtual machine"
		if several {
			what = "the envelope describes several virtual machines"
		}
		v.Errorf(&r.list, CodeOVF, "give the OVF of one virtual machine", "%s", what)
		return element.Element{}
	}
	o := ovf{reader: r, envelope: v, system: system, vm: element.New("vm")}
	o.vm.Place = system.Range()
	o.names()
	o.platform()
	o.operatingSystem()
	o.hardware()
	o.add(o.vmInit())
	o.disks()
	return o.vm
}

// ovf makes a vm of an envelope.
type ovf struct {
	*reader
	envelope, system tree.Value
	vm               element.Element
}

func (o *ovf) add(children ...element.Element) {
	for _, c := range children {
		if c.Exists() {
			o.vm = o.vm.Append(c)
		}
	}
}

// text makes an element of a value, and nothing of an absent one.
func (o *ovf) field(name string, v tree.Value) element.Element {
	text := v.Loose(&o.list)
	if text == "" {
		return element.Element{}
	}
	e := element.Text(name, text)
	e.Place = v.Range()
	return e
}

// group makes an element of those children that exist.
func group(name string, at tree.Value, children ...element.Element) element.Element {
	children = slices.DeleteFunc(children, func(c element.Element) bool { return !c.Exists() })
	if len(children) == 0 {
		return element.Element{}
	}
	e := element.New(name, children...)
	e.Place = at.Range()
	return e
}

// sections returns the sections of a type. oVirt writes them as Section with the attribute type, other programs and OVAs
// as elements of their own.
func (o *ovf) sections(in tree.Value, name string) []tree.Value {
	out := o.listed(in.Get(name))
	for _, s := range o.listed(in.Get("Section")) {
		if strings.HasSuffix(s.Get("type").Loose(new(diag.List)), ":"+name+"_Type") {
			out = append(out, s)
		}
	}
	return out
}

// names reads what the machine is called, and how it boots.
func (o *ovf) names() {
	if id := o.system.Get("id").Loose(&o.list); len(id) == 36 {
		o.vm = o.vm.WithAttr("id", id)
	}
	o.add(o.field("name", o.system.Get("Name")), o.field("description", o.system.Get("Description")), o.field("comment", o.system.Get("Comment")))
	if o.vm.Child("name").Text == "" {
		name := o.system.Get("id") // the only name that OVF itself has
		o.vm = o.vm.Without("name")
		o.add(o.field("name", name))
	}
	if v := o.system.Get("BiosType"); v.Exists() {
		// The numbers are those of oVirt 4.3, which its later releases write as well.
		types := map[string]string{"0": "i440fx_sea_bios", "1": "q35_sea_bios", "2": "q35_ovmf", "3": "q35_secure_boot"}
		if name := types[v.Loose(&o.list)]; name != "" {
			bios := element.New("bios", element.Text("type", name))
			bios.Place = v.Range()
			o.add(bios)
		}
	}
}

// serialPolicies are oVirt's numbers of what serial number the firmware shows.
var serialPolicies = map[string]string{"0": "host", "1": "vm", "2": "custom"}

// platform reads what the guest sees of the machine beside its hardware items.
func (o *ovf) platform() {
	o.add(o.field("custom_emulated_machine", o.system.Get("CustomEmulatedMachine")), o.field("custom_cpu_model", o.system.Get("CustomCpuName")))
	if v := o.system.Get("SerialNumberPolicy"); v.Exists() {
		o.add(group("serial_number", v, placed(v, "policy", serialPolicies[v.Loose(&o.list)]), o.field("value", o.system.Get("CustomSerialNumber"))))
	}
	if v := o.system.Get("IsStateless"); isTrue(v) {
		o.add(placed(v, "stateless", "true"))
	}
}

func isTrue(v tree.Value) bool { return strings.EqualFold(v.Loose(new(diag.List)), "true") }

// operatingSystem reads the type of the operating system. An export domain has oVirt's own name of it, an OVA oVirt's
// number beside one of CIM's.
func (o *ovf) operatingSystem() {
	for _, s := range o.sections(o.system, "OperatingSystemSection") {
		description := strings.ToLower(s.Get("Description").Loose(&o.list))
		kind := ""
		switch number := s.Get("ovirt:id").Loose(&o.list); {
		case number != "":
			kind = osNumber[number]
		case strings.ContainsAny(description, " ()"):
		default:
			kind = description
		}
		if kind == "" && strings.Contains(description, "windows") {
			kind = "windows_2022"
		}
		if id := s.Get("id").Loose(&o.list); len(id) == 36 && o.vm.Attr("id") == "" {
			o.vm = o.vm.WithAttr("id", id) // an export domain keeps the machine's id here
		}
		if kind == "" {
			kind = "other_linux"
		}
		name := element.Text("type", kind)
		name.Place = s.Range()
		boot := element.Element{}
		if kernel := o.system.Get("KernelUrl"); kernel.Exists() {
			boot = o.field("kernel", kernel)
		}
		o.add(group("os", s, name, boot, o.field("initrd", o.system.Get("InitrdUrl")), o.field("cmdline", o.system.Get("KernelParams"))))
		return
	}
}

// osNumber are the numbers of operating systems in oVirt that are set up in another way than by cloud-init.
var osNumber = map[string]string{"1": "windows_xp", "3": "windows_2003", "4": "windows_2008", "10": "windows_2003x64", "11": "windows_7", "12": "windows_7x64",
	"16": "windows_2008x64", "17": "windows_2008r2x64", "20": "windows_8", "21": "windows_8x64", "23": "windows_2012x64", "25": "windows_2012r2x64",
	"26": "windows_10", "27": "windows_10x64", "29": "windows_2016x64", "31": "windows_2019x64", "35": "rhcos_x64", "36": "windows_11",
	"37": "windows_2022", "38": "windows_2025"}

// hardware reads processors, memory and NICs.
func (o *ovf) hardware() {
	var nics []element.Element
	for _, s := range o.sections(o.system, "VirtualHardwareSection") {
		for _, item := range o.listed(s.Get("Item")) {
			switch item.Get("ResourceType").Loose(&o.list) {
			case resourceCPU:
				o.processors(item)
			case resourceMemory:
				o.memory(item)
			case resourceNetwork:
				nics = append(nics, o.nic(item, len(nics)))
			}
			o.device(item)
		}
	}
	if len(nics) > 0 {
		list := element.List("nics", nics...)
		list.Place = o.system.Range()
		o.add(list)
	}
}

// device reads the two of oVirt's devices that a guest misses. An item of a device names its type.
func (o *ovf) device(item tree.Value) {
	switch kind := item.Get("Type"); kind.Loose(&o.list) {
	case "tpm":
		o.add(placed(kind, "tpm_enabled", "true"))
	case "rng":
		o.add(group("rng_device", kind, placed(kind, "source", "urandom")))
	}
}

func (o *ovf) processors(item tree.Value) {
	sockets, cores, threads := o.field("sockets", item.Get("num_of_sockets")), o.field("cores", item.Get("cpu_per_socket")), o.field("threads", item.Get("threads_per_cpu"))
	if !sockets.Exists() && !cores.Exists() {
		sockets = o.field("sockets", item.Get("VirtualQuantity"))
	}
	mode := element.Element{}
	if v := o.system.Get("UseHostCpu"); isTrue(v) {
		mode = placed(v, "mode", "host_passthrough")
	}
	o.add(group("cpu", item, mode, group("topology", item, sockets, cores, threads)))
}

// units are the factors of units of memory, as oVirt and as other programs write them.
var units = map[string]int64{"": 1 << 20, "megabytes": 1 << 20, "gigabytes": 1 << 30, "byte": 1, "byte*2^10": 1 << 10, "byte*2^20": 1 << 20, "byte*2^30": 1 << 30}

func (o *ovf) memory(item tree.Value) {
	quantity := item.Get("VirtualQuantity")
	unit := item.Get("AllocationUnits")
	factor := units[strings.ToLower(strings.ReplaceAll(unit.Loose(&o.list), " ", ""))]
	n, err := strconv.ParseInt(quantity.Loose(&o.list), 10, 64)
	switch {
	case factor == 0:
		unit.Errorf(&o.list, CodeOVF, "write MegaBytes or byte * 2^20", "this is no unit of memory")
	case err != nil || n < 1 || n > 1<<60/factor:
		item.Errorf(&o.list, CodeOVF, "correct VirtualQuantity", "this is no amount of memory")
	default:
		e := element.Int("memory", n*factor)
		e.Place = item.Range()
		o.add(e)
	}
}

// nicInterfaces are oVirt's numbers for models of NICs.
var nicInterfaces = map[string]string{"0": "rtl8139_virtio", "1": "rtl8139", "2": "e1000", "3": "virtio", "4": "spapr_vlan", "5": "pci_passthrough", "6": "e1000e"}

func (o *ovf) nic(item tree.Value, i int) element.Element {
	name := o.field("name", item.Get("Name"))
	if !name.Exists() {
		name = o.field("name", item.Get("ElementName"))
	}
	if !name.Exists() {
		name = element.Text("name", "nic"+strconv.Itoa(i+1))
	}
	address := o.field("address", item.Get("MACAddress"))
	if !address.Exists() {
		address = o.field("address", item.Get("Address"))
	}
	kind := element.Element{}
	if model := nicInterfaces[item.Get("ResourceSubType").Loose(&o.list)]; model != "" {
		kind = element.Text("interface", model)
		kind.Place = item.Range()
	}
	return group("nic", item, name, kind, group("mac", item, address), o.field("linked", item.Get("Linked")), o.field("plugged", item.Get("IsPlugged")))
}

// vmInitMembers are the attributes of VmInit and the members of the initialization that an engine reads them into.
var vmInitMembers = []struct {
	attribute, member string
	// escaped members may have the escape \n for a line break.
	escaped bool
}{
	{"hostname", "host_name", false}, {"domain", "domain", false}, {"timeZone", "timezone", false}, {"authorizedKeys", "authorized_ssh_keys", true},
	{"regenerateKeys", "regenerate_ssh_keys", false}, {"dnsSearch", "dns_search", false}, {"dnsServers", "dns_servers", false},
	{"winKey", "windows_license_key", false}, {"rootPassword", "root_password", false}, {"customScript", "custom_script", true},
}

// initialization reads VmInit. An engine writes no user, locale or network protocol into it.
func (o *ovf) vmInit() element.Element {
	v := o.system.Get("VmInit")
	if v.Kind() != tree.Map {
		return element.Element{}
	}
	var children []element.Element
	for _, m := range vmInitMembers {
		e := o.field(m.member, v.Get(m.attribute))
		// An engine codes line breaks before its writer codes the ampersands of the code.
		if !strings.Contains(e.Text, "\n") {
			e.Text = strings.ReplaceAll(e.Text, "&#10;", "\n")
			if m.escaped && !strings.Contains(e.Text, "\n") { // where they are coded in another way, \n is a part of the text
				e.Text = strings.ReplaceAll(e.Text, `\n`, "\n")
			}
		}
		children = append(children, e)
	}
	return group("initialization", v, append(children, o.networks(v.Get("networks")))...)
}

// vmInitNIC is a NIC in the JSON of VmInit, as oVirt's class VmInitNetwork is written.
type vmInitNIC struct {
	StartOnBoot      *bool       `json:"startOnBoot"`
	Name             *string     `json:"name"`
	BootProtocol     string      `json:"bootProtocol"`
	IP               string      `json:"ip"`
	Netmask          string      `json:"netmask"`
	Gateway          string      `json:"gateway"`
	IPv6BootProtocol string      `json:"ipv6BootProtocol"`
	IPv6Address      string      `json:"ipv6Address"`
	IPv6Prefix       json.Number `json:"ipv6Prefix"`
	IPv6Gateway      string      `json:"ipv6Gateway"`
}

// networks reads the NICs of VmInit: JSON with the names of Java's classes in front of each value.
func (o *ovf) networks(v tree.Value) element.Element {
	text := v.Loose(&o.list)
	if text == "" || text == "null" {
		return element.Element{}
	}
	nics, ok := initNICs(json.RawMessage(text), 0)
	if !ok {
		v.Errorf(&o.list, CodeOVF, "export the machine anew", "the networks of VmInit are not the JSON that oVirt writes")
		return element.Element{}
	}
	var children []element.Element
	for _, n := range nics {
		nic := element.New("nic_configuration")
		nic.Place = v.Range()
		for _, m := range []struct{ name, value string }{{"name", *n.Name}, {"boot_protocol", protocol(n.BootProtocol)}, {"ipv6_boot_protocol", protocol(n.IPv6BootProtocol)}} {
			if m.value != "" {
				nic = nic.Append(placed(v, m.name, m.value))
			}
		}
		if n.StartOnBoot != nil {
			nic = nic.Append(placed(v, "on_boot", strconv.FormatBool(*n.StartOnBoot)))
		}
		for _, ip := range []element.Element{address(v, "ip", n.IP, n.Netmask, n.Gateway), address(v, "ipv6", n.IPv6Address, n.IPv6Prefix.String(), n.IPv6Gateway)} {
			if ip.Exists() {
				nic = nic.Append(ip)
			}
		}
		children = append(children, nic)
	}
	return group("nic_configurations", v, children...)
}

// placed makes a text that stands where v does.
func placed(v tree.Value, name, value string) element.Element {
	e := element.Text(name, value)
	e.Place = v.Range()
	return e
}

func address(v tree.Value, name, ip, netmask, gateway string) element.Element {
	var children []element.Element
	for _, m := range []struct{ name, value string }{{"address", ip}, {"netmask", netmask}, {"gateway", gateway}} {
		if m.value != "" {
			children = append(children, placed(v, m.name, m.value))
		}
	}
	return group(name, v, children...)
}

// protocol turns the name of a constant into that of the API.
func protocol(constant string) string {
	if constant == "STATIC_IP" {
		return "static"
	}
	return strings.ToLower(constant)
}

// initNICs finds the NICs in nested lists that name a class before each value.
func initNICs(raw json.RawMessage, depth int) ([]vmInitNIC, bool) {
	if depth > 4 {
		return nil, false
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		var class string
		if json.Unmarshal(raw, &class) == nil {
			return nil, true
		}
		var nic vmInitNIC
		if json.Unmarshal(raw, &nic) != nil || nic.Name == nil {
			return nil, false
		}
		return []vmInitNIC{nic}, true
	}
	var out []vmInitNIC
	for _, item := range list {
		nics, ok := initNICs(item, depth+1)
		if !ok {
			return nil, false
		}
		out = append(out, nics...)
	}
	return out, true
}

// diskInterfaces are the names of oVirt's interfaces of disks in OVF, and in the API.
var diskInterfaces = map[string]string{"virtio": "virtio", "virtio_scsi": "virtio_scsi", "ide": "ide", "sata": "sata", "spapr_vscsi": "spapr_vscsi"}

// disks reads what is said about the disks. Their contents are in the archive or in oVirt's storage.
func (o *ovf) disks() {
	var all []element.Element
	for _, s := range o.sections(o.envelope, "DiskSection") {
		for _, d := range o.listed(s.Get("Disk")) {
			all = append(all, o.attachment(d))
		}
	}
	if len(all) > 0 {
		list := element.List("disk_attachments", all...)
		list.Place = o.envelope.Range()
		o.add(list)
	}
}

func (o *ovf) attachment(d tree.Value) element.Element {
	name, size := o.field("alias", d.Get("disk-alias")), d.Get("capacity")
	if !name.Exists() {
		name = o.field("alias", d.Get("diskId"))
	}
	unit, known := units[strings.ToLower(strings.ReplaceAll(d.Get("capacityAllocationUnits").Loose(&o.list), " ", ""))], size.Exists()
	if !known { // an export domain counts in GiB
		size, unit = d.Get("size"), 1<<30
	} else if !d.Get("capacityAllocationUnits").Exists() {
		unit = 1 // DSP0243, section 9.1
	}
	bytes := element.Element{}
	if n, err := strconv.ParseInt(size.Loose(&o.list), 10, 64); err == nil && unit > 0 && n > 0 && n <= 1<<60/unit {
		bytes = element.Int("provisioned_size", n*unit)
		bytes.Place = d.Range()
	}
	kind := element.Element{}
	if text := diskInterfaces[strings.ToLower(d.Get("disk-interface").Loose(&o.list))]; text != "" {
		kind = placed(d, "interface", text)
	}
	return group("disk_attachment", d, o.field("bootable", d.Get("boot")), o.field("read_only", d.Get("read-only")), kind, group("disk", d, name, bytes))
}

// envelope reads a machine out of the envelope of an OVF, the outermost element of such a document. It returns false when
// there is none in it.
func (r *reader) envelope(v tree.Value) bool {
	vm := r.fromOVF(v)
	if !vm.Exists() {
		return false
	}
	r.root = root{vm: vm.Tree(v.File())}
	r.init = r.vm.Get("initialization")
	return r.read()
}

// configuration reads the type of initialization/configuration. Its data has been looked at before.
func (r *reader) configuration(v tree.Value) {
	if r.isMap(v) {
		r.only(v, "data", "type")
		r.word(v.Get("type"), "ova", "ovf")
		v.Get("data").Consume()
	}
}

// imported takes the OVF in initialization/configuration for the vm, which is how clients of the API import one. The name of
// the vm itself counts. In what an engine returns it stands beside the same vm in the words of the API, and says nothing new.
func (r *reader) imported() {
	data := r.init.At("configuration", "data")
	if data.Kind() != tree.Scalar || blank(data) {
		return
	}
	for _, name := range []string{"cpu", "disk_attachments", "memory", "nics", "os", "status"} {
		if r.vm.Get(name).Exists() {
			r.note(data, CodeNotActedUpon, "the OVF is not read, because the VM beside it says the same")
			return
		}
	}
	e, l := element.ParseXML(data.File(), []byte(r.verbatim(data)), bounded.Limits{})
	r.list = append(r.list, data.Origin("configuration/data").Carry(l)...)
	if l.HasErrors() {
		return
	}
	if e.Name != "Envelope" {
		r.fail(data, CodeOVF, "put the text of an OVF here", "the data of the configuration is no OVF")
		return
	}
	vm := r.fromOVF(stands(e, data.Range()).Tree(data.File()))
	if !vm.Exists() {
		return
	}
	r.configuration(r.init.Get("configuration"))
	r.aside(r.init, "regenerate_ids")
	r.sort(r.vm, vmMembersOf())
	if name := r.text(r.vm.Get("name")); name != "" {
		vm = vm.With(placed(r.vm.Get("name"), "name", name))
	}
	r.vm = vm.Tree(data.File())
	r.init = r.vm.Get("initialization")
}

// stands returns an element whose parts all stand at one place.
func stands(e element.Element, place diag.Range) element.Element {
	out := element.Element{Name: e.Name, Text: e.Text, Place: place}
	for _, a := range e.Attrs {
		out.Attrs = append(out.Attrs, element.Attr{Name: a.Name, Value: a.Value, Place: place})
	}
	for _, c := range e.Children {
		out.Children = append(out.Children, stands(c, place))
	}
	return out
}
