package dir

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/vmseed/vmseed/delivery"
	"github.com/vmseed/vmseed/delivery/deliverytest"
	"github.com/vmseed/vmseed/seed"
)

func TestConformance(t *testing.T) {
	deliverytest.Run(t, deliverytest.Config{Delivery: New()})
}

// TestForeign: a file that is not of the seed would be read by the guest as well, or by whoever serves the directory.
func TestForeign(t *testing.T) {
	dir := t.TempDir()
	s := deliverytest.Seed()
	s.Volumes = s.Volumes[:1]
	if err := os.WriteFile(filepath.Join(dir, "vendor-data"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := New().Deliver(t.Context(), s, delivery.Target{Path: dir}); !errors.Is(err, ErrForeign) {
		t.Errorf("got %v", err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("the directory has %v", entries)
	}
}

func TestPreparedImage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	s := seed.Seed{Volumes: []seed.Volume{{Path: "image.iso"}}}
	if _, err := New().Deliver(t.Context(), s, delivery.Target{Path: dir}); err == nil {
		t.Error("a prepared image has no files")
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("a directory is left over")
	}
}
