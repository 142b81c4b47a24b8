package controller

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	virtv1 "kubevirt.io/api/core/v1"

	"github.com/vmseed/vmseed/kube/launch"
)

// launcher is a pod in a phase, on a node unless it is empty.
func launcher(phase corev1.PodPhase, node string, conditions ...corev1.PodCondition) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "default", UID: "u"}, Spec: corev1.PodSpec{NodeName: node},
		Status: corev1.PodStatus{Phase: phase, Conditions: conditions}}
}

func on(kind corev1.PodConditionType, status corev1.ConditionStatus, words ...string) corev1.PodCondition {
	c := corev1.PodCondition{Type: kind, Status: status}
	if len(words) == 2 {
		c.Reason, c.Message = words[0], words[1]
	}
	return c
}

// saying is a pod whose container is in a state.
func saying(pod *corev1.Pod, state corev1.ContainerState) *corev1.Pod {
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{State: state}}
	return pod
}

// TestInstance holds what an instance says of its launcher pod: its phase, whether it is ready, and whether it has come to
// where it should be. The words of Ready are KubeVirt's.
func TestInstance(t *testing.T) {
	leaving := launcher(corev1.PodRunning, "n", on(corev1.PodReady, "True"))
	leaving.DeletionTimestamp = &metav1.Time{Time: epoch}
	for _, c := range []struct {
		name                string
		old                 virtv1.VirtualMachineInstancePhase
		view                podView
		phase, ready, synch string
	}{
		{"new", "", podView{}, "Pending", "False PodNotExists: virt-launcher pod has not yet been scheduled", "False PodNotExists: virt-launcher pod does not exist"},
		{"refused", "", podView{trouble: condition{kind: "Synchronized", status: "False", reason: "FailedCreate", message: "no"}}, "Pending",
			"False PodNotExists: virt-launcher pod has not yet been scheduled", "False FailedCreate: no"},
		{"no node yet", "", podView{pod: launcher("", "")}, "Scheduling", "False GuestNotRunning: Guest VM is not reported as running", "True"},
		{"a claim is missing", "Scheduling", podView{pod: launcher("Pending", "", on(corev1.PodScheduled, "False", "Unschedulable", `0/1 nodes are available: persistentvolumeclaim "data" not found.`))},
			"Scheduling", "False GuestNotRunning: Guest VM is not reported as running", "False FailedPvcNotFound: PVC default/data does not exist, waiting for it to appear"},
		{"on a node", "Scheduling", podView{pod: launcher("Pending", "n")}, "Scheduled", "False GuestNotRunning: Guest VM is not reported as running", "True"},
		{"a Secret is missing", "Scheduled", podView{pod: saying(launcher("Pending", "n"), corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CreateContainerConfigError", Message: `secret "s" not found`}})},
			"Scheduled", "False GuestNotRunning: Guest VM is not reported as running", `False CreateContainerConfigError: secret "s" not found`},
		{"being prepared", "Scheduled", podView{pod: saying(launcher("Pending", "n"), corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}})},
			"Scheduled", "False GuestNotRunning: Guest VM is not reported as running", "True"},
		{"running", "Scheduled", podView{pod: launcher("Running", "n", on(corev1.PodReady, "True"))}, "Running", "True", "True"},
		{"first boot", "Running", podView{pod: launcher("Running", "n", on(corev1.PodReady, "False", "ContainersNotReady", "first boot"))}, "Running", "False ContainersNotReady: first boot", "True"},
		{"without readiness", "Running", podView{pod: launcher("Running", "n")}, "Running", "False PodConditionMissing: virt-launcher pod is missing the Ready condition", "True"},
		{"node lost", "Running", podView{nodeLost: true, pod: launcher("Running", "n", on(corev1.PodReady, "False"))}, "Running",
			"False NodeUnreachable: node n does not answer, its VM may still run; if the host is off for certain, taint the node with node.kubernetes.io/out-of-service", "True"},
		{"being deleted", "Running", podView{pod: leaving}, "Running", "False PodTerminating: virt-launcher pod is terminating", "True"},
		{"shut down", "Running", podView{pod: launcher("Succeeded", "n")}, "Succeeded", "False PodTerminating: virt-launcher pod is terminating", "True"},
		{"failed", "Running", podView{pod: saying(launcher("Failed", "n"), corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "VS6001", Message: "no image"}})}, "Failed",
			"False PodTerminating: virt-launcher pod is terminating", "False VS6001: no image"},
		{"lost", "Running", podView{}, "Failed", "False PodNotExists: virt-launcher pod is gone", "False PodNotExists: virt-launcher pod does not exist"},
		{"ended long ago", "Succeeded", podView{}, "Succeeded", "False PodNotExists: virt-launcher pod is gone", "False PodNotExists: virt-launcher pod does not exist"},
		{"never again", "Failed", podView{pod: launcher("Running", "n", on(corev1.PodReady, "True"))}, "Failed", "False PodTerminating: virt-launcher pod is terminating", "True"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.view.vmi, c.view.now = empty(vmiKind), metav1.NewTime(epoch)
			out := c.view.status(virtv1.VirtualMachineInstanceStatus{Phase: c.old})
			words := func(kind virtv1.VirtualMachineInstanceConditionType) string {
				x := find(out.Conditions, kind)
				text := string(x.Status)
				if x.Reason != "" {
					text += " " + x.Reason + ": " + x.Message
				}
				return text
			}
			type result struct{ phase, ready, synch string }
			got := result{string(out.Phase), words(virtv1.VirtualMachineInstanceReady), words(virtv1.VirtualMachineInstanceSynchronized)}
			if d := cmp.Diff(result{c.phase, c.ready, c.synch}, got, cmp.AllowUnexported(result{})); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if changed := len(out.PhaseTransitionTimestamps) == 1; changed != (out.Phase != c.old) {
				t.Errorf("from %q to %q, and the transitions are %v", c.old, out.Phase, out.PhaseTransitionTimestamps)
			}
		})
	}
}

// TestInstanceDetails holds interfaces, volumes, and what the guest's agent says.
func TestInstanceDetails(t *testing.T) {
	pod := launcher("Running", "n", on(launch.ConditionGuestAgent, "True", "", launch.OSMessage(launch.GuestOS{PrettyName: "Fedora CoreOS", Machine: "x86_64"})), on(launch.ConditionFirstBoot, "True", "Done", ""))
	pod.Status.PodIPs = []corev1.PodIP{{IP: "10.0.0.1"}, {IP: "fd00::1"}}
	pod.Status.QOSClass = corev1.PodQOSBurstable
	vmi := empty(vmiKind)
	vmi.Object["spec"] = map[string]any{
		"domain":  map[string]any{"devices": map[string]any{"interfaces": []any{map[string]any{"name": "first", "macAddress": "02:00:00:00:00:0A"}, map[string]any{"name": "second"}, 7}}},
		"volumes": []any{map[string]any{"name": "z", "persistentVolumeClaim": map[string]any{"claimName": "data"}}, map[string]any{"name": "a"}, "broken"},
	}
	out := podView{vmi: vmi, pod: pod, now: metav1.NewTime(epoch)}.status(virtv1.VirtualMachineInstanceStatus{})
	nics := []virtv1.VirtualMachineInstanceNetworkInterface{{Name: "first", MAC: "02:00:00:00:00:0a", IP: "10.0.0.1", IPs: []string{"10.0.0.1", "fd00::1"}}, {Name: "second"}, {Name: "default"}}
	if d := cmp.Diff(nics, out.Interfaces); d != "" {
		t.Errorf("interfaces (-want +got):\n%s", d)
	}
	volumes := []virtv1.VolumeStatus{{Name: "a"}, {Name: "z", PersistentVolumeClaimInfo: &virtv1.PersistentVolumeClaimInfo{ClaimName: "data"}}}
	if d := cmp.Diff(volumes, out.VolumeStatus); d != "" {
		t.Errorf("volumes (-want +got):\n%s", d)
	}
	if out.GuestOSInfo.PrettyName != "Fedora CoreOS" || out.GuestOSInfo.Machine != "x86_64" || find(out.Conditions, virtv1.VirtualMachineInstanceAgentConnected).Status != "True" {
		t.Errorf("guest %+v", out.GuestOSInfo)
	}
	if c := find(out.Conditions, "vmseed.dev/FirstBoot"); c.Reason != "Done" || out.NodeName != "n" || out.ActivePods["u"] != "n" || *out.QOSClass != "Burstable" {
		t.Errorf("%+v", out)
	}
	pod.Status.Conditions = []corev1.PodCondition{on(corev1.PodReady, "False", "Paused", "no space left")}
	if paused := (podView{vmi: vmi, pod: pod, now: metav1.NewTime(epoch)}).status(out); find(paused.Conditions, virtv1.VirtualMachineInstancePaused).Message != "no space left" {
		t.Errorf("a guest that stands still: %+v", paused.Conditions)
	}
	pod.Status.Conditions = []corev1.PodCondition{on(corev1.PodReady, "False", reasonPausedByUser, "")}
	if paused := (podView{vmi: vmi, pod: pod, now: metav1.NewTime(epoch)}).status(out); find(paused.Conditions, virtv1.VirtualMachineInstancePaused).Reason != "PausedByUser" {
		t.Errorf("a guest that was paused: %+v", paused.Conditions)
	}
	pod.Status.Conditions = nil
	if again := (podView{vmi: vmi, pod: pod, now: metav1.NewTime(epoch)}).status(out); strings.Contains(cmp.Diff(out, again), "GuestOSInfo") || find(again.Conditions, virtv1.VirtualMachineInstanceAgentConnected).Type != "" {
		t.Error("the agent is gone: the condition goes, and what it said stays")
	}
}
