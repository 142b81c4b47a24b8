//go:build !unix

package deliverytest

import "testing"

func (c Config) modes(t *testing.T) {
	t.Skip("this system has no permission bits and no umask")
}
