package provider

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vmseed/vmseed/internal/supervisor"
)

// The reasons of containers that have ended, as kubelets name them, and our own.
const (
	ReasonCompleted  = "Completed"
	ReasonError      = "Error"
	ReasonDeadline   = "DeadlineExceeded"
	ReasonFirstBoot  = "FirstBootFailed"
	ReasonDefinition = "InvalidDefinition"
	ReasonRuntime    = "UnknownRuntime"
	ReasonHostLost   = "HostRestarted"
)

// Exit codes. A VM has none, so they are those of a process that came to the like end.
const (
	exitOK     = 0
	exitFailed = 1
	// exitCannotRun is a container runtime's for what it cannot start.
	exitCannotRun = 128
	exitKilled    = 137
	// exitUnknown is a kubelet's for a container that it lost.
	exitUnknown = 255
)

// maxMessage bounds the messages of containers, in bytes, as kubelets do.
const maxMessage = 4096

// termination says how a run ended, from what the supervisor and the record know.
func termination(r run, s supervisor.State, id string, now time.Time) *corev1.ContainerStateTerminated {
	out := &corev1.ContainerStateTerminated{Reason: ReasonCompleted, ExitCode: exitOK, Message: s.Reason, ContainerID: id,
		StartedAt: metav1.NewTime(r.Since), FinishedAt: metav1.NewTime(now)}
	switch {
	case s.Started != nil:
		out.StartedAt = metav1.NewTime(*s.Started)
	case r.Since.IsZero():
		out.StartedAt = out.FinishedAt
	}
	if s.Ended != nil {
		out.FinishedAt = metav1.NewTime(*s.Ended)
	}
	cut := !r.Asked.IsZero() && out.FinishedAt.Sub(r.Asked) >= r.Grace
	switch {
	case s.Lost():
		out.Reason, out.ExitCode = ReasonHostLost, exitUnknown
	case s.Status == supervisor.Failed:
		out.Reason, out.ExitCode = ReasonError, exitFailed
	case r.Purpose == forDeadline:
		out.Reason, out.ExitCode = ReasonDeadline, exitKilled
	case r.Purpose == forFirstBoot:
		out.Reason, out.ExitCode = ReasonFirstBoot, exitFailed
	case r.Purpose == forProbe || cut:
		out.Reason, out.ExitCode = ReasonError, exitKilled
	}
	if cut && out.ExitCode == exitKilled && r.Message == "" {
		out.Message = fmt.Sprintf("the guest did not shut down within %v, so it was cut off", r.Grace)
	}
	out.Message = clip(cmp.Or(r.Message, out.Message), maxMessage)
	return out
}

// clip cuts a text to at most n bytes.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	const mark = " …"
	return strings.ToValidUTF8(s[:n-len(mark)], "") + mark
}

// verdict decides what follows the end of a run: another run, or the end of the pod.
func verdict(policy corev1.RestartPolicy, r run) *over {
	end := r.Ended
	out := &over{Phase: corev1.PodSucceeded}
	if end.ExitCode != exitOK {
		out.Phase, out.Reason, out.Message = corev1.PodFailed, end.Reason, end.Message
	}
	switch {
	case r.Purpose == forDeadline:
		out.Message = "the pod was active on the node longer than its activeDeadlineSeconds"
		return out
	case r.Purpose == forDeletion, policy == corev1.RestartPolicyNever, policy == corev1.RestartPolicyOnFailure && end.ExitCode == exitOK:
		return out
	}
	return nil
}

// The pauses before a VM that ended is started again: those of kubelets.
const (
	firstBackoff = 10 * time.Second
	maxBackoff   = 5 * time.Minute
	// steady is how long a VM runs until its crashes are forgotten.
	steady = 10 * time.Minute
)

// crashes counts the end of a run.
func crashes(before int, end *corev1.ContainerStateTerminated) int {
	if end.FinishedAt.Sub(end.StartedAt.Time) >= steady {
		before = 0
	}
	return before + 1
}

// backoff is the pause before the start that follows a number of crashes: none after the first.
func backoff(crashes int) time.Duration {
	if crashes <= 1 {
		return 0
	}
	return doubled(firstBackoff, maxBackoff, crashes-2)
}

// doubled is a pause that was doubled a number of times.
func doubled(first, most time.Duration, times int) time.Duration {
	for d := first; ; d *= 2 {
		if times <= 0 || d >= most {
			return min(d, most)
		}
		times--
	}
}

// retryPause is the pause after a number of vain tries to start a VM. A missing object may appear at any moment, and to ask
// for it is cheap; what else is the matter takes longer to mend.
func retryPause(reason string, tries int) time.Duration {
	if reason == ReasonConfigError {
		return doubled(time.Second, 15*time.Second, tries-1)
	}
	return doubled(firstBackoff, maxBackoff, tries-1)
}
