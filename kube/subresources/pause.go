package subresources

import (
	"context"
	"errors"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	kubevirtv1 "kubevirt.io/api/core/v1"
)

// The words that nodes of vmseed take by exec for a VM itself, in the place of a program of its guest.
const (
	PauseCommand   = "vmseed.dev/pause"
	UnpauseCommand = "vmseed.dev/unpause"
	ResetCommand   = "vmseed.dev/reset"
)

// pause answers PUT virtualmachineinstances/NAME/pause. A guest with a liveness probe may be paused as well: the node asks no
// probes of a guest that a user has paused.
func (s *Server) pause(w http.ResponseWriter, r *http.Request, t target) *apierrors.StatusError {
	var options kubevirtv1.PauseOptions
	if failure := readBody(r, &options); failure != nil {
		return failure
	}
	return s.command(w, r, t, PauseCommand, options.DryRun, func(paused bool) string {
		if paused {
			return "VMI is already paused"
		}
		return ""
	})
}

// unpause answers PUT virtualmachineinstances/NAME/unpause.
func (s *Server) unpause(w http.ResponseWriter, r *http.Request, t target) *apierrors.StatusError {
	var options kubevirtv1.UnpauseOptions
	if failure := readBody(r, &options); failure != nil {
		return failure
	}
	return s.command(w, r, t, UnpauseCommand, options.DryRun, func(paused bool) string {
		if !paused {
			return "VMI is not paused"
		}
		return ""
	})
}

// reset answers PUT virtualmachineinstances/NAME/reset: the guest restarts at once, in the same VM.
func (s *Server) reset(w http.ResponseWriter, r *http.Request, t target) *apierrors.StatusError {
	return s.command(w, r, t, ResetCommand, nil, func(bool) string { return "" })
}

// command has the node of an instance that runs do something to its VM, unless hinders, which is told whether it is paused, says
// why not.
func (s *Server) command(w http.ResponseWriter, r *http.Request, t target, word string, dryRun []string, hinders func(paused bool) string) *apierrors.StatusError {
	if failure := checkDryRun(dryRun); failure != nil {
		return failure
	}
	vmi, failure := s.instance(r.Context(), t)
	if failure != nil {
		return failure
	}
	if vmi.Status.Phase != kubevirtv1.Running {
		return conflict(t, instanceStopped)
	}
	paused := false
	for _, c := range vmi.Status.Conditions {
		paused = paused || c.Type == kubevirtv1.VirtualMachineInstancePaused && c.Status == corev1.ConditionTrue
	}
	if why := hinders(paused); why != "" {
		return conflict(t, why)
	}
	pod, failure := s.runningPod(r.Context(), t, vmi)
	if failure != nil {
		return failure
	}
	if len(dryRun) > 0 {
		w.WriteHeader(http.StatusOK)
		return nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), guestTimeout)
	defer cancel()
	_, err := s.pods.Exec(ctx, pod, word)
	var exit *exitError
	switch {
	case errors.As(err, &exit):
		return apierrors.NewInternalError(errors.New(strings.TrimPrefix(exit.stderr, "vmseed: ")))
	case errors.Is(err, context.DeadlineExceeded):
		return apierrors.NewTimeoutError("the node does not answer", 5)
	case err != nil:
		return s.failed(t, err)
	}
	w.WriteHeader(http.StatusOK)
	return nil
}
