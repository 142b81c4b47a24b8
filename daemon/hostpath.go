package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/qcow2"
	"github.com/vmseed/vmseed/image"
	"github.com/vmseed/vmseed/internal/boot"
	"github.com/vmseed/vmseed/internal/hostpath"
	"github.com/vmseed/vmseed/machine"
)

// Host is what of this host documents may name, beside the files of the storage domains. Documents come from users of the
// APIs, who are not thereby users of the host; so the zero value allows nothing. What a guest may write to is no place to take
// files from, so none of the shares holds, or is in, one of the paths or a storage domain.
type Host = hostpath.Allowed

// host holds documents against what they may name.
type host struct {
	// domains are the directories of the storage domains: only the daemon and the administrator write there.
	domains []place
	// private is the state directory.
	private       place
	paths, shares []place
	allowed       Host
}

// place is a path as it was named, and what that leads to.
type place struct{ named, resolved string }

// newPlace resolves a path that is there.
func newPlace(path string) (place, error) {
	named, err := filepath.Abs(path)
	if err != nil {
		return place{}, err
	}
	resolved, err := filepath.EvalSymlinks(named)
	return place{named, resolved}, err
}

// holds reports whether a resolved path is in the place, or is it.
func (p place) holds(resolved string) bool { return hostpath.Below(resolved, p.resolved) }

// mayHold is the same for a path as a document has it, which may lead elsewhere.
func (p place) mayHold(path string) bool {
	return hostpath.Below(path, p.named) || hostpath.Below(path, p.resolved)
}

// newHost resolves what may be named. The directories of the storage domains are there.
func newHost(dir string, o Host, domains []StorageDomain) (*host, error) {
	h := &host{allowed: o}
	var errs []error
	add := func(list *[]place, path string) {
		p, err := newPlace(path)
		*list, errs = append(*list, p), append(errs, err)
	}
	for _, x := range domains {
		add(&h.domains, x.Dir)
	}
	for _, p := range o.Paths {
		add(&h.paths, p)
	}
	for _, p := range o.Shares {
		add(&h.shares, p)
	}
	private, err := newPlace(dir)
	if err := errors.Join(append(errs, err)...); err != nil {
		return nil, fmt.Errorf("what documents may name of this host: %w", err)
	}
	h.private = private
	for _, share := range h.shares {
		for _, x := range slices.Concat(h.domains, h.paths, []place{private}) {
			if share.holds(x.resolved) || x.holds(share.resolved) {
				return nil, fmt.Errorf("guests cannot share %s, because what they write there could pass for a file of %s", share.named, x.named)
			}
		}
	}
	return h, nil
}

// check complains of what a machine may not have of this host. It puts the files that it finds in the place of the names that
// lead to them, and keeps disks from being read as another format than the one that was judged.
func (h *host) check(m *machine.Machine) diag.List {
	c := checker{host: h, m: m}
	m.Disks, m.Media, m.Shares = slices.Clone(m.Disks), slices.Clone(m.Media), slices.Clone(m.Shares)
	for i := range m.Disks {
		at, d := fmt.Sprintf("disks[%d].source.", i), &m.Disks[i]
		c.disk(at+"path", &d.Source.Path, &d.Source.Format, !d.ReadOnly && d.Device != "cdrom")
		switch ref := boot.DocumentImage(*m, d.Source.Image); {
		case ref.Kind == image.File:
			c.disk(at+"image", &ref.Path, &d.Source.Format, false)
			d.Source.Image = ref.Path
		case ref.Path != "": // a container image, whose disk is judged when it is taken out
			c.path(at+"image", &ref.Path)
		}
	}
	for i := range m.Media {
		c.file(fmt.Sprintf("media[%d].path", i), &m.Media[i].Path)
	}
	c.file("boot.kernel", &m.Boot.Kernel)
	c.file("boot.initrd", &m.Boot.Initrd)
	for i := range m.Shares {
		c.share(fmt.Sprintf("shares[%d].hostPath", i), &m.Shares[i].HostPath)
	}
	for i, d := range m.Hardware.HostDevices {
		if !h.allowed.Gives(d.PCI) {
			c.refuse(fmt.Sprintf("hardware.hostDevices[%d]", i), "the daemon gives no guest this device of its host",
				"take it out, or have the administrator start the daemon with --allow-host-device and its PCI address")
		}
	}
	return c.list
}

// checker is the check of one machine.
type checker struct {
	*host
	m    *machine.Machine
	list diag.List
}

func (c *checker) refuse(at, summary, remedy string) {
	c.list.Add(diag.Diagnostic{Code: CodeHostPath, Severity: diag.Error, Range: c.m.Places.Find(at), Field: at, Summary: summary, Remedy: remedy})
}

// disk checks a file with the contents of a disk.
func (c *checker) disk(at string, path, format *string, writable bool) {
	if *path == "" || !c.file(at, path) {
		return
	}
	if c.managed(*path) {
		if writable {
			c.refuse(at, "the files of storage domains are only read, because disks of other VMs are based on them",
				"say readOnly, or name the file as the image of the disk, which then is an overlay on it")
		} else if leads(*path) {
			c.refuse(at, "the image names another file of the host as its base or its data", "flatten it with qemu-img convert")
		}
		return
	}
	// A guest can write what it likes at the start of a raw disk: a header that leads to any file of the host.
	if *format != "" && *format != "raw" || isQcow(*path) {
		c.refuse(at, "only raw images are taken from this directory, because a guest may have written them", "put a qcow2 image into the image repository")
	}
	*format = "raw"
}

// path checks a path and resolves it, and reports whether it may be used.
func (c *checker) path(at string, path *string) bool {
	if !filepath.IsAbs(*path) {
		c.refuse(at, "the file is not named by its whole path", "write the path from the root of the host's file system")
		return false
	}
	resolved, ok := c.permitted(*path)
	if !ok {
		c.refuse(at, "the daemon opens no file there for a document",
			"put the file into the image repository, or have the administrator start the daemon with --allow-host-path and its directory")
		return false
	}
	*path = resolved
	return true
}

// file checks a file, and reports whether it may be used.
func (c *checker) file(at string, path *string) bool {
	if *path == "" {
		return true
	}
	if !c.path(at, path) {
		return false
	}
	if info, err := os.Stat(*path); err == nil && !info.Mode().IsRegular() && info.Mode().Type() != fs.ModeDevice {
		c.refuse(at, "this is no file", "name a file")
		return false
	}
	return true
}

// permitted resolves a path, and reports whether documents may name what it leads to. A path that is not below a permitted
// directory by its name is not looked at, so that nobody learns which files there are.
func (h *host) permitted(path string) (string, bool) {
	path = filepath.Clean(path)
	if !h.reaches(path, place.mayHold) {
		return "", false
	}
	resolved, err := filepath.EvalSymlinks(path)
	for dir := path; errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir); {
		// It may come before the start. Nothing that is there may lead elsewhere.
		if _, err := os.Lstat(dir); err == nil {
			return "", false // a link that leads nowhere
		}
		dir = filepath.Dir(dir)
		var parent string
		if parent, err = filepath.EvalSymlinks(dir); err == nil {
			resolved = filepath.Join(parent, strings.TrimPrefix(path, dir))
		}
	}
	return resolved, err == nil && h.reaches(resolved, place.holds)
}

// reaches reports whether a path is one that documents may name. Of the state directory that are only storage domains.
func (h *host) reaches(path string, holds func(place, string) bool) bool {
	in := func(p place) bool { return holds(p, path) }
	return slices.ContainsFunc(h.domains, in) || slices.ContainsFunc(h.paths, in) && !in(h.private)
}

// managed reports whether a resolved path is in a storage domain.
func (h *host) managed(path string) bool {
	return slices.ContainsFunc(h.domains, func(p place) bool { return p.holds(path) })
}

// share checks a directory that the guest mounts. A guest can put links below one that it may write to, so only the
// directories themselves are allowed.
func (c *checker) share(at string, path *string) {
	if *path == "" {
		return
	}
	clean := filepath.Clean(*path)
	i := slices.IndexFunc(c.shares, func(p place) bool { return clean == p.named || clean == p.resolved })
	if i < 0 {
		c.refuse(at, "the daemon shares no such directory with guests", "have the administrator start the daemon with --allow-share and this directory")
		return
	}
	*path = c.shares[i].resolved
}

// head returns the first bytes of a file, as far as there are any.
func head(path string) []byte {
	text, file, err := open(path)
	if err != nil {
		return nil
	}
	_ = file.Close()
	return text
}

func isQcow(path string) bool { return qcow2.Is(head(path)) }

// leads reports whether an image names another file.
func leads(path string) bool {
	h, err := qcow2.Parse(head(path))
	return err == nil && h.Leads()
}
