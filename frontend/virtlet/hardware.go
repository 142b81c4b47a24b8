package virtlet

import (
	"slices"
	"strconv"
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/kubeobject"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/frontend/internal/kubedoc"
	"github.com/vmseed/vmseed/internal/bounded"
	"github.com/vmseed/vmseed/machine"
)

// What Virtlet and the kubelet use when the pod says nothing.
const (
	defaultMemory = 1024 << 20
	maxCPUs       = 255
	cpuPeriod     = 100_000 // microseconds
	minQuota      = 1_000   // microseconds
	minShares     = 2
)

func (r *reader) hardware() {
	h := &r.m.Hardware
	h.MachineType = "pc"
	r.at(r.container.Range(), "hardware")
	h.CPUs = r.cpus()
	h.DiskBus = r.choice(diskDriver, false, "scsi", "virtio")
	r.at(r.notes[diskDriver].value.Range(), "hardware.diskBus")
	r.m.DataSource = r.choice(imageType, true, "nocloud", "configdrive")
	r.at(r.notes[imageType].value.Range(), "dataSource")
	if r.choice(cpuModel, false, "", "host-model") != "" {
		h.CPUModel = "host-model"
		h.CPUFeatures = []machine.CPUFeature{{Name: "vmx", Policy: "optional"}}
		r.at(r.notes[cpuModel].value.Range(), "hardware.cpuModel")
		r.at(r.notes[cpuModel].value.Range(), "hardware.cpuFeatures")
	}
	r.cpuSetting()
	r.resources(r.container.Get("resources"))
}

// choice returns an annotation that takes one of a few words, the first of which is the default.
func (r *reader) choice(name string, anyCase bool, words ...string) string {
	a := r.notes[name]
	text := a.text
	if anyCase {
		text = strings.ToLower(text)
	}
	if text == "" {
		return words[0]
	}
	for _, w := range words {
		if text == w {
			return w
		}
	}
	if words[0] == "" {
		words = words[1:]
	}
	a.value.Errorf(r.list, CodeAnnotationValue, "", "%s should be %s", name, strings.Join(words, " or "))
	return ""
}

func (r *reader) cpus() int {
	a := r.notes[vcpuCount]
	if !a.exists() {
		return 1
	}
	r.at(a.value.Range(), "hardware.cpus")
	n, err := strconv.Atoi(a.text)
	switch {
	case err != nil:
		a.value.Errorf(r.list, CodeAnnotationValue, "", "%s should be a whole number", a.name)
	case n > maxCPUs:
		a.value.Errorf(r.list, CodeAnnotationValue, "", "%s should be at most %d", a.name, maxCPUs)
	case n < 1:
		a.value.Warnf(r.list, CodeAnnotationValue, "", "%s is below 1, so the VM gets one CPU", a.name)
	default:
		return n
	}
	return 1
}

// resources reads the limits of the container. Shares, quota and period are computed as the kubelet does. The quota is
// for the VM as a whole.
func (r *reader) resources(v tree.Value) {
	h := &r.m.Hardware
	h.Memory = defaultMemory
	v.Want(r.list, tree.Map)
	v.Only(r.list, "limits", "requests", "claims")
	if claims := v.Get("claims"); claims.Exists() {
		claims.Warnf(r.list, CodeNoEffect, "", "resource claims have no effect on a VM")
		claims.Consume()
	}
	for _, which := range []string{"limits", "requests"} {
		v.Get(which).Want(r.list, tree.Map)
		for _, e := range v.Get(which).Entries() {
			switch e.Key {
			case "cpu", "memory":
			default:
				r.add(diag.Note, CodeNoGuest, e, "", "%s of %s concern the cluster, not the guest", which, e.Key)
				e.Value.Consume()
			}
		}
	}
	if memory := v.At("limits", "memory"); memory.Exists() {
		if q, ok := r.quantity(memory); ok && q.Sign() > 0 {
			h.Memory = machine.Bytes(q.Times(1))
		}
		r.at(memory.Range(), "hardware.memory")
	}
	r.quantity(v.At("requests", "memory")) // reserves, and limits nothing
	limit, request := v.At("limits", "cpu"), v.At("requests", "cpu")
	if q, ok := r.quantity(limit); ok && q.Sign() > 0 {
		h.CPUPeriod, h.CPUQuota = cpuPeriod, max(q.Times(cpuPeriod), minQuota)
		h.CPUShares = max(q.Times(1024), minShares)
		r.at(limit.Range(), "hardware.cpuPeriod")
		r.at(limit.Range(), "hardware.cpuQuota")
		r.at(limit.Range(), "hardware.cpuShares")
	}
	if q, ok := r.quantity(request); ok {
		h.CPUShares = max(q.Times(1024), minShares)
		r.at(request.Range(), "hardware.cpuShares")
	}
}

// quantity reads an amount that is not negative. It returns false when there is none.
func (r *reader) quantity(v tree.Value) (kubeobject.Quantity, bool) {
	return kubedoc.Quantity(r.list, v, CodeQuantity)
}

// cpuSetting reads libvirt's CPU element (libvirt, format of domain XML, section CPU model and topology) in the form of
// YAML, whose field names Virtlet matched in any letter case.
func (r *reader) cpuSetting() {
	a := r.notes[libvirtCPU]
	if !a.exists() {
		return
	}
	h := &r.m.Hardware
	h.CPUModel, h.CPUFeatures = "", nil
	place := a.value.Range()
	for _, path := range []string{"cpuModel", "cpuFeatures", "sockets", "cores", "threads"} {
		r.at(place, "hardware.%s", path)
	}
	docs, found := tree.ParseYAML("", []byte(a.text), bounded.Limits{})
	s := cpuReader{r: r, origin: a.origin(), found: found}
	if len(docs) > 1 {
		docs[1].Errorf(&s.found, CodeCPU, "", "%s holds more than one document", a.name)
	}
	if len(docs) > 0 && docs[0].Want(&s.found, tree.Map) {
		s.read(docs[0])
	}
	*r.list = append(*r.list, s.origin.Carry(s.found)...)
}

type cpuReader struct {
	r      *reader
	origin diag.Origin
	found  diag.List
}

// fold returns the fields of a mapping by their names in lower case.
func (s *cpuReader) fold(v tree.Value, known ...string) map[string]tree.Value {
	out := map[string]tree.Value{}
	v.Want(&s.found, tree.Map)
	for _, e := range v.Entries() {
		name := strings.ToLower(e.Key)
		out[name] = e.Value
		if !slices.Contains(known, name) {
			e.Value.Warnf(&s.found, CodeCPU, "", "%s is for libvirt alone and has no effect here", e.Key)
			e.Value.Consume()
		}
	}
	return out
}

func (s *cpuReader) read(v tree.Value) {
	h := &s.r.m.Hardware
	top := s.fold(v, "mode", "model", "topology", "features")
	model := ""
	if m := top["model"]; m.Exists() {
		inner := s.fold(m, "value")
		model = inner["value"].Str(&s.found)
	}
	switch mode := top["mode"].Str(&s.found); mode {
	case "host-model", "host-passthrough", "maximum":
		h.CPUModel = mode
	case "custom", "":
		h.CPUModel = model
	default:
		top["mode"].Errorf(&s.found, CodeCPU, "", "mode should be custom, host-model, host-passthrough or maximum")
	}
	if t := top["topology"]; t.Exists() {
		inner := s.fold(t, "sockets", "cores", "threads")
		count := func(name string) int { return max(int(inner[name].Int(&s.found, 0, maxCPUs)), 1) }
		h.Sockets, h.Cores, h.Threads = count("sockets"), count("cores"), count("threads")
		if total := h.Sockets * h.Cores * h.Threads; total != h.CPUs {
			t.Errorf(&s.found, CodeCPU, "make the two agree", "the topology has %d CPUs, %s says %d", total, vcpuCount, h.CPUs)
		}
	}
	features := top["features"]
	features.Want(&s.found, tree.List)
	for _, f := range features.Items() {
		inner := s.fold(f, "name", "policy")
		feature := machine.CPUFeature{Name: inner["name"].Str(&s.found), Policy: inner["policy"].Str(&s.found)}
		switch feature.Policy {
		case "", "force", "require", "optional", "disable", "forbid":
		default:
			inner["policy"].Errorf(&s.found, CodeCPU, "", "policy should be force, require, optional, disable or forbid")
		}
		if feature.Name == "" {
			f.Errorf(&s.found, CodeCPU, "", "the feature has no name")
		}
		h.CPUFeatures = append(h.CPUFeatures, feature)
	}
}
