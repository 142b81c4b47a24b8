package controller

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	virtv1 "kubevirt.io/api/core/v1"
)

// epoch is the time of the tests.
var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// machineAt is a machine with an instance in a phase; without a phase there is no instance.
func machineAt(phase virtv1.VirtualMachineInstancePhase, conditions ...virtv1.VirtualMachineInstanceCondition) machineState {
	s := machineState{vm: empty(vmKind), strategy: virtv1.RunStrategyAlways, now: metav1.NewTime(epoch)}
	if phase != "" {
		s.vmi = empty(vmiKind)
		s.vmi.SetUID("u")
		s.instance = virtv1.VirtualMachineInstanceStatus{Phase: phase, Conditions: conditions}
	}
	return s
}

func is(kind, status, reason string) virtv1.VirtualMachineInstanceCondition {
	return virtv1.VirtualMachineInstanceCondition{Type: virtv1.VirtualMachineInstanceConditionType(kind), Status: corev1.ConditionStatus(status), Reason: reason}
}

// TestPrintable holds KubeVirt's words, and their order where several are true.
func TestPrintable(t *testing.T) {
	when := metav1.NewTime(epoch)
	ran := func(s *machineState) {
		s.stopped = true
		s.instance.PhaseTransitionTimestamps = []virtv1.VirtualMachineInstancePhaseTransitionTimestamp{{Phase: virtv1.Running}}
	}
	failing := virtv1.VirtualMachineStatus{StartFailure: &virtv1.VirtualMachineStartFailure{ConsecutiveFailCount: 1}}
	for _, c := range []struct {
		want   virtv1.VirtualMachinePrintableStatus
		s      machineState
		old    virtv1.VirtualMachineStatus
		change func(*machineState)
	}{
		{want: "Stopped", s: machineAt("")},
		{want: "Terminating", s: machineAt("Running"), change: func(s *machineState) { s.vm.SetDeletionTimestamp(&when) }},
		{want: "Stopping", s: machineAt("Running"), change: func(s *machineState) { s.vmi.SetDeletionTimestamp(&when) }},
		{want: "Stopping", s: machineAt("Scheduling"), change: func(s *machineState) { s.stopped = true }},
		{want: "Stopped", s: machineAt("Failed"), change: ran},
		{want: "Paused", s: machineAt("Running", is("Paused", "True", ""))},
		{want: "Running", s: machineAt("Running", is("Paused", "False", ""))},
		{want: "Running", s: machineAt("Running", is("PodScheduled", "False", "Unschedulable"))},
		{want: "ErrorPvcNotFound", s: machineAt("Scheduling", is("Synchronized", "False", "FailedPvcNotFound"), is("PodScheduled", "False", "Unschedulable"))},
		{want: "ErrorUnschedulable", s: machineAt("Scheduling", is("PodScheduled", "False", "Unschedulable"))},
		{want: "ErrImagePull", s: machineAt("Scheduled", is("Synchronized", "False", "ErrImagePull"))},
		{want: "ImagePullBackOff", s: machineAt("Scheduled", is("Synchronized", "False", "ImagePullBackOff"))},
		{want: "Starting", s: machineAt("Pending", is("Synchronized", "False", "FeatureGateDisabled"))},
		{want: "Starting", s: machineAt("Scheduled")},
		{want: "CrashLoopBackOff", s: machineAt(""), old: failing},
		{want: "CrashLoopBackOff", s: machineAt("Failed"), old: failing},
		{want: "Stopped", s: machineAt(""), old: failing, change: func(s *machineState) { s.strategy = virtv1.RunStrategyManual }},
		{want: "Stopped", s: machineAt("Succeeded"), change: func(s *machineState) { s.strategy = virtv1.RunStrategyOnce; ran(s) }},
		{want: "Unknown", s: machineAt("Unknown")},
	} {
		if c.change != nil {
			c.change(&c.s)
		}
		if c.want == "CrashLoopBackOff" && c.s.vmi != nil {
			c.old.StartFailure.LastFailedVMIUID = c.s.vmi.GetUID()
		}
		if got := c.s.status(c.old).PrintableStatus; got != c.want {
			t.Errorf("phase %q: %s, want %s", c.s.instance.Phase, got, c.want)
		}
	}
}

func TestStartFailure(t *testing.T) {
	s := machineAt("Failed")
	first := s.startFailure(nil)
	if first.ConsecutiveFailCount != 1 || first.LastFailedVMIUID != "u" || left(first, epoch) != 10*time.Second {
		t.Errorf("the first failure: %+v", first)
	}
	if again := s.startFailure(first); again != first {
		t.Error("one instance counts twice")
	}
	s.vmi.SetUID("v")
	if second := s.startFailure(first); second.ConsecutiveFailCount != 2 || left(second, epoch) != 40*time.Second {
		t.Errorf("the second failure: %+v", second)
	}
	s.instance.PhaseTransitionTimestamps = []virtv1.VirtualMachineInstancePhaseTransitionTimestamp{{Phase: virtv1.Running}}
	if s.startFailure(first) != nil {
		t.Error("an instance that ran does not end the count")
	}
	if gone := machineAt(""); gone.startFailure(first) != first {
		t.Error("the count is lost with the instance")
	}
	if left(first, epoch.Add(time.Minute)) != 0 || left(nil, epoch) != 0 {
		t.Error("nothing is left to wait for")
	}
}

// TestRequests holds which requests have been carried out.
func TestRequests(t *testing.T) {
	uid, other := types.UID("u"), types.UID("other")
	startRequest := virtv1.VirtualMachineStateChangeRequest{Action: virtv1.StartRequest}
	stopRequest := virtv1.VirtualMachineStateChangeRequest{Action: virtv1.StopRequest, UID: &uid}
	stale := virtv1.VirtualMachineStateChangeRequest{Action: virtv1.StopRequest, UID: &other}
	for _, c := range []struct {
		name     string
		s        machineState
		requests []virtv1.VirtualMachineStateChangeRequest
		want     []virtv1.VirtualMachineStateChangeRequest
	}{
		{"stop, running", machineAt("Running"), []virtv1.VirtualMachineStateChangeRequest{stopRequest, startRequest}, []virtv1.VirtualMachineStateChangeRequest{stopRequest, startRequest}},
		{"stop, gone", machineAt(""), []virtv1.VirtualMachineStateChangeRequest{stopRequest, startRequest}, []virtv1.VirtualMachineStateChangeRequest{startRequest}},
		{"stop of an older instance", machineAt("Running"), []virtv1.VirtualMachineStateChangeRequest{stale}, nil},
		{"stop of nothing in particular", machineAt("Running"), []virtv1.VirtualMachineStateChangeRequest{{Action: virtv1.StopRequest}}, nil},
		{"start, absent", machineAt(""), []virtv1.VirtualMachineStateChangeRequest{startRequest}, []virtv1.VirtualMachineStateChangeRequest{startRequest}},
		{"start, pending", machineAt("Pending"), []virtv1.VirtualMachineStateChangeRequest{startRequest}, nil},
		{"start, the last one has failed", machineAt("Failed"), []virtv1.VirtualMachineStateChangeRequest{startRequest}, []virtv1.VirtualMachineStateChangeRequest{startRequest}},
	} {
		got := c.s.status(virtv1.VirtualMachineStatus{StateChangeRequests: c.requests}).StateChangeRequests
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
}

// TestConditions holds what a machine says of its instance.
func TestConditions(t *testing.T) {
	brief := func(s virtv1.VirtualMachineStatus) []string {
		var out []string
		for _, c := range s.Conditions {
			out = append(out, string(c.Type)+"="+string(c.Status)+" "+c.Reason+": "+c.Message)
		}
		slices.Sort(out)
		return out
	}
	s := machineAt("")
	s.failure = condition{kind: "Failure", status: "True", reason: "FailedCreate", message: "no"}
	none := s.status(virtv1.VirtualMachineStatus{})
	if d := cmp.Diff([]string{"Failure=True FailedCreate: no", "Ready=False VMINotExists: VMI does not exist"}, brief(none)); d != "" {
		t.Errorf("without an instance (-want +got):\n%s", d)
	}
	s = machineAt("Running")
	if d := cmp.Diff([]string{"Ready=False VMIConditionMissing: VMI is missing the Ready condition"}, brief(s.status(none))); d != "" {
		t.Errorf("with a new instance (-want +got):\n%s", d)
	}
	s = machineAt("Running", is("Ready", "True", ""), is("AgentConnected", "True", ""))
	running := s.status(none)
	if d := cmp.Diff([]string{"AgentConnected=True : ", "Ready=True : "}, brief(running)); d != "" || !running.Ready || !running.Created {
		t.Errorf("running (-want +got):\n%s", d)
	}
	s.instance.Conditions = s.instance.Conditions[:1]
	if d := cmp.Diff([]string{"Ready=True : "}, brief(s.status(running))); d != "" {
		t.Errorf("without the agent (-want +got):\n%s", d)
	}
}

// TestRestartRequired holds KubeVirt's words for a machine whose template was changed while it runs.
func TestRestartRequired(t *testing.T) {
	s := machineAt("Running")
	s.vm.Object["spec"] = map[string]any{"template": map[string]any{"spec": map[string]any{"hostname": "a"}}}
	s.vm.SetGeneration(4)
	s.vmi.SetAnnotations(map[string]string{templateAnnotation: templateDigest(s.vm), generationAnnotation: "3"})
	same := s.status(virtv1.VirtualMachineStatus{})
	if find(same.Conditions, virtv1.VirtualMachineRestartRequired).Type != "" || same.ObservedGeneration != 4 || same.DesiredGeneration != 4 {
		t.Errorf("nothing was changed: %+v", same)
	}
	for _, change := range []struct {
		path  []string
		value any
	}{
		{[]string{"spec", "template", "spec", "hostname"}, "b"},
		{[]string{"spec", "template", "metadata", "annotations", "kubevirt.io/ignitiondata"}, "{}"},
	} {
		changed := s
		changed.vm = s.vm.DeepCopy()
		if err := unstructured.SetNestedField(changed.vm.Object, change.value, change.path...); err != nil {
			t.Fatal(err)
		}
		out := changed.status(virtv1.VirtualMachineStatus{})
		i := slices.IndexFunc(out.Conditions, func(c virtv1.VirtualMachineCondition) bool { return c.Type == virtv1.VirtualMachineRestartRequired })
		if i < 0 || out.Conditions[i].Message != "a non-live-updatable field was changed in the template spec" || out.ObservedGeneration != 3 || out.DesiredGeneration != 4 {
			t.Errorf("%v was changed: %+v", change.path, out)
		}
	}
	older := s
	older.vm = s.vm.DeepCopy()
	older.vm.SetGeneration(2)
	older.vm.Object["spec"] = map[string]any{}
	if find(older.status(virtv1.VirtualMachineStatus{}).Conditions, virtv1.VirtualMachineRestartRequired).Type != "" {
		t.Error("the cache is older than the instance, and a restart is asked for")
	}
}
