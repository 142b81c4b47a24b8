package volume

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/vmseed/vmseed/delivery"
	"github.com/vmseed/vmseed/delivery/deliverytest"
	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

func TestConformance(t *testing.T) {
	for _, v := range []Volume{ISO(), VFAT()} {
		t.Run(v.Name(), func(t *testing.T) { deliverytest.Run(t, deliverytest.Config{Delivery: v, Streams: true}) })
	}
}

// TestMedia: further media have their own names, formats and wishes, and a prepared image is attached where it is.
func TestMedia(t *testing.T) {
	dir := t.TempDir()
	file := []seed.File{{Path: "x", Content: secret.New("x")}}
	s := seed.Seed{Machine: seed.Name{Namespace: "ns", Name: "vm"}, Volumes: []seed.Volume{
		{Label: "cidata", Files: file},
		{Name: "floppy", Label: "floppy", Format: "floppy", Files: file, Serial: "s1", Bus: "scsi"},
		{Name: "prepared", Path: "/images/ready.iso", Serial: "s2"},
		{Name: "same", Label: "same", Files: file},
	}}
	path := filepath.Join(dir, "seed.img")
	r, err := VFAT().Deliver(t.Context(), s, delivery.Target{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	want := []seed.Attachment{
		{Kind: seed.Drive, Path: path, Label: "cidata"},
		{Kind: seed.Drive, Path: filepath.Join(dir, "ns_vm.floppy.vfat"), Label: "floppy", Serial: "s1", Bus: "scsi"},
		{Kind: seed.Drive, Path: "/images/ready.iso", Serial: "s2"},
		{Kind: seed.Drive, Path: filepath.Join(dir, "ns_vm.same.vfat"), Label: "same"},
	}
	if !slices.Equal(r.Attachments, want) {
		t.Errorf("got  %+v\nwant %+v", r.Attachments, want)
	}
	if slices.Contains(r.Paths, "/images/ready.iso") || len(r.Paths) != 3 {
		t.Errorf("Remove would delete %v", r.Paths)
	}
	if _, err := VFAT().Open(filepath.Join(dir, "ns_vm.floppy.vfat")); err != nil {
		t.Error(err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 3 {
		t.Errorf("the directory has %v", entries)
	}
}
