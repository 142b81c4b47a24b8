// Package host is the Runner of a real hypervisor host: it reads a pod, or the launch document that a launcher pod
// carries, with the front ends of the command, sets up the pod's network, finds its images, and boots it as the command
// does, under a supervisor that outlives the node's process.
package host

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"

	"k8s.io/client-go/kubernetes"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/hypervisor"
	"github.com/vmseed/vmseed/image"
	"github.com/vmseed/vmseed/kube/provider"
)

// Options are what a Host works with.
type Options struct {
	// Client reads the objects that pods name.
	Client kubernetes.Interface
	// Root is the directory of the VMs.
	Root string
	// Images keeps images that were fetched; nil is the user's store.
	Images *image.Store
	// NodeIPs are the node's addresses.
	NodeIPs []netip.Addr
	// Hypervisor are wishes for every start; Detach is always set.
	Hypervisor hypervisor.Options
	// Supervisor is the command that supervises a VM, without its flags; empty means the running program with the argument
	// supervise.
	Supervisor []string
	Log        *slog.Logger
}

// Host runs VMs on this host.
type Host struct {
	options Options
}

var _ provider.Runner = (*Host)(nil)

// New returns the Runner of this host.
func New(o Options) (*Host, error) { return &Host{options: o}, nil }

// Start starts the VM of a pod.
func (h *Host) Start(ctx context.Context, s provider.Start) (provider.Started, diag.List, error) {
	return provider.Started{}, nil, errors.ErrUnsupported
}

// Find returns the VM of a pod.
func (h *Host) Find(ctx context.Context, r provider.Ref) (provider.Guest, error) {
	return nil, errors.ErrUnsupported
}

// Remove removes the VM of a pod, and its network.
func (h *Host) Remove(ctx context.Context, r provider.Ref) error { return errors.ErrUnsupported }

// List returns the pods that have a VM or a network here.
func (h *Host) List(ctx context.Context) ([]provider.Ref, error) { return nil, errors.ErrUnsupported }
