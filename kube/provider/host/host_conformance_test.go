//go:build conformance && linux

package host_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/virtual-kubelet/virtual-kubelet/node/api"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	events "k8s.io/client-go/tools/record"

	"github.com/vmseed/vmseed/hypervisor"
	"github.com/vmseed/vmseed/image"
	"github.com/vmseed/vmseed/internal/supervisor/supervisortest"
	"github.com/vmseed/vmseed/kube/imagenames"
	"github.com/vmseed/vmseed/kube/internal/tinyguest"
	"github.com/vmseed/vmseed/kube/provider"
	"github.com/vmseed/vmseed/kube/provider/host"
)

func TestMain(m *testing.M) {
	supervisortest.Main()
	os.Exit(m.Run())
}

// patience is how long anything may take on a machine that others use as well.
const patience = 5 * time.Minute

// bench is a node on this machine, with QEMU and a simulated API server.
type bench struct {
	t      *testing.T
	dir    string
	client *fake.Clientset
	p      *provider.Provider
	events *events.FakeRecorder
}

func newBench(t *testing.T, objects ...runtime.Object) *bench {
	t.Helper()
	if _, err := exec.LookPath("qemu-system-x86_64"); err != nil {
		t.Skip("SKIP-MISSING: qemu-system-x86_64: install the package qemu-system-x86")
	}
	b := &bench{t: t, dir: t.TempDir(), client: fake.NewClientset(objects...), events: events.NewFakeRecorder(10000)}
	if err := os.Mkdir(filepath.Join(b.dir, "images"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.dir, "images", "tiny.img"), tinyguest.Image(), 0o600); err != nil {
		t.Fatal(err)
	}
	b.open()
	t.Cleanup(func() {
		pods, _ := b.p.GetPods(context.Background())
		for _, pod := range pods {
			_ = b.p.DeletePod(context.Background(), pod)
			b.await(pod.Name, func(pod *corev1.Pod) bool { return pod == nil })
		}
		b.close()
	})
	return b
}

func (b *bench) open() {
	b.t.Helper()
	store := &image.Store{Dir: filepath.Join(b.dir, "store")}
	names, err := imagenames.New(imagenames.Options{Dir: filepath.Join(b.dir, "images"), Images: store})
	if err != nil {
		b.t.Fatal(err)
	}
	ips := []netip.Addr{netip.MustParseAddr("127.0.0.1")}
	h, err := host.New(host.Options{Client: b.client, Root: filepath.Join(b.dir, "vms"), Images: store, Names: names, NodeIPs: ips,
		Hypervisor: hypervisor.Options{Accel: "tcg"}, Supervisor: supervisortest.Command()})
	if err != nil {
		b.t.Fatal(err)
	}
	b.p, err = provider.New(b.t.Context(), provider.Options{Runner: h, Pods: b.client.CoreV1(), Events: b.events,
		Dir: filepath.Join(b.dir, "pods"), NodeIPs: ips})
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) close() {
	if err := b.p.Close(); err != nil {
		b.t.Error(err)
	}
}

// pod makes a pod of the tiny guest.
func (b *bench) pod(name string, change func(*corev1.Pod)) *corev1.Pod {
	b.t.Helper()
	small := corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("32Mi")}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name),
			Annotations: map[string]string{provider.RuntimeAnnotation: provider.Runtime, provider.TimeoutAnnotation: "0s"}},
		Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyAlways, NodeName: "node",
			Containers: []corev1.Container{{Name: "guest", Image: "virtlet.cloud/tiny", Resources: corev1.ResourceRequirements{Limits: small, Requests: small},
				VolumeMounts: []corev1.VolumeMount{{Name: "kube-api-access-x", MountPath: "/var/run/secrets/kubernetes.io/serviceaccount"}}}},
			Volumes: []corev1.Volume{{Name: "kube-api-access-x", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{}}}}},
	}
	if change != nil {
		change(pod)
	}
	pod, err := b.client.CoreV1().Pods("default").Create(b.t.Context(), pod, metav1.CreateOptions{})
	if err == nil {
		err = b.p.CreatePod(b.t.Context(), pod)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return pod
}

// await waits until the API server's pod is as it should be. One that is gone is nil.
func (b *bench) await(name string, ok func(*corev1.Pod) bool) *corev1.Pod {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	w, err := b.client.CoreV1().Pods("default").Watch(ctx, metav1.ListOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	defer w.Stop()
	pod, err := b.client.CoreV1().Pods("default").Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		pod = nil
	} else if err != nil {
		b.t.Fatal(err)
	}
	for !ok(pod) {
		select {
		case e := <-w.ResultChan():
			if x, is := e.Object.(*corev1.Pod); is && x.Name == name {
				if pod = x; e.Type == watch.Deleted {
					pod = nil
				}
			}
		case <-ctx.Done():
			b.t.Fatalf("after %v the pod %s is %+v", patience, name, pod)
		}
	}
	return pod
}

func ready(pod *corev1.Pod) bool {
	return pod != nil && len(pod.Status.ContainerStatuses) == 1 && pod.Status.ContainerStatuses[0].Ready
}

func waiting(reason string) func(*corev1.Pod) bool {
	return func(pod *corev1.Pod) bool {
		return pod != nil && len(pod.Status.ContainerStatuses) == 1 && pod.Status.ContainerStatuses[0].State.Waiting != nil &&
			pod.Status.ContainerStatuses[0].State.Waiting.Reason == reason
	}
}

// streams are those of a client that attaches.
type streams struct {
	in  io.Reader
	out io.WriteCloser
}

func (s streams) Stdin() io.Reader            { return s.in }
func (s streams) Stdout() io.WriteCloser      { return s.out }
func (s streams) Stderr() io.WriteCloser      { return nil }
func (s streams) TTY() bool                   { return true }
func (s streams) Resize() <-chan api.TermSize { return nil }

// until reads from a stream until a text has come.
func until(t *testing.T, r io.Reader, text string) {
	t.Helper()
	var got bytes.Buffer
	block := make([]byte, 4096)
	for !strings.Contains(got.String(), text) {
		n, err := r.Read(block)
		got.Write(block[:n])
		if err != nil {
			t.Fatalf("%v after %q, want %q", err, got.String(), text)
		}
	}
}

// qemu is the process id of the VM in a node's only directory of VMs.
func (b *bench) qemu(pod *corev1.Pod) int {
	b.t.Helper()
	text, err := os.ReadFile(filepath.Join(b.dir, "vms", "default_"+string(pod.UID), "state.json"))
	if err != nil {
		b.t.Fatal(err)
	}
	var pid int
	if _, after, ok := strings.Cut(string(text), `"pid": `); ok {
		_, err = fmt.Sscan(strings.FieldsFunc(after, func(c rune) bool { return c == ',' || c == '\n' })[0], &pid)
	}
	if err != nil || pid == 0 {
		b.t.Fatalf("%v: no process in %s", err, text)
	}
	return pid
}

// TestGuest boots a guest for a pod, reads its log, talks to it, has another node's process take it over, kills it, and
// deletes the pod.
func TestGuest(t *testing.T) {
	b := newBench(t)
	pod := b.pod("vm", nil)
	logs, err := b.p.GetContainerLogs(t.Context(), "default", "vm", "guest", api.ContainerLogOpts{Follow: true})
	if err != nil {
		t.Fatal(err)
	}
	until(t, logs, tinyguest.Up)
	if err := logs.Close(); err != nil {
		t.Error(err)
	}
	now := b.await("vm", ready)
	if now.Status.Phase != corev1.PodRunning || now.Status.PodIP != "" || now.Status.HostIP != "127.0.0.1" || now.Status.ContainerStatuses[0].RestartCount != 0 {
		t.Errorf("the status: %+v", now.Status)
	}
	b.attach()
	if usage, err := b.p.PodStats(t.Context()); err != nil || len(usage) != 1 || *usage[0].Memory.WorkingSetBytes < 1<<20 || *usage[0].CPU.UsageCoreNanoSeconds == 0 {
		t.Errorf("usage: %+v, %v", usage, err)
	}

	b.pause()
	before := b.qemu(pod)
	b.close()
	b.open()
	if err := b.p.UpdatePod(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	b.attach()
	if after := b.qemu(pod); after != before {
		t.Errorf("process %d took the place of %d", after, before)
	}

	if err := syscall.Kill(before, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	now = b.await("vm", func(pod *corev1.Pod) bool { return ready(pod) && pod.Status.ContainerStatuses[0].RestartCount == 1 })
	if end := now.Status.ContainerStatuses[0].LastTerminationState.Terminated; end == nil || end.Reason != provider.ReasonError || !strings.Contains(end.Message, "QEMU") {
		t.Errorf("the end of the first run: %+v", end)
	}
	b.attach()

	grace := int64(120)
	stamp := metav1.Now()
	now.DeletionTimestamp, now.DeletionGracePeriodSeconds = &stamp, &grace
	if err := b.p.DeletePod(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	last := b.await("vm", func(pod *corev1.Pod) bool {
		return pod == nil || len(pod.Status.ContainerStatuses) == 1 && pod.Status.ContainerStatuses[0].State.Terminated != nil
	})
	if last != nil {
		if end := last.Status.ContainerStatuses[0].State.Terminated; end.ExitCode != 0 || end.Reason != provider.ReasonCompleted {
			t.Errorf("the guest did not shut down by itself: %+v", end)
		}
		b.await("vm", func(pod *corev1.Pod) bool { return pod == nil })
	}
	for _, dir := range []string{"vms", "pods"} {
		left, err := os.ReadDir(filepath.Join(b.dir, dir))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range left {
			if e.Name() != "lock" {
				t.Errorf("%s/%s is left", dir, e.Name())
			}
		}
	}
}

// pause pauses the guest, has another node's process find it so, lets it go on, and resets it.
func (b *bench) pause() {
	b.t.Helper()
	do := func(word string) {
		b.t.Helper()
		if err := b.p.RunInContainer(b.t.Context(), "default", "vm", "guest", []string{word}, streams{}); err != nil {
			b.t.Fatal(err)
		}
	}
	paused := func(pod *corev1.Pod) bool {
		return pod != nil && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Reason == "PausedByUser"
		})
	}
	do(provider.PauseCommand)
	now := b.await("vm", paused)
	b.close()
	b.open()
	if err := b.p.UpdatePod(b.t.Context(), now); err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.p.PodStats(b.t.Context()); err != nil {
		b.t.Error(err)
	}
	if again := b.await("vm", paused); again.Status.ContainerStatuses[0].RestartCount != 0 {
		b.t.Errorf("a paused guest was started anew: %+v", again.Status)
	}
	do(provider.UnpauseCommand)
	b.await("vm", ready)
	b.attach()
	logs, err := b.p.GetContainerLogs(b.t.Context(), "default", "vm", "guest", api.ContainerLogOpts{Follow: true})
	if err != nil {
		b.t.Fatal(err)
	}
	defer logs.Close()
	until(b.t, logs, tinyguest.Up)
	do(provider.ResetCommand)
	until(b.t, logs, "[vmseed: the guest restarts")
	until(b.t, logs, tinyguest.Up)
}

// attach talks to the guest by the console.
func (b *bench) attach() {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	in, typed := io.Pipe()
	shown, out := io.Pipe()
	var attached sync.WaitGroup
	attached.Go(func() {
		_ = out.CloseWithError(cmp.Or(b.p.RunInContainer(ctx, "default", "vm", "guest", []string{provider.ConsoleCommand}, streams{in, out}), io.EOF))
	})
	go func() { _, _ = io.WriteString(typed, "hello, guest") }()
	until(b.t, shown, "hello, guest")
	cancel()
	_ = typed.Close()
	_ = shown.Close()
	attached.Wait()
}

// TestSecretComesLater has a pod wait for a Secret that is made after it.
func TestSecretComesLater(t *testing.T) {
	b := newBench(t)
	b.pod("vm", func(pod *corev1.Pod) {
		c := &pod.Spec.Containers[0]
		c.EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "later"}}}}
	})
	now := b.await("vm", waiting(provider.ReasonConfigError))
	if m := now.Status.ContainerStatuses[0].State.Waiting.Message; !strings.Contains(m, "later") {
		t.Errorf("the message is %q", m)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "later"}, Data: map[string][]byte{"A": []byte("canary")}}
	if _, err := b.client.CoreV1().Secrets("default").Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	b.await("vm", ready)
}

// TestImageLock has a second VM ask for a disk that a first one has.
func TestImageLock(t *testing.T) {
	disk := filepath.Join(t.TempDir(), "data.img")
	if err := os.WriteFile(disk, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	block := corev1.PersistentVolumeBlock
	meta := metav1.ObjectMeta{Namespace: "default", Name: "data"}
	b := newBench(t,
		&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}, Spec: corev1.PersistentVolumeSpec{VolumeMode: &block,
			ClaimRef:               &corev1.ObjectReference{Namespace: "default", Name: "data"},
			PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: disk}}}},
		&corev1.PersistentVolumeClaim{ObjectMeta: meta, Spec: corev1.PersistentVolumeClaimSpec{VolumeMode: &block, VolumeName: "pv"}})
	with := func(pod *corev1.Pod) {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}})
		pod.Spec.Containers[0].VolumeDevices = []corev1.VolumeDevice{{Name: "data", DevicePath: "/dev/data"}}
	}
	b.pod("first", with)
	b.await("first", ready)
	b.pod("second", with)
	now := b.await("second", waiting(provider.ReasonCreateError))
	if m := now.Status.ContainerStatuses[0].State.Waiting.Message; !strings.Contains(m, "in use by another VM") {
		t.Errorf("the message is %q", m)
	}
}

// TestWrongInput fails pods that no VM can be made of, and tells why.
func TestWrongInput(t *testing.T) {
	b := newBench(t)
	b.pod("vm", func(pod *corev1.Pod) {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "sidecar", Image: "busybox"})
	})
	now := b.await("vm", func(pod *corev1.Pod) bool { return pod != nil && pod.Status.Phase == corev1.PodFailed })
	if now.Status.Reason != provider.ReasonDefinition || !strings.Contains(now.Status.Message, "2 containers") {
		t.Errorf("%s: %s", now.Status.Reason, now.Status.Message)
	}
}
