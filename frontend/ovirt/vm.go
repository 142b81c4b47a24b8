package ovirt

import (
	"math"
	"regexp"
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/tree"
)

// vmName is what the engine takes for the name of a vm.
var vmName = regexp.MustCompile(`^[\p{L}\p{N}_.+-]{1,255}$`)

var uuid = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

func (r *reader) actionMembers() {
	if r.action.Exists() {
		r.sort(r.action, actionMembersOf())
	}
}

// vmMembers reads the vm but for its initialization and payloads.
func (r *reader) vmMembers() {
	if !r.vm.Exists() {
		return
	}
	r.sort(r.vm, vmMembersOf())
	r.names()
	r.hardware()
	r.firmware()
	r.os()
	r.nics()
	r.disks()
	r.cdroms()
	if r.kind != Sysprep { // which joins it
		r.aside(r.vm, "domain")
	}
}

func (r *reader) names() {
	if v := r.vm.Get("name"); v.Exists() {
		switch name := r.text(v); {
		case name == "":
		case !vmName.MatchString(name):
			r.fail(v, CodeName, "", "the name of a VM must be formed of letters, digits and -_.+")
		default:
			r.m.Name = name
			r.at(v.Range(), "name")
		}
	}
	if v := r.vm.Get("id"); v.Exists() {
		if id := r.text(v); uuid.MatchString(id) {
			r.m.Identity.UUID = strings.ToLower(id)
			r.at(v.Range(), "identity.uuid")
		} else if id != "" {
			r.warn(v, CodeName, "", "the id is no UUID, so the machine gets one that is made of its name")
		}
	}
	for _, name := range []string{"description", "comment"} {
		v := r.vm.Get(name)
		if text := r.verbatim(v); text != "" {
			if r.m.Annotations == nil {
				r.m.Annotations = map[string]string{}
			}
			r.m.Annotations[name] = text
			r.at(v.Range(), "annotations")
		}
	}
	r.serialNumber(r.vm.Get("serial_number"))
	r.otherForm(r.vm.Get("custom_properties"))
}

// FormProperty is the custom property by which the daemon's API says that the definition of a VM is of another form, whose name is
// the value. Such a VM is shown without its first boot.
const FormProperty = "vmseed_form"

// otherForm warns when a VM is shown without its first boot.
func (r *reader) otherForm(v tree.Value) {
	if v.Kind() != tree.Map {
		return
	}
	for _, p := range r.listed(v.Get("custom_property")) {
		var unheard diag.List
		name, form := p.Get("name"), p.Get("value")
		if name.Kind() != tree.Scalar || name.Loose(&unheard) != FormProperty {
			continue
		}
		text := "another"
		if form.Kind() == tree.Scalar && !blank(form) {
			text = "the " + form.Loose(&unheard)
		}
		r.warn(form, CodeOtherForm, "read the documents that define it (GET /api/v1/machines/ID/documents of vmseed serve)",
			"the VM is defined in %s form, so all of its first boot is missing here", text)
	}
}

func (r *reader) serialNumber(v tree.Value) {
	if !r.isMap(v) {
		return
	}
	r.only(v, "policy", "value")
	policy, value := v.Get("policy"), r.text(v.Get("value"))
	switch r.word(policy, "custom", "host", "none", "vm") {
	case "custom":
		r.m.Identity.Serial = value
		r.at(v.Get("value").Range(), "identity.serial")
	case "vm":
		r.m.Identity.Serial = r.m.Identity.UUID
		r.at(policy.Range(), "identity.serial")
	case "host":
		r.warn(policy, CodeNotActedUpon, "", "the serial number of the host is not given to the guest")
	}
	if value != "" && r.m.Identity.Serial != value {
		r.warn(v.Get("value"), CodeNotActedUpon, "set the policy to custom", "the serial number counts with the policy custom only")
	}
}

func (r *reader) hardware() {
	h := &r.m.Hardware
	if v := r.vm.Get("memory"); v.Exists() {
		h.Memory = r.bytes(v, 1<<20, 1<<60)
		r.at(v.Range(), "hardware.memory")
	}
	if v := r.vm.Get("cpu_shares"); v.Exists() {
		h.CPUShares = r.number(v, 0, 262144)
		r.at(v.Range(), "hardware.cpuShares")
	}
	r.cpu(r.vm.Get("cpu"))
	if v := r.vm.Get("custom_cpu_model"); v.Exists() {
		if model := r.text(v); model != "" {
			h.CPUModel = model
			r.at(v.Range(), "hardware.cpuModel")
		}
	}
	if v := r.vm.Get("rng_device"); r.isMap(v) {
		r.only(v, "source", "rate")
		r.word(v.Get("source"), "random", "urandom", "hwrng")
		r.aside(v, "source", "rate")
		h.RNG = true
		r.at(v.Range(), "hardware.rng")
	}
	if v := r.vm.Get("tpm_enabled"); v.Exists() {
		if b := r.flag(v); b != nil {
			h.TPM = *b
			r.at(v.Range(), "hardware.tpm")
		}
	}
}

// architectures are those of the API as Go names them.
var architectures = map[string]string{"x86_64": "amd64", "aarch64": "arm64", "ppc64": "ppc64le", "s390x": "s390x", "undefined": ""}

const maxCPUs = 4096

func (r *reader) cpu(v tree.Value) {
	if !r.isMap(v) {
		return
	}
	h := &r.m.Hardware
	r.only(v, "architecture", "cores", "cpu_tune", "level", "mode", "name", "speed", "topology", "type")
	if a := v.Get("architecture"); a.Exists() {
		h.Arch = architectures[r.word(a, "x86_64", "aarch64", "ppc64", "s390x", "undefined")]
		r.at(a.Range(), "hardware.arch")
	}
	if mode := v.Get("mode"); mode.Exists() {
		switch r.word(mode, "custom", "host_model", "host_passthrough") {
		case "host_model":
			h.CPUModel = "host-model"
		case "host_passthrough":
			h.CPUModel = "host-passthrough"
		}
		r.at(mode.Range(), "hardware.cpuModel")
	}
	r.aside(v, "cores", "cpu_tune", "level", "name", "speed", "type")
	r.topology(v.Get("topology"))
}

// topology counts CPUs. A part that is missing counts as one.
func (r *reader) topology(v tree.Value) {
	if !r.isMap(v) {
		return
	}
	h := &r.m.Hardware
	r.only(v, "cores", "sockets", "threads")
	count := func(name string) int {
		x := v.Get(name)
		r.at(x.Range(), "hardware.%s", name)
		return max(int(r.number(x, 1, maxCPUs)), 1)
	}
	h.Cores, h.Sockets, h.Threads = count("cores"), count("sockets"), count("threads")
	h.CPUs = h.Cores * h.Sockets * h.Threads
	if h.CPUs > maxCPUs {
		r.invalid(v, "at most 4096 CPUs")
		h.CPUs = 0
	}
	r.at(v.Range(), "hardware.cpus")
}

// firmware reads bios/type and custom_emulated_machine.
func (r *reader) firmware() {
	h := &r.m.Hardware
	v := r.vm.Get("bios")
	if r.isMap(v) {
		r.only(v, "boot_menu", "type")
		r.aside(v, "boot_menu")
		t := v.Get("type")
		switch r.word(t, "cluster_default", "i440fx_sea_bios", "q35_ovmf", "q35_sea_bios", "q35_secure_boot") {
		case "i440fx_sea_bios":
			h.MachineType, h.Firmware = "pc", "bios"
		case "q35_sea_bios":
			h.MachineType, h.Firmware = "q35", "bios"
		case "q35_ovmf":
			h.MachineType, h.Firmware = "q35", "uefi"
		case "q35_secure_boot":
			h.MachineType, h.Firmware, h.SecureBoot = "q35", "uefi", true
		}
		for _, field := range []string{"machineType", "firmware", "secureBoot"} {
			r.at(t.Range(), "hardware.%s", field)
		}
	}
	custom := r.vm.Get("custom_emulated_machine")
	switch text := r.text(custom); {
	case text == "":
	case strings.Contains(text, "q35"):
		h.MachineType = "q35"
	case strings.Contains(text, "440fx"), strings.HasPrefix(text, "pc"):
		h.MachineType = "pc"
	case strings.HasPrefix(text, "virt"):
		h.MachineType = "virt"
	default:
		r.warn(custom, CodeNotActedUpon, "", "this machine type is not known here, so the default one is used")
	}
	if h.MachineType != "" && custom.Exists() {
		r.at(custom.Range(), "hardware.machineType")
		r.note(custom, CodeNotActedUpon, "the machine type is %s, of the hypervisor's own version", h.MachineType)
	}
}

// os reads the operating system. That its type decides the kind of first boot is said elsewhere.
func (r *reader) os() {
	v := r.vm.Get("os")
	if !r.isMap(v) {
		return
	}
	r.only(v, "boot", "cmdline", "custom_kernel_cmdline", "initrd", "kernel", "reported_kernel_cmdline", "type", "version")
	t := v.Get("type")
	name, system := strings.ToLower(r.text(t)), r.system()
	if system.kind == Sysprep {
		r.m.Guest.OS = "windows"
		r.at(t.Range(), "guest.os")
	}
	if system.at.Exists() { // others say nothing about their guest
		r.note(t, CodeOS, "the first boot of %s is a matter of %s", name, system.kind.words())
	}
	for _, x := range []struct {
		name string
		to   *string
		path string
	}{{"kernel", &r.m.Boot.Kernel, "boot.kernel"}, {"initrd", &r.m.Boot.Initrd, "boot.initrd"}, {"cmdline", &r.m.Boot.Append, "boot.append"}} {
		if at := v.Get(x.name); at.Exists() {
			*x.to = r.text(at)
			r.at(at.Range(), "%s", x.path)
		}
	}
	r.aside(v, "boot", "custom_kernel_cmdline", "reported_kernel_cmdline", "version")
}

// maxSize is the largest size of a disk.
const maxSize = math.MaxInt64
