package qemu

import (
	"encoding/json"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/hypervisor"
	"github.com/vmseed/vmseed/internal/supervisor"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/seed"
)

// Defaults of a machine that does not say.
const (
	defaultMemory = machine.Bytes(1 << 30)
	mebibyte      = machine.Bytes(1 << 20)
)

// The names of the virtio-serial ports: that which carries the guest's reports, and that on which the QEMU guest agent
// of every distribution listens.
const (
	ReportPort = "dev.vmseed.report"
	AgentPort  = "org.qemu.guest_agent.0"
)

// command is how QEMU is started: the arguments, and what must be there before.
type command struct {
	args []string
	// files are written into the state directory first, with mode 0600.
	files map[string]string
	// volumes are made first.
	volumes []step
	helpers []supervisor.Helper
	nics    []supervisor.NIC
	taps    []supervisor.Tap
	down    []string
	ssh     supervisor.SSH
	// metadata is what the guest fetches by HTTP.
	metadata *supervisor.Metadata
	// once are those of the kernel's arguments that are for the first boot alone.
	once []string
	// agent are the users whose credentials the guest agent sets.
	agent []machine.AgentUser
}

// builder collects a command. Its methods add to it and to the list of diagnostics.
type builder struct {
	vm    hypervisor.VM
	hw    machine.Hardware
	host  host
	accel string
	arch  string
	// machine is the machine type, bus its root bus.
	machine, bus string
	// sshPort is the port of the host that leads to the guest's SSH where QEMU forwards by itself.
	sshPort int

	command
	list diag.List
	// later are devices without an address of their own: QEMU must place them after those that have one.
	later []string
	// plugged counts the NICs with a cable to a network that the supervisor answers on.
	plugged int
	// controllers are the buses that were made, by what they are for.
	controllers map[string]string
}

// build derives the command for one accelerator. It is pure.
func build(vm hypervisor.VM, h host, accel string, sshPort int) (command, diag.List) {
	b := &builder{vm: vm, hw: vm.Machine.Hardware, host: h, accel: accel, arch: architecture(vm.Machine.Hardware),
		sshPort: sshPort, controllers: map[string]string{}}
	b.files, b.agent = map[string]string{}, vm.Machine.AgentUsers
	b.base()
	b.processor()
	b.identity()
	b.firmware()
	b.kernel()
	b.channels()
	b.disks()
	b.network()
	b.endpoints()
	b.shares()
	b.attachments()
	b.hostDevices()
	b.args = append(b.args, b.later...)
	return b.command, b.list
}

// add appends an option and its values.
func (b *builder) add(args ...string) { b.args = append(b.args, args...) }

// device appends a device in QEMU's JSON form, which needs no quoting.
func (b *builder) device(driver string, properties map[string]any) {
	properties["driver"] = driver
	option := []string{"-device", encode(properties)}
	if _, placed := properties["addr"]; placed || properties["bus"] != nil {
		b.add(option...)
	} else {
		b.later = append(b.later, option...)
	}
}

// encode writes a JSON object with its keys in order. The values are strings, numbers, booleans and maps of those.
func encode(object map[string]any) string {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(object); err != nil {
		return "{}"
	}
	return strings.TrimSpace(text.String())
}

// comma quotes a value inside an option of the form key=value,key=value.
func comma(value string) string { return strings.ReplaceAll(value, ",", ",,") }

// at is the place of a field in the user's files.
func (b *builder) at(path string) diag.Range { return b.vm.Machine.Places.Find(path) }

// unsupported records that a field cannot be built.
func (b *builder) unsupported(path, remedy, format string, args ...any) {
	b.list.Add(diag.Diagnostic{Code: CodeUnsupported, Severity: diag.Error, Range: b.at(path), Field: path,
		Summary: fmt.Sprintf(format, args...), Remedy: remedy})
}

// badValue records that QEMU would refuse a value.
func (b *builder) badValue(path, format string, args ...any) {
	b.list.Add(diag.Diagnostic{Code: CodeBadValue, Severity: diag.Error, Range: b.at(path), Field: path, Summary: fmt.Sprintf(format, args...)})
}

// base adds what every guest has: no device that nobody asked for, and a process that can start no other.
func (b *builder) base() {
	m := b.vm.Machine
	t := targets[b.arch]
	b.machine = b.hw.MachineType
	if b.machine == "" && len(t.machines) > 0 {
		b.machine = t.machines[0]
	}
	if !slices.Contains(t.machines, b.machine) {
		b.unsupported("hardware.machineType", "choose "+strings.Join(t.machines, " or "), "%s has no machine type %q", b.arch, b.machine)
	}
	b.bus = "pcie.0"
	if b.machine == "pc" {
		b.bus = "pci.0"
	}
	b.add("-nodefaults", "-no-user-config", "-display", "none", "-name", comma("guest="+m.Namespace+"/"+m.Name))
	if b.host.Sandbox {
		b.add("-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny")
	}
	kind := b.machine
	if b.hw.SecureBoot {
		if b.machine != "q35" {
			b.unsupported("hardware.secureBoot", "use the machine type q35", "secure boot needs the machine type q35, not %s", b.machine)
		}
		kind += ",smm=on"
		b.add("-global", "driver=cfi.pflash01,property=secure,value=on")
	}
	if uefi(m) {
		kind += ",pflash0=firmware-code,pflash1=firmware-vars"
	}
	b.add("-machine", kind)
	accel := b.accel
	if accel == "tcg" {
		accel = "tcg,thread=multi"
	}
	b.add("-accel", accel)
}

// processor adds CPUs and memory.
func (b *builder) processor() {
	hw := b.hw
	model := hw.CPUModel
	switch model {
	case "", "host-model", "host-passthrough", "max", "host":
		// TCG has no host to pass on; max is all that it can emulate.
		model = "host"
		if b.accel == "tcg" {
			model = "max"
		}
	}
	for i, f := range hw.CPUFeatures {
		path := fmt.Sprintf("hardware.cpuFeatures[%d]", i)
		if strings.ContainsAny(f.Name, ",=") || f.Name == "" {
			b.badValue(path+".name", "%q is no name of a CPU feature", f.Name)
		}
		switch f.Policy {
		case "", "require", "force", "optional":
			model += "," + f.Name + "=on"
		case "disable", "forbid":
			model += "," + f.Name + "=off"
		default:
			b.badValue(path+".policy", "the policy %q is none of force, require, optional, disable and forbid", f.Policy)
		}
	}
	if strings.ContainsAny(hw.CPUModel, ",=") {
		b.badValue("hardware.cpuModel", "%q is no name of a CPU model", hw.CPUModel)
	}
	b.add("-cpu", model)

	topology := []struct {
		name  string
		count int
	}{{"sockets", hw.Sockets}, {"cores", hw.Cores}, {"threads", hw.Threads}}
	product, parts := 1, ""
	for _, t := range topology {
		if t.count > 0 {
			product *= t.count
			parts += fmt.Sprintf(",%s=%d", t.name, t.count)
		}
	}
	cpus := hw.CPUs
	if cpus == 0 {
		cpus = product
	}
	if hw.Sockets > 0 && hw.Cores > 0 && hw.Threads > 0 && product != cpus {
		b.badValue("hardware.cpus", "%d CPUs do not fit %d sockets of %d cores of %d threads", cpus, hw.Sockets, hw.Cores, hw.Threads)
	}
	b.add("-smp", "cpus="+strconv.Itoa(cpus)+parts)

	memory := hw.Memory
	if memory == 0 {
		memory = defaultMemory
	}
	// QEMU takes multiples of a page; mebibytes are what people read in the plan.
	b.add("-m", fmt.Sprintf("size=%dM", (memory+mebibyte-1)/mebibyte))
}

// firmware adds the firmware where it is not the BIOS that QEMU brings along. The variables are the machine's own copy.
func (b *builder) firmware() {
	if b.arch == "arm64" && b.hw.Firmware == "bios" && b.vm.Machine.Boot.Kernel == "" {
		b.unsupported("hardware.firmware", "use uefi", "ARM machines have no BIOS")
	}
	if uefi(b.vm.Machine) {
		flash := func(name, path string, readOnly bool) {
			b.add("-blockdev", encode(map[string]any{"node-name": name, "driver": "raw", "read-only": readOnly,
				"file": map[string]any{"driver": "file", "filename": path}}))
		}
		vars := filepath.Join(b.vm.StateDir, "firmware-vars.fd")
		b.volumes = append(b.volumes, step{Kind: copyFile, Path: vars, Base: b.host.Vars})
		flash("firmware-code", b.host.Code, true)
		flash("firmware-vars", vars, false)
	}
	if b.hw.TPM {
		b.tpm()
	}
	switch b.hw.Watchdog {
	case "":
	case "i6300esb", "ib700":
		if b.arch != "amd64" {
			b.unsupported("hardware.watchdog", "", "the machine type %s has no watchdog %s", b.machine, b.hw.Watchdog)
			return
		}
		b.device(b.hw.Watchdog, map[string]any{"id": "watchdog"})
		b.add("-action", "watchdog=reset")
	default:
		b.unsupported("hardware.watchdog", "choose i6300esb or ib700", "QEMU has no watchdog %q", b.hw.Watchdog)
	}
}

// tpm adds a TPM 2.0, which swtpm emulates in a process of its own.
func (b *builder) tpm() {
	b.add("-chardev", "socket,id=tpm,path="+supervisor.TPMSocket, "-tpmdev", "emulator,id=tpm0,chardev=tpm")
	driver := "tpm-crb"
	if b.arch == "arm64" {
		driver = "tpm-tis-device"
	}
	b.device(driver, map[string]any{"tpmdev": "tpm0"})
	b.helpers = append(b.helpers, supervisor.Helper{Name: "swtpm", Program: "swtpm", Socket: supervisor.TPMSocket,
		Args: []string{"socket", "--tpm2", "--tpmstate", "dir=.,mode=0600", "--ctrl", "type=unixio,path=" + supervisor.TPMSocket + ",mode=0600", "--terminate"}})
}

// firstBoot are the arguments that let Ignition run. The boot loader of an image for Ignition gives them once.
var firstBoot = []string{"ignition.firstboot", "flatcar.first_boot=1"}

// kernel adds a kernel that QEMU starts by itself.
func (b *builder) kernel() {
	boot := b.vm.Machine.Boot
	var asked []string
	for _, a := range b.vm.Attachments {
		if a.Kind == seed.KernelArg {
			asked = append(asked, a.Value)
		}
	}
	if boot.Kernel == "" {
		b.noKernel(boot, asked)
		return
	}
	line := boot.Append
	for _, a := range asked {
		// What the user states of an argument wins.
		if key, _, _ := strings.Cut(a, "="); !slices.ContainsFunc(strings.Fields(boot.Append), func(have string) bool {
			return have == key || strings.HasPrefix(have, key+"=")
		}) {
			line = strings.TrimSpace(line + " " + a)
			if slices.Contains(firstBoot, a) {
				b.once = append(b.once, a)
			}
		} else if !slices.Contains(strings.Fields(boot.Append), a) {
			b.list.Add(diag.Diagnostic{Code: CodeKernelArgument, Severity: diag.Warning, Range: b.at("boot.append"), Field: "boot.append",
				Summary: fmt.Sprintf("the seed asks for the kernel argument %s, and the kernel gets another value of it", a)})
		}
	}
	b.add("-kernel", boot.Kernel)
	if boot.Initrd != "" {
		b.add("-initrd", boot.Initrd)
	}
	if line != "" {
		b.add("-append", line)
	}
}

// noKernel complains of arguments that nothing gives to the kernel. Those of Ignition are in the boot loader of an image
// that is made for it.
func (b *builder) noKernel(boot machine.Boot, asked []string) {
	foreign := slices.ContainsFunc(asked, func(a string) bool { return !strings.HasPrefix(a, "ignition.") && !strings.HasPrefix(a, "flatcar.") })
	switch {
	case boot.Append != "" || boot.Initrd != "" || foreign:
		b.list.Add(diag.Diagnostic{Code: CodeKernelArgument, Severity: diag.Error, Range: b.at("boot"), Field: "boot",
			Summary: "there is an initrd or a kernel argument, but no kernel to start", Remedy: "add --kernel, or choose another delivery"})
	case len(asked) > 0:
		b.list.Add(diag.Diagnostic{Code: CodeKernelArgument, Severity: diag.Note, Range: b.at("boot"), Field: "boot",
			Summary: "the image's own boot loader must give its kernel " + strings.Join(asked, " "),
			Remedy:  "use an image made for this platform, or add --kernel and --initrd"})
	}
}

// channels adds the ways to talk to the guest and to QEMU. All are sockets on which QEMU listens, so that another
// supervisor can take over when one dies. QEMU itself keeps the log of the serial console, so that nothing is missed.
func (b *builder) channels() {
	socket := func(id, path, more string) {
		b.add("-chardev", "socket,id="+id+",path="+path+",server=on,wait=off"+more)
	}
	socket("monitor", supervisor.MonitorSocket, "")
	b.add("-mon", "chardev=monitor,mode=control")
	socket("serial", supervisor.SerialSocket, ",logfile="+supervisor.SerialLog+",logappend=on")
	b.add("-serial", "chardev:serial")
	socket("report", supervisor.ReportSocket, "")
	b.device("virtio-serial-pci", map[string]any{"id": "ports", "bus": b.bus, "addr": slot(machine.SlotSerial)})
	b.device("virtserialport", map[string]any{"bus": "ports.0", "chardev": "report", "name": ReportPort})
	socket("agent", supervisor.AgentSocket, "")
	b.device("virtserialport", map[string]any{"bus": "ports.0", "chardev": "agent", "name": AgentPort})
	// A guest without entropy waits for it at its first boot, when it makes its host keys.
	b.add("-object", "rng-builtin,id=entropy")
	b.device("virtio-rng-pci", map[string]any{"bus": b.bus, "addr": slot(machine.SlotRNG), "rng": "entropy"})
	b.add("-rtc", "base=utc", "-msg", "timestamp=on")
}

// slot writes the address of function 0 of a slot as QEMU does.
func slot(n int) string { return fmt.Sprintf("%02x.0", n) }

// address turns a PCI address of the machine into that of a device.
func (b *builder) address(path, pci string) (string, bool) {
	rest, root := strings.CutPrefix(pci, "0000:00:")
	number, function, ok := strings.Cut(rest, ".")
	n, err := strconv.ParseUint(number, 16, 8)
	f, err2 := strconv.ParseUint(function, 10, 8)
	if !root || !ok || err != nil || err2 != nil || n == 0 || n > 0x1f || f > 7 {
		b.list.Add(diag.Diagnostic{Code: CodeBadAddress, Severity: diag.Error, Range: b.at(path), Field: path,
			Summary: fmt.Sprintf("%q is no address on the root bus", pci), Remedy: "write 0000:00:slot.function, or leave it out"})
		return "", false
	}
	return fmt.Sprintf("%02x.%d", n, f), true
}

// freePort returns a port of the host's loopback that is free now.
func freePort() (int, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	port := l.Addr().(*net.TCPAddr).Port
	return port, l.Close()
}
