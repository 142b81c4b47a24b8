package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

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

// reserved reads what is kept from pods.
func reserved(texts map[string]string) (corev1.ResourceList, error) {
	list := corev1.ResourceList{}
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
	vms, err := os.ReadDir(filepath.Join(n.state, "vms"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if was != "" && len(vms) > 0 {
		return fmt.Errorf("%s has VMs of node %s, which node %s would end: start it with --name %s, drain it, or give this one a --state-dir of its own",
			n.state, was, n.name, was)
	}
	if err := os.WriteFile(path+".new", []byte(n.name+"\n"), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
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
