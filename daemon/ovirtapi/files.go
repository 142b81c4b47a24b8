package ovirtapi

import (
	"path/filepath"
	"strings"

	"github.com/vmseed/vmseed/daemon"
	"github.com/vmseed/vmseed/format/element"
)

// resolved puts the paths of files of the image repository in the place of the names of CDs, kernels and initial RAM disks that a
// request has. Nothing else that it says becomes a path: who may use this API may not thereby read the files of the host.
func (a *API) resolved(e element.Element) (element.Element, error) {
	if ovf := e.Get("initialization/configuration/data"); strings.TrimSpace(ovf.Text) != "" {
		return e, notOffered("making a VM of an OVF is a part of oVirt's API that vmseed does not have; vmseed convert reads OVF and OVA files")
	}
	if discs := e.Child("cdroms"); discs.Exists() {
		attached, err := a.disc(discs.Child("cdrom"))
		if err != nil {
			return e, err
		}
		e = e.With(attached)
	}
	os := e.Child("os")
	for _, name := range []string{"kernel", "initrd"} {
		file := strings.TrimPrefix(strings.TrimSpace(os.Child(name).Text), "iso://")
		if file == "" {
			continue
		}
		repository, err := a.d.StorageDomain(daemon.ImageRepository)
		if err != nil {
			return e, err
		}
		if !filepath.IsAbs(file) {
			file = filepath.Join(repository.Dir, file)
		}
		if !inside(repository.Dir, file) {
			return e, outside("os." + name)
		}
		os = os.With(element.Text(name, file))
		e = e.With(os)
	}
	return e, nil
}

// inside says whether a file is below a directory by its name.
func inside(dir, file string) bool {
	relative, err := filepath.Rel(dir, file)
	return err == nil && filepath.IsLocal(relative) && relative != "."
}

func outside(member string) *fault {
	return badValue(member + ": only files of the image repository can be used; put the file there and give its name")
}
