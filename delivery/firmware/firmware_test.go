package firmware

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/delivery"
	"github.com/vmseed/vmseed/delivery/deliverytest"
	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

func TestConformance(t *testing.T) {
	for _, c := range []deliverytest.Config{
		{Delivery: FwCfg(), Carries: deliverytest.Items},
		{Delivery: SMBIOS(), Carries: deliverytest.Items},
		{Delivery: VirtioBlk(), Carries: deliverytest.Ignition},
		{Delivery: Ign(), Carries: deliverytest.Ignition},
	} {
		c.Streams = true
		t.Run(c.Delivery.Name(), func(t *testing.T) { deliverytest.Run(t, c) })
	}
}

const config = `{"ignition": {"version": "3.0.0"}}`

func item(name string) seed.Seed {
	return seed.Seed{Machine: seed.Name{Namespace: "ns", Name: "vm"}, Firmware: seed.Firmware{FwCfg: []seed.FwCfg{{Name: name, Content: secret.New(config)}}}}
}

// TestAttachments is what the hypervisor is asked for.
func TestAttachments(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	s := item(seed.FlatcarItem)
	s.Firmware.SMBIOS = []seed.SMBIOS{{Type: 11, Field: "value", Value: "x"}}
	s.KernelArgs = []string{"ignition.firstboot"}
	rest := []seed.Attachment{{Kind: seed.SMBIOSRow, Type: 11, Field: "value", Value: "x"}, {Kind: seed.KernelArg, Value: "ignition.firstboot"}}
	for _, c := range []struct {
		delivery Firmware
		want     seed.Attachment
	}{
		{FwCfg(), seed.Attachment{Kind: seed.FwCfgFile, Name: seed.FlatcarItem, Path: path}},
		{VirtioBlk(), seed.Attachment{Kind: seed.Drive, Serial: "ignition", Bus: "virtio", Path: path}},
	} {
		r, err := c.delivery.Deliver(t.Context(), s, delivery.Target{Path: path})
		if err != nil || !slices.Equal(r.Attachments, append([]seed.Attachment{c.want}, rest...)) {
			t.Errorf("%s: %+v, %v", c.delivery.Name(), r.Attachments, err)
		}
	}
}

// TestDevice: the block device is the config and NUL bytes to the end of its last sector, and no sector more.
func TestDevice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	for _, length := range []int{len(config), 511, 512, 513, 1024} {
		s := item(seed.IgnitionItem)
		text := config + strings.Repeat(" ", length-len(config))
		s.Firmware.FwCfg[0].Content = secret.New(text)
		if _, err := VirtioBlk().Deliver(t.Context(), s, delivery.Target{Path: path}); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil || len(data) != (length+511)/512*512 || strings.TrimRight(string(data), "\x00") != text {
			t.Errorf("a config of %d bytes is a device of %d, %v", length, len(data), err)
		}
	}
}

// TestConfigOfVolume: the config is a file wherever in the seed it is; a seed of cloud-init has none.
func TestConfigOfVolume(t *testing.T) {
	path := filepath.Join(t.TempDir(), "vm.ign")
	for name, user := range map[string]string{"openstack/latest/user_data": config, "user-data": "\n " + config} {
		s := seed.Seed{Volumes: []seed.Volume{{Label: "x", Files: []seed.File{{Path: name, Content: secret.New(user)}}}}}
		if _, err := Ign().Deliver(t.Context(), s, delivery.Target{Path: path}); err != nil {
			t.Fatal(err)
		}
		if data, err := os.ReadFile(path); err != nil || string(data) != user {
			t.Errorf("%s: got %q, %v", name, data, err)
		}
	}
	for _, user := range []string{"#cloud-config\n{}\n", `{"users": []}`, ""} {
		s := seed.Seed{Volumes: []seed.Volume{{Files: []seed.File{{Path: "user-data", Content: secret.New(user)}}}}}
		if _, err := Ign().Deliver(t.Context(), s, delivery.Target{Path: path}); err == nil {
			t.Errorf("%q is taken for an Ignition config", user)
		}
	}
}

// TestVolumeRefused: a volume would be lost.
func TestVolumeRefused(t *testing.T) {
	dir := t.TempDir()
	s := item(seed.IgnitionItem)
	s.Volumes = []seed.Volume{{Label: "cidata"}}
	for _, d := range []Firmware{FwCfg(), VirtioBlk()} {
		if _, err := d.Deliver(t.Context(), s, delivery.Target{Path: filepath.Join(dir, "x")}); !errors.Is(err, delivery.ErrPart) {
			t.Errorf("%s: got %v", d.Name(), err)
		}
		if _, err := d.Deliver(t.Context(), seed.Seed{Volumes: s.Volumes[:0]}, delivery.Target{Path: filepath.Join(dir, "x")}); !errors.Is(err, delivery.ErrNoFirmware) {
			t.Errorf("%s of nothing: got %v", d.Name(), err)
		}
	}
}

// TestOpenOld: a config of version 2 has yet to be translated, so it is a definition and no seed.
func TestOpenOld(t *testing.T) {
	path := filepath.Join(t.TempDir(), "old.ign")
	if err := os.WriteFile(path, []byte(`{"ignition": {"version": "2.2.0"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Ign().Open(path); !errors.Is(err, delivery.ErrNotSeed) {
		t.Errorf("got %v", err)
	}
}
