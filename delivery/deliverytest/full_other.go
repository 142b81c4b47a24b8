//go:build !linux

package deliverytest

import "testing"

func (c Config) fullDisk(t *testing.T) {
	t.Skip("only Linux has the small file system that this test fills")
}
