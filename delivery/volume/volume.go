// Package volume delivers a seed as images of file systems that the guest finds by their labels: ISO 9660, which every
// guest reads, and FAT for guests without the driver for that.
package volume

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/vmseed/vmseed/delivery"
	"github.com/vmseed/vmseed/format/fat"
	"github.com/vmseed/vmseed/format/iso9660"
	"github.com/vmseed/vmseed/internal/atomicfile"
	"github.com/vmseed/vmseed/seed"
)

// Volume delivers and reads images of one format.
type Volume struct{ format string }

// ISO returns the delivery by ISO 9660 images.
func ISO() Volume { return Volume{"iso"} }

// VFAT returns the delivery by FAT images.
func VFAT() Volume { return Volume{"vfat"} }

// Name returns "iso" or "vfat".
func (v Volume) Name() string { return v.format }

// Deliver writes one image for each volume of the seed. The first has the target's path; further ones stand beside it as
// <namespace>_<name>.<volume>.<format>. Prepared images are attached where they are. Images are 0600 files.
func (v Volume) Deliver(ctx context.Context, s seed.Seed, t delivery.Target) (delivery.Receipt, error) {
	receipt := delivery.Receipt{Delivery: v.Name()}
	if err := delivery.CheckVolumes(s); err != nil {
		return receipt, fmt.Errorf("%s: %w", v.format, err)
	}
	if t.Writer != nil {
		if len(s.Volumes) != 1 || s.Volumes[0].Path != "" {
			return receipt, fmt.Errorf("%s: %w", v.format, delivery.ErrNeedsFile)
		}
		_, err := v.write(t.Writer, s.Volumes[0])
		return receipt, err
	}
	for _, vol := range s.Volumes {
		if err := ctx.Err(); err != nil {
			return delivery.Receipt{}, errors.Join(err, v.Remove(ctx, receipt))
		}
		format := formatOf(vol, v.format)
		path := t.FilePath(s.Machine, vol.Name, format)
		if vol.Path != "" {
			path = vol.Path
		} else {
			fresh := !exists(path)
			err := atomicfile.Write(path, func(w io.Writer) error {
				_, err := Volume{format}.write(w, vol)
				return err
			})
			if err != nil {
				return delivery.Receipt{}, errors.Join(err, v.Remove(ctx, receipt))
			}
			if fresh {
				receipt.Paths = append(receipt.Paths, path)
			}
		}
		receipt.Attachments = append(receipt.Attachments, seed.Attachment{Kind: seed.Drive, Path: path, Label: vol.Label,
			Serial: vol.Serial, Bus: vol.Bus})
	}
	receipt.Attachments = append(receipt.Attachments, delivery.KernelArgs(s)...)
	return receipt, nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// formatOf is the volume's own format where it must have one.
func formatOf(vol seed.Volume, format string) string {
	switch vol.Format {
	case "":
		return format
	case "floppy":
		return "vfat"
	}
	return vol.Format
}

// write writes the image of one volume.
func (v Volume) write(w io.Writer, vol seed.Volume) (int64, error) {
	if v.format == "vfat" {
		files := make([]fat.File, len(vol.Files))
		for i, f := range vol.Files {
			files[i] = fat.File{Path: f.Path, Data: []byte(f.Content.Reveal())}
		}
		im, err := fat.New(files, fat.Options{Label: vol.Label})
		if err != nil {
			return 0, err
		}
		return im.WriteTo(w)
	}
	files := make([]iso9660.File, len(vol.Files))
	for i, f := range vol.Files {
		mode := fs.FileMode(f.Mode)
		if mode == 0 {
			mode = 0o644
		}
		files[i] = iso9660.File{Path: f.Path, Mode: mode, Data: []byte(f.Content.Reveal())}
	}
	im, err := iso9660.New(files, iso9660.Options{Label: vol.Label})
	if err != nil {
		return 0, err
	}
	return im.WriteTo(w)
}

// Remove deletes the images that Deliver made.
func (v Volume) Remove(_ context.Context, r delivery.Receipt) error {
	return delivery.RemoveFiles(r)
}

// Open reads the image at path back.
func (v Volume) Open(path string) (seed.Seed, error) {
	f, err := os.Open(path)
	if err != nil {
		return seed.Seed{}, err
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return seed.Seed{}, fmt.Errorf("%s: %w: %v", path, delivery.ErrNotSeed, err)
	}
	fsys, label, err := v.open(f, size)
	if err != nil {
		return seed.Seed{}, fmt.Errorf("%s: %w: %v", path, delivery.ErrNotSeed, err)
	}
	vol, err := delivery.ReadVolume(fsys)
	if err != nil {
		return seed.Seed{}, fmt.Errorf("%s: %w", path, err)
	}
	vol.Label, vol.Format = label, v.format
	return seed.Seed{DataSource: seed.Layout(vol), Volumes: []seed.Volume{vol}}, nil
}

func (v Volume) open(r io.ReaderAt, size int64) (fs.FS, string, error) {
	if v.format == "vfat" {
		fsys, err := fat.NewReader(r, size)
		if err != nil {
			return nil, "", err
		}
		return fsys, fsys.Label(), nil
	}
	fsys, err := iso9660.NewReader(r, size)
	if err != nil {
		return nil, "", err
	}
	return fsys, fsys.Label(), nil
}

var (
	_ delivery.Delivery  = Volume{}
	_ delivery.Inspector = Volume{}
)
