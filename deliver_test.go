package vmseed_test

import (
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/vmseed/vmseed"
	"github.com/vmseed/vmseed/delivery"
	deliveries "github.com/vmseed/vmseed/delivery/all"
	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

// TestDeliverAll has every part of a seed attached once, and nothing left over when one part cannot be delivered.
func TestDeliverAll(t *testing.T) {
	e := vmseed.Engine{Deliveries: deliveries.Deliveries()}
	volumes := []seed.Volume{{Label: "cidata", Files: []seed.File{{Path: "meta-data", Content: secret.New("{}")}}}}
	items := []seed.FwCfg{{Name: seed.IgnitionItem, Content: secret.New(`{"ignition": {"version": "3.0.0"}}`)}}
	rows := []seed.SMBIOS{{Type: 1, Field: "product", Value: "x"}}
	for _, c := range []struct {
		name string
		seed seed.Seed
		ways vmseed.Ways
		want []seed.AttachmentKind
		err  error
	}{
		{"volume", seed.Seed{Volumes: volumes}, vmseed.Ways{Volumes: "vfat"}, []seed.AttachmentKind{seed.Drive, seed.KernelArg}, nil},
		{"config", seed.Seed{Firmware: seed.Firmware{FwCfg: items}}, vmseed.Ways{Firmware: "fw_cfg"}, []seed.AttachmentKind{seed.FwCfgFile, seed.KernelArg}, nil},
		{"both", seed.Seed{Volumes: volumes, Firmware: seed.Firmware{FwCfg: items, SMBIOS: rows}}, vmseed.Ways{Volumes: "iso", Firmware: "virtio-blk"},
			[]seed.AttachmentKind{seed.Drive, seed.KernelArg, seed.Drive, seed.SMBIOSRow}, nil},
		{"rows", seed.Seed{Volumes: volumes, Firmware: seed.Firmware{SMBIOS: rows}}, vmseed.Ways{Volumes: "iso", Firmware: "fw_cfg"},
			[]seed.AttachmentKind{seed.Drive, seed.KernelArg, seed.SMBIOSRow}, nil},
		{"tree", seed.Seed{Volumes: volumes, Trees: []seed.Tree{{Name: "ec2"}}, Firmware: seed.Firmware{FwCfg: items}}, vmseed.Ways{Volumes: "iso", Firmware: "fw_cfg"}, nil, delivery.ErrPart},
		{"nothing", seed.Seed{}, vmseed.Ways{Volumes: "iso", Firmware: "fw_cfg"}, nil, delivery.ErrNoVolume},
		{"second fails", seed.Seed{Volumes: volumes, Firmware: seed.Firmware{FwCfg: append(items, seed.FwCfg{Name: "../x"})}}, vmseed.Ways{Volumes: "iso", Firmware: "fw_cfg"}, nil, delivery.ErrName},
		{"no such way", seed.Seed{Volumes: volumes}, vmseed.Ways{Volumes: "pigeon"}, nil, vmseed.ErrUnknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			c.seed.KernelArgs = []string{"ignition.firstboot"}
			receipts, err := e.DeliverAll(t.Context(), c.seed, c.ways, dir)
			if !errors.Is(err, c.err) {
				t.Fatalf("got %v", err)
			}
			var got []seed.AttachmentKind
			for _, r := range receipts {
				for _, a := range r.Attachments {
					got = append(got, a.Kind)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("attached are %v, want %v", got, c.want)
			}
			if err := e.Remove(t.Context(), receipts...); err != nil {
				t.Error(err)
			}
			if left, _ := os.ReadDir(dir); len(left) > 0 {
				t.Errorf("left over: %v", left)
			}
		})
	}
}
