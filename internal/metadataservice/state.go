package metadataservice

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/vmseed/vmseed/internal/atomicfile"
	"github.com/vmseed/vmseed/internal/bounded"
	"github.com/vmseed/vmseed/secret"
)

// Names in the state directory.
const (
	keyFile    = "key"
	lockFile   = "lock"
	machineDir = "machines"
)

// keySize is the size of the key in bytes. maxRecord is that of the largest record.
const (
	keySize   = 32
	maxRecord = 1 << 20
)

// state is what must survive a restart: the key that URLs are signed with, and how far the first boots are. Without a directory
// it lives in memory alone.
type state struct {
	dir string
	// lock is held for as long as this process may write to dir; nil means that it does not.
	lock    *os.File
	mutex   sync.Mutex
	records map[string]record // by machine
}

// record is the state of one machine. What it says holds for its instance alone.
type record struct {
	Machine  string `json:"machine"`
	Instance string `json:"instance"`
	// Sealed means that the first boot is over and what only it needs was withdrawn.
	Sealed bool `json:"sealed,omitempty"`
	// Report is what the intake of reports wants to be given.
	Report []byte `json:"report,omitempty"`
	// Posted is the administrator's password that the guest posted, encrypted for its first public key.
	Posted []byte `json:"posted,omitempty"`
}

// openState opens a state directory, which is made with mode 0700 when it is not there, and reads or makes its key. It is the
// only one that has it open, because what one process writes another one would not see, unless it only looks.
func openState(dir string, look bool) (*state, secret.Text, error) {
	s := &state{dir: dir, records: map[string]record{}}
	if dir == "" {
		return s, newKey(), nil
	}
	if err := os.MkdirAll(dir, atomicfile.DirMode); err != nil {
		return nil, secret.Text{}, err
	}
	if !look {
		file, held, err := atomicfile.Hold(filepath.Join(dir, lockFile))
		if err == nil && held {
			err = fmt.Errorf("another metadata service works on %s; stop that one, or give this one a directory of its own", dir)
		}
		if err != nil {
			return nil, secret.Text{}, err
		}
		s.lock = file
	}
	key, err := readKey(filepath.Join(dir, keyFile))
	if err != nil {
		return nil, secret.Text{}, errors.Join(err, s.close())
	}
	return s, key, nil
}

// close lets another process open the directory. Closed twice is closed once.
func (s *state) close() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.lock == nil {
		return nil
	}
	err := s.lock.Close()
	s.lock = nil
	return err
}

func newKey() secret.Text {
	key := make([]byte, keySize)
	_, _ = rand.Read(key) // it never fails
	return secret.FromBytes(key)
}

// readKey reads a key file, and makes it where there is none.
func readKey(path string) (secret.Text, error) {
	text, err := bounded.ReadFile(path, keySize+1)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		key := newKey()
		return key, atomicfile.WriteBytes(path, []byte(key.Reveal()))
	case err != nil:
		return secret.Text{}, err
	case len(text) != keySize:
		return secret.Text{}, fmt.Errorf("%s has %d bytes, not %d; remove it to get a new one, which changes all signed URLs", path, len(text), keySize)
	}
	return secret.FromBytes(text), Private(path)
}

// Private refuses a file with a secret that others of this host may read.
func Private(path string) error {
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS == "windows" || info.Mode().Perm()&0o077 == 0 {
		return err
	}
	return fmt.Errorf("%s is open to other users of this host (mode %04o); run: chmod go= %s", path, info.Mode().Perm(), path)
}

// of returns the record of a machine's instance. One of another instance does not count.
func (s *state) of(machine, instance string) (record, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	r, err := s.read(machine)
	if r.Instance != instance {
		r = record{}
	}
	r.Machine, r.Instance = machine, instance
	return r, err
}

func (s *state) read(machine string) (record, error) {
	if r, ok := s.records[machine]; ok || s.dir == "" {
		return r, nil
	}
	text, err := bounded.ReadFile(s.path(machine), maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		s.records[machine] = record{}
		return record{}, nil
	}
	var r record
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err == nil && r.Machine != machine {
		err = fmt.Errorf("it is not that of %s", machine)
	}
	if err != nil {
		return record{}, fmt.Errorf("%s cannot be read; remove it to begin anew: %w", s.path(machine), err)
	}
	s.records[machine] = r
	return r, nil
}

// change changes the record of a machine's instance and writes it.
func (s *state) change(machine, instance string, change func(*record)) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	r, err := s.read(machine)
	if err != nil {
		return err
	}
	if r.Instance != instance {
		r = record{}
	}
	r.Machine, r.Instance = machine, instance
	change(&r)
	if s.dir != "" {
		text, err := json.Marshal(r)
		if err == nil {
			err = atomicfile.WriteBytes(s.path(machine), append(text, '\n'))
		}
		if err != nil {
			return err
		}
	}
	s.records[machine] = r
	return nil
}

// path is the file of a machine's record. Names of machines may hold what names of files may not.
func (s *state) path(machine string) string {
	sum := sha256.Sum256([]byte(machine))
	return filepath.Join(s.dir, machineDir, hex.EncodeToString(sum[:16])+".json")
}
