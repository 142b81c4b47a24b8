package launch

import (
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vmseed/vmseed/diag"
)

// What a running VM costs beside the memory of its guest: QEMU and the supervisor, each virtual CPU, and the tables that map
// the guest's memory (8 bytes for each page of 4 KiB).
const (
	overheadBase   = 180 << 20
	overheadPerCPU = 8 << 20
	pageTableShare = 512
)

// cpuShare is how much of a CPU a virtual CPU asks for when the instance does not say: a tenth, as with KubeVirt's default
// allocation ratio.
const cpuShare = 100 // thousandths

// defaultMemory is what the guest gets when the instance does not say.
const defaultMemory = 1 << 30

// container makes the container that stands for the VM.
func (b *builder) container() corev1.Container {
	no := false
	c := corev1.Container{Name: Container, Image: b.image(), Resources: b.resources(),
		// The policies for pods ask for this; it means nothing to a VM.
		SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: &no, Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
	}
	c.ReadinessProbe, c.LivenessProbe = b.probe("readinessProbe"), b.probe("livenessProbe")
	return c
}

// image is the container image of the disk that the guest boots from, else that of the first container disk.
func (b *builder) image() string {
	out := NoImage
	for _, d := range b.review.Machine.Disks {
		name, _, _ := strings.Cut(strings.TrimPrefix(d.Source.Image, "docker://"), "#")
		switch {
		case name == "" || strings.Contains(name, "://"):
		case d.Root:
			return name
		case out == NoImage:
			out = name
		}
	}
	return out
}

// resources are what the instance asks of the cluster, with the cost of the VM itself on top of the memory.
func (b *builder) resources() corev1.ResourceRequirements {
	h := b.review.Machine.Hardware
	memory, cpus := int64(h.Memory), int64(max(h.CPUs, 1))
	if memory == 0 {
		memory = defaultMemory
	}
	overhead := resource.NewQuantity(overheadBase+cpus*overheadPerCPU+memory/pageTableShare, resource.BinarySI)
	var out corev1.ResourceRequirements
	var asked struct {
		Requests corev1.ResourceList `json:"requests"`
		Limits   corev1.ResourceList `json:"limits"`
	}
	b.decode(&asked, "domain", "resources")
	out.Requests, out.Limits = withOverhead(asked.Requests, *overhead), withOverhead(asked.Limits, *overhead)
	if _, ok := out.Requests[corev1.ResourceMemory]; !ok {
		total := resource.NewQuantity(memory, resource.BinarySI)
		total.Add(*overhead)
		out.Requests[corev1.ResourceMemory] = *total
	}
	_, requested := out.Requests[corev1.ResourceCPU]
	if _, limited := out.Limits[corev1.ResourceCPU]; !requested && !limited {
		out.Requests[corev1.ResourceCPU] = *resource.NewMilliQuantity(cpus*cpuShare, resource.DecimalSI)
	}
	return out
}

// withOverhead adds the cost of a VM to an amount of memory, if there is one.
func withOverhead(asked corev1.ResourceList, overhead resource.Quantity) corev1.ResourceList {
	out := corev1.ResourceList{}
	for name, amount := range asked {
		if name == corev1.ResourceMemory {
			amount.Add(overhead)
		}
		out[name] = amount
	}
	return out
}

// decode reads a part of the spec that has the same form in pods. What has another is an error and leaves out as it is.
func (b *builder) decode(out any, path ...string) bool {
	v, ok, err := unstructured.NestedFieldNoCopy(b.vmi.Object, append([]string{"spec"}, path...)...)
	if !ok || err != nil || v == nil {
		return false
	}
	data, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(data, out)
	}
	if err != nil {
		field := "spec." + strings.Join(path, ".")
		b.list.Add(diag.Diagnostic{Code: CodeScheduling, Severity: diag.Error, Field: field,
			Summary: fmt.Sprintf("%s does not have the form that it has in a pod", field), Remedy: "see kubectl explain pod.spec"})
		return false
	}
	return true
}

// scheduling hands on what the instance says about its place in the cluster, and asks for a node that runs VMs.
func (b *builder) scheduling(spec *corev1.PodSpec) {
	b.decode(&spec.NodeSelector, "nodeSelector")
	b.decode(&spec.Affinity, "affinity")
	b.decode(&spec.Tolerations, "tolerations")
	b.decode(&spec.TopologySpreadConstraints, "topologySpreadConstraints")
	b.decode(&spec.PriorityClassName, "priorityClassName")
	b.decode(&spec.SchedulerName, "schedulerName")
	b.decode(&spec.DNSPolicy, "dnsPolicy")
	b.decode(&spec.DNSConfig, "dnsConfig")
	b.decode(&spec.Hostname, "hostname")
	b.decode(&spec.Subdomain, "subdomain")
	if arch := b.review.Machine.Hardware.Arch; arch != "" {
		if spec.NodeSelector == nil {
			spec.NodeSelector = map[string]string{}
		}
		if _, stated := spec.NodeSelector[corev1.LabelArchStable]; !stated {
			spec.NodeSelector[corev1.LabelArchStable] = arch
		}
	}
	nodesForVMs(spec)
	// The VM of a node that does not answer may still run and write to its disks: whether it does not is for the operator to
	// say (taint node.kubernetes.io/out-of-service), never for a timer.
	for _, taint := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		spec.Tolerations = append(spec.Tolerations, corev1.Toleration{Key: taint, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute})
	}
}

// nodesForVMs adds the demand for a node that runs VMs to each of the alternatives that the instance gives.
func nodesForVMs(spec *corev1.PodSpec) {
	demand := corev1.NodeSelectorRequirement{Key: NodeLabel, Operator: corev1.NodeSelectorOpIn, Values: []string{NodeValue}}
	if spec.Affinity == nil {
		spec.Affinity = &corev1.Affinity{}
	}
	if spec.Affinity.NodeAffinity == nil {
		spec.Affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	node := spec.Affinity.NodeAffinity
	if node.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		node.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{}
	}
	required := node.RequiredDuringSchedulingIgnoredDuringExecution
	if len(required.NodeSelectorTerms) == 0 {
		required.NodeSelectorTerms = []corev1.NodeSelectorTerm{{}}
	}
	for i := range required.NodeSelectorTerms {
		term := &required.NodeSelectorTerms[i]
		term.MatchExpressions = append(term.MatchExpressions, demand)
	}
}

// probe makes a probe of the container. The guest's agent is asked by running a command through it.
func (b *builder) probe(field string) *corev1.Probe {
	var own struct {
		corev1.Probe
		GuestAgentPing *struct{} `json:"guestAgentPing"`
	}
	if !b.decode(&own, field) {
		return nil
	}
	if own.GuestAgentPing != nil {
		own.Exec = &corev1.ExecAction{Command: []string{"true"}}
	}
	if own.HTTPGet == nil && own.TCPSocket == nil && own.Exec == nil {
		b.list.Add(diag.Diagnostic{Code: CodeScheduling, Severity: diag.Error, Field: "spec." + field, Summary: "the probe has no kind",
			Remedy: "give it httpGet, tcpSocket, exec or guestAgentPing"})
		return nil
	}
	return &own.Probe
}
