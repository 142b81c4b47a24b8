package controller

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	virtv1 "kubevirt.io/api/core/v1"
)

// TestDecide is KubeVirt's table of run strategies, cell by cell.
func TestDecide(t *testing.T) {
	startRequest := []virtv1.VirtualMachineStateChangeRequest{{Action: virtv1.StartRequest}}
	stopRequest := func(uid types.UID) []virtv1.VirtualMachineStateChangeRequest {
		return []virtv1.VirtualMachineStateChangeRequest{{Action: virtv1.StopRequest, UID: &uid}}
	}
	absent := situation{}
	in := func(phase virtv1.VirtualMachineInstancePhase) situation {
		return situation{exists: true, uid: "u", phase: phase}
	}
	with := func(s situation, r []virtv1.VirtualMachineStateChangeRequest) situation { s.requests = r; return s }
	going := in(virtv1.Running)
	going.deleting = true
	late := absent
	late.backOff = 7 * time.Second
	seen := absent
	seen.handled = virtv1.RunStrategyRerunOnFailure
	seenLate := with(seen, startRequest)
	seenLate.backOff = time.Second
	for _, c := range []struct {
		name     string
		strategy virtv1.VirtualMachineRunStrategy
		s        situation
		want     decision
	}{
		{"always, absent", "Always", absent, decision{do: start}},
		{"always, absent, failed before", "Always", late, decision{wait: 7 * time.Second}},
		{"always, running", "Always", in("Running"), decision{}},
		{"always, scheduled", "Always", in("Scheduled"), decision{}},
		{"always, succeeded", "Always", in("Succeeded"), decision{do: stop}},
		{"always, failed", "Always", in("Failed"), decision{do: stop}},
		{"always, restarted", "Always", with(in("Running"), stopRequest("u")), decision{do: stop}},
		{"always, a restart of an older instance", "Always", with(in("Running"), stopRequest("other")), decision{}},
		{"always, on its way out", "Always", going, decision{}},
		{"rerun, never seen", "RerunOnFailure", absent, decision{do: start}},
		{"rerun, stopped", "RerunOnFailure", seen, decision{}},
		{"rerun, stopped and asked to start", "RerunOnFailure", with(seen, startRequest), decision{do: start}},
		{"rerun, asked to start, failed before", "RerunOnFailure", seenLate, decision{wait: time.Second}},
		{"rerun, running", "RerunOnFailure", in("Running"), decision{}},
		{"rerun, succeeded", "RerunOnFailure", in("Succeeded"), decision{do: stop}},
		{"rerun, failed", "RerunOnFailure", in("Failed"), decision{do: stop, startAgain: true}},
		{"rerun, stop", "RerunOnFailure", with(in("Running"), stopRequest("u")), decision{do: stop}},
		{"manual, absent", "Manual", absent, decision{}},
		{"manual, start", "Manual", with(absent, startRequest), decision{do: start}},
		{"manual, succeeded", "Manual", in("Succeeded"), decision{}},
		{"manual, failed", "Manual", in("Failed"), decision{}},
		{"manual, stop", "Manual", with(in("Running"), stopRequest("u")), decision{do: stop}},
		{"manual, running and asked to start", "Manual", with(in("Running"), startRequest), decision{}},
		{"once, absent", "Once", absent, decision{do: start}},
		{"once, succeeded", "Once", in("Succeeded"), decision{}},
		{"once, failed", "Once", in("Failed"), decision{}},
		{"halted, absent", "Halted", absent, decision{}},
		{"halted, running", "Halted", in("Running"), decision{do: stop}},
		{"halted, failed", "Halted", in("Failed"), decision{do: stop}},
		{"halted, asked to start", "Halted", with(absent, startRequest), decision{switchOn: true}},
	} {
		c.s.strategy = c.strategy
		if got := c.s.decide(); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestStrategyOf(t *testing.T) {
	for _, c := range []struct {
		spec map[string]any
		want virtv1.VirtualMachineRunStrategy
		err  string
	}{
		{map[string]any{"running": true}, "Always", ""},
		{map[string]any{"running": false}, "Halted", ""},
		{map[string]any{"runStrategy": "Once"}, "Once", ""},
		{map[string]any{}, "", "run strategy: RunStrategy must be specified"},
		{map[string]any{"runStrategy": "Sometimes"}, "", "run strategy: Invalid RunStrategy (Sometimes)"},
		{map[string]any{"runStrategy": "Always", "running": true}, "", "run strategy: Running and RunStrategy are mutually exclusive. Note that Running is deprecated, please use RunStrategy instead"},
		{map[string]any{"running": "yes"}, "", "run strategy: spec.running is neither true nor false"},
		{map[string]any{"runStrategy": "WaitAsReceiver"}, "", "run strategy: WaitAsReceiver waits for a migration to arrive, which vmseed does not do"},
	} {
		got, err := strategyOf(&unstructured.Unstructured{Object: map[string]any{"spec": c.spec}})
		if message := errorText(err); got != c.want || message != c.err {
			t.Errorf("%v: %q, %q", c.spec, got, message)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestBackOff(t *testing.T) {
	for _, c := range []struct {
		failures int
		chance   float64
		want     time.Duration
	}{
		{0, 0, 10 * time.Second}, {1, 0, 10 * time.Second}, {1, 1, 15 * time.Second}, {2, 0, 40 * time.Second}, {3, 0.5, 112 * time.Second},
		{5, 0, 250 * time.Second}, {5, 1, 300 * time.Second}, {6, 0, 300 * time.Second}, {1 << 40, 1, 300 * time.Second},
	} {
		if got := backOff(c.failures, c.chance); got != c.want {
			t.Errorf("after %d failures, chance %v: %v, want %v", c.failures, c.chance, got, c.want)
		}
	}
}
