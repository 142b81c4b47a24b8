package node

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/virtual-kubelet/virtual-kubelet/errdefs"
	vk "github.com/virtual-kubelet/virtual-kubelet/node"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

// bench is a host with numbers to set.
type bench struct {
	m   Measure
	err error
}

func (b *bench) Facts() (Facts, error) {
	return Facts{CPUs: 8, Memory: 16 << 30, Storage: 100 << 30, System: corev1.NodeSystemInfo{OperatingSystem: "linux", Architecture: "amd64"}}, b.err
}

func (b *bench) Measure() (Measure, error) { return b.m, b.err }

func well() Measure {
	return Measure{CPUSeconds: 5, MemoryTotal: 16 << 30, MemoryAvailable: 8 << 30, StorageTotal: 100 << 30, StorageFree: 50 << 30, Inodes: 1000, InodesFree: 900,
		Processes: 100, ProcessLimit: 1000}
}

// nothing is a provider without pods.
type nothing struct{ vk.PodLifecycleHandler }

func (nothing) NotifyPods(context.Context, func(*corev1.Pod)) {}

func of(n *corev1.Node, kind corev1.NodeConditionType) corev1.NodeCondition {
	for _, c := range n.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return corev1.NodeCondition{}
}

func TestConditions(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	host := &bench{m: well()}
	started := false
	c := &Config{Name: "n", Provider: nothing{}, Host: host, MaxPods: 50, Logger: slog.Default(),
		Reserve: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("2Gi"), corev1.ResourceCPU: resource.MustParse("500m"), "example.com/x": resource.MustParse("1")}}
	s := newState(c, 10250, func() time.Time { return now }, func() bool { return started })
	look := func() *corev1.Node {
		now = now.Add(time.Minute)
		return s.node(t.Context())
	}
	if n := look(); of(n, corev1.NodeReady).Status != corev1.ConditionFalse {
		t.Error("a node that has not read its pods is ready")
	}
	started = true
	first := look()
	if of(first, corev1.NodeReady).Status != corev1.ConditionTrue || of(first, corev1.NodeMemoryPressure).Status != corev1.ConditionFalse {
		t.Errorf("a host that is well has %+v", first.Status.Conditions)
	}
	if a := first.Status.Allocatable; a.Memory().String() != "14Gi" || a.Cpu().String() != "7500m" || a.Pods().Value() != 50 || len(a) != 4 || first.Status.Capacity.Cpu().String() != "8" {
		t.Errorf("pods may ask for %v of %v", a, first.Status.Capacity)
	}
	if n := look(); changed(first, n) {
		t.Error("a look at the same host is a change")
	} else if !of(n, corev1.NodeReady).LastTransitionTime.Time.Equal(of(first, corev1.NodeReady).LastTransitionTime.Time) {
		t.Error("a condition that stays has a new time")
	}
	for kind, spoil := range map[corev1.NodeConditionType]func(*Measure){
		corev1.NodeMemoryPressure: func(m *Measure) { m.MemoryAvailable = 50 << 20 },
		corev1.NodeDiskPressure:   func(m *Measure) { m.InodesFree = 40 },
		corev1.NodePIDPressure:    func(m *Measure) { m.Processes = 950 },
	} {
		spoil(&host.m)
		if c := of(look(), kind); c.Status != corev1.ConditionTrue {
			t.Errorf("%s is %s: %s", kind, c.Status, c.Message)
		}
		host.m = well()
		if c := of(look(), kind); c.Status != corev1.ConditionTrue {
			t.Errorf("%s is over at once", kind)
		}
		now = now.Add(pressureLasts)
		if c := of(look(), kind); c.Status != corev1.ConditionFalse {
			t.Errorf("%s is never over", kind)
		}
	}
	host.m.StorageFree = 9 << 30
	if c := of(look(), corev1.NodeDiskPressure); c.Status != corev1.ConditionTrue {
		t.Errorf("a disk that is nearly full: %s", c.Status)
	}
	now = now.Add(pressureLasts)
	c.LeastStorage = func(total int64) int64 { return total / 100 }
	if c := of(look(), corev1.NodeDiskPressure); c.Status != corev1.ConditionFalse {
		t.Errorf("a disk with as much left as was asked for: %s", c.Message)
	}
	host.err = errors.New("no /proc")
	n := look()
	if n.Labels[corev1.LabelArchStable] != "amd64" || n.Status.Capacity.Cpu().String() != "8" {
		t.Errorf("for a moment the host has no processors: %v, %v", n.Labels, n.Status.Capacity)
	}
	if c := of(n, corev1.NodeReady); c.Status != corev1.ConditionFalse || !strings.Contains(c.Message, "/proc") || of(n, corev1.NodeMemoryPressure).Status != corev1.ConditionUnknown {
		t.Errorf("a host that cannot be measured has %+v", n.Status.Conditions)
	}
}

// keeper is a provider that has one pod and counts deletions.
type keeper struct {
	nothing
	pod              *corev1.Pod
	deleted, created int
}

func (k *keeper) CreatePod(context.Context, *corev1.Pod) error {
	k.created++
	return nil
}

func (k *keeper) GetPod(context.Context, string, string) (*corev1.Pod, error) {
	if k.pod == nil {
		return nil, errdefs.NotFound("none")
	}
	return k.pod, nil
}

func (k *keeper) DeletePod(context.Context, *corev1.Pod) error {
	k.deleted++
	return nil
}

// TestReplaceMissed: of a pod that went while nobody watched, the provider deletes that very one, and not its successor,
// which it is to create unless that one is to end as well.
func TestReplaceMissed(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "d", Name: "p", UID: "1"}}
	successor := pod.DeepCopy()
	successor.UID = "2"
	leaving := successor.DeepCopy()
	leaving.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	for has, deleted := range map[*corev1.Pod]int{pod: 1, successor: 0, nil: 0} {
		for next, created := range map[*corev1.Pod]int{successor: 1, leaving: 0, nil: 0} {
			k := &keeper{pod: has}
			if err := replaceMissed(t.Context(), k, pod, next); err != nil || k.deleted != deleted || k.created != created {
				t.Errorf("a provider that has %v and is to have %v deletes %d and creates %d (%v)", has, next, k.deleted, k.created, err)
			}
		}
	}
}

// TestConfig: what is missing is said before anything is done.
func TestConfig(t *testing.T) {
	good := func() Config {
		return Config{Name: "n", Client: fake.NewClientset(), Provider: nothing{}, Host: &bench{m: well()}}
	}
	for what, spoil := range map[string]func(*Config){
		"name":     func(c *Config) { c.Name = "" },
		"client":   func(c *Config) { c.Client = nil },
		"provider": func(c *Config) { c.Provider = nil },
		"host":     func(c *Config) { c.Host = nil },
		"InternalIP": func(c *Config) {
			c.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.1"}, {Type: corev1.NodeInternalIP, Address: "2001:db8::1"}}
		},
	} {
		c := good()
		spoil(&c)
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("without a good %s: %v", what, err)
		}
	}
	if _, err := New(good()); err != nil {
		t.Error(err)
	}
}

// TestLog: Virtual Kubelet logs errors as messages, and all it says has a level.
func TestLog(t *testing.T) {
	var out bytes.Buffer
	l := adapter{slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelWarn}))}
	l.Error(errors.New("broken"))
	l.WithField("key", 1).WithError(errors.New("deep")).Warnf("%d pods", 3)
	l.Info("chatter")
	got := out.String()
	for _, want := range []string{"level=ERROR msg=broken", "level=WARN msg=\"3 pods\" key=1 error=deep"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if strings.Contains(got, "chatter") {
		t.Error("what is not asked for is logged")
	}
}
