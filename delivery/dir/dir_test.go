package dir

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/vmseed/vmseed/delivery"
	"github.com/vmseed/vmseed/delivery/deliverytest"
	"github.com/vmseed/vmseed/secret"
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

// TestIgnition: a config is the directory's only file, or stands beside the files of a volume; both are read back.
func TestIgnition(t *testing.T) {
	config := secret.New(`{"ignition": {"version": "3.0.0"}}`)
	for _, volumes := range [][]seed.Volume{nil, deliverytest.Seed().Volumes} {
		dir := filepath.Join(t.TempDir(), "out")
		s := seed.Seed{Machine: seed.Name{Namespace: "ns", Name: "vm"}, Volumes: volumes,
			Firmware: seed.Firmware{FwCfg: []seed.FwCfg{{Name: seed.IgnitionItem, Content: config}}}}
		if _, err := New().Deliver(t.Context(), s, delivery.Target{Path: dir}); err != nil {
			t.Fatal(err)
		}
		if data, err := os.ReadFile(filepath.Join(dir, "config.ign")); err != nil || string(data) != config.Reveal() {
			t.Errorf("config.ign is %q, %v", data, err)
		}
		back, err := New().Open(dir)
		if err != nil || len(back.Firmware.FwCfg) != 1 || !back.Firmware.FwCfg[0].Content.Equal(config) {
			t.Fatalf("read back: %+v, %v", back, err)
		}
		if volumes == nil {
			if back.DataSource != "ignition" || len(back.Volumes) > 0 {
				t.Errorf("read back: %+v", back)
			}
			if err := os.WriteFile(filepath.Join(dir, "main.go"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := New().Open(dir); !errors.Is(err, delivery.ErrNotSeed) {
				t.Errorf("a directory of other things is a seed: %v", err)
			}
		} else if back.DataSource != "nocloud" || len(back.Volumes[0].Files) != len(volumes[0].Files) {
			t.Errorf("read back: %+v", back)
		}
	}
}
