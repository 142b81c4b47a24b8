package subresources

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/util/retry"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The messages by which clients of KubeVirt know why something was refused.
const (
	machineRunning  = "VM is already running"
	machineStopped  = "VM is not running"
	instanceStopped = "VMI is not running"
	underway        = "unable to complete request: stop/start already underway"
)

// change is what a request does to a VirtualMachine: one of the two.
type change struct {
	strategy kubevirtv1.VirtualMachineRunStrategy
	requests []kubevirtv1.VirtualMachineStateChangeRequest
}

func startRequest() kubevirtv1.VirtualMachineStateChangeRequest {
	return kubevirtv1.VirtualMachineStateChangeRequest{Action: kubevirtv1.StartRequest}
}

func stopRequest(of types.UID) kubevirtv1.VirtualMachineStateChangeRequest {
	return kubevirtv1.VirtualMachineStateChangeRequest{Action: kubevirtv1.StopRequest, UID: &of}
}

// startMachine answers PUT virtualmachines/NAME/start.
func (s *Server) startMachine(w http.ResponseWriter, r *http.Request, t target) *apierrors.StatusError {
	var options kubevirtv1.StartOptions
	if failure := readBody(r, &options); failure != nil {
		return failure
	}
	if options.Paused {
		return refusal(t, "nodes of vmseed cannot start a VM paused")
	}
	return s.changeMachine(w, r, t, options.DryRun, planStart)
}

// planStart says how a VirtualMachine is started: a halted one by its run strategy, those whose strategy leaves starts to
// requests by a request.
func planStart(vm *kubevirtv1.VirtualMachine, vmi *kubevirtv1.VirtualMachineInstance, strategy kubevirtv1.VirtualMachineRunStrategy) (change, error) {
	if vmi != nil && !vmi.IsFinal() && vmi.Status.Phase != kubevirtv1.Unknown && vmi.Status.Phase != kubevirtv1.VmPhaseUnset {
		return change{}, errors.New(machineRunning)
	}
	switch strategy {
	case kubevirtv1.RunStrategyHalted:
		return change{strategy: kubevirtv1.RunStrategyAlways}, nil
	case kubevirtv1.RunStrategyManual, kubevirtv1.RunStrategyRerunOnFailure:
		if strategy == kubevirtv1.RunStrategyRerunOnFailure && vmi != nil && vmi.Status.Phase == kubevirtv1.Failed {
			return change{}, fmt.Errorf("%s does not support starting VM from failed state", strategy)
		}
		if vmi != nil && vmi.IsFinal() {
			return change{requests: []kubevirtv1.VirtualMachineStateChangeRequest{stopRequest(vmi.UID), startRequest()}}, nil
		}
		return change{requests: []kubevirtv1.VirtualMachineStateChangeRequest{startRequest()}}, nil
	}
	return change{}, fmt.Errorf("%s does not support manual start requests", strategy)
}

// stopMachine answers PUT virtualmachines/NAME/stop.
func (s *Server) stopMachine(w http.ResponseWriter, r *http.Request, t target) *apierrors.StatusError {
	var options kubevirtv1.StopOptions
	if failure := readBody(r, &options); failure != nil {
		return failure
	}
	if options.GracePeriod != nil && *options.GracePeriod < 0 {
		return apierrors.NewBadRequest("gracePeriod has to be greater or equal to 0")
	}
	shortened := types.UID("")
	return s.changeMachine(w, r, t, options.DryRun, func(_ *kubevirtv1.VirtualMachine, vmi *kubevirtv1.VirtualMachineInstance, strategy kubevirtv1.VirtualMachineRunStrategy) (change, error) {
		if vmi != nil && vmi.UID == shortened {
			// An earlier try was overtaken after this; the machine itself is still to be changed.
			vmi.Spec.TerminationGracePeriodSeconds = nil
			return planStop(vmi, strategy, options.GracePeriod)
		}
		out, err := planStop(vmi, strategy, options.GracePeriod)
		if err == nil && options.GracePeriod != nil && vmi != nil && !vmi.IsFinal() {
			if err = s.shortenGrace(r.Context(), vmi, *options.GracePeriod, options.DryRun); err == nil {
				shortened = vmi.UID
			}
		}
		return out, err
	})
}

// planStop says how a VirtualMachine is stopped. One that is halted already stops sooner if the grace period is shorter
// than the one it was given.
func planStop(vmi *kubevirtv1.VirtualMachineInstance, strategy kubevirtv1.VirtualMachineRunStrategy, grace *int64) (change, error) {
	switch strategy {
	case kubevirtv1.RunStrategyAlways, kubevirtv1.RunStrategyOnce:
		return change{strategy: kubevirtv1.RunStrategyHalted}, nil
	case kubevirtv1.RunStrategyHalted, kubevirtv1.RunStrategyManual, kubevirtv1.RunStrategyRerunOnFailure:
		if vmi == nil || vmi.IsFinal() {
			return change{}, errors.New(machineStopped)
		}
		if had := vmi.Spec.TerminationGracePeriodSeconds; strategy == kubevirtv1.RunStrategyHalted && (grace == nil || had != nil && *grace >= *had) {
			return change{}, fmt.Errorf("%s only supports manual stop requests with a shorter graceperiod", strategy)
		}
		return change{requests: []kubevirtv1.VirtualMachineStateChangeRequest{stopRequest(vmi.UID)}}, nil
	}
	return change{}, fmt.Errorf("%s does not support manual stop requests", strategy)
}

// shortenGrace gives an instance another grace period for its end.
func (s *Server) shortenGrace(ctx context.Context, vmi *kubevirtv1.VirtualMachineInstance, seconds int64, dryRun []string) error {
	before := vmi.DeepCopy()
	vmi.Spec.TerminationGracePeriodSeconds = &seconds
	return s.objects.Patch(ctx, vmi, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), &client.PatchOptions{DryRun: dryRun})
}

// restartMachine answers PUT virtualmachines/NAME/restart.
func (s *Server) restartMachine(w http.ResponseWriter, r *http.Request, t target) *apierrors.StatusError {
	var options kubevirtv1.RestartOptions
	if failure := readBody(r, &options); failure != nil {
		return failure
	}
	if grace := options.GracePeriodSeconds; grace != nil && *grace > 0 {
		return apierrors.NewBadRequest("For force restart, only gracePeriod=0 is supported for now")
	} else if grace != nil && *grace < 0 {
		return apierrors.NewBadRequest("gracePeriod has to be greater or equal to 0")
	}
	var running *kubevirtv1.VirtualMachineInstance
	return s.changeMachineThen(w, r, t, options.DryRun, func(_ *kubevirtv1.VirtualMachine, vmi *kubevirtv1.VirtualMachineInstance, strategy kubevirtv1.VirtualMachineRunStrategy) (change, error) {
		running = vmi
		return planRestart(vmi, strategy)
	}, func(ctx context.Context) error {
		if options.GracePeriodSeconds == nil || len(options.DryRun) > 0 {
			return nil
		}
		// Instances have no grace period for deletion, so the pod goes first; a second is the least that it can be given.
		pod, err := s.launcher(ctx, running)
		if err != nil || pod == nil {
			return err
		}
		return client.IgnoreNotFound(s.objects.Delete(ctx, pod, client.GracePeriodSeconds(1), client.Preconditions{UID: &pod.UID}))
	})
}

// planRestart says how a VirtualMachine is restarted: the instance of now is stopped, and then another one started.
func planRestart(vmi *kubevirtv1.VirtualMachineInstance, strategy kubevirtv1.VirtualMachineRunStrategy) (change, error) {
	switch {
	case strategy == kubevirtv1.RunStrategyHalted, strategy == kubevirtv1.RunStrategyOnce:
		// The spelling is KubeVirt's.
		return change{}, fmt.Errorf("RunStategy %s does not support manual restart requests", strategy)
	case vmi == nil:
		return change{}, errors.New(machineStopped + ": " + string(kubevirtv1.RunStrategyHalted))
	}
	return change{requests: []kubevirtv1.VirtualMachineStateChangeRequest{stopRequest(vmi.UID), startRequest()}}, nil
}

type planner func(*kubevirtv1.VirtualMachine, *kubevirtv1.VirtualMachineInstance, kubevirtv1.VirtualMachineRunStrategy) (change, error)

func (s *Server) changeMachine(w http.ResponseWriter, r *http.Request, t target, dryRun []string, plan planner) *apierrors.StatusError {
	return s.changeMachineThen(w, r, t, dryRun, plan, func(context.Context) error { return nil })
}

// changeMachineThen plans a change on the objects as they are and applies it if they still are so, else plans again. The
// answer to success is 202: the controller does the rest.
func (s *Server) changeMachineThen(w http.ResponseWriter, r *http.Request, t target, dryRun []string, plan planner, then func(context.Context) error) *apierrors.StatusError {
	if failure := checkDryRun(dryRun); failure != nil {
		return failure
	}
	ctx := r.Context()
	var refused *apierrors.StatusError
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		refused = nil
		vm, failure := s.machine(ctx, t)
		if failure != nil {
			refused = failure
			return nil
		}
		vmi, failure := s.instance(ctx, t)
		if failure != nil && !apierrors.IsNotFound(failure) {
			refused = failure
			return nil
		}
		strategy, err := vm.RunStrategy()
		if err != nil {
			return err
		}
		planned, err := plan(vm, vmi, strategy)
		if status := apierrors.APIStatus(nil); err != nil && !errors.As(err, &status) {
			refused = conflict(t, err.Error())
			return nil
		} else if err != nil {
			return err
		}
		return s.apply(ctx, vm, planned, dryRun)
	})
	if err == nil && refused == nil {
		err = then(ctx)
	}
	switch {
	case refused != nil:
		return refused
	case err != nil:
		return s.failed(t, err)
	}
	w.WriteHeader(http.StatusAccepted)
	return nil
}

// apply patches a VirtualMachine that has not changed since it was read; otherwise the error is a conflict.
func (s *Server) apply(ctx context.Context, vm *kubevirtv1.VirtualMachine, c change, dryRun []string) error {
	before := vm.DeepCopy()
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if c.strategy != "" {
		if vm.Spec.RunStrategy != nil {
			vm.Spec.RunStrategy = &c.strategy
		} else {
			on := c.strategy == kubevirtv1.RunStrategyAlways
			vm.Spec.Running = &on
		}
		return s.objects.Patch(ctx, vm, patch, &client.PatchOptions{DryRun: dryRun})
	}
	// A stop goes before whatever is asked for; anything else waits until it is done.
	stops := len(c.requests) == 1 && c.requests[0].Action == kubevirtv1.StopRequest
	if len(vm.Status.StateChangeRequests) > 0 && !stops {
		return apierrors.NewInternalError(errors.New(underway))
	}
	vm.Status.StateChangeRequests = c.requests
	vm.Status.StartFailure = nil
	return s.objects.Status().Patch(ctx, vm, patch, &client.SubResourcePatchOptions{PatchOptions: client.PatchOptions{DryRun: dryRun}})
}

// machine reads the VirtualMachine of a request.
func (s *Server) machine(ctx context.Context, t target) (*kubevirtv1.VirtualMachine, *apierrors.StatusError) {
	vm := &kubevirtv1.VirtualMachine{}
	if err := s.objects.Get(ctx, client.ObjectKey{Namespace: t.namespace, Name: t.name}, vm); apierrors.IsNotFound(err) {
		return nil, apierrors.NewNotFound(groupResource("virtualmachine"), t.name)
	} else if err != nil {
		return nil, s.failed(t, err)
	}
	return vm, nil
}

// instance reads the VirtualMachineInstance of a request.
func (s *Server) instance(ctx context.Context, t target) (*kubevirtv1.VirtualMachineInstance, *apierrors.StatusError) {
	vmi := &kubevirtv1.VirtualMachineInstance{}
	if err := s.objects.Get(ctx, client.ObjectKey{Namespace: t.namespace, Name: t.name}, vmi); apierrors.IsNotFound(err) {
		return nil, apierrors.NewNotFound(groupResource("virtualmachineinstance"), t.name)
	} else if err != nil {
		return nil, s.failed(t, err)
	}
	return vmi, nil
}

// launcher returns the pod that runs an instance, or nil.
func (s *Server) launcher(ctx context.Context, vmi *kubevirtv1.VirtualMachineInstance) (*corev1.Pod, error) {
	var pods corev1.PodList
	err := s.objects.List(ctx, &pods, client.InNamespace(vmi.Namespace), client.MatchingLabels{
		kubevirtv1.AppLabel: "virt-launcher", kubevirtv1.CreatedByLabel: string(vmi.UID),
	})
	if err != nil {
		return nil, err
	}
	for i := range pods.Items {
		// Labels and owners are what the maker of a pod says. The instance's status is the controller's word, without which
		// whoever may make pods in the namespace could have other users type into one of theirs.
		p := &pods.Items[i]
		if _, ours := vmi.Status.ActivePods[p.UID]; ours && p.Status.Phase == corev1.PodRunning && metav1.IsControlledBy(p, vmi) {
			return p, nil
		}
	}
	return nil, nil
}

// conflict is the answer when the state of an object does not allow what is asked.
func conflict(t target, why string) *apierrors.StatusError {
	kind := "virtualmachine"
	if t.resource == instances {
		kind = "virtualmachineinstance"
	}
	return apierrors.NewConflict(groupResource(kind), t.name, errors.New(why))
}

// failed turns an error of a client into an answer: what the API server said about the request stays as it is, but its
// refusals are the controller's trouble and not the caller's.
func (s *Server) failed(t target, err error) *apierrors.StatusError {
	s.log.Error("request failed", "resource", t.resource, "namespace", t.namespace, "name", t.name, "subresource", t.path, "error", err)
	var status *apierrors.StatusError
	if errors.As(err, &status) && !apierrors.IsForbidden(err) && !apierrors.IsUnauthorized(err) {
		return status
	}
	return apierrors.NewInternalError(err)
}

// readBody decodes the options of a request, which may be missing.
func readBody(r *http.Request, into any) *apierrors.StatusError {
	err := utilyaml.NewYAMLOrJSONDecoder(r.Body, 1024).Decode(into)
	var tooLarge *http.MaxBytesError
	switch {
	case err == nil, errors.Is(err, io.EOF):
		return nil
	case errors.As(err, &tooLarge):
		return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", tooLarge.Limit))
	}
	return apierrors.NewBadRequest(fmt.Sprintf("Can not unmarshal Request body to struct, error: %s", err))
}

func checkDryRun(values []string) *apierrors.StatusError {
	for _, v := range values {
		if v != metav1.DryRunAll {
			return apierrors.NewBadRequest(fmt.Sprintf("invalid dryRun value: it can only be %q", metav1.DryRunAll))
		}
	}
	return nil
}
