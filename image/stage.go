package image

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"

	"github.com/vmseed/vmseed/internal/atomicfile"
)

// block is the unit in which runs of zeros become holes.
const block = 64 << 10

// stage is an image that is being written. It gets its name, which is its hash, when it is complete; before that it has
// one of atomicfile's temporary names, which are swept when their writer crashed.
type stage struct {
	dir     string
	f       *os.File
	sum     hash.Hash
	head    []byte
	size    int64
	limit   int64
	pending []byte
	zeros   []byte
}

func newStage(dir string, limit int64) (*stage, error) {
	unique := make([]byte, 8)
	if _, err := rand.Read(unique); err != nil {
		return nil, err
	}
	name := fmt.Sprintf(".vmseed-tmp-%d-%s", os.Getpid(), hex.EncodeToString(unique))
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE|os.O_EXCL, atomicfile.FileMode)
	if err != nil {
		return nil, err
	}
	return &stage{dir: dir, f: f, sum: sha256.New(), limit: limit, zeros: make([]byte, block)}, nil
}

// reset begins anew.
func (s *stage) reset() error {
	s.sum.Reset()
	s.head, s.size, s.pending = nil, 0, s.pending[:0]
	_, err := s.f.Seek(0, io.SeekStart)
	return errors.Join(err, s.f.Truncate(0))
}

// Write appends to the image. Blocks of zeros take no room on the disk.
func (s *stage) Write(p []byte) (int, error) {
	if s.size+int64(len(p)) > s.limit {
		return 0, tooLarge(s.limit)
	}
	s.sum.Write(p)
	s.size += int64(len(p))
	if missing := headSize - len(s.head); missing > 0 {
		s.head = append(s.head, p[:min(missing, len(p))]...)
	}
	n := len(p)
	for len(p) > 0 {
		if len(s.pending) == 0 && len(p) >= block {
			if err := s.flush(p[:block]); err != nil {
				return 0, err
			}
			p = p[block:]
			continue
		}
		part := min(block-len(s.pending), len(p))
		s.pending = append(s.pending, p[:part]...)
		p = p[part:]
		if len(s.pending) == block {
			if err := s.flush(s.pending); err != nil {
				return 0, err
			}
			s.pending = s.pending[:0]
		}
	}
	return n, nil
}

func (s *stage) flush(p []byte) error {
	if bytes.Equal(p, s.zeros[:len(p)]) {
		_, err := s.f.Seek(int64(len(p)), io.SeekCurrent)
		return err
	}
	_, err := s.f.Write(p)
	return err
}

func tooLarge(limit int64) error {
	return badImage(fmt.Sprintf("the image is larger than %d bytes", limit), "allow more with vmseed image pull --max-size, if it is meant to be so large")
}

// commit makes the image durable below its hash, and returns what is to be remembered of it.
func (s *stage) commit() (record, error) {
	format, virtual, err := recognise(s.head, s.size)
	if err != nil {
		return record{}, err
	}
	if err := errors.Join(s.flush(s.pending), s.f.Truncate(s.size), s.f.Sync(), s.f.Chmod(0o400)); err != nil {
		return record{}, err
	}
	info, err := s.f.Stat()
	if err != nil {
		return record{}, err
	}
	if err := s.f.Close(); err != nil {
		return record{}, err
	}
	r := record{SHA256: hex.EncodeToString(s.sum.Sum(nil)), Size: s.size, Modified: info.ModTime(), Format: format, VirtualSize: virtual}
	if err := os.Rename(s.f.Name(), filepath.Join(s.dir, r.SHA256)); err != nil {
		return record{}, err
	}
	return r, syncDir(s.dir)
}

// discard closes the file, and removes it unless it was committed.
func (s *stage) discard() {
	_ = os.Remove(s.f.Name())
	_ = s.f.Close()
}

// syncDir makes a rename durable where the system can. Where it cannot, a crash may lose the image, which is noticed and
// repaired when it is asked for.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	_ = d.Sync()
	return d.Close()
}
