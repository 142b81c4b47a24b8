package node_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/virtual-kubelet/virtual-kubelet/errdefs"
	"github.com/virtual-kubelet/virtual-kubelet/node/api"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
	utilexec "k8s.io/utils/exec"

	"github.com/vmseed/vmseed/kube/node"
)

// echo is a provider whose pods run at once and say what they hear. It forgets them as soon as it is told to.
type echo struct {
	client kubernetes.Interface

	mu     sync.Mutex
	pods   map[string]*corev1.Pod
	tell   func(*corev1.Pod)
	sick   error
	starts int
	gone   chan string
}

func newEcho(client kubernetes.Interface) *echo {
	return &echo{client: client, pods: map[string]*corev1.Pod{}, gone: make(chan string, 100)}
}

// seen returns how many pods run, and how many were ever started.
func (e *echo) seen() (run, starts int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.pods), e.starts
}

var _ interface {
	node.Provider
	node.Images
	node.Health
} = (*echo)(nil)

func (e *echo) CreatePod(_ context.Context, pod *corev1.Pod) error {
	pod = pod.DeepCopy()
	now := metav1.Now()
	pod.Status.Phase, pod.Status.StartTime = corev1.PodRunning, &now
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: now}}
	for _, c := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: c.Name, Image: c.Image, Ready: true,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}})
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.starts++
	e.pods[pod.Namespace+"/"+pod.Name] = pod
	go e.tell(pod)
	return nil
}

func (e *echo) UpdatePod(_ context.Context, pod *corev1.Pod) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	old := e.pods[pod.Namespace+"/"+pod.Name]
	pod = pod.DeepCopy()
	pod.Status = old.Status
	e.pods[pod.Namespace+"/"+pod.Name] = pod
	return nil
}

func (e *echo) DeletePod(ctx context.Context, pod *corev1.Pod) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	key := pod.Namespace + "/" + pod.Name
	if e.pods[key] == nil {
		return errdefs.NotFound("no such pod")
	}
	delete(e.pods, key)
	e.gone <- key
	none := int64(0)
	e.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, //nolint:errcheck // It may be gone.
		metav1.DeleteOptions{GracePeriodSeconds: &none, Preconditions: &metav1.Preconditions{UID: &pod.UID}})
	return nil
}

func (e *echo) GetPod(_ context.Context, namespace, name string) (*corev1.Pod, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if p := e.pods[namespace+"/"+name]; p != nil {
		return p.DeepCopy(), nil
	}
	return nil, errdefs.NotFound("no such pod")
}

func (e *echo) GetPodStatus(ctx context.Context, namespace, name string) (*corev1.PodStatus, error) {
	p, err := e.GetPod(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	return &p.Status, nil
}

func (e *echo) GetPods(context.Context) (list []*corev1.Pod, _ error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, p := range e.pods {
		list = append(list, p.DeepCopy())
	}
	return list, nil
}

func (e *echo) ResidentPods(ctx context.Context) ([]*corev1.Pod, error) { return e.GetPods(ctx) }

func (e *echo) NotifyPods(_ context.Context, tell func(*corev1.Pod)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tell = tell
}

func (e *echo) ContainerImages(context.Context) ([]corev1.ContainerImage, error) {
	return []corev1.ContainerImage{{Names: []string{"virtlet.cloud/cirros"}, SizeBytes: 42}}, nil
}

func (e *echo) Healthy(context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.sick
}

func (e *echo) GetContainerLogs(ctx context.Context, _, pod, _ string, o api.ContainerLogOpts) (io.ReadCloser, error) {
	if !o.Follow {
		return io.NopCloser(strings.NewReader(pod + " has started\nlogin:\n")), nil
	}
	r, w := io.Pipe()
	go func() {
		fmt.Fprintf(w, "%s has started\n", pod) //nolint:errcheck // The reader has gone.
		<-ctx.Done()
		w.Close() //nolint:errcheck // As above.
	}()
	return r, nil
}

func (e *echo) RunInContainer(_ context.Context, _, _, _ string, command []string, streams api.AttachIO) error {
	switch command[0] {
	case "cat":
		_, err := io.Copy(streams.Stdout(), streams.Stdin())
		return err
	case "false":
		return fmt.Errorf("in the guest: %w", utilexec.CodeExitError{Err: fmt.Errorf("exit 7"), Code: 7})
	}
	_, err := fmt.Fprintln(streams.Stdout(), strings.Join(command, " "))
	return err
}

func (e *echo) AttachToContainer(_ context.Context, _, _, _ string, streams api.AttachIO) error {
	_, err := io.Copy(streams.Stdout(), streams.Stdin())
	return err
}

func (e *echo) PortForward(_ context.Context, _, _ string, port int32, stream io.ReadWriteCloser) error {
	line := make([]byte, 5)
	if _, err := io.ReadFull(stream, line); err != nil {
		return err
	}
	_, err := fmt.Fprintf(stream, "%d %s", port, line)
	return err
}

func (e *echo) PodStats(context.Context) (list []stats.PodStats, _ error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	cpu, memory := uint64(1e9), uint64(32<<20)
	for _, p := range e.pods {
		c, m := &stats.CPUStats{Time: metav1.Now(), UsageCoreNanoSeconds: &cpu}, &stats.MemoryStats{Time: metav1.Now(), WorkingSetBytes: &memory}
		list = append(list, stats.PodStats{PodRef: stats.PodReference{Namespace: p.Namespace, Name: p.Name, UID: string(p.UID)}, CPU: c, Memory: m,
			Containers: []stats.ContainerStats{{Name: p.Spec.Containers[0].Name, StartTime: *p.Status.StartTime, CPU: c, Memory: m}}})
	}
	return list, nil
}
