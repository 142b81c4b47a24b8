// Package image finds guest images: files of the host, files behind URLs with a checksum, and container images that hold
// a disk, as KubeVirt's containerDisk does. What is fetched is kept in a Store, by its hash.
//
// A store is a directory that several processes may use at a time:
//
//	blobs/HASH           the image, named for its SHA-256, never written to again
//	blobs/HASH.json      what is known of it; HASH.lock is held by those that use it
//	references/KEY.json  which image a reference led to; KEY.lock is held while it is fetched
//	users/KEY.json       the directories of VMs whose disks may be overlays on images
//
// An image gets its name when it is complete and on the disk. It is handed out only if it is as it was then.
package image

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"

	"github.com/vmseed/vmseed/internal/atomicfile"
)

// Policy says when a registry or web server is asked.
type Policy string

// The policies, with the meaning that they have for Kubernetes' images.
const (
	// Missing asks when the store has nothing for the reference. It is the default.
	Missing Policy = "missing"
	// Always asks whether what the store has is still what the reference means.
	Always Policy = "always"
	// Never does not ask.
	Never Policy = "never"
)

// Policies returns the policies.
func Policies() []Policy { return []Policy{Missing, Always, Never} }

// DefaultMaxBytes is the size of the largest image that a store takes by default.
const DefaultMaxBytes int64 = 64 << 30

// Store keeps images in a directory. The zero values of its fields but Dir have good meanings.
type Store struct {
	// Dir is the directory. It is made with mode 0700 when it is needed.
	Dir string
	// MaxBytes is the size of the largest image, unpacked; 0 means DefaultMaxBytes.
	MaxBytes int64
	// Transport reaches registries and web servers; nil means the default of net/http with its proxies.
	Transport http.RoundTripper
	// Keychain has the credentials for registries; nil means those of docker and podman.
	Keychain authn.Keychain
	// Stall is how long a server may send nothing before it is given up; 0 means a minute.
	Stall time.Duration
	// MaxRedirects is how many redirections of a web server are followed; 0 means 10, and a negative number none.
	MaxRedirects int
	// Unchecked takes files of https URLs that have no checksum. The certificate of the server vouches for them then.
	Unchecked bool
}

// Options are wishes for one Resolve.
type Options struct {
	// Arch is the guest's architecture as Go names it; empty means the host's.
	Arch   string
	Policy Policy
	// Verify computes the hash of an image that is in the store already.
	Verify bool
	// Progress is called now and then from the goroutine of Resolve.
	Progress func(Progress)
}

// Progress is how far a fetch has come.
type Progress struct {
	// Waiting means that another process fetches the same image.
	Waiting bool
	// Done and Total count bytes on the wire. Total is 0 when it is not known.
	Done, Total int64
}

// Image is an image on this host.
type Image struct {
	// Reference is the one that was resolved, as Reference.String writes it.
	Reference string
	Path      string
	// Format, Size, VirtualSize and SHA256 are those of an image in a store; a File is not looked into.
	Format            Format
	Size, VirtualSize int64
	SHA256            string
	// Digest is that of the manifest of a container image.
	Digest string
	// Fetched means that the image came from afar just now.
	Fetched bool

	lease *os.File
}

// Close says that the image may be pruned, unless a VM's disk has become an overlay on it.
func (i *Image) Close() error {
	if i.lease == nil {
		return nil
	}
	return i.lease.Close()
}

// Resolve finds the image that a reference means, fetching it if the policy says so. Its errors are of the type *Error.
func (s *Store) Resolve(ctx context.Context, ref Reference, o Options) (*Image, error) {
	ref, err := ref.absolute()
	if err != nil {
		return nil, about(ref, err)
	}
	i, err := s.resolve(ctx, ref, o)
	return i, about(ref, err)
}

// Pull is Resolve with the policy Always.
func (s *Store) Pull(ctx context.Context, ref Reference, o Options) (*Image, error) {
	o.Policy = Always
	return s.Resolve(ctx, ref, o)
}

// Lookup finds the image that a reference means in the store, without asking anybody. Without one, the image is nil.
func (s *Store) Lookup(ref Reference, arch string) (*Image, error) {
	ref, err := ref.absolute()
	if err != nil {
		return nil, about(ref, err)
	}
	if ref.Kind == File {
		i, err := localFile(ref)
		return i, about(ref, err)
	}
	if err := s.check(ref); err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(s.Dir, imagesDir)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	i, err := s.cached(context.Background(), ref, Options{Arch: orHost(arch)})
	return i, about(ref, err)
}

func orHost(arch string) string {
	if arch == "" {
		return runtime.GOARCH
	}
	return arch
}

func localFile(ref Reference) (*Image, error) {
	info, err := os.Stat(ref.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &Error{Fault: BadReference, What: "there is no such file"}
	}
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, &Error{Fault: BadReference, What: "is a directory", Remedy: "name an image in it, or oci:DIRECTORY"}
	}
	return &Image{Reference: ref.String(), Path: ref.Path}, nil
}

// check is Reference.Check with the store's own opinion.
func (s *Store) check(ref Reference) error {
	if s.Unchecked && ref.Kind == Web && strings.HasPrefix(ref.Name, "https:") {
		return nil
	}
	return ref.Check()
}

func (s *Store) resolve(ctx context.Context, ref Reference, o Options) (*Image, error) {
	if err := s.check(ref); err != nil {
		return nil, err
	}
	if ref.Kind == File {
		return localFile(ref)
	}
	if err := s.prepare(); err != nil {
		return nil, err
	}
	if o.Policy == "" {
		o.Policy = Missing
	}
	if !slices.Contains(Policies(), o.Policy) {
		return nil, &Error{Fault: BadReference, What: fmt.Sprintf("there is no policy %q", o.Policy), Remedy: "choose missing, always or never"}
	}
	o.Arch = orHost(o.Arch)
	// What is on this host is looked at each time: it costs nothing, and may have changed.
	local := slices.Contains([]Kind{Layout, LayoutArchive, DockerArchive}, ref.Kind)
	ask := local || o.Policy == Always && !ref.fixed()
	if !ask {
		if i, err := s.cached(ctx, ref, o); i != nil || err != nil {
			return i, err
		}
	}
	if o.Policy == Never && !local {
		return nil, &Error{Fault: Unavailable, What: "is not in the store, and may not be fetched", Remedy: "fetch it with vmseed image pull"}
	}
	waiting := func() { o.report(Progress{Waiting: true}) }
	held, err := lock(ctx, filepath.Join(s.Dir, pointersDir, ref.key(o.Arch)+lockSuffix), false, waiting)
	if err != nil {
		return nil, err
	}
	defer held.Close()
	if !ask {
		// Somebody else may have fetched it meanwhile.
		if i, err := s.cached(ctx, ref, o); i != nil || err != nil {
			return i, err
		}
	}
	return s.fetch(ctx, ref, o)
}

func (o Options) report(p Progress) {
	if o.Progress != nil {
		o.Progress(p)
	}
}

// fixed reports whether a reference means the same for ever.
func (r Reference) fixed() bool {
	return r.Checksum.Hex != "" || r.Kind == Registry && strings.Contains(r.Name, "@")
}

// fetch brings an image into the store. The caller holds the reference's lock.
func (s *Store) fetch(ctx context.Context, ref Reference, o Options) (*Image, error) {
	actual := ref
	if d, ok := named(ref.Name); ref.Kind == Named && ok {
		var err error
		if actual, err = d.web(o.Arch); err != nil {
			return nil, err
		}
	}
	if ref.Container() {
		return s.fetchContainer(ctx, ref, o)
	}
	sum, err := s.expected(ctx, actual)
	if err != nil {
		return nil, err
	}
	p := pointer{Reference: ref.String(), Verified: sum}
	if ref.Kind == Named {
		p.Arch = o.Arch
	}
	if hash, err := s.byChecksum(sum); err != nil {
		return nil, err
	} else if hash != "" {
		if i, err := s.serve(ctx, hash, o); i != nil || err != nil {
			return s.point(ref, p, i, err, o)
		}
	}
	i, err := s.keep(ctx, func(w *stage) error { return s.download(ctx, actual, sum, w, o) })
	return s.point(ref, p, i, err, o)
}

// keep lets fill write an image, and hands it out.
func (s *Store) keep(ctx context.Context, fill func(*stage) error) (*Image, error) {
	limit := s.MaxBytes
	if limit == 0 {
		limit = DefaultMaxBytes
	}
	w, err := newStage(filepath.Join(s.Dir, imagesDir), limit)
	if err != nil {
		return nil, err
	}
	defer w.discard()
	err = fill(w)
	if err == nil {
		err = ctx.Err()
	}
	var r record
	if err == nil {
		r, err = w.commit()
	}
	if err != nil {
		return nil, s.unwritten(err)
	}
	if err := s.saveRecord(r); err != nil {
		return nil, err
	}
	i, err := s.serve(ctx, r.SHA256, Options{})
	if err == nil && i == nil {
		return nil, &Error{Fault: Unavailable, What: "the image was removed while it was fetched", Remedy: "try again"}
	}
	if i != nil {
		i.Fetched = true
	}
	return i, err
}

// unwritten names the store in errors of writing an image, whose temporary name says nothing to anybody.
func (s *Store) unwritten(err error) error {
	var p *fs.PathError
	if !errors.As(err, &p) || !atomicfile.IsTemporary(filepath.Base(p.Path)) {
		return err
	}
	e := &Error{Fault: Unavailable, What: "cannot be kept in " + s.Dir, Err: p.Err}
	if errors.Is(err, syscall.ENOSPC) {
		e.Remedy = "make room, for example with vmseed image prune"
	}
	return e
}

// point remembers which image a reference led to.
func (s *Store) point(ref Reference, p pointer, i *Image, err error, o Options) (*Image, error) {
	if err != nil {
		return nil, err
	}
	p.Version, p.SHA256, p.Pulled = recordVersion, i.SHA256, time.Now().UTC().Truncate(time.Second)
	i.Reference, i.Digest = p.Reference, p.Digest
	if err := save(s.pointerFile(ref.key(o.Arch)), p); err != nil {
		return nil, errors.Join(err, i.Close())
	}
	return i, nil
}

// cached returns the image that a reference led to earlier, if it is whole.
func (s *Store) cached(ctx context.Context, ref Reference, o Options) (*Image, error) {
	p, ok, err := s.loadPointer(s.pointerFile(ref.key(o.Arch)))
	if err != nil {
		return nil, err
	}
	hash := p.SHA256
	if !ok && ref.Checksum.Hex != "" {
		if hash, err = s.byChecksum(ref.Checksum); err != nil {
			return nil, err
		}
	}
	if hash == "" {
		return nil, nil
	}
	i, err := s.serve(ctx, hash, o)
	if i != nil {
		i.Reference, i.Digest = ref.String(), p.Digest
	}
	return i, err
}

// byChecksum returns the hash of the image with a checksum, or "".
func (s *Store) byChecksum(sum Checksum) (string, error) {
	if sum == (Checksum{}) {
		return "", nil
	}
	if sum.Algorithm == "sha256" {
		if _, err := os.Lstat(s.image(sum.Hex)); err == nil {
			return sum.Hex, nil
		}
	}
	all, err := s.pointers()
	for _, p := range all {
		if p.Verified == sum {
			return p.SHA256, err
		}
	}
	return "", err
}

// serve hands an image out if it is there and whole, with a lease that keeps it from being pruned.
func (s *Store) serve(ctx context.Context, hash string, o Options) (*Image, error) {
	if _, err := os.Lstat(s.image(hash)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	lease, err := lock(ctx, s.image(hash)+lockSuffix, true, nil)
	if err != nil {
		return nil, err
	}
	r, whole, err := s.verify(hash, o.Verify)
	if err != nil || !whole {
		return nil, errors.Join(err, lease.Close())
	}
	now := time.Now()
	if err := os.Chtimes(s.image(hash)+recordSuffix, now, now); err != nil {
		return nil, errors.Join(err, lease.Close())
	}
	path, err := filepath.Abs(s.image(hash))
	if err != nil {
		return nil, errors.Join(err, lease.Close())
	}
	return &Image{Path: path, Format: r.Format, Size: r.Size, VirtualSize: r.VirtualSize, SHA256: hash, lease: lease}, nil
}
