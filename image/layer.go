package image

import (
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// layer is a layer of a container image: a tar archive, compressed or not.
type layer struct {
	// digest is that of the blob, or of the archive in it when unpacked is set.
	digest   v1.Hash
	unpacked bool
	// size is that of the blob in bytes.
	size int64
	open func() (io.ReadCloser, error)
}

// tarReader is a layer's archive that is being read.
type tarReader struct {
	io.ReadCloser
	sum *summing
}

// tar opens the archive. Only when it has been read to its end, and check has been asked, is it known to be the right one.
func (l layer) tar(m *meter) (*tarReader, error) {
	sums, err := v1.Hasher(l.digest.Algorithm)
	if err != nil {
		return nil, badImage("the container image uses hashes other than SHA-256", "")
	}
	s := &summing{hash: sums, want: l.digest, size: -1, meter: m}
	packed, err := partial.CompressedToLayer(blob{func() (io.ReadCloser, error) {
		in, err := l.open()
		if err != nil {
			return nil, err
		}
		if l.unpacked {
			return &counting{in, m}, nil
		}
		s.ReadCloser, s.size = in, l.size
		return s, nil
	}})
	if err != nil {
		return nil, err
	}
	in, err := packed.Uncompressed()
	if err != nil {
		return nil, layerError(err)
	}
	if l.unpacked {
		s.ReadCloser, s.meter = in, nil
		in = s
	}
	return &tarReader{in, s}, nil
}

// check reports whether what was read is what the digest promises.
func (t *tarReader) check() error {
	if !t.sum.done {
		// A decompressor may leave the end of its input unread.
		if _, err := io.Copy(io.Discard, t.sum); err != nil {
			return err
		}
	}
	return nil
}

// blob lets go-containerregistry find out how a blob is compressed.
type blob struct {
	open func() (io.ReadCloser, error)
}

// Digest is not asked for.
func (blob) Digest() (v1.Hash, error) { return v1.Hash{}, errors.ErrUnsupported }

// Compressed opens the blob.
func (b blob) Compressed() (io.ReadCloser, error) { return b.open() }

// Size is not asked for.
func (blob) Size() (int64, error) { return 0, errors.ErrUnsupported }

// MediaType is not relied on: the first bytes tell the compression.
func (blob) MediaType() (types.MediaType, error) { return types.OCILayer, nil }

// summing is a reader that ends with an error instead of io.EOF when what it has read is not what it should be.
type summing struct {
	io.ReadCloser
	hash  hash.Hash
	want  v1.Hash
	size  int64 // -1 when it is not known
	read  int64
	done  bool
	meter *meter
}

func (s *summing) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	s.hash.Write(p[:n])
	s.read += int64(n)
	if s.meter != nil {
		s.meter.add(n)
	}
	if s.size >= 0 && s.read > s.size {
		return 0, damaged(s.want, fmt.Sprintf("it is larger than %d bytes", s.size))
	}
	if errors.Is(err, io.EOF) {
		switch got := hex.EncodeToString(s.hash.Sum(nil)); {
		case s.size >= 0 && s.read < s.size:
			return n, damaged(s.want, fmt.Sprintf("it ends after %d of %d bytes", s.read, s.size))
		case got != s.want.Hex:
			return n, damaged(s.want, "its hash is "+got)
		}
		s.done = true
	}
	return n, err
}

func short(h v1.Hash) string { return h.Algorithm + ":" + h.Hex[:min(12, len(h.Hex))] }

func damaged(h v1.Hash, how string) error {
	return &Error{Fault: BadImage, What: "the blob " + short(h) + " is not what it should be: " + how,
		Remedy: "it is damaged where it is kept, or was changed on the way"}
}

// counting counts what is read.
type counting struct {
	io.ReadCloser
	meter *meter
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.meter.add(n)
	return n, err
}
