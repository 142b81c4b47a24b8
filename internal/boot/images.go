package boot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/hypervisor"
	"github.com/vmseed/vmseed/image"
	"github.com/vmseed/vmseed/machine"
)

// UserImages is where images of this user are kept that were fetched: below the user's cache directory.
func UserImages() (*image.Store, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	return &image.Store{Dir: filepath.Join(cache, "vmseed", "images")}, nil
}

// ParseImage reads the name of an image in the options. A file of that name goes before everything else that the text may
// mean. The error is an *OptionError.
func ParseImage(text string) (image.Reference, error) {
	if _, err := os.Stat(text); text == "" || !errors.Is(err, fs.ErrNotExist) {
		return image.FileReference(text), nil
	}
	ref, err := image.Parse(text)
	if err == nil && ref.Kind == image.File {
		return ref, optionf("--image: there is no file %s", text)
	}
	if err == nil {
		err = ref.Check()
	}
	if err != nil {
		return ref, optionf("--image: %w", err)
	}
	return ref, nil
}

// documentImage reads the image that a definition names for a disk. Of a Virtlet pod only URLs say where the image is; for
// other names Virtlet's nodes have tables.
func documentImage(m machine.Machine, text string) (ref image.Reference, ok bool, err error) {
	url := strings.HasPrefix(text, "https://") || strings.HasPrefix(text, "http://")
	switch {
	case m.Document.Form == "virtlet" && !url:
		return ref, false, nil
	case m.Document.Form == "kubevirt" && !url:
		ref, err = image.ParseContainer(text)
	default:
		ref, err = image.Parse(text)
	}
	return ref, true, err
}

// DocumentImage reads the image that a definition names for a disk, without looking for it. The zero reference means that
// there is none, or that it cannot be read, which New says.
func DocumentImage(m machine.Machine, text string) image.Reference {
	if text == "" {
		return image.Reference{}
	}
	ref, ok, err := documentImage(m, text)
	if !ok || err != nil {
		return image.Reference{}
	}
	return ref
}

// named reads the image that a definition names for a disk, as this host does. Without ok there is none to look for.
func (l *Launcher) named(m machine.Machine, text string) (named NamedImage, ok bool, err error) {
	if l.Named != nil {
		if named, ok, err = l.Named(m, text); ok || err != nil {
			return named, true, err
		}
	}
	named.Reference, ok, err = documentImage(m, text)
	return named, ok, err
}

// images finds the images that options and definition name, for disks whose contents are not given otherwise.
func (p *Prepared) images(ctx context.Context, o Options, l *diag.List, dir string) error {
	m := p.VM.Machine
	for i, d := range m.Disks {
		if d.Root && o.Image != "" {
			ref, err := ParseImage(o.Image)
			if err != nil {
				return err
			}
			if ref.Kind == image.File {
				continue // volumes has taken it
			}
			path, err := p.resolve(ctx, o, NamedImage{Reference: ref}, dir)
			if err != nil {
				return err
			}
			p.VM.Volumes[d.Name] = hypervisor.Volume{Path: path, Overlay: true}
			continue
		}
		if _, given := p.VM.Volumes[d.Name]; given || d.Source.Image == "" {
			continue
		}
		named, ok, err := p.launcher.named(m, d.Source.Image)
		if !ok {
			continue
		}
		path := ""
		if err == nil {
			path, err = p.resolve(ctx, o, named, dir)
		}
		if err != nil {
			if err := imageDiagnostic(m, o, i, err, l); err != nil {
				return err
			}
			continue
		}
		p.VM.Volumes[d.Name] = hypervisor.Volume{Path: path, Overlay: true}
	}
	return nil
}

// imageDiagnostic adds what is wrong with the image of a disk to the list, at its place in the definition. Troubles of
// this host and its network remain errors.
func imageDiagnostic(m machine.Machine, o Options, disk int, err error, l *diag.List) error {
	d := m.Disks[disk]
	remedy := "; or give it " + o.VM.Supplied(d)
	var e *image.Error
	if !errors.As(err, &e) || e.Fault == image.Unavailable {
		return fmt.Errorf("the image of disk %q: %w%s", d.Name, err, remedy)
	}
	field := fmt.Sprintf("disks[%d].source.image", disk)
	code := image.CodeBadImage
	if e.Fault == image.BadReference {
		code = image.CodeBadReference
	}
	bare := *e
	bare.Remedy = ""
	l.Add(diag.Diagnostic{Code: code, Severity: diag.Error, Range: m.Places.Find(field), Field: field,
		Summary: fmt.Sprintf("the image of disk %q: %v", d.Name, &bare), Remedy: strings.TrimPrefix(e.Remedy+remedy, "; or ")})
	return nil
}

// resolve returns the path of an image. In a dry run nothing is fetched: an empty file in dir takes the place of an image
// that is not here yet.
func (p *Prepared) resolve(ctx context.Context, o Options, named NamedImage, dir string) (string, error) {
	arch, ref := p.VM.Machine.Hardware.Arch, named.Reference
	store := cmp.Or(named.Store, p.launcher.Images)
	if store == nil {
		var err error
		if store, err = UserImages(); err != nil {
			return "", err
		}
	}
	if o.DryRun && ref.Kind != image.File {
		i, err := store.Lookup(ref, arch)
		if err != nil {
			return "", err
		}
		if i != nil {
			p.leases = append(p.leases, i)
			return i.Path, nil
		}
		if o.Pull != image.Never {
			p.Absent = append(p.Absent, ref)
			path := filepath.Join(dir, "image")
			return path, os.WriteFile(path, make([]byte, 512), 0o600)
		}
	}
	policy := o.Pull
	if policy == "" {
		policy = image.Missing
	}
	options := image.Options{Arch: arch, Policy: policy}
	if p.launcher.Pulling != nil {
		progress, done := p.launcher.Pulling(ref)
		defer done()
		options.Progress = progress
	}
	i, err := store.Resolve(ctx, ref, options)
	if err != nil {
		return "", errors.Join(ctx.Err(), err)
	}
	p.leases = append(p.leases, i)
	if ref.Kind == image.File {
		return i.Path, nil
	}
	return i.Path, store.AddUser(p.launcher.Root)
}
