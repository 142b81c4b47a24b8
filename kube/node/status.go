package node

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// What of a host must be left. The numbers are the kubelet's defaults (eviction-hard), so that alerts mean the same.
const (
	leastMemory      = 100 << 20
	leastInodes      = 0.05
	mostProcesses    = 0.90
	pressureLasts    = 5 * time.Minute
	mostImages       = 50
	runtimeLabel     = "extraRuntime"
	runtimeOfLabel   = "virtlet"
	networkMessage   = "vmseed measures no routes: VMs use the host's network or its CNI plugins"
	reasonNetwork    = "HostNetwork"
	reasonReady      = "NodeReady"
	reasonNotReady   = "NodeNotReady"
	reasonUnmeasured = "HostUnknown"
)

// state makes the Node object out of the configuration and of what the host and the provider say. It remembers what a
// condition was, for its times.
type state struct {
	config  *Config
	port    int32
	now     func() time.Time
	started func() bool

	mu       sync.Mutex
	facts    *Facts
	known    map[corev1.NodeConditionType]corev1.NodeCondition
	pressure map[corev1.NodeConditionType]time.Time
}

func newState(c *Config, port int32, now func() time.Time, started func() bool) *state {
	return &state{config: c, port: port, now: now, started: started,
		known: map[corev1.NodeConditionType]corev1.NodeCondition{}, pressure: map[corev1.NodeConditionType]time.Time{}}
}

// node returns the Node as it should be now.
func (s *state) node(ctx context.Context) *corev1.Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: s.config.Name, Labels: map[string]string{}, Annotations: map[string]string{}}}
	maps.Copy(n.Annotations, s.config.Annotations)
	n.Spec.Taints = s.config.Taints
	st := &n.Status
	st.Addresses = s.config.Addresses
	st.DaemonEndpoints.KubeletEndpoint.Port = s.port
	facts, err := s.know()
	if facts != nil {
		st.NodeInfo = facts.System
		st.Capacity, st.Allocatable = s.resources(*facts)
	}
	st.NodeInfo.ContainerRuntimeVersion = s.config.RuntimeVersion
	st.NodeInfo.KubeletVersion = s.config.KubeletVersion
	for k, v := range map[string]string{
		corev1.LabelHostname: s.config.Name, corev1.LabelOSStable: st.NodeInfo.OperatingSystem, corev1.LabelArchStable: st.NodeInfo.Architecture,
		runtimeLabel: runtimeOfLabel,
	} {
		if v != "" {
			n.Labels[k] = v
		}
	}
	maps.Copy(n.Labels, s.config.Labels)
	if images, ok := s.config.Provider.(Images); ok {
		if list, err := images.ContainerImages(ctx); err == nil {
			st.Images = list[:min(len(list), mostImages)]
		} else {
			s.config.Logger.Warn("the images of the host are not known", "error", err)
		}
	}
	st.Conditions = s.conditions(ctx, err)
	return n
}

// know looks at the host. When that fails, its facts are those of before. The caller holds the lock.
func (s *state) know() (*Facts, error) {
	facts, err := s.config.Host.Facts()
	if err == nil {
		s.facts = &facts
	}
	return s.facts, err
}

// system is what the host says of itself, or nothing when that is not known.
func (s *state) system() corev1.NodeSystemInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.facts == nil {
		if facts, err := s.know(); err != nil || facts == nil {
			return corev1.NodeSystemInfo{}
		}
	}
	return s.facts.System
}

// resources are what the host has, and what of that pods may ask for.
func (s *state) resources(f Facts) (capacity, allocatable corev1.ResourceList) {
	capacity = corev1.ResourceList{
		corev1.ResourceCPU:              *resource.NewQuantity(f.CPUs, resource.DecimalSI),
		corev1.ResourceMemory:           *resource.NewQuantity(f.Memory, resource.BinarySI),
		corev1.ResourceEphemeralStorage: *resource.NewQuantity(f.Storage, resource.BinarySI),
		corev1.ResourcePods:             *resource.NewQuantity(s.config.MaxPods, resource.DecimalSI),
	}
	allocatable = capacity.DeepCopy()
	for name, reserved := range s.config.Reserve {
		left, ok := allocatable[name]
		if !ok {
			continue
		}
		left.Sub(reserved)
		if left.Sign() < 0 {
			left = *resource.NewQuantity(0, left.Format)
		}
		allocatable[name] = left
	}
	return capacity, allocatable
}

// conditions judges the host.
func (s *state) conditions(ctx context.Context, facts error) []corev1.NodeCondition {
	m, err := s.config.Host.Measure()
	if facts != nil {
		err = facts
	}
	ready, reason, message := corev1.ConditionTrue, reasonReady, "pods are taken"
	var sick error
	if health, asks := s.config.Provider.(Health); asks {
		sick = health.Healthy(ctx)
	}
	switch {
	case err != nil:
		ready, reason, message = corev1.ConditionFalse, reasonUnmeasured, err.Error()
	case sick != nil:
		ready, reason, message = corev1.ConditionFalse, reasonNotReady, sick.Error()
	case !s.started() && s.known[corev1.NodeReady].Status != corev1.ConditionTrue:
		// A Node that was ready until this process began stays so, or the control plane would call its pods not ready.
		ready, reason, message = corev1.ConditionFalse, reasonNotReady, "the pods of this node are not read yet"
	}
	list := []corev1.NodeCondition{
		s.pressed(corev1.NodeMemoryPressure, err, m.MemoryAvailable < leastMemory, "Memory",
			fmt.Sprintf("%d MiB of memory are available", m.MemoryAvailable>>20)),
		s.pressed(corev1.NodeDiskPressure, err, m.StorageFree < s.leastStorage(m.StorageTotal) || float64(m.InodesFree) < leastInodes*float64(m.Inodes), "Disk",
			fmt.Sprintf("%d MiB and %d inodes are free", m.StorageFree>>20, m.InodesFree)),
		s.pressed(corev1.NodePIDPressure, err, m.ProcessLimit > 0 && float64(m.Processes) > mostProcesses*float64(m.ProcessLimit), "PID",
			fmt.Sprintf("%d of %d process ids are used", m.Processes, m.ProcessLimit)),
		s.condition(corev1.NodeNetworkUnavailable, corev1.ConditionFalse, reasonNetwork, networkMessage),
		s.condition(corev1.NodeReady, ready, reason, message),
	}
	return list
}

// leastStorage is how much must be free of a file system with total bytes.
func (s *state) leastStorage(total int64) int64 {
	if s.config.LeastStorage != nil {
		return s.config.LeastStorage(total)
	}
	return total / 10
}

// pressed is a condition about something that is scarce. It stays for a while after it was seen last, so that a node on
// the edge does not take and refuse pods in turn.
func (s *state) pressed(kind corev1.NodeConditionType, unknown error, scarce bool, what, detail string) corev1.NodeCondition {
	if unknown != nil {
		return s.condition(kind, corev1.ConditionUnknown, reasonUnmeasured, unknown.Error())
	}
	if scarce {
		s.pressure[kind] = s.now()
	}
	last, ever := s.pressure[kind]
	if ever && s.now().Sub(last) < pressureLasts {
		return s.condition(kind, corev1.ConditionTrue, "HostHas"+what+"Pressure", detail)
	}
	// A number that changes all the time would be a new status each time.
	return s.condition(kind, corev1.ConditionFalse, "HostHasNo"+what+"Pressure", "there is enough")
}

// condition keeps the time since when a condition is what it is, and the message while nothing but that changed.
func (s *state) condition(kind corev1.NodeConditionType, status corev1.ConditionStatus, reason, message string) corev1.NodeCondition {
	now := metav1.NewTime(s.now())
	c := corev1.NodeCondition{Type: kind, Status: status, Reason: reason, Message: message, LastHeartbeatTime: now, LastTransitionTime: now}
	if old, ok := s.known[kind]; ok && old.Status == status {
		c.LastTransitionTime = old.LastTransitionTime
		if status == corev1.ConditionTrue && old.Reason == reason && kind != corev1.NodeReady {
			c.Message = old.Message
		}
	}
	s.known[kind] = c
	return c
}

// nodeStats is how the host fares, as /stats/summary says it.
func nodeStats(name string, host Host, now time.Time) (stats.NodeStats, error) {
	m, err := host.Measure()
	if err != nil {
		return stats.NodeStats{}, err
	}
	at := metav1.NewTime(now)
	unsigned := func(n int64) *uint64 { u := uint64(max(n, 0)); return &u }
	nanoseconds := uint64(m.CPUSeconds * 1e9)
	return stats.NodeStats{
		NodeName: name,
		CPU:      &stats.CPUStats{Time: at, UsageCoreNanoSeconds: &nanoseconds},
		Memory: &stats.MemoryStats{Time: at, AvailableBytes: unsigned(m.MemoryAvailable), UsageBytes: unsigned(m.MemoryTotal - m.MemoryAvailable),
			WorkingSetBytes: unsigned(m.MemoryTotal - m.MemoryAvailable)},
		Fs: &stats.FsStats{Time: at, AvailableBytes: unsigned(m.StorageFree), CapacityBytes: unsigned(m.StorageTotal),
			UsedBytes: unsigned(m.StorageTotal - m.StorageFree), InodesFree: unsigned(m.InodesFree), Inodes: unsigned(m.Inodes)},
		Rlimit: &stats.RlimitStats{Time: at, MaxPID: &m.ProcessLimit, NumOfRunningProcesses: &m.Processes},
	}, nil
}

// remember takes the conditions of a Node that was here before this process, so that their times go on.
func (s *state) remember(conditions []corev1.NodeCondition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range conditions {
		s.known[c.Type] = c
	}
}

// forget has conditions begin anew, for a Node object that is new.
func (s *state) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.known)
}
