package daemon

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/internal/atomicfile"
)

// ImageRepository is the name of the storage domain whose images can be imported.
const ImageRepository = "ovirt-image-repository"

// dataName is the name of the data domain that every daemon has.
const dataName = "data"

// Place is an object that every daemon has and that has nothing but a name: the data centre and the cluster Default.
type Place struct {
	ID, Name, Description string
}

// DataCenter returns the only data centre.
func (d *Daemon) DataCenter() Place {
	return Place{ID: nameID("data centre", "Default"), Name: "Default", Description: "The host that vmseed serve runs on"}
}

// Cluster returns the only cluster.
func (d *Daemon) Cluster() Place {
	return Place{ID: nameID("cluster", "Default"), Name: "Default", Description: "The host that vmseed serve runs on"}
}

// DomainType says what a storage domain holds.
type DomainType string

// The types of storage domains, in oVirt's words (type StorageDomainType).
const (
	ImageDomain DomainType = "image"
	DataDomain  DomainType = "data"
)

// StorageDomain is a directory of this host.
type StorageDomain struct {
	ID, Name string
	Type     DomainType
	Dir      string
}

// domains makes the storage domains and their directories.
func domains(o Options) ([]StorageDomain, error) {
	dirs := map[string]string{dataName: filepath.Join(o.Dir, diskDir)}
	for name, dir := range o.StorageDomains {
		if name == ImageRepository {
			return nil, fmt.Errorf("the storage domain %s holds images and no disks; give its directory as that of the images", name)
		}
		if err := checkName("storage domain", name); err != nil {
			return nil, err
		}
		dirs[name] = dir
	}
	out := []StorageDomain{{Name: ImageRepository, Type: ImageDomain, Dir: cmp.Or(o.ImageDir, filepath.Join(o.Dir, imageDir))}}
	for _, name := range slices.Sorted(maps.Keys(dirs)) {
		out = append(out, StorageDomain{Name: name, Type: DataDomain, Dir: dirs[name]})
	}
	for i := range out {
		dir, err := filepath.Abs(out[i].Dir)
		if err != nil {
			return nil, err
		}
		if err := os.MkdirAll(dir, atomicfile.DirMode); err != nil {
			return nil, fmt.Errorf("storage domain %s: %w", out[i].Name, err)
		}
		out[i].Dir, out[i].ID = dir, nameID("storage domain", out[i].Name)
	}
	slices.SortFunc(out, func(a, b StorageDomain) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// StorageDomains returns the image repository and the data domains, by name.
func (d *Daemon) StorageDomains() []StorageDomain { return slices.Clone(d.domains) }

// StorageDomain finds one by its id or its name.
func (d *Daemon) StorageDomain(idOrName string) (StorageDomain, error) {
	for _, x := range d.domains {
		if equalUUID(x.ID, idOrName) || x.Name == idOrName {
			return x, nil
		}
	}
	return StorageDomain{}, &NotFoundError{Kind: "storage domain", ID: idOrName}
}
