package subresources

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// TestPlans holds what each request does to a machine of each strategy whose instance is in a phase; "-" is no instance.
func TestPlans(t *testing.T) {
	short, long := int64(0), int64(600)
	for _, test := range []struct {
		action   string
		strategy kubevirtv1.VirtualMachineRunStrategy
		phase    kubevirtv1.VirtualMachineInstancePhase
		grace    *int64
		want     string
	}{
		{"start", kubevirtv1.RunStrategyHalted, "-", nil, "Always"},
		{"start", kubevirtv1.RunStrategyHalted, kubevirtv1.Succeeded, nil, "Always"},
		{"start", kubevirtv1.RunStrategyHalted, kubevirtv1.Running, nil, "VM is already running"},
		{"start", kubevirtv1.RunStrategyHalted, kubevirtv1.VmPhaseUnset, nil, "Always"},
		{"start", kubevirtv1.RunStrategyManual, "-", nil, "Start"},
		{"start", kubevirtv1.RunStrategyManual, kubevirtv1.Scheduling, nil, "VM is already running"},
		{"start", kubevirtv1.RunStrategyManual, kubevirtv1.Failed, nil, "Stop vmi,Start"},
		{"start", kubevirtv1.RunStrategyManual, kubevirtv1.Succeeded, nil, "Stop vmi,Start"},
		{"start", kubevirtv1.RunStrategyRerunOnFailure, kubevirtv1.Succeeded, nil, "Stop vmi,Start"},
		{"start", kubevirtv1.RunStrategyRerunOnFailure, kubevirtv1.Failed, nil, "RerunOnFailure does not support starting VM from failed state"},
		{"start", kubevirtv1.RunStrategyAlways, "-", nil, "Always does not support manual start requests"},
		{"start", kubevirtv1.RunStrategyOnce, "-", nil, "Once does not support manual start requests"},
		{"stop", kubevirtv1.RunStrategyAlways, kubevirtv1.Running, nil, "Halted"},
		{"stop", kubevirtv1.RunStrategyAlways, "-", nil, "Halted"},
		{"stop", kubevirtv1.RunStrategyOnce, kubevirtv1.Running, nil, "Halted"},
		{"stop", kubevirtv1.RunStrategyManual, kubevirtv1.Running, nil, "Stop vmi"},
		{"stop", kubevirtv1.RunStrategyManual, kubevirtv1.Succeeded, nil, "VM is not running"},
		{"stop", kubevirtv1.RunStrategyRerunOnFailure, kubevirtv1.Running, &long, "Stop vmi"},
		{"stop", kubevirtv1.RunStrategyRerunOnFailure, "-", nil, "VM is not running"},
		{"stop", kubevirtv1.RunStrategyHalted, "-", nil, "VM is not running"},
		{"stop", kubevirtv1.RunStrategyHalted, kubevirtv1.Running, nil, "Halted only supports manual stop requests with a shorter graceperiod"},
		{"stop", kubevirtv1.RunStrategyHalted, kubevirtv1.Running, &long, "Halted only supports manual stop requests with a shorter graceperiod"},
		{"stop", kubevirtv1.RunStrategyHalted, kubevirtv1.Running, &short, "Stop vmi"},
		{"restart", kubevirtv1.RunStrategyAlways, kubevirtv1.Running, nil, "Stop vmi,Start"},
		{"restart", kubevirtv1.RunStrategyManual, kubevirtv1.Failed, nil, "Stop vmi,Start"},
		{"restart", kubevirtv1.RunStrategyAlways, "-", nil, "VM is not running: Halted"},
		{"restart", kubevirtv1.RunStrategyHalted, kubevirtv1.Running, nil, "RunStategy Halted does not support manual restart requests"},
		{"restart", kubevirtv1.RunStrategyOnce, kubevirtv1.Running, nil, "RunStategy Once does not support manual restart requests"},
	} {
		var vmi *kubevirtv1.VirtualMachineInstance
		if test.phase != "-" {
			vmi = instanceX(test.phase)
		}
		var got change
		var err error
		switch test.action {
		case "start":
			got, err = planStart(nil, vmi, test.strategy)
		case "stop":
			got, err = planStop(vmi, test.strategy, test.grace)
		case "restart":
			got, err = planRestart(vmi, test.strategy)
		}
		if text := describe(got, err); text != test.want {
			t.Errorf("%s of %s with an instance %q: %s, want %s", test.action, test.strategy, test.phase, text, test.want)
		}
	}
}

func describe(c change, err error) string {
	if err != nil {
		return err.Error()
	}
	if c.strategy != "" {
		return string(c.strategy)
	}
	var texts []string
	for _, r := range c.requests {
		text := string(r.Action)
		if r.UID != nil {
			text += " " + string(*r.UID)
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ",")
}

// TestAnswers holds what callers are told.
func TestAnswers(t *testing.T) {
	underway := machineX(kubevirtv1.RunStrategyManual)
	underway.Status.StateChangeRequests = []kubevirtv1.VirtualMachineStateChangeRequest{startRequest()}
	for name, test := range map[string]struct {
		objects  []client.Object
		path     string
		body     string
		code     int
		contains string
	}{
		"accepted":        {[]client.Object{machineX(kubevirtv1.RunStrategyHalted)}, "start", "", http.StatusAccepted, ""},
		"body as YAML":    {[]client.Object{machineX(kubevirtv1.RunStrategyHalted)}, "start", "dryRun: [All]", http.StatusAccepted, ""},
		"no machine":      {nil, "start", "", http.StatusNotFound, `virtualmachine.kubevirt.io \"x\" not found`},
		"conflict":        {[]client.Object{machineX(kubevirtv1.RunStrategyAlways), instanceX(kubevirtv1.Running)}, "start", "{}", http.StatusConflict, "VM is already running"},
		"underway":        {[]client.Object{underway}, "start", "{}", http.StatusInternalServerError, "stop/start already underway"},
		"not an object":   {[]client.Object{machineX(kubevirtv1.RunStrategyHalted)}, "start", "[1]", http.StatusBadRequest, "Can not unmarshal Request body to struct"},
		"too much":        {[]client.Object{machineX(kubevirtv1.RunStrategyHalted)}, "start", `{"dryRun":["` + strings.Repeat("x", bodyBytes) + `"]}`, http.StatusRequestEntityTooLarge, "limit is"},
		"dry run of what": {[]client.Object{machineX(kubevirtv1.RunStrategyHalted)}, "start", `{"dryRun":["Some"]}`, http.StatusBadRequest, "invalid dryRun value"},
		"paused":          {[]client.Object{machineX(kubevirtv1.RunStrategyHalted)}, "start", `{"paused":true}`, http.StatusNotImplemented, "cannot start a VM paused"},
		"negative grace":  {[]client.Object{machineX(kubevirtv1.RunStrategyAlways)}, "stop", `{"gracePeriod":-1}`, http.StatusBadRequest, "greater or equal to 0"},
		"restart grace":   {[]client.Object{machineX(kubevirtv1.RunStrategyAlways)}, "restart", `{"gracePeriodSeconds":5}`, http.StatusBadRequest, "only gracePeriod=0"},
		"refused":         {[]client.Object{machineX(kubevirtv1.RunStrategyAlways)}, "migrate", "", http.StatusNotImplemented, "virtualmachines/migrate: vmseed does not migrate"},
		"unknown":         {nil, "fly", "", http.StatusNotFound, "could not find the requested resource"},
	} {
		t.Run(name, func(t *testing.T) {
			h := serve(t, Options{}, interceptor.Funcs{}, test.objects...)
			response, body := h.do(t, "owner", http.MethodPut, url(machines, test.path), test.body)
			if response.StatusCode != test.code || !strings.Contains(body, test.contains) {
				t.Fatalf("%d %s, want %d and %q", response.StatusCode, body, test.code, test.contains)
			}
			if test.code == http.StatusAccepted {
				return
			}
			var status metav1.Status
			if err := json.Unmarshal([]byte(body), &status); err != nil || status.Kind != "Status" || int(status.Code) != test.code || status.Reason == "" {
				t.Errorf("no Status: %v %s", err, body)
			}
		})
	}
	h := serve(t, Options{}, interceptor.Funcs{})
	if response, _ := h.do(t, "owner", http.MethodGet, url(machines, "start"), ""); response.StatusCode != http.StatusMethodNotAllowed || response.Header.Get("Allow") != "PUT" {
		t.Errorf("GET of start: %d, Allow %q", response.StatusCode, response.Header.Get("Allow"))
	}
}

// TestChanges holds what is written: the strategy in the field that the machine uses, requests with the failures of before
// forgotten, and nothing in a dry run.
func TestChanges(t *testing.T) {
	off := false
	old := machineX("")
	old.Spec.RunStrategy, old.Spec.Running = nil, &off
	failing := machineX(kubevirtv1.RunStrategyRerunOnFailure)
	failing.Status.StartFailure = &kubevirtv1.VirtualMachineStartFailure{ConsecutiveFailCount: 3}
	impatient := machineX(kubevirtv1.RunStrategyManual)
	impatient.Status.StateChangeRequests = []kubevirtv1.VirtualMachineStateChangeRequest{stopRequest("vmi"), startRequest()}
	for name, test := range map[string]struct {
		objects    []client.Object
		path, body string
		holds      func(*kubevirtv1.VirtualMachine, *kubevirtv1.VirtualMachineInstance) bool
	}{
		"running": {[]client.Object{old}, "start", "", func(vm *kubevirtv1.VirtualMachine, _ *kubevirtv1.VirtualMachineInstance) bool {
			return *vm.Spec.Running && vm.Spec.RunStrategy == nil
		}},
		"failures": {[]client.Object{failing}, "start", "", func(vm *kubevirtv1.VirtualMachine, _ *kubevirtv1.VirtualMachineInstance) bool {
			return vm.Status.StartFailure == nil && len(vm.Status.StateChangeRequests) == 1 && vm.Status.Created
		}},
		"a stop goes first": {[]client.Object{impatient, instanceX(kubevirtv1.Running)}, "stop", "", func(vm *kubevirtv1.VirtualMachine, _ *kubevirtv1.VirtualMachineInstance) bool {
			return len(vm.Status.StateChangeRequests) == 1 && *vm.Status.StateChangeRequests[0].UID == "vmi"
		}},
		"grace": {[]client.Object{machineX(kubevirtv1.RunStrategyAlways), instanceX(kubevirtv1.Running)}, "stop", `{"gracePeriod":0}`, func(vm *kubevirtv1.VirtualMachine, vmi *kubevirtv1.VirtualMachineInstance) bool {
			return *vmi.Spec.TerminationGracePeriodSeconds == 0 && *vm.Spec.RunStrategy == kubevirtv1.RunStrategyHalted
		}},
		"dry run": {[]client.Object{machineX(kubevirtv1.RunStrategyAlways), instanceX(kubevirtv1.Running)}, "stop", `{"gracePeriod":0,"dryRun":["All"]}`, func(vm *kubevirtv1.VirtualMachine, vmi *kubevirtv1.VirtualMachineInstance) bool {
			return *vmi.Spec.TerminationGracePeriodSeconds == 180 && *vm.Spec.RunStrategy == kubevirtv1.RunStrategyAlways
		}},
		"refused stop leaves the grace": {[]client.Object{machineX(kubevirtv1.RunStrategyHalted), instanceX(kubevirtv1.Running)}, "stop", `{"gracePeriod":600}`, func(_ *kubevirtv1.VirtualMachine, vmi *kubevirtv1.VirtualMachineInstance) bool {
			return *vmi.Spec.TerminationGracePeriodSeconds == 180
		}},
	} {
		t.Run(name, func(t *testing.T) {
			h := serve(t, Options{}, interceptor.Funcs{}, test.objects...)
			response, body := h.do(t, "owner", http.MethodPut, url(machines, test.path), test.body)
			vm, vmi := &kubevirtv1.VirtualMachine{}, &kubevirtv1.VirtualMachineInstance{}
			key := client.ObjectKey{Namespace: "ns", Name: "x"}
			check(t, h.objects.Get(t.Context(), key, vm))
			check(t, client.IgnoreNotFound(h.objects.Get(t.Context(), key, vmi)))
			if !test.holds(vm, vmi) {
				t.Errorf("%d %s: %+v %+v", response.StatusCode, body, vm.Spec, vm.Status)
			}
		})
	}
}

// TestRestartByForce deletes the launcher pod, and only one that the instance owns.
func TestRestartByForce(t *testing.T) {
	for owner, gone := range map[string]bool{"vmi": true, "another": false} {
		h := serve(t, Options{}, interceptor.Funcs{}, machineX(kubevirtv1.RunStrategyAlways), instanceX(kubevirtv1.Running), launcherX(instanceX("").UID))
		if owner != "vmi" {
			h = serve(t, Options{}, interceptor.Funcs{}, machineX(kubevirtv1.RunStrategyAlways), instanceX(kubevirtv1.Running), launcherX("another"))
		}
		response, body := h.do(t, "owner", http.MethodPut, url(machines, "restart"), `{"gracePeriodSeconds":0}`)
		if response.StatusCode != http.StatusAccepted {
			t.Fatalf("%d %s", response.StatusCode, body)
		}
		err := h.objects.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "virt-launcher-x"}, &corev1.Pod{})
		if apierrors.IsNotFound(err) != gone {
			t.Errorf("a pod that %s owns: %v, want it gone: %v", owner, err, gone)
		}
	}
}

// TestRaces has somebody else change the machine between read and write: what is asked is decided anew.
func TestRaces(t *testing.T) {
	var times atomic.Int32
	var h *harness
	h = serve(t, Options{}, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if times.Add(1) == 1 {
				other := &kubevirtv1.VirtualMachine{}
				if err := c.Get(ctx, client.ObjectKeyFromObject(o), other); err != nil {
					return err
				}
				always := kubevirtv1.RunStrategyAlways
				other.Spec.RunStrategy = &always
				if err := c.Update(ctx, other); err != nil {
					return err
				}
			}
			return c.Patch(ctx, o, p, opts...)
		},
	}, machineX(kubevirtv1.RunStrategyHalted))
	response, body := h.do(t, "owner", http.MethodPut, url(machines, "start"), "")
	if response.StatusCode != http.StatusConflict || !strings.Contains(body, "Always does not support manual start requests") {
		t.Errorf("%d %s", response.StatusCode, body)
	}
}

// TestControllersTrouble tells a caller who may do something that the server may not, as an error of the server.
func TestControllersTrouble(t *testing.T) {
	h := serve(t, Options{}, interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return apierrors.NewForbidden(groupResource("virtualmachines"), "x", errors.New("no rights"))
		},
	})
	if response, body := h.do(t, "owner", http.MethodPut, url(machines, "start"), ""); response.StatusCode != http.StatusInternalServerError {
		t.Errorf("%d %s", response.StatusCode, body)
	}
}

// TestOvertakenStop has the machine's status change when the grace period of its instance is already shortened: the stop
// is asked for all the same.
func TestOvertakenStop(t *testing.T) {
	var times atomic.Int32
	h := serve(t, Options{}, interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			if times.Add(1) == 1 {
				return apierrors.NewConflict(groupResource("virtualmachines"), "x", errors.New("it has changed"))
			}
			return c.SubResource(sub).Patch(ctx, o, p, opts...)
		},
	}, machineX(kubevirtv1.RunStrategyHalted), instanceX(kubevirtv1.Running))
	response, body := h.do(t, "owner", http.MethodPut, url(machines, "stop"), `{"gracePeriod":0}`)
	vm := &kubevirtv1.VirtualMachine{}
	check(t, h.objects.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "x"}, vm))
	if response.StatusCode != http.StatusAccepted || len(vm.Status.StateChangeRequests) != 1 || times.Load() != 2 {
		t.Errorf("%d %s: %+v after %d tries", response.StatusCode, body, vm.Status, times.Load())
	}
}

// TestLauncher has somebody make a pod that says it is an instance's, before its own in every list: the one that the
// instance's status names is taken, and no other.
func TestLauncher(t *testing.T) {
	bait := launcherX("vmi")
	bait.Name, bait.UID = "a-bait", "bait"
	for want, objects := range map[string][]client.Object{"virt-launcher-x": {bait, launcherX("vmi")}, "": {bait}} {
		h := serve(t, Options{}, interceptor.Funcs{}, objects...)
		pod, err := h.launcher(t.Context(), instanceX(kubevirtv1.Running))
		check(t, err)
		got := ""
		if pod != nil {
			got = pod.Name
		}
		if got != want {
			t.Errorf("the launcher is %q, want %q", got, want)
		}
	}
}
