// Package node makes this process a node of a Kubernetes cluster. Pods that the scheduler binds to it are handed to a
// provider; the Node object, its lease and its status say what the host really is and has.
//
// The wiring is Virtual Kubelet's pod and node controllers and nothing of its nodeutil: a node watches the pods that are
// bound to it and its own Node object, and nothing else. It runs with the rights of system:node:NAME alone, which the Node
// authorizer gives and bounds.
package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	vk "github.com/virtual-kubelet/virtual-kubelet/node"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"

	"github.com/vmseed/vmseed/kube/node/server"
)

// Provider runs pods. The powers of package server (Logs, Streams, Usage) and Images are found by type assertion; a
// request that needs one that the provider lacks is answered with 501.
type Provider interface {
	vk.PodLifecycleHandler
	vk.PodNotifier
}

// Images is the power of a provider to say which images the host has.
type Images interface {
	// ContainerImages returns names and sizes in bytes of the images at hand, for the status of the Node.
	ContainerImages(ctx context.Context) ([]corev1.ContainerImage, error)
}

// Health is the power of a provider to say that it cannot run pods. An error makes the Node NotReady, with the error's
// text as the message, until it is nil again.
type Health interface {
	// Healthy is asked every few seconds and must not take long.
	Healthy(ctx context.Context) error
}

// Config is what a node is made of.
type Config struct {
	// Name is the name of the Node object. The client's user must be system:node:NAME where the Node authorizer is in use.
	Name string
	// Client reaches the API server. Client settings fit for hundreds of pods are in Tune.
	Client kubernetes.Interface
	// Provider runs the pods.
	Provider Provider
	// Recorder takes the events of the pod controller. Default: one that writes them with Client.
	Recorder record.EventRecorder

	// Addresses are those at which the node is reached, at most one of each type. The API server dials the InternalIP.
	Addresses []corev1.NodeAddress
	// Server serves the kubelet's API on Listener. With a nil Listener there is none, and the Node says so by having no
	// port.
	Server   *server.Server
	Listener net.Listener

	// Labels and Annotations are set beside those of others, which are kept.
	Labels, Annotations map[string]string
	// Taints are set when the Node is registered; whoever changes them later is left alone.
	Taints []corev1.Taint
	// Host is measured for capacity and conditions. Default: this host.
	Host Host
	// Reserve is withheld from what pods may ask for: cpu, memory, ephemeral-storage.
	Reserve corev1.ResourceList
	// MaxPods is the number of pods that the node takes. Default: 110.
	MaxPods int64

	// RuntimeVersion ("vmseed://1.2.3") and KubeletVersion ("v1.36.3-vmseed-1.2.3") are shown by kubectl get nodes -o wide.
	RuntimeVersion, KubeletVersion string

	// Workers is how many pods are handled at once. Default: 10.
	Workers int
	// Lease is how long the control plane waits for a sign of life. Default: 40 s, as of a kubelet.
	Lease time.Duration
	// Logger takes the messages of the node and of Virtual Kubelet. Default: slog.Default.
	Logger *slog.Logger
}

func (c *Config) complete() error {
	switch {
	case c.Name == "":
		return errors.New("the node has no name")
	case c.Client == nil:
		return errors.New("the node has no client of the API server")
	case c.Provider == nil:
		return errors.New("the node has no provider of pods")
	case c.Listener != nil && c.Server == nil:
		return errors.New("there is a listener, but no server for it")
	}
	seen := map[corev1.NodeAddressType]bool{}
	for _, a := range c.Addresses {
		// The status is patched with the address type as the merge key.
		if seen[a.Type] {
			return fmt.Errorf("the node has two addresses of type %s; Kubernetes merges a Node's addresses by their type", a.Type)
		}
		seen[a.Type] = true
	}
	if c.MaxPods == 0 {
		c.MaxPods = 110
	}
	if c.Workers == 0 {
		c.Workers = 10
	}
	if c.Lease == 0 {
		c.Lease = vk.DefaultLeaseDuration * time.Second
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return nil
}
