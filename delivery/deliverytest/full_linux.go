package deliverytest

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

// fullDisk delivers to file systems that are a little too small, from one that takes nothing to one that lacks the last
// page. What was there before must survive.
func (c Config) fullDisk(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may mount the small file system that this test fills")
	}
	for _, size := range []string{"64k", "256k", "1m", "2m", "3m"} {
		dir := t.TempDir()
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
			t.Skip("this system does not let root mount a tmpfs: ", err)
		}
		t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
		path := filepath.Join(dir, "out")
		_, err := c.Delivery.Deliver(t.Context(), c.huge(), target(path))
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s: got %v", size, err)
		}
		if left := entries(t, dir); len(left) > 0 {
			t.Errorf("%s: left over: %v", size, left)
		}
		c.oldSurvives(t, path)
	}
}

// oldSurvives delivers a small seed, and then one that does not fit.
func (c Config) oldSurvives(t *testing.T, path string) {
	t.Helper()
	if _, err := c.Delivery.Deliver(t.Context(), c.small("old"), target(path)); errors.Is(err, syscall.ENOSPC) {
		return // not even that fits
	} else if err != nil {
		t.Fatal(err)
	}
	before := entries(t, filepath.Dir(path))
	if _, err := c.Delivery.Deliver(t.Context(), c.large(), target(path)); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("got %v", err)
	}
	if after := entries(t, filepath.Dir(path)); !slices.Equal(before, after) {
		t.Errorf("there was %v, and now is %v", before, after)
	}
	if c.Carries != Volumes {
		c.sameSeed(t, path, c.small("old"))
	} else if user, ok := c.open(t, path).Volumes[0].File("user-data"); !ok || user.Len() == 0 {
		t.Error("the seed that was there is gone")
	}
}
