//go:build conformance

package controlplane_test

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/vmseed/vmseed/kube/internal/controlplane"
	"github.com/vmseed/vmseed/kube/internal/controlplane/controlplanetest"
)

// TestControlPlane has each part do its work: the API server answers kubectl and authorizes nodes, the controller manager
// makes service accounts, the scheduler binds a pod. What was there is there again after a stop.
func TestControlPlane(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	o := controlplane.Options{Dir: t.TempDir(), Durable: true}
	c := controlplanetest.Start(t, o)
	version, err := exec.CommandContext(ctx, c.Kubectl, "--kubeconfig", c.Kubeconfig, "version").Output()
	if err != nil || strings.Count(string(version), "v1.36.3") != 2 {
		t.Fatalf("kubectl version says %v:\n%s", err, version)
	}
	config, err := c.Config()
	if err != nil {
		t.Fatal(err)
	}
	client := kubernetes.NewForConfigOrDie(config)
	schedules(ctx, t, client)

	config, err = c.As("system:node:n1", "system:nodes")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kubernetes.NewForConfigOrDie(config).CoreV1().Secrets("default").List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a node that lists secrets gets %v", err)
	}
	if err := c.Stop(); err != nil {
		t.Fatal(err)
	}
	c = controlplanetest.Start(t, o)
	if config, err = c.Config(); err != nil {
		t.Fatal(err)
	}
	if _, err := kubernetes.NewForConfigOrDie(config).CoreV1().Pods("default").Get(ctx, "p", metav1.GetOptions{}); err != nil {
		t.Errorf("after a restart: %v", err)
	}
}

// schedules checks that a pod comes to be bound to a node.
func schedules(ctx context.Context, t *testing.T, client kubernetes.Interface) {
	t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Status: corev1.NodeStatus{
		Capacity:   corev1.ResourceList{corev1.ResourcePods: resource.MustParse("10")},
		Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now()}},
	}}
	if _, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	await(ctx, t, client.CoreV1().ServiceAccounts("default").Watch, "the service account of the namespace", func(watch.Event) bool { return true })
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "none"}},
		// Nobody renews the lease of the node, which is taken for lost on a machine that is slow.
		Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}}}
	if _, err := client.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	await(ctx, t, client.CoreV1().Pods("default").Watch, "the binding of the pod", func(e watch.Event) bool {
		p, ok := e.Object.(*corev1.Pod)
		return ok && p.Spec.NodeName == "n1"
	})
}

// await returns at the first event that is the one. A watch ends after some seconds, and the next begins with how things are: one that was
// begun while the server started may stay silent for ever.
func await(ctx context.Context, t *testing.T, begin func(context.Context, metav1.ListOptions) (watch.Interface, error), what string, is func(watch.Event) bool) {
	t.Helper()
	for ctx.Err() == nil {
		w, err := begin(ctx, metav1.ListOptions{TimeoutSeconds: new(int64(10))})
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		for e := range w.ResultChan() {
			if is(e) {
				w.Stop()
				return
			}
		}
	}
	t.Fatalf("%s: %v", what, ctx.Err())
}
