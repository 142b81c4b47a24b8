package provider

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/internal/supervisor"
)

// vm is a pod of this node and its VM. One goroutine, live, takes it from its coming to its going; what others want of it
// they write down and wake that goroutine.
type vm struct {
	p   *Provider
	ref Ref
	// woken holds a token when there is something new for live, dirty when the status may have changed, passed when a guest
	// has got further with its first boot.
	woken, dirty, passed chan struct{}
	// found is closed when it is known what an earlier process left, known when the object of the API is, gone when the VM
	// and its object are.
	found, known, gone chan struct{}
	// writing is held while the status is written.
	writing sync.Mutex

	mutex sync.Mutex
	// pod is the object of the API, with the status that was last written. Unless it is complete, it is what the record has.
	pod      *corev1.Pod
	complete bool
	// version is the resource version of that status, where it is known.
	version string
	rec     record
	now     state
	booting booting
	guest   Guest
	// abort ends the start that is under way.
	abort context.CancelFunc
	// deadline ends a pod that is active for too long.
	deadline *time.Timer
	told     telling
	// forgotten means that the record was removed, and is not to be written any more.
	forgotten bool
}

func (p *Provider) newVM(rec *record) *vm {
	return &vm{p: p, ref: RefOf(rec.Pod), woken: make(chan struct{}, 1), dirty: make(chan struct{}, 1), passed: make(chan struct{}, 1),
		found: make(chan struct{}), known: make(chan struct{}), gone: make(chan struct{}), pod: rec.Pod, rec: *rec}
}

// signal leaves a token in a channel that holds one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// change alters what is known of the VM. Its status is written anew when that has changed.
func (v *vm) change(f func()) {
	v.mutex.Lock()
	f()
	v.mutex.Unlock()
	signal(v.dirty)
}

// remember is change for what a later process must know.
func (v *vm) remember(f func()) error {
	v.mutex.Lock()
	f()
	rec := v.rec
	var err error
	if !v.forgotten {
		err = v.p.save(&rec)
	}
	v.mutex.Unlock()
	signal(v.dirty)
	if err != nil {
		v.p.log.Error("the record of a pod cannot be written", "pod", v.ref, "error", err)
	}
	return err
}

// look returns what is remembered.
func (v *vm) look() record {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	return v.rec
}

// view returns what the status depends on.
func (v *vm) view() view {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	return view{pod: v.pod, rec: v.rec, now: v.now, node: v.p.options.NodeIPs, time: time.Now()}
}

// take takes in the object of the API.
func (v *vm) take(pod *corev1.Pod) {
	_ = v.remember(func() {
		status := pod.Status
		if !v.complete {
			close(v.known)
		} else {
			status = v.pod.Status // what was written last is newer than what the API server told
		}
		v.pod, v.complete = pod.DeepCopy(), true
		v.pod.Status = *status.DeepCopy()
		v.rec.Pod = bare(pod)
		v.arm()
	})
	signal(v.woken)
}

// arm sets the time after which the pod has been active for too long. The caller holds the mutex.
func (v *vm) arm() {
	if v.deadline != nil {
		v.deadline.Stop()
	}
	if seconds := v.pod.Spec.ActiveDeadlineSeconds; seconds != nil {
		at := v.rec.Seen.Add(time.Duration(*seconds) * time.Second)
		v.deadline = time.AfterFunc(time.Until(at), v.late)
	}
}

// late ends a pod whose time is over.
func (v *vm) late() {
	if v.p.ctx.Err() != nil || v.look().Over != nil {
		return
	}
	if v.ask(forDeadline, v.grace(), "") {
		return
	}
	_ = v.remember(func() {
		v.rec.Over = &over{Phase: corev1.PodFailed, Reason: ReasonDeadline, Message: "the pod was active on the node longer than its activeDeadlineSeconds"}
		if v.abort != nil {
			v.abort()
		}
	})
	signal(v.woken)
}

// grace is how long the guest may take to shut down.
func (v *vm) grace() time.Duration {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	if s := v.pod.Spec.TerminationGracePeriodSeconds; s != nil {
		return time.Duration(*s) * time.Second
	}
	return corev1.DefaultTerminationGracePeriodSeconds * time.Second
}

// leave begins the end of the pod on this node: its guest has grace to shut down.
func (v *vm) leave(grace time.Duration) {
	if rec := v.look(); !rec.Leaving || grace < rec.Parting {
		_ = v.remember(func() {
			v.rec.Leaving, v.rec.Parting = true, grace
			if v.abort != nil {
				v.abort()
			}
		})
	}
	v.ask(forDeletion, grace, "")
	signal(v.woken)
}

// ask asks the guest to end, and reports whether there is one. A later wish counts when it leaves the guest less time.
func (v *vm) ask(p purpose, grace time.Duration, message string) bool {
	v.mutex.Lock()
	guest, r, now := v.guest, v.rec.Run, time.Now()
	v.mutex.Unlock()
	if guest == nil || r.Since.IsZero() || r.Ended != nil {
		return false
	}
	if !r.Asked.IsZero() && !now.Add(grace).Before(r.Asked.Add(r.Grace)) && p != forDeletion {
		return true
	}
	_ = v.remember(func() {
		if r := &v.rec.Run; r.Asked.IsZero() {
			r.Asked, r.Grace, r.Purpose, r.Message = now, grace, p, message
		} else {
			r.Grace = min(r.Grace, now.Sub(r.Asked)+grace)
		}
		if p == forDeletion {
			v.rec.Run.Purpose = p // whatever else it is ended for, it does not come back
		}
	})
	v.end(guest)
	return true
}

// stopSlack is how long a guest that was cut off may take to be gone, before it is cut off once more: a supervisor that was
// killed meanwhile has taken the wish with it.
const stopSlack = time.Minute

// end has a guest end in the time that is left to it.
func (v *vm) end(guest Guest) {
	r := v.look().Run
	v.p.background(func() {
		for {
			grace := max(0, time.Until(r.Asked.Add(r.Grace)))
			ctx, cancel := context.WithTimeout(v.p.ctx, grace+stopSlack)
			err := guest.Stop(ctx, grace)
			cancel()
			if err == nil || errors.Is(err, supervisor.ErrNotRunning) || errors.Is(err, supervisor.ErrNoVM) || v.p.ctx.Err() != nil {
				return
			}
			v.p.log.Warn("a guest does not end as asked", "pod", v.ref, "error", err)
			if !v.p.sleep(v.p.ctx, retryFirst) {
				return
			}
		}
	})
}

// live takes the VM through its life. It returns when the VM is gone, or the provider is closed.
func (v *vm) live(ctx context.Context) {
	guest := v.find(ctx)
	close(v.found)
	for ctx.Err() == nil {
		switch rec := v.look(); {
		case guest != nil:
			v.follow(ctx, guest)
			guest = nil
		case rec.Leaving:
			if v.remove(ctx) {
				close(v.gone)
				return
			}
		case rec.Over != nil:
			v.wait(ctx, v.release(ctx))
		default:
			guest = v.start(ctx)
		}
	}
}

// release gives back what a VM that ended for good needs no longer. It returns the pause before it is to be called again, or 0.
func (v *vm) release(ctx context.Context) time.Duration {
	r, ok := v.p.options.Runner.(Releaser)
	if !ok || v.look().Released {
		return 0
	}
	err := r.Release(ctx, v.ref)
	if err == nil {
		err = v.remember(func() { v.rec.Released = true })
	}
	if err != nil {
		v.p.log.Warn("the network of a pod that has ended cannot be given back yet", "pod", v.ref, "error", err)
		return retryMost
	}
	return 0
}

// wait returns when there is something new, when ctx ends, or after a time that is not 0.
func (v *vm) wait(ctx context.Context, most time.Duration) {
	var after <-chan time.Time
	if most > 0 {
		timer := time.NewTimer(most)
		defer timer.Stop()
		after = timer.C
	}
	select {
	case <-v.woken:
	case <-after:
	case <-ctx.Done():
	}
}

// find finds out what became of a VM that an earlier process may have started, and returns it if it runs.
func (v *vm) find(ctx context.Context) Guest {
	for tries := 1; ctx.Err() == nil; tries++ {
		found, s, err := v.meet(ctx)
		rec := v.look()
		active := !rec.Run.Since.IsZero() && rec.Run.Ended == nil
		unseen := s.Started != nil && s.Started.After(rec.Tried) && !rec.Tried.IsZero() && !active
		switch {
		case errors.Is(err, supervisor.ErrNoVM):
			v.vanished(active)
			return nil
		case err != nil:
			v.p.log.Warn("it is not known yet whether a VM runs", "pod", v.ref, "error", err)
			v.change(func() { v.now.unsure = "nobody knows yet whether the VM runs: " + err.Error() })
			v.p.sleep(ctx, doubled(retryFirst, retryMost, tries-1))
			continue
		case s.Status.Alive() && !active, unseen:
			v.began(found, s)
			if s.Status.Alive() {
				return found.Guest
			}
			v.ended(s)
			return nil
		case s.Status.Alive():
			v.change(func() { v.guest, v.now.unsure = found.Guest, "" })
			return found.Guest
		}
		if active {
			v.ended(s)
		}
		return nil
	}
	return nil
}

// vanished takes in that the VM's directory is not there. With it are gone the disks that booted, so the next start is a
// first one.
func (v *vm) vanished(active bool) {
	if active {
		v.ended(supervisor.State{Status: supervisor.Failed, Reason: "the VM's directory is gone"})
	}
	if v.look().Booted {
		_ = v.remember(func() { v.rec.Booted = false })
	}
}

// meet asks the runner for the VM, and the VM for its state.
func (v *vm) meet(ctx context.Context) (Started, supervisor.State, error) {
	found, err := v.p.options.Runner.Find(ctx, v.ref)
	if err != nil {
		return found, supervisor.State{}, err
	}
	s, err := found.Guest.State(ctx)
	return found, s, err
}

// start starts the VM, again and again until it runs. It returns nil when it shall not run, or the provider is closed.
func (v *vm) start(ctx context.Context) Guest {
	var pause time.Duration
	if rec := v.look(); rec.Run.Ended != nil {
		pause = v.crashed(rec)
	}
	for tries := 1; ; tries++ {
		for until := time.Now().Add(pause); ; {
			rec := v.look()
			if ctx.Err() != nil || rec.Leaving || rec.Over != nil {
				return nil
			}
			v.mutex.Lock()
			complete := v.complete
			v.mutex.Unlock()
			left := time.Until(until)
			if complete && (left <= 0 || v.renewed()) {
				break
			}
			v.wait(ctx, max(left, 0))
		}
		guest, reason := v.try(ctx)
		if guest != nil || reason == "" {
			return guest
		}
		pause = retryPause(reason, tries)
	}
}

// renewed reports whether the object has changed since the last try, which may have mended what was wrong.
func (v *vm) renewed() bool {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	return v.told.pod != nil && v.told.pod != v.pod && v.now.reason != ReasonCrashLoop
}

// crashed tells of the pause before a VM that ended is started again, and returns it.
func (v *vm) crashed(rec record) time.Duration {
	pause := backoff(rec.Crashes)
	if at := rec.Run.Ended.FinishedAt.Add(pause); pause > 0 {
		v.change(func() {
			v.now.reason, v.now.message = ReasonCrashLoop, "back-off "+pause.String()+" restarting the VM of pod "+v.ref.String()
		})
		v.event(corev1.EventTypeWarning, "BackOff", "Back-off "+pause.String()+" restarting the VM, which ended: "+rec.Run.Ended.Message)
		return time.Until(at)
	}
	return 0
}

// try tries to start the VM once. The reason is why not, for another try; it is empty when there shall be none.
func (v *vm) try(ctx context.Context) (Guest, string) {
	ctx, abort := context.WithCancel(ctx)
	defer abort()
	err := v.remember(func() { v.rec.Tried, v.abort, v.told.pod = time.Now(), abort, v.pod })
	rec := v.look()
	if rec.Leaving || rec.Over != nil { // it came before abort was there
		return nil, ""
	}
	v.mutex.Lock()
	s := Start{Pod: v.pod, Booted: rec.Booted, Progress: v.progress,
		Fresh: rec.Run.Ended != nil && rec.Run.Purpose == forFirstBoot}
	v.mutex.Unlock()
	var started Started
	var problems diag.List
	if err == nil {
		if problem := refuse(s.Pod); problem != nil {
			v.finish(problem)
			v.event(corev1.EventTypeWarning, problem.Reason, problem.Message)
			return nil, ""
		}
		started, problems, err = v.p.options.Runner.Start(ctx, s)
		v.tell(problems)
		if err == nil && problems.HasErrors() {
			v.finish(&over{Phase: corev1.PodFailed, Reason: ReasonDefinition, Message: clip(summary(problems), maxMessage)})
			return nil, ""
		}
	}
	v.mutex.Lock()
	v.abort = nil
	v.mutex.Unlock()
	switch {
	case errors.Is(err, supervisor.ErrRunning):
		return v.find(ctx), ""
	case ctx.Err() != nil && err != nil:
		return nil, ""
	case err != nil:
		return nil, v.failed(err, problems.HasErrors())
	}
	v.began(started, supervisor.State{})
	v.event(corev1.EventTypeNormal, reasonStarted, "The VM runs")
	return started.Guest, ""
}

// failed tells why the VM is not started yet, and returns the reason. What diagnostics have told is no event once more.
func (v *vm) failed(err error, told bool) string {
	reason := ReasonCreateError
	var wait *WaitError
	if errors.As(err, &wait) {
		reason = wait.Reason
	}
	message := strings.TrimSpace(err.Error())
	v.change(func() { v.now.reason, v.now.message = reason, message })
	if !told {
		v.event(corev1.EventTypeWarning, reason, message)
	}
	v.p.log.Warn("a VM cannot be started yet", "pod", v.ref, "reason", reason, "error", err)
	return reason
}

// progress tells what goes on while the VM is made.
func (v *vm) progress(message string) {
	v.change(func() { v.now.reason, v.now.message = ReasonCreating, message })
}

// finish ends the pod without a VM, for a reason that its users are told.
func (v *vm) finish(o *over) {
	_ = v.remember(func() { v.rec.Over = o })
}

// began makes a new run of the VM's. The state is that of the supervisor, as far as it is known.
func (v *vm) began(started Started, s supervisor.State) {
	_ = v.remember(func() {
		if v.rec.Run.Ended != nil {
			v.rec.Last = v.rec.Run.Ended
			v.rec.Restarts++
		}
		v.guest, v.now, v.booting = started.Guest, state{}, booting{}
		if !v.rec.Booted {
			v.rec.FirstBoot = firstBoot{}
		}
		v.rec.Run = run{Since: time.Now(), ImageID: started.ImageID}
		if s.Started != nil {
			v.rec.Run.Since = *s.Started
		}
		for _, ip := range started.IPs {
			v.rec.Run.IPs = append(v.rec.Run.IPs, ip.String())
		}
		if started.Silent {
			v.rec.Run.Up = true
			if !v.rec.FirstBoot.ended() {
				v.rec.FirstBoot = firstBoot{Stage: bootSilent, Message: "the guest gets no seed, so it reports nothing", At: v.rec.Run.Since}
			}
		}
	})
}

// ended takes in that a run is over, and decides what follows.
func (v *vm) ended(s supervisor.State) {
	_ = v.remember(func() {
		v.guest, v.now = nil, state{}
		r := &v.rec.Run
		r.Ended = termination(*r, s, v.rec.containerID(), time.Now())
		v.rec.Crashes = crashes(v.rec.Crashes, r.Ended)
		v.rec.Booted = v.rec.Booted && r.Purpose != forFirstBoot
		if v.rec.Over == nil {
			v.rec.Over = verdict(v.pod.Spec.RestartPolicy, *r)
		}
	})
}
