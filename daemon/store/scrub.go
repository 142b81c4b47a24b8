package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"go.etcd.io/bbolt"

	"github.com/vmseed/vmseed/internal/atomicfile"
)

// copied bounds the bytes of a transaction of Scrub.
const copied = 4 << 20

// Scrub rewrites the file so that nothing is in it any more of records that were removed or replaced: whoever has the key could
// read them in pages that are free. Readers and writers wait meanwhile.
func (s *Store) Scrub() error {
	done := make(chan error, 1)
	s.mutex.RLock()
	if s.closed {
		s.mutex.RUnlock()
		return ErrClosed
	}
	s.scrubs <- done
	s.mutex.RUnlock()
	return <-done
}

// rewrite is Scrub in the writer. The old file stays the store until the new one is whole and on disk.
func (s *Store) rewrite() error {
	part := s.path + newMark
	if err := os.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// The new file is locked before it gets the name, so that no other process can come in between.
	db, err := bbolt.Open(part, atomicfile.FileMode, &bbolt.Options{Timeout: lockTime, FreelistType: bbolt.FreelistMapType, NoSync: true})
	if err != nil {
		return fmt.Errorf("%s: %w", part, err)
	}
	err = bbolt.Compact(db, s.db, copied)
	if err == nil {
		err = db.Sync()
	}
	if err == nil {
		err = os.Rename(part, s.path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("%s: %w", part, err), db.Close(), os.Remove(part))
	}
	db.NoSync = false
	s.reading.Lock()
	old := s.db
	s.db = db
	s.reading.Unlock()
	return errors.Join(syncDir(s.dir), old.Close())
}

// syncDir makes a rename durable, where the file system can.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	_ = d.Sync()
	return d.Close()
}
