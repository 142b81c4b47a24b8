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
	"strings"

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
// is named after machine and volume. What the guest fetches by HTTP is written as the root of a web server, each tree below
// the first of its roots. An Ignition config for the firmware is the file config.ign in the first directory. The directory may
// hold an earlier tree of the same files. Files are 0600, directories that are made 0700.
//
// SMBIOS strings and kernel arguments need no file. Where the target has no URL, {{base}} is left in them.
func (d Dir) Deliver(ctx context.Context, s seed.Seed, t delivery.Target) (delivery.Receipt, error) {
	receipt := delivery.Receipt{Delivery: d.Name()}
	if t.Writer != nil {
		return receipt, fmt.Errorf("dir: %w", delivery.ErrNeedsFile)
	}
	volumes, err := directories(s)
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
	receipt.Attachments = attachments(s, t.Base)
	return receipt, nil
}

// attachments are what of a seed needs no file.
func attachments(s seed.Seed, base string) []seed.Attachment {
	var out []seed.Attachment
	for _, row := range s.Firmware.SMBIOS {
		out = append(out, seed.Attachment{Kind: seed.SMBIOSRow, Type: row.Type, Field: row.Field, Value: row.Value})
	}
	out = append(out, delivery.KernelArgs(s)...)
	for i := range out {
		if base != "" {
			out[i].Value = strings.ReplaceAll(out[i].Value, seed.Base, base)
		}
	}
	return out
}

// directories are the volumes of a seed. The first has the seed proper, or what is served in its place, and the Ignition
// config that the guest finds in the firmware.
func directories(s seed.Seed) ([]seed.Volume, error) {
	proper := len(s.Volumes) > 0 && s.Volumes[0].Name == ""
	var files []seed.File
	switch items := s.Firmware.FwCfg; {
	case len(s.Firmware.Credentials) > 0:
		return nil, fmt.Errorf("%w: it has credentials for the firmware", delivery.ErrPart)
	case proper && len(s.Trees) > 0:
		return nil, fmt.Errorf("%w: it has a tree, which its guest reads by HTTP, beside a volume", delivery.ErrPart)
	case len(items) > 0:
		config, item, ok := s.Ignition()
		if !ok || len(items) != 1 || item != items[0].Name {
			return nil, fmt.Errorf("%w: it has things for the firmware beside an Ignition config", delivery.ErrPart)
		}
		files = append(files, seed.File{Path: seed.IgnitionFile, Content: config})
	case len(s.Volumes)+len(s.Trees) == 0:
		return nil, delivery.ErrNoVolume
	}
	for _, t := range s.Trees {
		for _, b := range t.Blobs {
			// The listing of a directory is the server's to make; a path that ends so says how EC2 has it.
			if !strings.HasSuffix(b.Path, "/") {
				files = append(files, seed.File{Path: t.Place(b), Content: b.Content})
			}
		}
	}
	out := slices.Clone(s.Volumes)
	switch {
	case len(files) == 0:
	case proper:
		out[0].Files = append(slices.Clone(out[0].Files), files...)
	default:
		out = slices.Insert(out, 0, seed.Volume{Files: files})
	}
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

// Open reads a directory back that holds a seed of NoCloud, ConfigDrive or Ignition, or what a web server serves.
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
	if s.Trees, s.DataSource = seed.Served(v); len(s.Trees) > 0 {
		return s, nil
	}
	switch s.DataSource = seed.Layout(v); {
	case s.DataSource != "":
		s.Volumes = []seed.Volume{v}
	case len(v.Files) == 0 && !s.Firmware.IsZero():
		s.DataSource = "ignition"
	default:
		return seed.Seed{}, fmt.Errorf("%s: %w: it has neither meta-data nor openstack/latest/meta_data.json, nor latest/meta-data, nor %s alone",
			name, delivery.ErrNotSeed, seed.IgnitionFile)
	}
	return s, nil
}

var (
	_ delivery.Delivery  = Dir{}
	_ delivery.Inspector = Dir{}
)
