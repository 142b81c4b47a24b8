package controller

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	virtv1 "kubevirt.io/api/core/v1"

	"github.com/vmseed/vmseed/kube/launch"
)

// Reasons of the conditions of instances. Those of Ready are KubeVirt's, but for the last two.
const (
	reasonGate            = "FeatureGateDisabled"
	reasonNoClaim         = "FailedPvcNotFound"
	reasonPodNotExists    = "PodNotExists"
	reasonPodTerminating  = "PodTerminating"
	reasonGuestNotRunning = "GuestNotRunning"
	reasonNoReadiness     = "PodConditionMissing"
	reasonNodeUnreachable = "NodeUnreachable"
	// reasonPaused is how nodes say that the guest's processors stand still, as after an error of its disk; reasonPausedByUser that
	// they were asked for that, as KubeVirt says it.
	reasonPaused       = "Paused"
	reasonPausedByUser = "PausedByUser"
	// reasonStarted is that of the event of an instance whose guest runs.
	reasonStarted = "Started"
)

// podView is what the status of an instance is made of: its launcher pod, if there is one, and the node of that.
type podView struct {
	vmi *unstructured.Unstructured
	pod *corev1.Pod
	// nodeLost says that the node of the pod does not answer, so that what the pod says is old.
	nodeLost bool
	// launched says that there has been a pod, which the status may not say yet.
	launched bool
	// trouble is why there is no pod, a condition without a kind when there is nothing to say.
	trouble condition
	now     metav1.Time
}

// phase is where the instance is on its way. An instance that has ended stays so.
func (v podView) phase(old virtv1.VirtualMachineInstancePhase) virtv1.VirtualMachineInstancePhase {
	if old == virtv1.Succeeded || old == virtv1.Failed {
		return old
	}
	if v.pod == nil {
		if !v.launched && (old == "" || old == virtv1.Pending) {
			return virtv1.Pending
		}
		return virtv1.Failed // its pod is lost
	}
	switch v.pod.Status.Phase {
	case corev1.PodRunning:
		return virtv1.Running
	case corev1.PodSucceeded:
		return virtv1.Succeeded
	case corev1.PodFailed:
		return virtv1.Failed
	}
	if v.pod.Spec.NodeName != "" {
		return virtv1.Scheduled
	}
	return virtv1.Scheduling
}

// status computes the status of the instance from the one it has.
func (v podView) status(old virtv1.VirtualMachineInstanceStatus) virtv1.VirtualMachineInstanceStatus {
	out := *old.DeepCopy()
	if out.Phase = v.phase(old.Phase); out.Phase != old.Phase {
		out.PhaseTransitionTimestamps = append(out.PhaseTransitionTimestamps,
			virtv1.VirtualMachineInstancePhaseTransitionTimestamp{Phase: out.Phase, PhaseTransitionTimestamp: v.now})
	}
	v.conditions(&out)
	if v.pod == nil {
		out.ActivePods = nil
		return out
	}
	out.Reason = ""
	if out.Phase == virtv1.Failed || out.Phase == virtv1.Succeeded {
		out.Reason = cmp.Or(v.ended(), v.pod.Status.Reason)
	}
	out.ActivePods = nil
	if out.Phase != virtv1.Failed && out.Phase != virtv1.Succeeded {
		out.ActivePods = map[types.UID]string{v.pod.UID: v.pod.Spec.NodeName}
	}
	out.NodeName = v.pod.Spec.NodeName
	if class := v.pod.Status.QOSClass; class != "" {
		out.QOSClass = &class
	}
	out.Interfaces = v.interfaces(out.Interfaces)
	out.VolumeStatus = v.volumes()
	return out
}

// ended is what the node said when the container ended.
func (v podView) ended() string {
	for _, s := range v.pod.Status.ContainerStatuses {
		if s.State.Terminated != nil {
			return s.State.Terminated.Reason
		}
	}
	return ""
}

// conditions says how the instance is doing.
func (v podView) conditions(out *virtv1.VirtualMachineInstanceStatus) {
	set := func(c condition) { out.Conditions = set(out.Conditions, c, v.now) }
	set(v.ready(out.Phase))
	set(v.synchronized())
	set(condition{kind: string(virtv1.VirtualMachineInstanceIsMigratable), status: corev1.ConditionFalse,
		reason: virtv1.VirtualMachineInstanceReasonNotMigratable, message: "vmseed does not move running VMs"})
	scheduled := v.podCondition(corev1.PodScheduled)
	if scheduled.Status == corev1.ConditionFalse {
		set(condition{kind: string(corev1.PodScheduled), status: scheduled.Status, reason: scheduled.Reason, message: scheduled.Message})
	} else {
		out.Conditions = drop(out.Conditions, virtv1.VirtualMachineInstanceConditionType(corev1.PodScheduled))
	}
	if c := v.podCondition(launch.ConditionFirstBoot); c.Type != "" {
		set(condition{kind: string(launch.ConditionFirstBoot), status: c.Status, reason: c.Reason, message: c.Message})
	}
	if c := v.podCondition(corev1.PodReady); c.Status == corev1.ConditionFalse && out.Phase == virtv1.Running &&
		(c.Reason == reasonPaused || c.Reason == reasonPausedByUser) {
		set(condition{kind: string(virtv1.VirtualMachineInstancePaused), status: corev1.ConditionTrue, reason: c.Reason, message: c.Message})
	} else {
		out.Conditions = drop(out.Conditions, virtv1.VirtualMachineInstancePaused)
	}
	agent := v.podCondition(launch.ConditionGuestAgent)
	if agent.Status == corev1.ConditionTrue && out.Phase == virtv1.Running {
		set(condition{kind: string(virtv1.VirtualMachineInstanceAgentConnected), status: corev1.ConditionTrue})
		if agent.Message != "" {
			out.GuestOSInfo = launch.ReadOSMessage(agent.Message)
		}
	} else {
		out.Conditions = drop(out.Conditions, virtv1.VirtualMachineInstanceAgentConnected)
	}
}

// podCondition returns a condition of the pod, or one without a type.
func (v podView) podCondition(kind corev1.PodConditionType) corev1.PodCondition {
	if v.pod != nil {
		for _, c := range v.pod.Status.Conditions {
			if c.Type == kind {
				return c
			}
		}
	}
	return corev1.PodCondition{}
}

// ready says whether the guest is ready, which the phase of a pod does not: it stays as it was when a node is lost.
func (v podView) ready(phase virtv1.VirtualMachineInstancePhase) condition {
	c := condition{kind: string(virtv1.VirtualMachineInstanceReady), status: corev1.ConditionFalse}
	switch own := v.podCondition(corev1.PodReady); {
	case v.pod == nil:
		c.reason, c.message = reasonPodNotExists, "virt-launcher pod has not yet been scheduled"
		if phase == virtv1.Failed || phase == virtv1.Succeeded {
			c.message = "virt-launcher pod is gone"
		}
	case v.nodeLost && phase != virtv1.Failed && phase != virtv1.Succeeded:
		c.reason = reasonNodeUnreachable
		c.message = fmt.Sprintf("node %s does not answer, its VM may still run; if the host is off for certain, taint the node with node.kubernetes.io/out-of-service", v.pod.Spec.NodeName)
	case v.pod.DeletionTimestamp != nil || phase == virtv1.Failed || phase == virtv1.Succeeded:
		c.reason, c.message = reasonPodTerminating, "virt-launcher pod is terminating"
	case phase != virtv1.Running:
		c.reason, c.message = reasonGuestNotRunning, "Guest VM is not reported as running"
	case own.Type == "":
		c.reason, c.message = reasonNoReadiness, "virt-launcher pod is missing the Ready condition"
	default:
		c.status, c.reason, c.message = own.Status, own.Reason, own.Message
	}
	return c
}

// missingClaim finds the name of a claim that does not exist in what the scheduler says.
var missingClaim = regexp.MustCompile(`persistentvolumeclaim "([^"]+)" not found`)

// synchronized says whether what the instance asks for has been brought to a node, or why not.
func (v podView) synchronized() condition {
	c := condition{kind: string(virtv1.VirtualMachineInstanceSynchronized), status: corev1.ConditionFalse}
	if v.pod == nil {
		if v.trouble.kind != "" {
			return v.trouble
		}
		c.reason, c.message = reasonPodNotExists, "virt-launcher pod does not exist"
		return c
	}
	if m := missingClaim.FindStringSubmatch(v.podCondition(corev1.PodScheduled).Message); m != nil {
		c.reason = reasonNoClaim
		c.message = fmt.Sprintf("PVC %s/%s does not exist, waiting for it to appear", v.pod.Namespace, m[1])
		return c
	}
	for _, s := range v.pod.Status.ContainerStatuses {
		switch {
		case s.State.Waiting != nil && s.State.Waiting.Message != "":
			c.reason, c.message = s.State.Waiting.Reason, s.State.Waiting.Message
			return c
		case s.State.Terminated != nil && v.pod.Status.Phase == corev1.PodFailed:
			c.reason, c.message = s.State.Terminated.Reason, s.State.Terminated.Message
			return c
		}
	}
	if v.pod.Status.Phase == corev1.PodFailed {
		c.reason, c.message = v.pod.Status.Reason, v.pod.Status.Message
		return c
	}
	c.status = corev1.ConditionTrue
	return c
}

// interfaces lists the NICs that the spec names, the first with the addresses of the pod, and what others know of them.
func (v podView) interfaces(old []virtv1.VirtualMachineInstanceNetworkInterface) []virtv1.VirtualMachineInstanceNetworkInterface {
	var ips []string
	for _, ip := range v.pod.Status.PodIPs {
		ips = append(ips, ip.IP)
	}
	if len(ips) == 0 && v.pod.Status.PodIP != "" {
		ips = []string{v.pod.Status.PodIP}
	}
	if len(ips) == 0 {
		return old
	}
	var out []virtv1.VirtualMachineInstanceNetworkInterface
	for _, x := range items(v.vmi, "spec", "domain", "devices", "interfaces") {
		nic, _ := x.(map[string]any)
		name, _, _ := unstructured.NestedString(nic, "name")
		mac, _, _ := unstructured.NestedString(nic, "macAddress")
		out = append(out, virtv1.VirtualMachineInstanceNetworkInterface{Name: cmp.Or(name, "default"), MAC: strings.ToLower(mac)})
	}
	if len(out) == 0 {
		out = []virtv1.VirtualMachineInstanceNetworkInterface{{Name: "default"}}
	}
	out[0].IP, out[0].IPs = ips[0], ips
	return out
}

// volumes lists the volumes that the spec names.
func (v podView) volumes() []virtv1.VolumeStatus {
	var out []virtv1.VolumeStatus
	for _, x := range items(v.vmi, "spec", "volumes") {
		volume, _ := x.(map[string]any)
		name, _, _ := unstructured.NestedString(volume, "name")
		if name == "" {
			continue
		}
		status := virtv1.VolumeStatus{Name: name}
		if claim, ok, _ := unstructured.NestedString(volume, "persistentVolumeClaim", "claimName"); ok {
			status.PersistentVolumeClaimInfo = &virtv1.PersistentVolumeClaimInfo{ClaimName: claim}
		}
		out = append(out, status)
	}
	slices.SortFunc(out, func(a, b virtv1.VolumeStatus) int { return cmp.Compare(a.Name, b.Name) })
	return out
}
