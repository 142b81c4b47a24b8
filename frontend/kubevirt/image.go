package kubevirt

import (
	"path"
	"slices"
	"strings"
)

// The parts of a reference to a disk in a container image.
const (
	imageScheme = "docker://"
	imageInside = "#path="
)

// imageFiles are the extensions by which a reference is taken for a file.
var imageFiles = []string{".qcow2", ".qcow", ".raw", ".img"}

// imageReference names the disk in a container image. Without a path it is the only file below /disk. A name that could
// be taken for another kind of image says that it is none.
func imageReference(name, inside string) string {
	out := name
	if name != "" && (!strings.Contains(name, "/") || slices.Contains(imageFiles, strings.ToLower(path.Ext(name)))) {
		out = imageScheme + name
	}
	if inside != "" {
		out += imageInside + inside
	}
	return out
}

// splitImage takes a reference apart into the name of a container image and the path of the disk in it.
func splitImage(reference string) (name, inside string) {
	name, inside, _ = strings.Cut(strings.TrimPrefix(reference, imageScheme), imageInside)
	return name, inside
}
