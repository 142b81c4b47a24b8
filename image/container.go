package image

import (
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// container is a container image: the digest of its manifest, and its layers from the first to the last.
type container struct {
	digest string
	layers []layer
	close  func() error
}

// Limits of what a container image is read with.
const (
	manifestLimit = 4 << 20
	maxLayers     = 500
	// maxNesting is how deep an index may stand in others.
	maxNesting = 4
)

// fetchContainer brings the disk of a container image into the store, unless it is there.
func (s *Store) fetchContainer(ctx context.Context, ref Reference, o Options) (*Image, error) {
	c, err := s.open(ctx, ref, o.Arch)
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.close() }()
	p := pointer{Reference: ref.String(), Arch: o.Arch, Digest: c.digest, Inside: ref.Inside}
	all, err := s.pointers()
	if err != nil {
		return nil, err
	}
	for _, other := range all {
		if other.Digest != p.Digest || other.Inside != p.Inside {
			continue
		}
		if i, err := s.serve(ctx, other.SHA256, o); i != nil || err != nil {
			return s.point(ref, p, i, err, o)
		}
	}
	m := &meter{report: o.report}
	for _, l := range c.layers {
		m.state.Total += l.size
	}
	i, err := s.keep(ctx, func(w *stage) error { return extract(ctx, c.layers, ref.Inside, w, m) })
	return s.point(ref, p, i, err, o)
}

// open finds the container image of a reference for an architecture.
func (s *Store) open(ctx context.Context, ref Reference, arch string) (container, error) {
	if ref.Kind == Registry {
		return s.openRegistry(ctx, ref, arch)
	}
	return openLocal(ref, arch)
}

// choose picks the manifest of an index for Linux on an architecture. One that is alone and says nothing of a platform is
// for all.
func choose(index []v1.Descriptor, arch string) (v1.Descriptor, error) {
	images := slices.DeleteFunc(slices.Clone(index), func(d v1.Descriptor) bool {
		// Statements about how an image was built stand in its index beside it.
		return !d.MediaType.IsImage() && !d.MediaType.IsIndex() || d.Platform != nil && d.Platform.OS == "unknown" ||
			d.Annotations["vnd.docker.reference.type"] != ""
	})
	var have []string
	for _, d := range images {
		if d.Platform == nil {
			if len(images) == 1 {
				return d, nil
			}
			continue
		}
		if d.Platform.Architecture == arch && (d.Platform.OS == "linux" || d.Platform.OS == "") {
			return d, nil
		}
		have = append(have, d.Platform.OS+"/"+d.Platform.Architecture)
	}
	if len(have) == 0 {
		return v1.Descriptor{}, badImage("the container image is for no platform that is named", "build it for linux/"+arch)
	}
	return v1.Descriptor{}, badImage("the container image is not for linux/"+arch+", but for "+strings.Join(have, ", "),
		"choose another architecture with --arch, or another image")
}

// checkManifest says what of a manifest vmseed does not read.
func checkManifest(m *v1.Manifest) error {
	if len(m.Layers) == 0 {
		return badImage("the container image has no layers", "")
	}
	if len(m.Layers) > maxLayers {
		return badImage(fmt.Sprintf("the container image has more than %d layers", maxLayers), "")
	}
	for _, l := range m.Layers {
		// Whoever writes a manifest could have this host ask any address.
		if len(l.URLs) > 0 || !l.MediaType.IsDistributable() {
			return badImage("a layer of the container image lies outside its registry", "push it with all its layers")
		}
	}
	return nil
}
