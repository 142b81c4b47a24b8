// Package imagenames finds what the names of images in pods mean on a node. Virtlet's names are URLs without their scheme
// or stand for something: a file in the node's directory of images, or what a translation rule of Virtlet's says. A
// containerDisk may be a file of that directory too.
//
// The order is: the directory, then rules for a name, then rules for a pattern, then the URL that the name is. Among several
// mappings the one whose file, or name in the file, comes first in the alphabet counts, so that the answer does not change
// from one start of the node to the next.
package imagenames

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/image"
	"github.com/vmseed/vmseed/internal/boot"
	"github.com/vmseed/vmseed/machine"
)

// Options say where to look.
type Options struct {
	// Dir holds images in files that are called what the images are called: virtlet.cloud/ubuntu/16.04 is the file ubuntu/16.04,
	// ubuntu/16.04.qcow2 or ubuntu/16.04.img. Empty means none.
	Dir string
	// Mappings are files of translation rules, and directories of such files.
	Mappings []string
	// Images keeps what is fetched; nil is the user's store.
	Images *image.Store
}

// Resolver finds images by their names. Its method may be called by several goroutines.
type Resolver struct {
	dir string
	// plain fetches what no rule names a transport for.
	plain    *image.Store
	mappings []mapping
}

// New reads the rules. Its errors name the file, and the line where it is known.
func New(o Options) (*Resolver, error) {
	r := &Resolver{dir: o.Dir, plain: o.Images}
	if r.plain == nil {
		var err error
		if r.plain, err = boot.UserImages(); err != nil {
			return nil, err
		}
	}
	if o.Dir != "" {
		if info, err := os.Stat(o.Dir); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("the directory of images: %w", errors.Join(err, notDirectory(info, o.Dir)))
		}
	}
	var err error
	if r.mappings, err = readAll(o.Mappings, r.plain); err != nil {
		return nil, err
	}
	unchecked := *r.plain
	unchecked.Unchecked = true
	r.plain = &unchecked
	return r, nil
}

func notDirectory(info fs.FileInfo, path string) error {
	if info != nil && !info.IsDir() {
		return fmt.Errorf("%s is no directory", path)
	}
	return nil
}

// digest is the checksum that may end a name.
var digest = regexp.MustCompile(`@sha256:[0-9a-f]{64}$`)

// Resolve says what the image of a machine's disk is. It is meant for the field Named of boot.Launcher. Its errors are
// of the type *image.Error; a name of which nothing is known is image.Unavailable, because a file or a rule may still come.
func (r *Resolver) Resolve(m machine.Machine, text string) (boot.NamedImage, bool, error) {
	switch m.Document.Form {
	case "virtlet":
		named, err := r.virtlet(text)
		return named, true, err
	case "kubevirt":
		named, ok := r.container(text)
		return named, ok, nil
	}
	return boot.NamedImage{}, false, nil
}

// virtlet finds an image by Virtlet's rules.
func (r *Resolver) virtlet(text string) (boot.NamedImage, error) {
	sum := digest.FindString(text)
	name := strings.TrimSuffix(text, sum)
	// The front end has written the scheme before what looks like a host.
	bare := strings.TrimPrefix(name, "https://")
	if path, ok := r.file(bare); ok {
		return boot.NamedImage{Reference: image.FileReference(path)}, nil
	}
	address, store := r.translate(bare)
	if address == "" && bare != name {
		address, store = name, r.plain
	}
	if address == "" || slices.Contains(strings.Split(bare, "/"), "..") { // a rule may put a part of the name into a path
		return boot.NamedImage{}, &image.Error{Fault: image.Unavailable, Reference: bare, What: "this node has no image of that name", Remedy: r.remedy(bare)}
	}
	ref, err := image.Parse(address)
	if err == nil && sum != "" {
		ref, err = ref.SetChecksum(strings.TrimPrefix(sum, "@"))
	}
	if err == nil && (ref.Kind != image.Web || !store.Unchecked) {
		err = ref.Check()
	}
	return boot.NamedImage{Reference: ref, Store: store}, err
}

// remedy says what the administrator of a node can do about a name.
func (r *Resolver) remedy(name string) string {
	if r.dir == "" {
		return "write a URL without its scheme, or have the node's administrator put the image into a directory for --image-dir, or name it in a file for --image-mapping"
	}
	return fmt.Sprintf("the node's administrator can put it into %s as %s.qcow2, or name it in a file for --image-mapping", r.dir, name)
}

// container finds a containerDisk in the directory, by its name as written or in full.
func (r *Resolver) container(text string) (boot.NamedImage, bool) {
	text = strings.TrimPrefix(text, "docker://")
	names := []string{text}
	if ref, err := image.ParseContainer(text); err == nil {
		names = append(names, ref.String())
	}
	for _, name := range names {
		if path, ok := r.file(name); ok {
			return boot.NamedImage{Reference: image.FileReference(path)}, true
		}
	}
	return boot.NamedImage{}, false
}

// file finds the file of an image.
func (r *Resolver) file(name string) (string, bool) {
	if r.dir == "" || !filepath.IsLocal(name) {
		return "", false
	}
	for _, extension := range []string{"", ".qcow2", ".img"} {
		path := filepath.Join(r.dir, name+extension)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, true
		}
	}
	return "", false
}

// translate applies the rules to a name. Without an address there is none for it.
func (r *Resolver) translate(name string) (address string, store *image.Store) {
	for _, patterns := range []bool{false, true} {
		for _, m := range r.mappings {
			rest, ok := m.within(name)
			if !ok {
				continue
			}
			for _, rule := range m.rules {
				if address := rule.apply(rest, patterns); address != "" {
					return address, rule.store
				}
			}
		}
	}
	return "", nil
}
