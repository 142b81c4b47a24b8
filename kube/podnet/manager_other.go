//go:build !linux

package podnet

import (
	"context"
	"errors"
)

var errSystem = errors.New("networks of pods need Linux: CNI plugins work on its network namespaces")

// Manager gives pods their networks, on Linux.
type Manager struct{}

// New fails on this system.
func New(Config) (*Manager, error) { return nil, errSystem }

// Usable fails on this system.
func (m *Manager) Usable(context.Context) error { return errSystem }

// Setup fails on this system.
func (m *Manager) Setup(context.Context, Pod) (Attachment, error) { return Attachment{}, errSystem }

// Teardown fails on this system.
func (m *Manager) Teardown(context.Context, string) error { return errSystem }

// List fails on this system.
func (m *Manager) List() ([]string, error) { return nil, errSystem }

// Tidy fails on this system.
func (m *Manager) Tidy(context.Context) error { return errSystem }
