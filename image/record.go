package image

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/vmseed/vmseed/internal/atomicfile"
	"github.com/vmseed/vmseed/internal/bounded"
)

// recordVersion changes when an older vmseed could not read the files of a store.
const recordVersion = 1

// recordLimit is the size of the largest record that is read.
const recordLimit = 1 << 20

// record is what a store remembers of an image, in HASH.json beside it. Its own modification time is when the image was
// last used.
type record struct {
	Version     int       `json:"version"`
	SHA256      string    `json:"sha256"`
	Size        int64     `json:"size"`
	Modified    time.Time `json:"modified"`
	Format      Format    `json:"format"`
	VirtualSize int64     `json:"virtualSize"`
}

// pointer says which image a reference led to when it was last looked at.
type pointer struct {
	Version   int    `json:"version"`
	Reference string `json:"reference"`
	Arch      string `json:"arch,omitempty"`
	// Digest is that of the manifest of a container image.
	Digest string `json:"digest,omitempty"`
	Inside string `json:"inside,omitempty"`
	// Verified is the checksum that the file was published with.
	Verified Checksum  `json:"verified,omitzero"`
	SHA256   string    `json:"sha256"`
	Pulled   time.Time `json:"pulled"`
}

// The directories of a store.
const (
	imagesDir   = "blobs"
	pointersDir = "references"
	usersDir    = "users"
)

// suffixes of the files beside an image or a pointer.
const (
	recordSuffix = ".json"
	lockSuffix   = ".lock"
)

func (s *Store) image(hash string) string { return filepath.Join(s.Dir, imagesDir, hash) }

// absolute makes the path of a reference independent of the directory that this process runs in.
func (r Reference) absolute() (Reference, error) {
	if r.Path == "" {
		return r, nil
	}
	path, err := filepath.Abs(r.Path)
	r.Path = path
	return r, err
}

// key names the files of a reference. Whatever decides on the contents goes into it.
func (r Reference) key(arch string) string {
	if r.Kind == Web {
		arch = ""
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{string(r.Kind), r.Name, r.Path, r.Inside, r.address.Reveal(), r.sums.Reveal(),
		r.Checksum.String(), arch}, "\x00")))
	return hex.EncodeToString(sum[:])
}

// prepare makes the directories of the store and sweeps what crashed pulls left there.
func (s *Store) prepare() error {
	for _, name := range []string{imagesDir, pointersDir, usersDir} {
		dir := filepath.Join(s.Dir, name)
		if err := os.MkdirAll(dir, atomicfile.DirMode); err != nil {
			return err
		}
		if err := atomicfile.Sweep(dir); err != nil {
			return err
		}
	}
	return nil
}

// load reads a JSON file of the store. One that is not there, or that is damaged, is as if it never was.
func load(path string, into any) (bool, error) {
	text, err := bounded.ReadFile(path, recordLimit)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, bounded.ErrTooLarge) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return json.Unmarshal(text, into) == nil, nil
}

func save(path string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.WriteBytes(path, append(text, '\n'))
}

func (s *Store) saveRecord(r record) error {
	r.Version = recordVersion
	return save(s.image(r.SHA256)+recordSuffix, r)
}

func (s *Store) pointerFile(key string) string {
	return filepath.Join(s.Dir, pointersDir, key+recordSuffix)
}

func (s *Store) loadPointer(path string) (pointer, bool, error) {
	var p pointer
	ok, err := load(path, &p)
	return p, ok && p.Version == recordVersion && isHash(p.SHA256), err
}

// pointers returns every pointer of the store.
func (s *Store) pointers() (map[string]pointer, error) {
	files, err := filepath.Glob(filepath.Join(s.Dir, pointersDir, "*"+recordSuffix))
	if err != nil {
		return nil, err
	}
	out := map[string]pointer{}
	for _, file := range files {
		p, ok, err := s.loadPointer(file)
		if err != nil {
			return nil, err
		}
		if ok {
			out[file] = p
		}
	}
	return out, nil
}

// isHash reports whether a text is a SHA-256 in hexadecimal, and so the name of an image.
func isHash(text string) bool {
	raw, err := hex.DecodeString(text)
	return err == nil && len(raw) == sha256.Size && strings.ToLower(text) == text
}

// verify tells whether an image is whole: by its size and time of change if the record knows them, else, and when thorough,
// by its hash. A file that is not there is not whole.
func (s *Store) verify(hash string, thorough bool) (record, bool, error) {
	var r record
	known, err := load(s.image(hash)+recordSuffix, &r)
	if err != nil {
		return record{}, false, err
	}
	info, err := os.Lstat(s.image(hash))
	if errors.Is(err, fs.ErrNotExist) {
		return record{}, false, nil
	}
	if err != nil {
		return record{}, false, err
	}
	if !info.Mode().IsRegular() {
		return record{}, false, nil
	}
	known = known && r.Version == recordVersion && r.SHA256 == hash
	same := known && r.Size == info.Size() && r.Modified.Equal(info.ModTime())
	if same && !thorough {
		return r, true, nil
	}
	head, sum, err := hashFile(s.image(hash))
	if err != nil || sum != hash {
		return record{}, false, err
	}
	if same {
		return r, true, nil
	}
	r = record{SHA256: hash, Size: info.Size(), Modified: info.ModTime()}
	if r.Format, r.VirtualSize, err = recognise(head, info.Size()); err != nil {
		return record{}, false, nil
	}
	return r, true, s.saveRecord(r)
}

func hashFile(path string) (head []byte, sum string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	head = make([]byte, headSize)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, "", err
	}
	h := sha256.New()
	h.Write(head[:n])
	if _, err := io.Copy(h, f); err != nil {
		return nil, "", fmt.Errorf("%s: %w", path, err)
	}
	return head[:n], hex.EncodeToString(h.Sum(nil)), nil
}
