package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/internal/supervisor"
	"github.com/vmseed/vmseed/kube/internal/cluster"
	"github.com/vmseed/vmseed/kube/node"
	"github.com/vmseed/vmseed/kube/node/certs"
	"github.com/vmseed/vmseed/kube/provider"
	"github.com/vmseed/vmseed/report"
)

// startNodes starts nodes in this process, each with the rights of a node and a client of its own, and returns when all take pods.
func startNodes(ctx context.Context, c *cluster.Cluster, number int, dir string, log *slog.Logger) (nodes []*node.Node, stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	stop = func() {
		cancel()
		running.Wait()
	}
	failed := make(chan error, number)
	for i := range number {
		n, pods, err := makeNode(ctx, c, fmt.Sprintf("sim%d", i+1), dir, log)
		if err != nil {
			stop()
			return nil, nil, err
		}
		nodes = append(nodes, n)
		running.Go(func() {
			defer pods.Close()
			if err := n.Run(ctx); err != nil {
				failed <- err
			}
		})
	}
	for _, n := range nodes {
		select {
		case <-n.Ready():
		case err := <-failed:
			stop()
			return nil, nil, err
		case <-ctx.Done():
			stop()
			return nil, nil, ctx.Err()
		}
	}
	return nodes, stop, nil
}

func makeNode(ctx context.Context, c *cluster.Cluster, name, dir string, log *slog.Logger) (*node.Node, *provider.Provider, error) {
	config, err := c.As("system:node:"+name, "system:nodes")
	if err != nil {
		return nil, nil, err
	}
	client, err := kubernetes.NewForConfig(certs.Tune(config))
	if err != nil {
		return nil, nil, err
	}
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(&corev1client.EventSinkImpl{Interface: client.CoreV1().Events("")})
	ip := netip.MustParseAddr("127.0.0.1")
	pods, err := provider.New(ctx, provider.Options{Runner: &simulated{guests: map[types.UID]*guest{}}, Pods: client.CoreV1(), Dir: filepath.Join(dir, name),
		Events: broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "vmseed-kube", Host: name}), NodeIPs: []netip.Addr{ip}, Log: log})
	if err != nil {
		return nil, nil, err
	}
	n, err := node.New(node.Config{Name: name, Client: client, Provider: pods, Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: ip.String()}},
		Host: host{}, MaxPods: 250, RuntimeVersion: "vmseed://simulated", KubeletVersion: "v1", Logger: log})
	return n, pods, err
}

// host is a large one.
type host struct{}

// Facts are those of a host with room for every VM.
func (host) Facts() (node.Facts, error) {
	return node.Facts{CPUs: 256, Memory: 4 << 40, Storage: 64 << 40, System: corev1.NodeSystemInfo{OperatingSystem: "linux", Architecture: "amd64"}}, nil
}

// Measure says that the host is idle.
func (host) Measure() (node.Measure, error) {
	return node.Measure{MemoryAvailable: 4 << 40, MemoryTotal: 4 << 40, StorageFree: 64 << 40, StorageTotal: 64 << 40, InodesFree: 1 << 30, Inodes: 1 << 30,
		Processes: 1, ProcessLimit: 1 << 22}, nil
}

// simulated is a Runner without VMs: its guests run at once, and their first boot is done.
type simulated struct {
	mutex  sync.Mutex
	guests map[types.UID]*guest
}

// Start starts a guest.
func (s *simulated) Start(_ context.Context, start provider.Start) (provider.Started, diag.List, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.guests[start.Pod.UID] != nil {
		return provider.Started{}, nil, supervisor.ErrRunning
	}
	g := &guest{begun: time.Now(), ended: make(chan struct{})}
	s.guests[start.Pod.UID] = g
	return provider.Started{Guest: g}, nil, nil
}

// Find finds a guest.
func (s *simulated) Find(_ context.Context, r provider.Ref) (provider.Started, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if g := s.guests[r.UID]; g != nil {
		return provider.Started{Guest: g}, nil
	}
	return provider.Started{}, supervisor.ErrNoVM
}

// Remove removes a guest.
func (s *simulated) Remove(ctx context.Context, r provider.Ref) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if g := s.guests[r.UID]; g != nil {
		delete(s.guests, r.UID)
		return g.Stop(ctx, 0)
	}
	return nil
}

// List lists the guests.
func (s *simulated) List(context.Context) ([]provider.Ref, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var out []provider.Ref
	for uid := range s.guests {
		out = append(out, provider.Ref{UID: uid})
	}
	return out, nil
}

// guest is one that nothing happens to.
type guest struct {
	begun time.Time
	once  sync.Once
	ended chan struct{}
}

// State says that the guest runs until it is stopped.
func (g *guest) State(context.Context) (supervisor.State, error) {
	select {
	case <-g.ended:
		return supervisor.State{Status: supervisor.Stopped, Started: &g.begun, Ended: &g.begun}, nil
	default:
		return supervisor.State{Status: supervisor.Running, Started: &g.begun}, nil
	}
}

// Events tells that the guest runs and that its first boot is done, and later its end.
func (g *guest) Events(ctx context.Context, since int, f func(supervisor.Event) error) error {
	for _, e := range []supervisor.Event{{Sequence: 1, Time: g.begun, Status: supervisor.Running},
		{Sequence: 2, Time: g.begun, Report: &report.Event{Stage: report.Done, Time: g.begun, Result: &report.Result{FirstBoot: true}}}} {
		if e.Sequence > since {
			if err := f(e); err != nil {
				return err
			}
		}
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-g.ended:
		return f(supervisor.Event{Sequence: 3, Time: time.Now(), Status: supervisor.Stopped})
	}
}

// Stop stops the guest at once.
func (g *guest) Stop(context.Context, time.Duration) error {
	g.once.Do(func() { close(g.ended) })
	return nil
}
