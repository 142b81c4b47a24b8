package subresources

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
)

// consoleSession is the stream that has an instance's console.
type consoleSession struct{ end context.CancelCauseFunc }

// console answers GET virtualmachineinstances/NAME/console. There is one at a time: a new one ends the one before.
func (s *Server) console(w http.ResponseWriter, r *http.Request, t target) *apierrors.StatusError {
	vmi, failure := s.instance(r.Context(), t)
	if failure != nil {
		return failure
	}
	if attached := vmi.Spec.Domain.Devices.AutoattachSerialConsole; attached != nil && !*attached {
		return apierrors.NewBadRequest("No serial consoles are present.")
	}
	if vmi.Status.Phase == kubevirtv1.Failed {
		return conflict(t, "VMI is in failed status")
	}
	if !vmi.IsRunning() {
		return apierrors.NewBadRequest(instanceStopped)
	}
	pod, failure := s.runningPod(r.Context(), t, vmi)
	if failure != nil {
		return failure
	}
	return s.stream(w, r, source{
		open: func(ctx context.Context, in io.Reader, out io.Writer, opened func()) error {
			return s.pods.Attach(ctx, pod, &noticedReader{Reader: in, read: opened}, &noticedWriter{Writer: out, written: opened})
		},
		taken:  func(end context.CancelCauseFunc) func() { return s.takeConsole(string(vmi.UID), end) },
		abrupt: true,
	})
}

// takeConsole ends the session that has a console and puts another in its place. The function that it returns gives the
// place back.
func (s *Server) takeConsole(uid string, end context.CancelCauseFunc) func() {
	session := &consoleSession{end: end}
	s.mu.Lock()
	before := s.consoles[uid]
	s.consoles[uid] = session
	s.mu.Unlock()
	if before != nil {
		before.end(errReplaced)
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.consoles[uid] == session {
			delete(s.consoles, uid)
		}
	}
}

// noticedReader calls read before it is read from: client-go reads standard input once the streams are open.
type noticedReader struct {
	io.Reader
	read func()
}

func (n *noticedReader) Read(p []byte) (int, error) {
	n.read()
	return n.Reader.Read(p)
}

// noticedWriter calls written before it is written to.
type noticedWriter struct {
	io.Writer
	written func()
}

func (n *noticedWriter) Write(p []byte) (int, error) {
	n.written()
	return n.Writer.Write(p)
}

// forwardInstance answers GET virtualmachineinstances/NAME/portforward/PORT[/PROTOCOL].
func (s *Server) forwardInstance(w http.ResponseWriter, r *http.Request, t target) *apierrors.StatusError {
	vmi, failure := s.instance(r.Context(), t)
	if failure != nil {
		return failure
	}
	return s.forward(w, r, t, vmi)
}

// forwardMachine answers GET virtualmachines/NAME/portforward/PORT[/PROTOCOL].
func (s *Server) forwardMachine(w http.ResponseWriter, r *http.Request, t target) *apierrors.StatusError {
	vm, failure := s.machine(r.Context(), t)
	if failure != nil {
		return failure
	}
	if !vm.Status.Created {
		return conflict(t, "VMI is not started")
	}
	vmi, failure := s.instance(r.Context(), t)
	if failure != nil {
		return failure
	}
	if !metav1.IsControlledBy(vmi, vm) {
		return apierrors.NewInternalError(fmt.Errorf("unable to retrieve vmi [%s] for vm: it has another owner", t.name))
	}
	return s.forward(w, r, t, vmi)
}

func (s *Server) forward(w http.ResponseWriter, r *http.Request, t target, vmi *kubevirtv1.VirtualMachineInstance) *apierrors.StatusError {
	port, err := strconv.ParseUint(r.PathValue("port"), 10, 16)
	if err != nil || port == 0 {
		return apierrors.NewBadRequest(fmt.Sprintf("port must be a number from 1 to 65535, not %q", r.PathValue("port")))
	}
	switch protocol := r.PathValue("protocol"); protocol {
	case "", "tcp":
	case "udp":
		return refusal(t, "only TCP is forwarded: the kubelet's port forwarding has no UDP")
	default:
		return apierrors.NewBadRequest(fmt.Sprintf("protocol must be tcp, not %q", protocol))
	}
	if hasCondition(vmi, kubevirtv1.VirtualMachineInstancePaused) {
		return conflict(t, "VMI is paused")
	}
	pod, failure := s.runningPod(r.Context(), t, vmi)
	if failure != nil {
		return failure
	}
	return s.stream(w, r, source{open: func(ctx context.Context, in io.Reader, out io.Writer, opened func()) error {
		return s.pods.Forward(ctx, pod, uint16(port), in, out, opened)
	}})
}

// runningPod returns the launcher pod of an instance; there must be one.
func (s *Server) runningPod(ctx context.Context, t target, vmi *kubevirtv1.VirtualMachineInstance) (*corev1.Pod, *apierrors.StatusError) {
	pod, err := s.launcher(ctx, vmi)
	if err != nil {
		return nil, s.failed(t, err)
	}
	if pod == nil {
		return nil, conflict(t, "no launcher pod of the VMI is running")
	}
	if len(pod.Spec.Containers) == 0 {
		return nil, apierrors.NewInternalError(errors.New("the launcher pod has no container"))
	}
	return pod, nil
}

// hasCondition reports whether an instance has a condition that is true.
func hasCondition(vmi *kubevirtv1.VirtualMachineInstance, kind kubevirtv1.VirtualMachineInstanceConditionType) bool {
	return slices.ContainsFunc(vmi.Status.Conditions, func(c kubevirtv1.VirtualMachineInstanceCondition) bool {
		return c.Type == kind && c.Status == corev1.ConditionTrue
	})
}
