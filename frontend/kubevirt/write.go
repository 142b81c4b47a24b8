package kubevirt

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/cloudconfig"
	"github.com/vmseed/vmseed/format/kubeobject"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/internal/bounded"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

var (
	_ frontend.FormWriter = Frontend{}
	_ frontend.Carrier    = Frontend{}
)

// CodeWrite is for what a VirtualMachine cannot say as the machine has it.
const CodeWrite diag.Code = 2465

func writeCodes() []diag.Explanation {
	return []diag.Explanation{{Code: CodeWrite, Title: "a VirtualMachine says it otherwise",
		Text: "The machine was written as a VirtualMachine, but KubeVirt cannot say this, or decides it by itself. The message names what is different. " +
			"If the guest needs it as it was, keep the original definition, or do it in the user-data; else nothing is to be done."}}
}

// Carries lists what a VirtualMachine has fields for. What KubeVirt decides by itself, such as PCI addresses, counts as
// carried: a guest finds its disks by serial number and its NICs by MAC.
func (Frontend) Carries() machine.FieldSet {
	return machine.NewFieldSet("name", "namespace", "identity.uuid", "identity.serial", "identity.hostname", "identity.instanceID", "identity.instanceType",
		"ssh.authorizedKeys", "ignition.data", "userData.layers.data", "vendorData.data", "metaData.data", "network.document.data",
		"network.nics.name", "network.nics.mac", "network.nics.model", "network.nics.network", "network.nics.pciAddress", "network.nics.bootOrder",
		"network.nics.tag", "network.nics.linkDown",
		"disks.name", "disks.root", "disks.device", "disks.source.image", "disks.source.path", "disks.source.format", "disks.source.claim", "disks.source.blank",
		"disks.size", "disks.bus", "disks.readOnly", "disks.serial", "disks.pciAddress", "disks.unit", "disks.bootOrder", "disks.tag", "disks.cache",
		"disks.shareable", "disks.ephemeral",
		"media.name", "media.kind", "media.label", "media.format", "media.path", "media.files.path", "media.files.content", "media.serial", "media.bus",
		"hardware.arch", "hardware.machineType", "hardware.cpus", "hardware.sockets", "hardware.cores", "hardware.threads", "hardware.cpuModel",
		"hardware.cpuFeatures", "hardware.memory", "hardware.diskBus", "hardware.firmware", "hardware.secureBoot", "hardware.tpm", "hardware.rng",
		"hardware.watchdog", "hardware.hostDevices", "hardware.smbios.assetTag", "agentUsers", "running", "restartPolicy", "guest.os")
}

// Write returns a machine as a VirtualMachine of the version v1, with the Secrets that it refers to before it. A machine
// that was read from a VirtualMachine is written with everything that stands in that, also what vmseed does not model.
func (Frontend) Write(m machine.Machine) ([]byte, diag.List) {
	w := &writer{m: m, names: map[string]bool{}, bootOrders: map[int]bool{}}
	if m.Document.Form == "kubevirt" {
		if doc, ok := own(m); ok {
			if !isLegacy(instanceSpec(doc)) {
				return w.renew(doc)
			}
			// The first layout names neither interfaces nor buses, which the machine has once it is placed.
			w.legacy = doc
			w.m, w.list = machine.Place(m, machine.Facts{})
			if w.list.HasErrors() {
				return nil, w.list
			}
		}
	}
	w.spec()
	vm := w.virtualMachine()
	var out []string
	for _, object := range append(w.objects, vm) {
		node, err := cloudconfig.Value(object)
		if err == nil {
			var text []byte
			if text, err = cloudconfig.EncodeNode(node); err == nil {
				out = append(out, string(text))
			}
		}
		if err != nil {
			w.list.Errorf(CodeWrite, m.Places.Find(""), "", "the machine cannot be written: %v", err)
			return nil, w.list
		}
	}
	text := []byte(strings.Join(out, "---\n"))
	w.admit(text)
	return text, w.list
}

// mapping and entry are short for those of an ordered YAML document.
type mapping = cloudconfig.Mapping

func entry(key string, value any) cloudconfig.Entry { return cloudconfig.Entry{Key: key, Value: value} }

// with appends a member unless its value is empty.
func with(m mapping, key string, value any) mapping {
	switch v := value.(type) {
	case string:
		if v == "" {
			return m
		}
	case int:
		if v == 0 {
			return m
		}
	case bool:
		if !v {
			return m
		}
	case mapping:
		if len(v) == 0 {
			return m
		}
	case []mapping:
		if len(v) == 0 {
			return m
		}
	case map[string]string:
		if len(v) == 0 {
			return m
		}
	}
	return append(m, entry(key, value))
}

// writer collects a VirtualMachine.
type writer struct {
	m    machine.Machine
	list diag.List
	// legacy is the document of the first layout that the machine was read from, or absent.
	legacy tree.Value

	// names are those that are taken, bootOrders the places in the boot order.
	names      map[string]bool
	bootOrders map[int]bool

	// templates are the volumes that the cluster makes.
	templates, volumes, disks, credentials []mapping
	// hostname is the host name that the author's meta-data states.
	hostname string
	// objects are the Secrets that the machine refers to.
	objects []mapping
	// domain, devices and rest are the members of spec.
	domain, devices, rest mapping
}

func (w *writer) warn(path, remedy, format string, args ...any) {
	w.list.Add(diag.Diagnostic{Code: CodeWrite, Severity: diag.Warning, Range: w.m.Places.Find(path), Field: path,
		Summary: fmt.Sprintf(format, args...), Remedy: remedy})
}

func (w *writer) virtualMachine() mapping {
	m := w.m
	annotations := maps.Clone(m.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	if m.Identity.InstanceType != "" {
		annotations[typeAnnotations[1]] = m.Identity.InstanceType
	}
	if n := len(m.Ignition); n > 0 {
		if n > 1 {
			w.warn("ignition", "merge them first: vmseed convert --to butane", "the annotation holds one Ignition config; the last of %d is written", n)
		}
		annotations[ignitionAnnotation] = m.Ignition[n-1].Data.Reveal()
		w.warn("ignition", "see that the cluster has it", "KubeVirt refuses a machine with an Ignition config unless its feature gate %s is open", ignitionGate)
		if m.Ignition[n-1].Origin.IsZero() {
			w.list.Notef(CodeWrite, m.Places.Find("ignition"), "keep secrets out of the config, for example by ignition.config.merge",
				"the config stands in the definition in clear text, with whatever secrets the machine has")
		}
		if m.Guest.IgnitionPlatform == "flatcar" {
			w.warn("guest.ignitionPlatform", "convert with --ignition-platform kubevirt for an image of that platform",
				"KubeVirt hands the config to the firmware as opt/com.coreos/config, where no image of the platform flatcar looks for it")
		}
	}
	total := 0
	for key, value := range annotations {
		total += len(key) + len(value)
	}
	if total > maxAnnotations {
		w.list.Errorf(CodeWrite, m.Places.Find("ignition"), "have the guest fetch parts of the config, by ignition.config.merge",
			"the annotations have %d bytes; Kubernetes takes %d", total, maxAnnotations)
	}
	meta := with(with(mapping{}, "labels", m.Labels), "annotations", annotations)
	object := with(mapping{entry("name", m.Name)}, "namespace", m.Namespace)
	domain := append(mapping{entry("devices", w.devices)}, w.domain...)
	spec := append(mapping{entry("domain", domain)}, w.rest...)
	spec = with(with(spec, "volumes", w.volumes), "accessCredentials", w.credentials)
	if w.legacy.Exists() && slices.Contains(instanceKinds, peek(w.legacy.Get("kind"))) {
		object = append(object, meta...)
		return mapping{entry("apiVersion", group+"v1"), entry("kind", instanceKinds[0]), entry("metadata", object), entry("spec", spec)}
	}
	whole := with(mapping{entry("runStrategy", w.runStrategy())}, "dataVolumeTemplates", w.templates)
	return mapping{entry("apiVersion", group+"v1"), entry("kind", vmKinds[0]), entry("metadata", object),
		entry("spec", append(whole, entry("template", with(with(mapping{}, "metadata", meta), "spec", spec))))}
}

func (w *writer) runStrategy() string {
	switch {
	case w.m.Running != nil && !*w.m.Running:
		return "Halted"
	case w.m.RestartPolicy == "OnFailure":
		return "RerunOnFailure"
	case w.m.RestartPolicy == "Never" && w.m.Running == nil && w.m.Document.Form == "kubevirt":
		return "Manual"
	case w.m.RestartPolicy == "Never":
		return "Once"
	}
	return "Always"
}

// spec writes all of the instance's spec into the parts of the writer.
func (w *writer) spec() {
	m := w.m
	w.machine()
	if len(m.Disks) == 0 {
		w.warn("disks", "add a disk with the image", "KubeVirt starts nothing without a disk to boot from, and the machine has none")
	}
	for i, d := range m.Disks {
		w.disk(i, d)
	}
	w.cloudInit()
	w.media()
	w.devices = with(w.devices, "disks", w.disks)
	networks := w.network()
	w.agentUsers()
	w.otherDevices()
	name := m.Identity.Hostname
	if w.hostname != "" {
		name = w.hostname
	}
	host, _, cut := strings.Cut(name, ".")
	if cut {
		w.warn("identity.hostname", "set the FQDN in the user-data", "KubeVirt takes a short host name, so the domain of %s is left out", name)
	}
	if lower := strings.ToLower(host); lower != host && dnsLabel(lower) == "" {
		w.warn("identity.hostname", "set the host name in the user-data", "KubeVirt takes host names in lower case, so %s is %s", host, lower)
		host = lower
	}
	if wrong := dnsLabel(host); host != "" && wrong != "" {
		w.warn("identity.hostname", "set the host name in the user-data", "%q cannot be a host name of KubeVirt: %s", host, wrong)
		host = ""
	}
	if host == m.Name {
		host = ""
	}
	w.rest = with(w.rest, "hostname", host)
	w.rest = with(w.rest, "architecture", m.Hardware.Arch)
	if m.StopGrace > 0 {
		w.rest = append(w.rest, entry("terminationGracePeriodSeconds", int64(m.StopGrace.Seconds())))
	}
	w.rest = with(w.rest, "networks", networks)
	if id := m.Identity; id.InstanceID != "" && id.Instance() != id.UUID {
		w.warn("identity.instanceID", "expect the guest to run its first boot again", "KubeVirt derives the instance id, so it is not %s", id.Instance())
	}
}

// machine writes CPU, memory and firmware.
func (w *writer) machine() {
	m, h := w.m, w.m.Hardware
	var features []mapping
	for _, f := range h.CPUFeatures {
		features = append(features, with(mapping{entry("name", f.Name)}, "policy", f.Policy))
	}
	cpu := with(mapping{}, "cores", h.CPUs)
	if h.Sockets|h.Cores|h.Threads != 0 {
		sockets, cores, threads := topology(h)
		cpu = with(with(with(mapping{}, "cores", cores), "sockets", sockets), "threads", threads)
		if n := max(sockets, 1) * max(cores, 1) * max(threads, 1); h.CPUs != 0 && h.CPUs != n {
			w.warn("hardware.cpus", "state a topology that fits", "KubeVirt makes %d CPUs of the topology, not %d", n, h.CPUs)
		}
	}
	model := h.CPUModel
	switch model {
	case "max":
		w.warn("hardware.cpuModel", "", "KubeVirt has no CPU model max; it is host-passthrough")
		model = "host-passthrough"
	case "host":
		model = "host-passthrough"
	}
	w.domain = with(w.domain, "cpu", with(with(cpu, "model", model), "features", features))
	if h.Memory > 0 {
		w.domain = append(w.domain, entry("memory", mapping{entry("guest", size(h.Memory))}))
	} else {
		w.warn("hardware.memory", "state the memory", "KubeVirt starts no machine without its memory; 1Gi is written")
		w.domain = append(w.domain, entry("memory", mapping{entry("guest", "1Gi")}))
	}
	kind := h.MachineType
	if kind == "pc" && m.Document.Form != "kubevirt" {
		w.warn("hardware.machineType", "find disks and NICs by serial number and MAC", "KubeVirt starts machines of the type q35 unless its administrator allows pc, so pc is left out")
		kind = ""
	}
	if kind != "" && !slices.ContainsFunc(machineTypes, func(t struct{ prefix, family string }) bool {
		return kind == t.prefix || strings.HasPrefix(kind, t.prefix+"-")
	}) {
		w.warn("hardware.machineType", "", "KubeVirt has no machine type %s, so its own default counts", kind)
		kind = ""
	}
	w.domain = with(w.domain, "machine", with(mapping{}, "type", kind))
	firmware := with(with(mapping{}, "uuid", m.Identity.UUID), "serial", w.serial("identity.serial", m.Identity.Serial))
	switch {
	case h.Firmware == "uefi" || h.SecureBoot:
		firmware = append(firmware, entry("bootloader", mapping{entry("efi", mapping{entry("secureBoot", h.SecureBoot)})}))
	case h.Firmware == "bios":
		firmware = append(firmware, entry("bootloader", mapping{entry("bios", mapping{})}))
	}
	w.domain = with(w.domain, "firmware", firmware)
	if h.SecureBoot {
		w.domain = append(w.domain, entry("features", mapping{entry("smm", mapping{entry("enabled", true)})}))
	}
	w.domain = with(w.domain, "chassis", with(mapping{}, "asset", h.SMBIOS.AssetTag))
}

// topology completes a topology that leaves something open, so that there are as many CPUs as the machine states.
func topology(h machine.Hardware) (sockets, cores, threads int) {
	sockets, cores, threads = h.Sockets, h.Cores, h.Threads
	for _, open := range []*int{&cores, &sockets, &threads} {
		if *open == 0 && h.CPUs > 0 {
			*open = max(h.CPUs/(max(sockets, 1)*max(cores, 1)*max(threads, 1)), 1)
		}
	}
	return sockets, cores, threads
}

// size writes a number of bytes in the largest unit that is exact.
func size(n machine.Bytes) string {
	for _, u := range []struct {
		name  string
		bytes machine.Bytes
	}{{"Ti", 1 << 40}, {"Gi", 1 << 30}, {"Mi", 1 << 20}, {"Ki", 1 << 10}} {
		if n%u.bytes == 0 {
			return fmt.Sprint(int64(n/u.bytes), u.name)
		}
	}
	return fmt.Sprint(int64(n))
}

// agentUsers writes the credentials that the guest agent sets.
func (w *writer) agentUsers() {
	passwords := map[string]secret.Text{}
	for i, u := range w.m.AgentUsers {
		switch {
		case u.Password.IsZero():
		case !secretKey.MatchString(u.Name):
			w.warn(fmt.Sprintf("agentUsers[%d].password", i), "set it in the guest", "a Secret has no key %q, so the password of the user is left out", u.Name)
		default:
			passwords[u.Name] = u.Password
		}
		if len(u.SSHAuthorizedKeys) == 0 {
			continue
		}
		values := map[string]secret.Text{}
		for j, key := range u.SSHAuthorizedKeys {
			values[fmt.Sprintf("key-%03d", j)] = secret.New(key)
		}
		name := w.object(fmt.Sprintf("vmseed-agent-keys-%d", i), values)
		w.credentials = append(w.credentials, credential("sshPublicKey", name, "qemuGuestAgent", mapping{entry("users", []string{u.Name})}))
	}
	if len(passwords) > 0 {
		w.credentials = append(w.credentials, credential("userPassword", w.object("vmseed-agent-passwords", passwords), "qemuGuestAgent", mapping{}))
	}
}

func (w *writer) otherDevices() {
	h := w.m.Hardware
	if h.RNG {
		w.devices = append(w.devices, entry("rng", mapping{}))
	}
	if h.TPM {
		w.devices = append(w.devices, entry("tpm", mapping{}))
	}
	if h.Watchdog != "" && !slices.Contains(watchdogs, h.Watchdog) {
		w.warn("hardware.watchdog", "choose i6300esb", "KubeVirt has no watchdog %s, so it is left out", h.Watchdog)
	} else if h.Watchdog != "" {
		w.devices = append(w.devices, entry("watchdog", mapping{entry("name", "watchdog"), entry(h.Watchdog, mapping{entry("action", "reset")})}))
	}
	lists := map[string][]mapping{}
	for i, d := range h.HostDevices {
		at := fmt.Sprintf("hardware.hostDevices[%d]", i)
		if d.PCI != "" {
			w.warn(at+".pciAddress", "name the resource that the device plugin of the cluster offers", "KubeVirt takes no address of a device of the host")
		}
		if d.DeviceName == "" {
			w.warn(at, "name the resource that the device plugin of the cluster offers", "KubeVirt knows host devices by their resources, so %q is left out", d.Name)
			continue
		}
		x := mapping{entry("name", w.name("device", d.Name)), entry("deviceName", d.DeviceName)}
		lists[d.Kind] = append(lists[d.Kind], with(x, "tag", d.Tag))
	}
	w.devices = with(with(w.devices, "gpus", lists["gpu"]), "hostDevices", append(lists[""], lists["pci"]...))
}

// own finds the document that a machine was read from.
func own(m machine.Machine) (tree.Value, bool) {
	docs, _ := tree.Parse("", []byte(m.Document.Text.Reveal()), bounded.Limits{})
	_, docs, _ = kubeobject.Read(docs)
	for _, doc := range docs {
		meta := doc.Get("metadata")
		name, namespace := peek(meta.Get("name")), peek(meta.Get("namespace"))
		kind := peek(doc.Get("kind"))
		if name == m.Name && (namespace == m.Namespace || namespace == "" && m.Namespace == kubeobject.DefaultNamespace) &&
			(slices.Contains(vmKinds, kind) || slices.Contains(instanceKinds, kind)) {
			return doc, true
		}
	}
	return tree.Value{}, false
}

// instanceSpec is the spec of the instance in a document.
func instanceSpec(doc tree.Value) tree.Value {
	if template := doc.At("spec", "template"); template.Exists() {
		return template.Get("spec")
	}
	return doc.Get("spec")
}
