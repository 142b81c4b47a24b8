package cli

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	vk "github.com/virtual-kubelet/virtual-kubelet/node"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/vmseed/vmseed/kube/node"
)

// TestClaim: a state directory with VMs stays that of the node whose they are.
func TestClaim(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	claim := func(name string) error {
		n := &nodeRun{nodeFlags: nodeFlags{name: name, state: dir}}
		return n.claim()
	}
	for _, name := range []string{"a", "a", "b"} {
		if err := claim(name); err != nil {
			t.Errorf("%s, without VMs: %v", name, err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "vms", "uid"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := claim("b"); err != nil {
		t.Error(err)
	}
	if err := claim("c"); err == nil || !strings.Contains(err.Error(), "of node b") {
		t.Errorf("another node takes the VMs: %v", err)
	}
}

// TestRecognise: a state directory with VMs stays that of the cluster whose they are.
func TestRecognise(t *testing.T) {
	n := &nodeRun{nodeFlags: nodeFlags{state: t.TempDir()}}
	a, b := node.Cluster{Service: "a", Node: "na"}, node.Cluster{Service: "b", Node: "nb"}
	for _, c := range []node.Cluster{a, b, {Service: "a"}, a} {
		if err := n.recognise(c); err != nil {
			t.Errorf("%+v, without VMs: %v", c, err)
		}
	}
	if err := os.MkdirAll(filepath.Join(n.state, "vms", "uid"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []node.Cluster{a, {Service: "a"}, {Service: "a2", Node: "na"}, {}, {Node: "na"}, {Service: "a2"}} {
		if err := n.recognise(c); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
	for _, c := range []node.Cluster{b, {Service: "b"}, {Node: "nb"}} {
		if err := n.recognise(c); err == nil || !strings.Contains(err.Error(), "VMs of another cluster") {
			t.Errorf("%+v takes the VMs: %v", c, err)
		}
	}
	if err := os.Remove(filepath.Join(n.state, "cluster.json")); err != nil {
		t.Fatal(err)
	}
	if err := n.recognise(b); err != nil {
		t.Error(err)
	}
}

// TestReserve: what the flag does not name is kept as by default.
func TestReserve(t *testing.T) {
	list, err := reserved(map[string]string{"cpu": "1"})
	if err != nil || list.Cpu().String() != "1" || list.Memory().String() != "1Gi" {
		t.Errorf("%v, %v", list, err)
	}
	if list, err = reserved(map[string]string{"memory": "0"}); err != nil || !list.Memory().IsZero() || list.Cpu().String() != "500m" {
		t.Errorf("%v, %v", list, err)
	}
	if _, err := reserved(map[string]string{"gpu": "1"}); err == nil {
		t.Error("a gpu is kept")
	}
}

// slow is a provider whose pod runs until it is told otherwise.
type slow struct {
	vk.PodLifecycleHandler
	asked chan struct{}
	runs  atomic.Bool
}

func (*slow) NotifyPods(context.Context, func(*corev1.Pod)) {}

func (s *slow) GetPods(context.Context) (list []*corev1.Pod, _ error) {
	defer func() { s.asked <- struct{}{} }()
	if s.runs.Load() {
		list = append(list, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "vm"}})
	}
	return list, nil
}

type noHost struct{ node.Host }

func TestLeastStorage(t *testing.T) {
	for text, want := range map[string]int64{"10%": 100, "0.5%": 5, "0%": 0, "2Ki": 2048, "0": 0, "": -1, "100%": -1, "-1%": -1, "-5": -1, "%": -1, "much": -1} {
		least, err := leastStorage(text)
		switch {
		case want < 0 && (err == nil || !strings.Contains(err.Error(), "--disk-pressure-below")):
			t.Errorf("%q: %v", text, err)
		case want >= 0 && (err != nil || least(1000) != want):
			t.Errorf("%q: %v, want %d", text, err, want)
		}
	}
}

// TestDrainAtTheEnd: with --drain a node that is told to end lives on until its VMs have ended; a node that is not ready, or
// has no such flag, ends at once.
func TestDrainAtTheEnd(t *testing.T) {
	client := fake.NewClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
	pods := &slow{asked: make(chan struct{})}
	pods.runs.Store(true)
	made, err := node.New(node.Config{Name: "n", Client: client, Provider: pods, Host: noHost{}})
	if err != nil {
		t.Fatal(err)
	}
	begin := func(drain time.Duration, of *node.Node) (life context.Context, signal func()) {
		signalled, signal := context.WithCancel(t.Context())
		n := &nodeRun{nodeFlags: nodeFlags{drain: drain}, log: slog.New(slog.DiscardHandler)}
		var ready atomic.Pointer[node.Node]
		ready.Store(of)
		life, end := n.life(signalled, &ready)
		t.Cleanup(end)
		return life, signal
	}
	for _, c := range []struct {
		drain time.Duration
		of    *node.Node
	}{{0, made}, {time.Hour, nil}} {
		life, signal := begin(c.drain, c.of)
		signal()
		<-life.Done()
	}
	life, signal := begin(time.Hour, made)
	signal()
	<-pods.asked
	if n, err := client.CoreV1().Nodes().Get(t.Context(), "n", metav1.GetOptions{}); err != nil || !n.Spec.Unschedulable || life.Err() != nil {
		t.Errorf("while it is drained: %v, %+v, %v", err, n.Spec, life.Err())
	}
	pods.runs.Store(false)
	<-pods.asked
	<-life.Done()
}
