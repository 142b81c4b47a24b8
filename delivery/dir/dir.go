// Package dir delivers a seed as a directory tree: for a web server that plays NoCloud over HTTP, for a seed directory
// inside an image, or to look at.
package dir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/vmseed/vmseed/delivery"
	"github.com/vmseed/vmseed/internal/atomicfile"
	"github.com/vmseed/vmseed/seed"
)

// Dir delivers and reads directory trees.
type Dir struct{}

// New returns the delivery.
func New() Dir { return Dir{} }

// Name returns "dir".
func (Dir) Name() string { return "dir" }

// ErrForeign is wrapped when the directory holds something that is not of the seed: a guest would read it as well.
var ErrForeign = errors.New("the directory holds something else")

// Deliver writes the first volume's tree into the directory, and every further volume into a directory beside it that
// is named after machine and volume. An Ignition config for the firmware is the file config.ign in the first directory.
// The directory may hold an earlier tree of the same files. Files are 0600, directories that are made 0700.
func (d Dir) Deliver(ctx context.Context, s seed.Seed, t delivery.Target) (delivery.Receipt, error) {
	receipt := delivery.Receipt{Delivery: d.Name()}
	if t.Writer != nil {
		return receipt, fmt.Errorf("dir: %w", delivery.ErrNeedsFile)
	}
	volumes, err := trees(s)
	if err != nil {
		return receipt, fmt.Errorf("dir: %w", err)
	}
	base := t.Path
	if t.Dir {
		base = filepath.Join(t.Path, s.Machine.String())
	}
	for _, v := range volumes {
		target := base
		if v.Name != "" {
			target = filepath.Join(filepath.Dir(filepath.Clean(base)), s.Machine.String()+"."+v.Name)
		}
		made, err := writeTree(ctx, target, v)
		receipt.Paths = append(receipt.Paths, made...)
		if err != nil {
			return delivery.Receipt{}, errors.Join(err, d.Remove(context.WithoutCancel(ctx), receipt))
		}
	}
	receipt.Attachments = delivery.KernelArgs(s)
	return receipt, nil
}

// trees are the volumes of a seed, with the Ignition config that its guest finds in the firmware as a file of the first.
func trees(s seed.Seed) ([]seed.Volume, error) {
	if s.Firmware.IsZero() {
		return s.Volumes, delivery.CheckVolumes(s)
	}
	if err := delivery.CheckTrees(s); err != nil {
		return nil, err
	}
	items := s.Firmware.FwCfg
	config, item, ok := s.Ignition()
	if !ok || len(items) != 1 || item != items[0].Name || len(s.Firmware.SMBIOS) > 0 {
		return nil, fmt.Errorf("%w: it has things for the firmware beside an Ignition config", delivery.ErrPart)
	}
	file := seed.File{Path: seed.IgnitionFile, Content: config}
	if len(s.Volumes) == 0 || s.Volumes[0].Name != "" {
		return slices.Insert(slices.Clone(s.Volumes), 0, seed.Volume{Files: []seed.File{file}}), nil
	}
	out := slices.Clone(s.Volumes)
	out[0].Files = append(slices.Clone(out[0].Files), file)
	return out, nil
}

// writeTree writes one volume and returns what it made that was not there before.
func writeTree(ctx context.Context, target string, v seed.Volume) (made []string, err error) {
	if v.Path != "" {
		return nil, fmt.Errorf("dir: %s is a prepared image, which has no files to write", v.Path)
	}
	if err := delivery.CheckNames(v); err != nil {
		return nil, fmt.Errorf("dir: %w", err)
	}
	if err := checkForeign(target, v); err != nil {
		return nil, err
	}
	if _, err := os.Lstat(target); errors.Is(err, fs.ErrNotExist) {
		made = append(made, target)
	}
	if err := os.MkdirAll(target, atomicfile.DirMode); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(target)
	if err != nil {
		return made, err
	}
	defer root.Close()
	for _, f := range v.Files {
		if err := ctx.Err(); err != nil {
			return made, err
		}
		full := filepath.Join(target, filepath.FromSlash(f.Path))
		if _, err := root.Lstat(f.Path); errors.Is(err, fs.ErrNotExist) {
			made = append(made, full)
		}
		if err := writeFile(root, f); err != nil {
			return made, err
		}
	}
	return made, nil
}

func writeFile(root *os.Root, f seed.File) error {
	parent, name := path.Split(f.Path)
	in := root
	if parent != "" {
		if err := root.MkdirAll(path.Clean(parent), atomicfile.DirMode); err != nil {
			return err
		}
		sub, err := root.OpenRoot(path.Clean(parent))
		if err != nil {
			return err
		}
		defer sub.Close()
		in = sub
	}
	return atomicfile.WriteBytesIn(in, name, []byte(f.Content.Reveal()))
}

// checkForeign refuses a directory with files that are not of the volume.
func checkForeign(target string, v seed.Volume) error {
	err := filepath.WalkDir(target, func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(target, p)
		if err != nil {
			return err
		}
		known := slices.ContainsFunc(v.Files, func(f seed.File) bool { return f.Path == filepath.ToSlash(rel) })
		if known || atomicfile.IsTemporary(e.Name()) {
			return nil
		}
		return fmt.Errorf("dir: %w: %s is not of the seed, and a guest would read it as well; choose an empty directory", ErrForeign, p)
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Remove deletes what Deliver made, and the directories that are empty then.
func (Dir) Remove(_ context.Context, r delivery.Receipt) error {
	var errs []error
	for _, p := range slices.Backward(r.Paths) {
		errs = append(errs, prune(p))
	}
	return errors.Join(errs...)
}

// prune removes a file, or a directory with the empty directories below it.
func prune(p string) error {
	info, err := os.Lstat(p)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.IsDir() {
		entries, err := os.ReadDir(p)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if e.IsDir() {
				if err := prune(filepath.Join(p, e.Name())); err != nil {
					return err
				}
			}
		}
		if left, err := os.ReadDir(p); err != nil || len(left) > 0 {
			return err
		}
	}
	return os.Remove(p)
}

// Open reads a directory back that holds a seed of NoCloud, ConfigDrive or Ignition.
func (d Dir) Open(name string) (seed.Seed, error) {
	info, err := os.Stat(name)
	if err != nil {
		return seed.Seed{}, err
	}
	if !info.IsDir() {
		return seed.Seed{}, fmt.Errorf("%s: %w: not a directory", name, delivery.ErrNotSeed)
	}
	root, err := os.OpenRoot(name)
	if err != nil {
		return seed.Seed{}, err
	}
	defer root.Close()
	v, err := delivery.ReadVolume(root.FS())
	if err != nil {
		return seed.Seed{}, fmt.Errorf("%s: %w", name, err)
	}
	var s seed.Seed
	if config, ok := v.File(seed.IgnitionFile); ok && seed.IgnitionVersion(config) != "" {
		s.Firmware.FwCfg = []seed.FwCfg{{Content: config}}
		v.Files = slices.DeleteFunc(v.Files, func(f seed.File) bool { return f.Path == seed.IgnitionFile })
	}
	switch s.DataSource = seed.Layout(v); {
	case s.DataSource != "":
		s.Volumes = []seed.Volume{v}
	case len(v.Files) == 0 && !s.Firmware.IsZero():
		s.DataSource = "ignition"
	default:
		return seed.Seed{}, fmt.Errorf("%s: %w: it has neither meta-data nor openstack/latest/meta_data.json, nor %s alone",
			name, delivery.ErrNotSeed, seed.IgnitionFile)
	}
	return s, nil
}

var (
	_ delivery.Delivery  = Dir{}
	_ delivery.Inspector = Dir{}
)
