package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// openRegistry finds a container image in its registry.
func (s *Store) openRegistry(ctx context.Context, ref Reference, arch string) (container, error) {
	at, err := name.ParseReference(ref.Name)
	if err != nil {
		return container{}, badReference(ref.String(), "is no name of a container image", "")
	}
	keychain := s.Keychain
	if keychain == nil {
		keychain = authn.DefaultKeychain
	}
	host := strings.TrimPrefix(at.Context().RegistryStr(), "index.")
	found, err := remote.Get(at, remote.WithContext(ctx), remote.WithTransport(s.guard(false)), remote.WithAuthFromKeychain(keychain), remote.WithUserAgent("vmseed"))
	if err != nil {
		return container{}, registryError(host, err)
	}
	img, err := pick(found, arch)
	if err != nil {
		return container{}, registryError(host, err)
	}
	manifest, err := img.Manifest()
	if err != nil {
		return container{}, registryError(host, err)
	}
	if err := checkManifest(manifest); err != nil {
		return container{}, err
	}
	digest, err := img.Digest()
	if err != nil {
		return container{}, registryError(host, err)
	}
	c := container{digest: digest.String(), close: func() error { return nil }}
	for _, d := range manifest.Layers {
		c.layers = append(c.layers, layer{digest: d.Digest, size: d.Size, open: func() (io.ReadCloser, error) {
			l, err := img.LayerByDigest(d.Digest)
			if err != nil {
				return nil, registryError(host, err)
			}
			in, err := l.Compressed()
			if err != nil {
				return nil, registryError(host, err)
			}
			return &fromHost{in, host}, nil
		}})
	}
	return c, nil
}

// pick returns the image of an architecture, through indexes.
func pick(found *remote.Descriptor, arch string) (v1.Image, error) {
	switch {
	case found.MediaType.IsImage():
		return found.Image()
	case !found.MediaType.IsIndex():
		return nil, badImage("what has that name in the registry is no container image ("+string(found.MediaType)+")", "build and push it with a current tool")
	}
	index, err := found.ImageIndex()
	for range maxNesting {
		if err != nil {
			return nil, err
		}
		manifest, err := index.IndexManifest()
		if err != nil {
			return nil, err
		}
		chosen, err := choose(manifest.Manifests, arch)
		if err != nil {
			return nil, err
		}
		if chosen.MediaType.IsImage() {
			return index.Image(chosen.Digest)
		}
		if index, err = index.ImageIndex(chosen.Digest); err != nil {
			return nil, err
		}
	}
	return nil, badImage("the container image is an index of indexes of indexes", "")
}

// registryError sorts the errors of a registry. Their texts are left out: they repeat the request.
func registryError(host string, err error) error {
	var own *Error
	var answer *transport.Error
	var request *url.Error
	switch {
	case errors.As(err, &own):
		return own
	case errors.Is(err, errPlain):
		return &Error{Fault: Unavailable, What: host + " does not speak https", Err: errPlain}
	case errors.As(err, &request) || ofHost(err):
		return unreachable(host, err)
	case !errors.As(err, &answer):
		return unavailable(host+" does not answer as a registry does", err)
	}
	text := fmt.Sprintf("%s answers %d %s", host, answer.StatusCode, http.StatusText(answer.StatusCode))
	for _, d := range answer.Errors {
		if code := string(d.Code); code != "" && strings.Trim(code, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == "" {
			text += ", " + code
		}
	}
	switch answer.StatusCode {
	case http.StatusNotFound:
		return badImage(text, "check the name and the tag")
	case http.StatusUnauthorized, http.StatusForbidden:
		return &Error{Fault: Unavailable, What: text, Remedy: "check the name; if the image is private, log in with docker login " + host + " or podman login " + host}
	}
	return &Error{Fault: Unavailable, What: text, Remedy: "try again later"}
}

// fromHost names the host in errors of a transfer.
type fromHost struct {
	io.ReadCloser
	host string
}

func (f *fromHost) Read(p []byte) (int, error) {
	n, err := f.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		if ofHost(err) || errors.Is(err, io.ErrUnexpectedEOF) {
			return n, unavailable("the transfer from "+f.host+" broke off", err)
		}
		return n, &Error{Fault: BadImage, What: "what " + f.host + " sends is damaged", Err: err, Remedy: "push the image again"}
	}
	return n, err
}
