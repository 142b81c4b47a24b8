package controller

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	virtv1 "kubevirt.io/api/core/v1"
)

// action is what is to be done about the instance of a machine.
type action int

// The actions.
const (
	leave action = iota
	start
	stop
)

// situation is all that decides about the instance of a machine.
type situation struct {
	strategy virtv1.VirtualMachineRunStrategy
	// handled is the strategy that was in force before (status.runStrategy), empty before the first start.
	handled virtv1.VirtualMachineRunStrategy
	// exists says that there is an instance, phase and uid are its own, and deleting that it is on its way out.
	exists   bool
	phase    virtv1.VirtualMachineInstancePhase
	uid      types.UID
	deleting bool
	requests []virtv1.VirtualMachineStateChangeRequest
	// backOff is how long the next start has to wait because others failed.
	backOff time.Duration
}

// decision is an action with what goes with it.
type decision struct {
	do action
	// wait is how long to wait before the situation is looked at again; 0 means until it changes.
	wait time.Duration
	// startAgain asks for a start once the instance is gone.
	startAgain bool
	// switchOn says that the machine is to be set to run always, because somebody asked to start one that is halted.
	switchOn bool
}

// asked reports whether the first request asks for a start, or to stop the instance that there is.
func (s situation) asked(what virtv1.StateChangeRequestAction) bool {
	if len(s.requests) == 0 || s.requests[0].Action != what {
		return false
	}
	uid := s.requests[0].UID
	return what == virtv1.StartRequest || uid != nil && *uid == s.uid
}

func (s situation) final() bool { return s.phase == virtv1.Succeeded || s.phase == virtv1.Failed }

// starting is a start that heeds the back-off.
func (s situation) starting() decision {
	if s.backOff > 0 {
		return decision{wait: s.backOff}
	}
	return decision{do: start}
}

// decide follows KubeVirt's table of run strategies.
func (s situation) decide() decision {
	if s.exists && s.deleting {
		return decision{}
	}
	switch s.strategy {
	case virtv1.RunStrategyAlways:
		switch {
		case !s.exists:
			return s.starting()
		case s.final(), s.asked(virtv1.StopRequest):
			return decision{do: stop}
		}
	case virtv1.RunStrategyRerunOnFailure:
		switch {
		case s.exists && (s.final() || s.asked(virtv1.StopRequest)):
			return decision{do: stop, startAgain: s.phase == virtv1.Failed}
		case !s.exists && (s.asked(virtv1.StartRequest) || s.handled != s.strategy):
			return s.starting()
		}
	case virtv1.RunStrategyManual:
		switch {
		case s.exists && s.asked(virtv1.StopRequest):
			return decision{do: stop}
		case !s.exists && s.asked(virtv1.StartRequest):
			return decision{do: start}
		}
	case virtv1.RunStrategyOnce:
		if !s.exists {
			return decision{do: start}
		}
	case virtv1.RunStrategyHalted:
		switch {
		case s.exists:
			return decision{do: stop}
		case s.asked(virtv1.StartRequest):
			return decision{switchOn: true}
		}
	}
	return decision{}
}

// errStrategy is wrapped by errors about machines that do not say when they run.
var errStrategy = errors.New("run strategy")

// strategyOf reads when a machine runs. The words of the errors are KubeVirt's.
func strategyOf(vm *unstructured.Unstructured) (virtv1.VirtualMachineRunStrategy, error) {
	strategy := virtv1.VirtualMachineRunStrategy(text(vm, "spec", "runStrategy"))
	running, stated, err := unstructured.NestedBool(vm.Object, "spec", "running")
	switch {
	case err != nil:
		return "", fmt.Errorf("%w: spec.running is neither true nor false", errStrategy)
	case strategy != "" && stated:
		return "", fmt.Errorf("%w: Running and RunStrategy are mutually exclusive. Note that Running is deprecated, please use RunStrategy instead", errStrategy)
	case stated && running:
		return virtv1.RunStrategyAlways, nil
	case stated:
		return virtv1.RunStrategyHalted, nil
	}
	switch strategy {
	case virtv1.RunStrategyAlways, virtv1.RunStrategyRerunOnFailure, virtv1.RunStrategyManual, virtv1.RunStrategyOnce, virtv1.RunStrategyHalted:
		return strategy, nil
	case "":
		return "", fmt.Errorf("%w: RunStrategy must be specified", errStrategy)
	case virtv1.RunStrategyWaitAsReceiver:
		return "", fmt.Errorf("%w: WaitAsReceiver waits for a migration to arrive, which vmseed does not do", errStrategy)
	}
	return "", fmt.Errorf("%w: Invalid RunStrategy (%s)", errStrategy, strategy)
}

// The back-off of machines whose instances fail before they run: ten seconds times the square of the number of failures, up to
// half of it more by chance, and never more than five minutes (KubeVirt's numbers).
const (
	backOffUnit = 10 * time.Second
	backOffCap  = 300 * time.Second
)

// backOff is how long a start has to wait after a number of failures. chance is from 0 up to 1.
func backOff(failures int, chance float64) time.Duration {
	failures = min(max(failures, 1), 10) // the cap is reached at six
	delay := backOffUnit * time.Duration(failures*failures)
	delay += time.Duration(chance * float64(delay/2))
	return min(delay, backOffCap).Truncate(time.Second)
}

// rerun reports whether a strategy starts instances again, so that failures count.
func rerun(s virtv1.VirtualMachineRunStrategy) bool {
	return s == virtv1.RunStrategyAlways || s == virtv1.RunStrategyRerunOnFailure || s == virtv1.RunStrategyOnce
}
