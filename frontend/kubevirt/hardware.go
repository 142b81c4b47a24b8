package kubevirt

import (
	"slices"
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/machine"
)

// Limits of what documents may ask for.
const (
	maxCPUs     = 4096
	smallMemory = 128 << 20
)

// hardware reads spec.domain but for its devices.
func (r *reader) hardware() {
	domain := r.spec.Get("domain")
	if !domain.Exists() || domain.Kind() == tree.Null {
		domain.Errorf(&r.list, CodeNotVM, "give it spec.domain.devices", "the instance has no domain")
		return
	}
	if !domain.Want(&r.list, tree.Map) {
		return
	}
	r.sort(domain, domainFields)
	r.resources(domain.Get("resources"))
	r.memory(domain)
	r.cpu(domain)
	r.machineType(domain.Get("machine"))
	r.firmware(domain)
	r.chassis(domain.Get("chassis"))
	r.clock(domain.Get("clock"))
}

// resources looks at the fields of the resources; memory and cpu read the amounts.
func (r *reader) resources(v tree.Value) {
	if !v.Want(&r.list, tree.Map) {
		return
	}
	r.sort(v, resourceFields)
	for _, which := range []string{"requests", "limits"} {
		amounts := v.Get(which)
		amounts.Want(&r.list, tree.Map)
		for _, e := range amounts.Entries() {
			if e.Key != "memory" && e.Key != "cpu" {
				r.remark(e, CodeNoGuest, "%s of %s concern the cluster, not the guest", which, e.Key)
				e.Value.Consume()
			}
		}
	}
}

// memory follows KubeVirt: memory.guest, else what is requested of the cluster, else the limit.
func (r *reader) memory(domain tree.Value) {
	v := domain.Get("memory")
	v.Want(&r.list, tree.Map)
	r.sort(v, memoryFields)
	guest, request, limit := v.Get("guest"), domain.At("resources", "requests", "memory"), domain.At("resources", "limits", "memory")
	sources := []tree.Value{guest, request, limit}
	if given := r.typeSpec.At("memory", "guest"); given.Exists() {
		r.conflict(sources...)
		r.hugepages(v.Get("hugepages"), tree.Value{}, 0)
		if q, ok := r.quantity(given); ok {
			r.setMemory(given, machine.Bytes(q.Times(1)))
		}
		return
	}
	amounts := make([]machine.Bytes, len(sources))
	chosen, broken := -1, false
	for i, s := range sources {
		q, ok := r.quantity(s)
		amounts[i] = machine.Bytes(q.Times(1))
		switch {
		case !ok:
			broken = broken || s.Exists() && s.Kind() != tree.Null
		case amounts[i] == 0:
		case chosen < 0:
			chosen = i
		default:
			r.note(s, CodeNoGuest, "this concerns the cluster: the guest has what %s says", sources[chosen].Path())
		}
	}
	if amounts[0] > 0 && amounts[2] > 0 && amounts[0] > amounts[2] {
		r.refuse(guest, CodeMemory, "", "%s '%s' must be equal to or less than the memory limit %s '%s'",
			r.in("domain.memory.guest"), peek(guest), r.in("domain.resources.limits.memory"), peek(limit))
	}
	if amounts[1] > 0 && amounts[2] > 0 && amounts[1] > amounts[2] {
		r.refuse(request, CodeMemory, "", "%s '%s' is greater than %s '%s'",
			r.in("domain.resources.requests.memory"), peek(request), r.in("domain.resources.limits.memory"), peek(limit))
	}
	if 0 < amounts[1] && amounts[1] < 1e6 {
		r.refuse(request, CodeMemory, "", "%s '%s': must be greater than or equal to 1M.", r.in("domain.resources.requests.memory"), peek(request))
	}
	page := r.hugepages(v.Get("hugepages"), request, amounts[1])
	switch {
	case chosen >= 0:
		r.setMemory(sources[chosen], amounts[chosen])
	case page > 0:
		r.setMemory(v.Get("hugepages").Get("pageSize"), page)
	case r.vm.Get("instancetype").Exists():
	case broken:
	default:
		r.refuse(domain, CodeMemory, "write \"memory: {guest: 1Gi}\" under domain",
			"no memory requested, at least one of '%s', '%s' or '%s' must be set",
			r.in("domain.memory.guest"), r.in("domain.memory.hugepages.pageSize"), r.in("domain.resources.requests.memory"))
	}
}

// setMemory sets the memory of the guest, and warns about so little that hardly any guest starts in it.
func (r *reader) setMemory(v tree.Value, size machine.Bytes) {
	r.m.Hardware.Memory = size
	r.at(v.Range(), "hardware.memory")
	if size > 0 && size < smallMemory && !r.options.Stated.Has("hardware.memory") {
		v.Warnf(&r.list, CodeMemory, "ask for 1Gi or more; vmseed run takes --memory",
			"the guest gets %d MiB of memory, in which few systems other than CirrOS start", size>>20)
	}
}

// hugepages returns the size of the pages of the host that the memory is made of. They are the cluster's to provide.
func (r *reader) hugepages(v, request tree.Value, requested machine.Bytes) machine.Bytes {
	if !v.Want(&r.list, tree.Map) {
		return 0
	}
	v.Only(&r.list, "pageSize")
	size := v.Get("pageSize")
	q, ok := r.quantity(size)
	if !ok {
		return 0
	}
	page := machine.Bytes(q.Times(1))
	name := r.in("domain.memory.hugepages.pageSize")
	switch {
	case page == 0:
		size.Errorf(&r.list, CodeMemory, "write 2Mi or 1Gi", "the size of the pages is 0")
	case requested > 0 && requested < page:
		r.refuse(request, CodeMemory, "", "%s '%s' must be equal to or larger than page size %s '%s'",
			r.in("domain.resources.requests.memory"), peek(request), name, peek(size))
	case requested%page != 0:
		r.refuse(request, CodeMemory, "", "%s '%s' is not a multiple of the page size %s '%s'",
			r.in("domain.resources.requests.memory"), peek(request), name, peek(size))
	default:
		r.note(size, CodeTuning, "the pages of the host that hold the memory are not the guest's concern")
	}
	return page
}

// cpu reads the topology, or makes one of what is asked of the cluster.
func (r *reader) cpu(domain tree.Value) {
	h, v := &r.m.Hardware, domain.Get("cpu")
	v.Want(&r.list, tree.Map)
	r.sort(v, cpuFields)
	r.topology(domain, v)
	h.CPUModel = v.Get("model").Str(&r.list)
	r.at(v.Get("model").Range(), "hardware.cpuModel")
	r.cpuFeatures(v.Get("features"))
}

// topology reads how many CPUs there are: those of the instance type, those of the topology, or those asked of the cluster.
func (r *reader) topology(domain, v tree.Value) {
	h := &r.m.Hardware
	limit, request := domain.At("resources", "limits", "cpu"), domain.At("resources", "requests", "cpu")
	if given := r.typeSpec.At("cpu", "guest"); given.Exists() {
		r.conflict(v.Get("cores"), v.Get("sockets"), v.Get("threads"), limit, request)
		h.Sockets, h.Cores, h.Threads = int(given.Int(&r.list, 1, maxCPUs)), 1, 1
		h.CPUs = h.Sockets
		for _, field := range []string{"sockets", "cores", "threads", "cpus"} {
			r.at(given.Range(), "hardware.%s", field)
		}
		return
	}
	count := func(field string) int {
		n := int(v.Get(field).Int(&r.list, 0, maxCPUs))
		r.at(v.Get(field).Range(), "hardware.%s", field)
		return n
	}
	h.Cores, h.Sockets, h.Threads = count("cores"), count("sockets"), count("threads")
	stated := h.Cores+h.Sockets+h.Threads > 0
	for _, s := range []tree.Value{limit, request} {
		q, ok := r.quantity(s)
		switch {
		case !ok || q.Sign() == 0:
		case stated:
			r.note(s, CodeNoGuest, "this concerns the cluster: the number of CPUs is stated elsewhere")
		case q.Times(1) > maxCPUs:
			s.Errorf(&r.list, CodeCPU, "", "there should be at most %d CPUs", maxCPUs)
		default:
			h.Sockets, stated = int(q.Times(1)), true
			r.at(s.Range(), "hardware.sockets")
		}
	}
	if stated {
		h.Cores, h.Sockets, h.Threads = max(h.Cores, 1), max(h.Sockets, 1), max(h.Threads, 1)
		where := v
		if !v.Exists() {
			where = domain.Get("resources")
		}
		if h.CPUs = h.Cores * h.Sockets * h.Threads; h.CPUs > maxCPUs {
			where.Errorf(&r.list, CodeCPU, "", "there should be at most %d CPUs, not %d", maxCPUs, h.CPUs)
		}
		for _, field := range []string{"cores", "sockets", "threads", "cpus"} {
			if _, ok := r.places["hardware."+field]; !ok {
				r.at(where.Range(), "hardware.%s", field)
			}
		}
	}
}

var policies = []string{"", "force", "require", "optional", "disable", "forbid"}

func (r *reader) cpuFeatures(v tree.Value) {
	v.Want(&r.list, tree.List)
	r.at(v.Range(), "hardware.cpuFeatures")
	for _, item := range v.Items() {
		if !item.Want(&r.list, tree.Map) {
			continue
		}
		item.Only(&r.list, "name", "policy")
		f := machine.CPUFeature{Name: item.Get("name").Str(&r.list), Policy: item.Get("policy").Str(&r.list)}
		if f.Name == "" {
			item.Errorf(&r.list, CodeCPU, "", "the feature has no name")
		}
		if !slices.Contains(policies, f.Policy) {
			r.refuse(item.Get("policy"), CodeCPU, "the policies are "+strings.Join(policies[1:], ", "),
				"CPU feature %s uses policy %s that is not supported.", f.Name, f.Policy)
		}
		r.at(item.Range(), "hardware.cpuFeatures[%d]", len(r.m.Hardware.CPUFeatures))
		r.m.Hardware.CPUFeatures = append(r.m.Hardware.CPUFeatures, f)
	}
}

// machineTypes are the families of machine types by the beginnings of their names.
var machineTypes = []struct{ prefix, family string }{
	{"pc-q35", "q35"}, {"q35", "q35"}, {"pc-i440fx", "pc"}, {"pc", "pc"}, {"virt", "virt"}, {"s390-ccw-virtio", "s390-ccw-virtio"},
	{"pseries", "pseries"},
}

// machineType keeps the family of a machine type. Its version is for guests that move between hosts.
func (r *reader) machineType(v tree.Value) {
	if !v.Want(&r.list, tree.Map) {
		return
	}
	v.Only(&r.list, "type")
	kind := v.Get("type")
	text := kind.Str(&r.list)
	if text == "" {
		return
	}
	for _, t := range machineTypes {
		if text != t.family && !strings.HasPrefix(text, t.prefix+"-") && text != t.prefix {
			continue
		}
		if text != t.family {
			r.note(kind, CodeTuning, "the machine type %s is taken for %s of the version that the host has", text, t.family)
		}
		r.m.Hardware.MachineType = t.family
		r.at(kind.Range(), "hardware.machineType")
		return
	}
	r.refuse(kind, CodeFirmware, "write q35, or leave it out", "%s is not supported: %s (allowed values: %s)",
		r.in("domain.machine.type"), text, "[q35* pc* virt* pseries* s390-ccw-virtio*]")
}

// firmware reads the boot loader. UUID and serial number are read as identity.
func (r *reader) firmware(domain tree.Value) {
	h, v := &r.m.Hardware, domain.Get("firmware")
	v.Want(&r.list, tree.Map)
	r.sort(v, firmwareFields)
	features := domain.Get("features")
	features.Want(&r.list, tree.Map)
	r.sort(features, featureFields)
	smm := r.enabled(features.Get("smm"))
	r.kernelBoot(v.Get("kernelBoot"))
	loader := v.Get("bootloader")
	if !loader.Want(&r.list, tree.Map) {
		return
	}
	loader.Only(&r.list, "bios", "efi")
	bios, efi := loader.Get("bios"), loader.Get("efi")
	if bios.Want(&r.list, tree.Map) {
		bios.Only(&r.list, "useSerial")
		if serial := bios.Get("useSerial"); serial.Bool(&r.list) {
			r.note(serial, CodeTuning, "where the BIOS writes its messages is vmseed's to decide")
		}
		h.Firmware = "bios"
		r.at(bios.Range(), "hardware.firmware")
	}
	if !efi.Want(&r.list, tree.Map) {
		return
	}
	if h.Firmware == "bios" {
		r.refuse(efi, CodeFirmware, "remove one of the two", "%s has both EFI and BIOS configured, but they are mutually exclusive.", r.in("domain.firmware.bootloader"))
	}
	efi.Only(&r.list, "secureBoot", "persistent")
	if keep := efi.Get("persistent"); keep.Bool(&r.list) {
		r.note(keep, CodeTuning, "vmseed always keeps the variables of the firmware with the machine")
	}
	h.Firmware = "uefi"
	r.at(efi.Range(), "hardware.firmware")
	secure := efi.Get("secureBoot")
	h.SecureBoot = true // unless it says otherwise
	if secure.Exists() && secure.Kind() != tree.Null {
		h.SecureBoot = secure.Bool(&r.list)
	} else {
		secure = efi
	}
	r.at(secure.Range(), "hardware.secureBoot")
	if h.SecureBoot && !smm {
		r.refuse(secure, CodeFirmware, "write \"features: {smm: {enabled: true}}\" under domain, or \"secureBoot: false\" under efi",
			"%s has EFI SecureBoot enabled. SecureBoot requires SMM, which is currently disabled.", r.in("domain.firmware.bootloader.efi"))
	}
}

// kernelBoot reads a kernel that the machine boots from outside. KubeVirt has it in a container image, from which vmseed
// does not take it.
func (r *reader) kernelBoot(v tree.Value) {
	if !v.Want(&r.list, tree.Map) {
		return
	}
	v.Only(&r.list, "kernelArgs", "container")
	args, image := v.Get("kernelArgs"), v.Get("container")
	r.m.Boot.Append = args.Str(&r.list)
	r.at(args.Range(), "boot.append")
	if !image.Want(&r.list, tree.Map) {
		if r.m.Boot.Append != "" {
			r.refuse(args, CodeFirmware, "", "kernel arguments cannot be provided without an external kernel")
		}
		return
	}
	r.sort(image, kernelImageFields)
	field := r.in("domain.firmware.kernelBoot.container")
	if image.Get("image").Str(&r.list) == "" {
		r.refuse(image, CodeFirmware, "", "%s must be defined with an image", field)
	}
	files := 0
	for _, name := range []string{"kernelPath", "initrdPath"} {
		if r.imagePath(image.Get(name), field+"."+name) != "" {
			files++
		}
	}
	if files == 0 {
		r.refuse(image, CodeFirmware, "", "%s must be defined with at least one of the following: kernelPath, initrdPath", field)
	}
	r.list.Add(diag.Diagnostic{Code: CodeNoEffect, Severity: diag.Warning, Range: image.Span(), Field: image.Path(),
		Summary: "vmseed takes no kernel out of a container image", Remedy: "copy the files out of it and run with --kernel and --initrd"})
}

// clock reads the time zone of the clock, which is not that of the guest.
func (r *reader) clock(v tree.Value) {
	if !v.Want(&r.list, tree.Map) {
		return
	}
	r.sort(v, clockFields)
	if zone := v.Get("timezone"); zone.Exists() {
		zone.Str(&r.list)
		zone.Warnf(&r.list, CodeNoEffect, "set the guest's own time zone in its user-data", "the clock of the machine shows UTC; only guests such as Windows would read another zone from it")
	}
}

// enabled reads a feature that is on when it is there and does not say otherwise.
func (r *reader) enabled(v tree.Value) bool {
	if !v.Want(&r.list, tree.Map) {
		return false
	}
	v.Only(&r.list, "enabled")
	on := v.Get("enabled")
	if on.Exists() && on.Kind() != tree.Null {
		return on.Bool(&r.list)
	}
	return true
}

// chassis reads strings of the firmware tables. Of those of the chassis the machine has the asset tag only.
func (r *reader) chassis(v tree.Value) {
	if !v.Want(&r.list, tree.Map) {
		return
	}
	r.sort(v, chassisFields)
	asset := v.Get("asset")
	r.m.Hardware.SMBIOS.AssetTag = asset.Str(&r.list)
	r.at(asset.Range(), "hardware.smbios.assetTag")
}
