//go:build !linux

package tap

import (
	"errors"
	"net"
	"os"
)

// Open fails: only Linux has such devices.
func Open(Device) (*os.File, error) { return nil, errors.ErrUnsupported }

// Protect fails.
func Protect(Device, Filter) error { return errors.ErrUnsupported }

// Traffic fails.
func Traffic(Device) (received, sent int64, err error) { return 0, 0, errors.ErrUnsupported }

// Port is a way to exchange frames with the guest at a tap device.
type Port struct{}

// Listen fails.
func Listen(Device, Filter) (*Port, error) { return nil, errors.ErrUnsupported }

// Read fails.
func (*Port) Read([]byte) (int, error) { return 0, errors.ErrUnsupported }

// Write fails.
func (*Port) Write([]byte) (int, error) { return 0, errors.ErrUnsupported }

// Close does nothing.
func (*Port) Close() error { return nil }

// Uplink is a way to ask neighbours on the network that a tap device is connected to.
type Uplink struct{ Port }

// Neighbours fails.
func Neighbours(Device) (*Uplink, error) { return nil, errors.ErrUnsupported }

// MAC returns none.
func (*Uplink) MAC() net.HardwareAddr { return nil }
