package provider

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/vmseed/vmseed/internal/supervisor"
	"github.com/vmseed/vmseed/kube/launch"
	"github.com/vmseed/vmseed/report"
)

// The pauses before something is tried again that ought to work.
const (
	retryFirst = time.Second
	retryMost  = 30 * time.Second
)

// follow watches a VM that runs until it has ended, or the provider is closed.
func (v *vm) follow(ctx context.Context, guest Guest) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	switch rec := v.look(); { // what was asked while the guest was not there to hear it, or by an earlier process
	case !rec.Run.Asked.IsZero():
		v.end(guest)
	case rec.Leaving:
		v.ask(forDeletion, rec.Parting, "")
	case rec.Over != nil:
		v.ask(forDeadline, v.grace(), "")
	}
	v.p.background(func() { v.greet(ctx, guest) })
	v.p.background(func() { v.patience(ctx) })
	v.p.background(func() { v.progressive(ctx) })
	v.p.background(func() { v.probe(ctx, guest) })
	since := 0
	for tries := 0; ; {
		err := guest.Events(ctx, since, func(e supervisor.Event) error {
			since, tries = e.Sequence, 0
			v.observe(e)
			return nil
		})
		if ctx.Err() != nil {
			return
		}
		s, stateErr := guest.State(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(stateErr, fs.ErrNotExist):
			v.vanished(true)
			v.parted()
			return
		case stateErr == nil && !s.Status.Alive():
			v.ended(s)
			v.parted()
			return
		}
		if err = errors.Join(err, stateErr); err == nil {
			continue // another supervisor came between the two calls
		}
		v.p.log.Warn("a supervisor does not answer", "pod", v.ref, "error", err)
		v.change(func() { v.now.unsure = "the VM's supervisor does not answer: " + err.Error() })
		for away := true; away; {
			tries++
			if !v.p.sleep(ctx, doubled(retryFirst, retryMost, tries-1)) {
				return
			}
			switch s, err := guest.State(ctx); {
			case err == nil && s.Status.Alive():
				v.change(func() { v.now.unsure = "" })
				away = false
			case err == nil, errors.Is(err, fs.ErrNotExist):
				away = false // the run has ended
			}
		}
	}
}

// parted tells that a run is over, unless that was the node's doing and told with its cause.
func (v *vm) parted() {
	run := v.look().Run
	end := run.Ended
	switch {
	case end.ExitCode == exitOK:
		v.event(corev1.EventTypeNormal, ReasonCompleted, "The guest shut down")
	case run.Purpose != forFirstBoot:
		v.event(corev1.EventTypeWarning, end.Reason, "The VM ended: "+end.Message)
	}
}

// observe takes in an event of the supervisor. Those that an earlier process has told of change what is known and are not
// told again.
func (v *vm) observe(e supervisor.Event) {
	v.mutex.Lock()
	fresh := e.Sequence > v.rec.Run.Sequence
	v.mutex.Unlock()
	switch {
	case e.Status == supervisor.Running:
		v.goesOn(e.Time, fresh)
	case e.Status == supervisor.Paused:
		v.stands(e.Reason, fresh)
	case e.Report != nil && !e.Report.Stage.Ended():
		v.passes(*e.Report)
		return
	case !fresh:
		return
	case e.Report != nil:
		v.hear(e.Sequence, *e.Report)
		return
	case e.Condition != nil:
		kind, text := corev1.EventTypeNormal, "The guest agent has set the credentials"
		if !e.Condition.Status {
			kind, text = corev1.EventTypeWarning, e.Condition.Message
		}
		v.event(kind, e.Condition.Type, text)
	case e.Note != "":
		v.event(corev1.EventTypeNormal, "Note", e.Note)
	default:
		return
	}
	if fresh {
		_ = v.remember(func() { v.rec.Run.Sequence = e.Sequence })
	}
}

// goesOn takes in that the guest's processors run.
func (v *vm) goesOn(since time.Time, fresh bool) {
	stood := false
	v.change(func() {
		if stood = v.now.paused != ""; stood {
			v.now.resumed = since
		}
		v.now.paused, v.now.byUser = "", false
	})
	if stood && fresh {
		v.event(corev1.EventTypeNormal, reasonResumed, "The guest's processors go on")
	}
}

// stands takes in that the guest's processors stand still.
func (v *vm) stands(reason string, fresh bool) {
	byUser, kind, text := reason == supervisor.ByUser, corev1.EventTypeWarning, "the guest's processors were stopped: "+reason
	if byUser {
		kind, text = corev1.EventTypeNormal, "a user has paused the guest"
	}
	v.change(func() { v.now.paused, v.now.byUser = text, byUser })
	if fresh {
		v.event(kind, reasonPaused, strings.ToUpper(text[:1])+text[1:])
	}
}

// hear takes in the guest's final word on a boot.
func (v *vm) hear(sequence int, r report.Event) {
	ok, reasons := report.Judge(r, v.failsOn())
	if r.Result != nil && !r.Result.FirstBoot {
		_ = v.remember(func() {
			v.rec.Run.Up, v.rec.Run.Sequence = true, sequence
			if boot := &v.rec.FirstBoot; ok && boot.Stage == bootFailed {
				boot.Stage, boot.Message, boot.At = bootDone, clip("a later boot went well; before, "+boot.Message, maxMessage), r.Time
			}
		})
		return
	}
	boot := firstBoot{Stage: bootDone, At: r.Time}
	_, warnings := report.Judge(r, report.FailOnWarning)
	switch {
	case !ok:
		boot.Stage, boot.Message = bootFailed, clip("the first boot failed: "+strings.Join(reasons, "; "), maxMessage)
	case len(warnings) > 0:
		boot.Message = clip("the first boot is done, with warnings: "+strings.Join(warnings, "; "), maxMessage)
	}
	_ = v.remember(func() {
		v.rec.Run.Up, v.rec.Run.Sequence, v.rec.FirstBoot = true, sequence, boot
		v.rec.Booted = r.Stage == report.Done
	})
	if ok {
		if boot.Message != "" {
			v.event(corev1.EventTypeWarning, reasonWarned, boot.Message)
		}
		v.event(corev1.EventTypeNormal, reasonDone, "The guest's first boot is done")
		return
	}
	v.event(corev1.EventTypeWarning, ReasonFirstBoot, boot.Message)
	v.mutex.Lock()
	fail := failsFirstBoot(v.pod)
	v.mutex.Unlock()
	if fail {
		v.ask(forFirstBoot, v.grace(), boot.Message)
	}
}

// failsOn is what makes a first boot of the pod a failed one.
func (v *vm) failsOn() report.FailOn {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	if wish := v.pod.Annotations[FailOnAnnotation]; wish != "" {
		if failOn, err := report.ParseFailOn(wish); err == nil {
			return failOn
		}
	}
	return v.p.options.FailOn
}

// The values of FailureAnnotation.
const (
	failureFail = "Fail"
	failureKeep = "Keep"
)

// failsFirstBoot reports whether a failed first boot ends the VM.
func failsFirstBoot(pod *corev1.Pod) bool {
	switch pod.Annotations[FailureAnnotation] {
	case failureFail:
		return true
	case failureKeep:
		return false
	}
	return pod.Spec.RestartPolicy == corev1.RestartPolicyNever && !isLauncher(pod)
}

// isLauncher reports whether a pod stands for a VirtualMachineInstance.
func isLauncher(pod *corev1.Pod) bool { return pod.Labels[launch.RoleLabel] == launch.Role }

// greet waits for the guest agent.
func (v *vm) greet(ctx context.Context, guest Guest) {
	g, ok := guest.(Greeter)
	if !ok || g.AwaitAgent(ctx) != nil {
		return // the run has ended
	}
	system := osOf(ctx, guest)
	v.change(func() { v.now.agent, v.now.system = true, system })
}

// patience ends the waiting for the word of a guest that says nothing.
func (v *vm) patience(ctx context.Context) {
	v.mutex.Lock()
	limit := v.p.options.FirstBootTimeout
	if d, err := time.ParseDuration(v.pod.Annotations[TimeoutAnnotation]); err == nil && d >= 0 {
		limit = d
	}
	v.mutex.Unlock()
	// What a guest said to an earlier process is heard again within a moment.
	for left := max(v.left(limit), min(limit, progressFirst)); left > 0; left = v.left(limit) {
		if !v.p.sleep(ctx, left) {
			return
		}
	}
	if ctx.Err() != nil || v.look().Run.Up {
		return
	}
	silence := ""
	_ = v.remember(func() {
		v.rec.Run.Up = true
		if v.rec.FirstBoot.ended() {
			return
		}
		silence = "said nothing about its first boot within " + limit.String()
		if v.booting.stage != "" {
			silence = "said nothing more about its first boot for " + limit.String()
		}
		v.rec.FirstBoot = firstBoot{Stage: bootSilent, Message: "the guest " + silence, At: time.Now()}
	})
	if silence != "" && limit > 0 {
		v.event(corev1.EventTypeWarning, reasonSilent, "The guest "+silence+" and is taken to be up")
	}
}

// left is how long the guest may be silent from now on. One that stands still can say nothing.
func (v *vm) left(limit time.Duration) time.Duration {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	if v.now.paused != "" {
		return limit
	}
	last := v.rec.Run.Since
	for _, later := range []time.Time{v.booting.at, v.now.resumed} {
		if later.After(last) {
			last = later
		}
	}
	return time.Until(last.Add(limit))
}
