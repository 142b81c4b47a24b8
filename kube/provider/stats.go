package provider

import (
	"context"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/vmseed/vmseed/internal/supervisor"
)

// statsTime is how long a VM may take to say what it uses. One that takes longer is left out.
const statsTime = 5 * time.Second

// PodStats returns what the VMs that run use: for a VM, the processor time and memory of its QEMU.
func (p *Provider) PodStats(ctx context.Context) ([]stats.PodStats, error) {
	ctx, cancel := context.WithTimeout(ctx, statsTime)
	defer cancel()
	vms := p.all()
	out := make([]*stats.PodStats, len(vms))
	var asking sync.WaitGroup
	for i, v := range vms {
		asking.Go(func() { out[i] = v.stats(ctx) })
	}
	asking.Wait()
	var list []stats.PodStats
	for _, s := range out {
		if s != nil {
			list = append(list, *s)
		}
	}
	return list, nil
}

// stats returns what the VM uses, or nil when that is not known.
func (v *vm) stats(ctx context.Context) *stats.PodStats {
	v.mutex.Lock()
	guest, rec := v.guest, v.rec
	v.mutex.Unlock()
	m, ok := guest.(Meter)
	if !ok || len(rec.Pod.Spec.Containers) == 0 {
		return nil
	}
	u, err := m.Usage(ctx)
	if err != nil {
		return nil
	}
	return podStats(rec, u, metav1.Now())
}

// podStats are the statistics of a pod whose only container is a VM.
func podStats(rec record, u supervisor.Usage, now metav1.Time) *stats.PodStats {
	cpu, memory := uint64(u.CPUTime.Nanoseconds()), uint64(u.MemoryBytes)
	received, sent := uint64(u.NetworkReceivedBytes), uint64(u.NetworkSentBytes)
	c := stats.ContainerStats{Name: rec.Pod.Spec.Containers[0].Name, StartTime: metav1.NewTime(rec.Run.Since),
		CPU:    &stats.CPUStats{Time: now, UsageCoreNanoSeconds: &cpu},
		Memory: &stats.MemoryStats{Time: now, WorkingSetBytes: &memory, RSSBytes: &memory, UsageBytes: &memory}}
	return &stats.PodStats{PodRef: stats.PodReference{Namespace: rec.Pod.Namespace, Name: rec.Pod.Name, UID: string(rec.Pod.UID)},
		StartTime: metav1.NewTime(rec.Seen), Containers: []stats.ContainerStats{c}, CPU: c.CPU, Memory: c.Memory,
		Network: &stats.NetworkStats{Time: now, InterfaceStats: stats.InterfaceStats{RxBytes: &received, TxBytes: &sent}}}
}
