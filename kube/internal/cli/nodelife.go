package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/vmseed/vmseed/internal/atomicfile"
	"github.com/vmseed/vmseed/kube/node"
	"github.com/vmseed/vmseed/kube/node/certs"
)

// heartbeatTime is how long the API server may take for a sign of life. Four of them are in the time of a lease.
const heartbeatTime = 10 * time.Second

// heartbeat makes a client for signs of life, which nothing else has to wait with or for.
func heartbeat(config *rest.Config) (kubernetes.Interface, error) {
	c := certs.Tune(rest.CopyConfig(config))
	c.Timeout = heartbeatTime
	return kubernetes.NewForConfig(c)
}

// defaultReserve is what is kept from pods unless the flag says otherwise: room for this process, the supervisors and the system.
func defaultReserve() map[string]string { return map[string]string{"cpu": "500m", "memory": "1Gi"} }

// reserved reads what is kept from pods. What is not named is as by default.
func reserved(named map[string]string) (corev1.ResourceList, error) {
	list, texts := corev1.ResourceList{}, defaultReserve()
	maps.Copy(texts, named)
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		switch corev1.ResourceName(name) {
		case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
		default:
			return nil, fmt.Errorf("--reserve takes cpu, memory and ephemeral-storage, not %q", name)
		}
		q, err := resource.ParseQuantity(texts[name])
		if err != nil || q.Sign() < 0 {
			return nil, fmt.Errorf("--reserve: %s: %q is no quantity", name, texts[name])
		}
		list[corev1.ResourceName(name)] = q
	}
	return list, nil
}

// leastStorage reads how much of a file system must be free: a percentage, or a quantity of bytes.
func leastStorage(text string) (func(total int64) int64, error) {
	if number, share := strings.CutSuffix(text, "%"); share {
		percent, err := strconv.ParseFloat(number, 64)
		if err == nil && percent >= 0 && percent < 100 {
			return func(total int64) int64 { return int64(percent / 100 * float64(total)) }, nil
		}
	} else if q, err := resource.ParseQuantity(text); err == nil && q.Sign() >= 0 {
		return func(int64) int64 { return q.Value() }, nil
	}
	return nil, fmt.Errorf("--disk-pressure-below takes a percentage such as 10%% or a quantity such as 20Gi, not %q", text)
}

// claim makes the state directory this node's. A node of another name would find none of the pods there bound to it, and
// end their VMs.
func (n *nodeRun) claim() error {
	if err := os.MkdirAll(n.state, 0o700); err != nil {
		return err
	}
	path := filepath.Join(n.state, "node-name")
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	was := strings.TrimSpace(string(old))
	if was == n.name {
		return nil
	}
	vms, err := n.hasVMs()
	if err != nil {
		return err
	}
	if was != "" && vms {
		return fmt.Errorf("%s has VMs of node %s, which node %s would end: start it with --name %s, drain it, or give this one a --state-dir of its own",
			n.state, was, n.name, was)
	}
	return atomicfile.WriteBytes(path, []byte(n.name+"\n"))
}

// hasVMs reports whether there are VMs in the state directory.
func (n *nodeRun) hasVMs() (bool, error) {
	vms, err := os.ReadDir(filepath.Join(n.state, "vms"))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return len(vms) > 0, err
}

// recognise keeps the VMs of one cluster from another, which knows none of their pods: it would be to end them.
func (n *nodeRun) recognise(now node.Cluster) error {
	path := filepath.Join(n.state, "cluster.json")
	var known node.Cluster
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &known)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", path, err)
	}
	if vms, err := n.hasVMs(); err != nil {
		return err
	} else if vms && now.Other(known) {
		return fmt.Errorf("%s has VMs of another cluster, and this one would have them ended: start the node with the kubeconfig of theirs, or give it a "+
			"--state-dir of its own; if it is the same cluster, restored without its old objects, remove %s", n.state, path)
	}
	if !now.Other(known) { // what is not known now may be so later
		now.Service, now.Node = cmp.Or(now.Service, known.Service), cmp.Or(now.Node, known.Node)
	}
	if now == known {
		return nil
	}
	if text, err = json.Marshal(now); err != nil {
		return err
	}
	return atomicfile.WriteBytes(path, append(text, '\n'))
}

// life is the time of a node: until ctx is done or, with --drain, until the VMs of the node that is ready have ended after
// that.
func (n *nodeRun) life(ctx context.Context, ready *atomic.Pointer[node.Node]) (context.Context, context.CancelFunc) {
	if n.drain <= 0 {
		return context.WithCancel(ctx)
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		defer end()
		made := ready.Load()
		if made == nil {
			return
		}
		n.log.Info("the node is drained; a second signal ends it at once", "most", n.drain)
		drain, cancel := context.WithTimeout(life, n.drain)
		defer cancel()
		if err := made.Drain(drain); err != nil {
			n.log.Error("the node is not drained", "error", err)
		}
	})
	return life, func() { stop(); end() }
}
