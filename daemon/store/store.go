// Package store keeps the daemon's records in one file that survives crashes: each change is a transaction that is on disk
// whole or not at all. It knows records by kind and id, and not what is in them.
//
// Values are sealed with AES-256-GCM under a key that is kept in another file; a record's kind and id are authenticated
// with it, so that no value can be put in another's place. Without the key the file tells the ids of records, how many
// there are and how long they are, and nothing else.
package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.etcd.io/bbolt"

	"github.com/vmseed/vmseed/internal/atomicfile"
	"github.com/vmseed/vmseed/secret"
)

// Kind is a kind of records.
type Kind string

// The kinds of records. Those of Event are appended with Change.Event only.
const (
	VM       Kind = "vm"
	Template Kind = "template"
	Disk     Kind = "disk"
	Job      Kind = "job"
	Event    Kind = "event"
	Meta     Kind = "meta"
)

// kinds lists all of them.
var kinds = []Kind{VM, Template, Disk, Job, Event, Meta}

// Version is the version of the records' form. A store of a newer one is refused.
const Version = 1

// Names of the files, and of the two records that are not sealed under an id of the caller's.
const (
	fileName   = "store.db"
	newMark    = ".new"
	lockName   = "lock"
	header     = "vmseed"
	versionKey = "version"
	proofKey   = "proof"
)

// lockTime is how long Open waits for another process to let go of the file.
const lockTime = 500 * time.Millisecond

// The errors of Open.
var (
	// ErrLocked means that another process has the store.
	ErrLocked = errors.New("another vmseed serve runs")
	// ErrNewer means that a newer vmseed wrote the store.
	ErrNewer = errors.New("the store was written by a newer vmseed")
	// ErrDamaged means that the file is not what was written.
	ErrDamaged = errors.New("the store is damaged")
	// ErrKey means that the key is not the one under which the store was sealed.
	ErrKey = errors.New("the key does not fit the store")
	// ErrClosed is that of a store which was closed.
	ErrClosed = errors.New("the store is closed")
)

// Change is one thing that Apply does.
type Change struct {
	Kind Kind
	// ID is that of the record; it is not read with the kind Event.
	ID string
	// Value is what it becomes; nil removes it.
	Value []byte
}

// Options are how a store is opened.
type Options struct {
	// Events is how many events are kept; the oldest go first. 0 means 10,000.
	Events int
}

// Store is an open file of records. Its methods may be called by several goroutines.
type Store struct {
	// db is replaced by Scrub, which holds reading meanwhile; the writer alone reads it without.
	db      *bbolt.DB
	reading sync.RWMutex
	dir     string
	path    string
	seal    *sealer
	events  int
	// first and last are the numbers of the oldest and the newest event, for the writer alone.
	first, last uint64

	queue   chan request
	scrubs  chan chan<- error
	mutex   sync.RWMutex
	closed  bool
	writing chan struct{}
}

// Open opens the store in a directory, and makes it when there is none. key has 32 bytes. Every record is read once, so that
// damage is found now and not in the middle of work.
func Open(dir string, key secret.Text, o Options) (_ *Store, err error) {
	if o.Events == 0 {
		o.Events = 10_000
	}
	seal, err := newSealer(key)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, fileName)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		err = create(path, seal)
		if err != nil {
			return nil, locked(dir, err)
		}
	}
	db, err := open(path)
	if err != nil {
		return nil, locked(dir, err)
	}
	// What a crash left of a Scrub.
	if err := os.Remove(path + newMark); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(err, db.Close())
	}
	s := &Store{db: db, dir: dir, path: path, seal: seal, events: o.Events, queue: make(chan request), scrubs: make(chan chan<- error),
		writing: make(chan struct{})}
	if err := guard(path, s.check); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if err := atomicfile.WriteBytes(filepath.Join(dir, lockName), []byte(strconv.Itoa(os.Getpid())+"\n")); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	go s.write()
	return s, nil
}

// Exists reports whether there is a store in a directory.
func Exists(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, fileName))
	return err == nil
}

// open opens the file.
func open(path string) (db *bbolt.DB, err error) {
	err = guard(path, func() error {
		if info, err := os.Stat(path); err == nil && info.Size() == 0 {
			return damaged(path, "the file is empty") // the library would take it for a new one
		}
		var file *os.File
		db, err = bbolt.Open(path, atomicfile.FileMode, &bbolt.Options{Timeout: lockTime, FreelistType: bbolt.FreelistMapType,
			OpenFile: func(name string, flag int, mode os.FileMode) (f *os.File, err error) {
				file, err = os.OpenFile(name, flag, mode)
				return file, err
			}})
		if err == nil && !current(path, file) {
			err = errors.Join(bbolt.ErrTimeout, db.Close()) // its owner has replaced the file meanwhile
		}
		switch {
		case err == nil, errors.Is(err, bbolt.ErrTimeout):
		case errors.Is(err, bbolt.ErrInvalid), errors.Is(err, bbolt.ErrChecksum), errors.Is(err, bbolt.ErrVersionMismatch),
			strings.Contains(err.Error(), "file size too small"):
			err = damaged(path, err)
		default:
			err = fmt.Errorf("%s: %w", path, err)
		}
		return err
	})
	return db, err
}

// current reports whether a file is still the one of a path.
func current(path string, file *os.File) bool {
	there, err := os.Stat(path)
	if err != nil {
		return false
	}
	own, err := file.Stat()
	return err == nil && os.SameFile(there, own)
}

// guard turns what a damaged file does to its reader into an error: the library trusts what it maps into memory.
func guard(path string, f func() error) (err error) {
	old := debug.SetPanicOnFault(true)
	defer debug.SetPanicOnFault(old)
	defer func() {
		if r := recover(); r != nil {
			err = damaged(path, r)
		}
	}()
	return f()
}

func damaged(path string, why any) error {
	return fmt.Errorf("%s: %w: %v; restore it from a copy, or move it away to begin anew", path, ErrDamaged, why)
}

// locked says who has the store.
func locked(dir string, err error) error {
	if errors.Is(err, bbolt.ErrTimeout) {
		return fmt.Errorf("%w (pid %s) with the state directory %s", ErrLocked, owner(dir), dir)
	}
	return err
}

// owner reads the process id of the one who has the store.
func owner(dir string) string {
	text, err := os.ReadFile(filepath.Join(dir, lockName))
	if pid := strings.TrimSpace(string(text)); err == nil && pid != "" {
		return pid
	}
	return "unknown"
}

// check makes sure that the file is a store of ours, of a version that is known, under this key, and whole.
func (s *Store) check() error {
	return s.db.View(func(tx *bbolt.Tx) error {
		head := tx.Bucket([]byte(header))
		if head == nil {
			return damaged(s.path, "it is a file of another program")
		}
		version, _ := binary.Uvarint(head.Get([]byte(versionKey)))
		if version > Version {
			return fmt.Errorf("%s: %w: version %d of the records, this one knows %d", s.path, ErrNewer, version, Version)
		}
		if _, err := s.seal.open(header, proofKey, head.Get([]byte(proofKey))); err != nil {
			return fmt.Errorf("%s: %w", s.path, ErrKey)
		}
		for _, kind := range kinds {
			b := tx.Bucket([]byte(kind))
			if b == nil {
				return fmt.Errorf("%s: %w: there is no part %s", s.path, ErrDamaged, kind)
			}
			if err := b.ForEach(func(id, sealed []byte) error {
				_, err := s.reveal(kind, id, sealed)
				return err
			}); err != nil {
				return err
			}
		}
		c := tx.Bucket([]byte(Event)).Cursor()
		if id, _ := c.First(); id != nil {
			s.first = number(id)
			id, _ = c.Last()
			s.last = number(id)
		}
		// Events may all be gone; their numbers go on all the same.
		s.last = max(s.last, tx.Bucket([]byte(Event)).Sequence())
		return nil
	})
}

// create makes a new store. It gets its name when it is whole, so an unfinished one is never taken for a damaged one.
func create(path string, seal *sealer) error {
	part := path + newMark
	if err := os.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	db, err := bbolt.Open(part, atomicfile.FileMode, &bbolt.Options{Timeout: lockTime})
	if err != nil {
		return fmt.Errorf("%s: %w", part, err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		for _, kind := range kinds {
			if _, err := tx.CreateBucket([]byte(kind)); err != nil {
				return err
			}
		}
		b, err := tx.CreateBucket([]byte(header))
		if err != nil {
			return err
		}
		return errors.Join(b.Put([]byte(versionKey), binary.AppendUvarint(nil, Version)),
			b.Put([]byte(proofKey), seal.close(header, proofKey, []byte(header))))
	})
	if err = errors.Join(err, db.Close()); err != nil {
		return errors.Join(fmt.Errorf("%s: %w", part, err), os.Remove(part))
	}
	return os.Rename(part, path)
}

// reveal opens a sealed value.
func (s *Store) reveal(kind Kind, id, sealed []byte) ([]byte, error) {
	value, err := s.seal.open(string(kind), string(id), sealed)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: the %s %s is not what was written; restore it from a copy", s.path, ErrDamaged, kind, show(kind, id))
	}
	return value, nil
}

// show writes the id of a record for people.
func show(kind Kind, id []byte) string {
	if kind == Event {
		return strconv.FormatUint(number(id), 10)
	}
	return strconv.Quote(string(id))
}

// number and key convert the numbers of events.
func number(key []byte) uint64 {
	if len(key) != 8 {
		return 0
	}
	return binary.BigEndian.Uint64(key)
}

func key(number uint64) []byte { return binary.BigEndian.AppendUint64(nil, number) }

// Each calls f with every record of a kind, in the order of ids, and returns its first error. f must not call the store.
func (s *Store) Each(kind Kind, f func(id string, value []byte) error) error {
	return s.view(func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte(kind)).ForEach(func(id, sealed []byte) error {
			value, err := s.reveal(kind, id, sealed)
			if err != nil {
				return err
			}
			return f(string(id), value)
		})
	})
}

// EachEvent calls f with every kept event, oldest first, and returns its first error.
func (s *Store) EachEvent(f func(number uint64, value []byte) error) error {
	return s.Each(Event, func(id string, value []byte) error { return f(number([]byte(id)), value) })
}

// Get returns a record, or nil when there is none.
func (s *Store) Get(kind Kind, id string) (value []byte, err error) {
	err = s.view(func(tx *bbolt.Tx) error {
		sealed := tx.Bucket([]byte(kind)).Get([]byte(id))
		if sealed == nil {
			return nil
		}
		value, err = s.reveal(kind, []byte(id), sealed)
		return err
	})
	return value, err
}

// view reads in a transaction.
func (s *Store) view(f func(*bbolt.Tx) error) error {
	s.reading.RLock()
	defer s.reading.RUnlock()
	err := s.db.View(f)
	if errors.Is(err, bbolt.ErrDatabaseNotOpen) {
		return ErrClosed
	}
	return err
}

// Size returns the size of the file in bytes.
func (s *Store) Size() (int64, error) {
	info, err := os.Stat(s.path)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Close writes what is under way and closes the file.
func (s *Store) Close() error {
	s.mutex.Lock()
	if s.closed {
		s.mutex.Unlock()
		return nil
	}
	s.closed = true
	close(s.queue)
	s.mutex.Unlock()
	<-s.writing
	return errors.Join(s.db.Close(), os.Remove(filepath.Join(s.dir, lockName)))
}
