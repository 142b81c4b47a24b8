package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Entry is an image in a store.
type Entry struct {
	SHA256 string `json:"sha256"`
	Path   string `json:"path"`
	// Names are the references that lead to it.
	Names       []Name    `json:"names"`
	Format      Format    `json:"format,omitempty"`
	Size        int64     `json:"size"`
	VirtualSize int64     `json:"virtualSize,omitempty"`
	Used        time.Time `json:"used"`
	// Broken means that the file is no longer what it was: it will not be used.
	Broken bool `json:"broken,omitempty"`
}

// Name is a reference that led to an image.
type Name struct {
	Reference string    `json:"reference"`
	Arch      string    `json:"arch,omitempty"`
	Digest    string    `json:"digest,omitempty"`
	Pulled    time.Time `json:"pulled"`
}

// List returns the images in the store, in the order of their names. With verify their hashes are computed.
func (s *Store) List(ctx context.Context, verify bool) ([]Entry, error) {
	files, err := os.ReadDir(filepath.Join(s.Dir, imagesDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := s.prepare(); err != nil {
		return nil, err
	}
	all, err := s.pointers()
	if err != nil {
		return nil, err
	}
	var out []Entry
	for _, file := range files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if !isHash(file.Name()) {
			continue
		}
		e, err := s.entry(file.Name(), all, verify)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b Entry) int { return strings.Compare(a.title(), b.title()) })
	return out, nil
}

// title is what an entry is sorted by; those without a name come last.
func (e Entry) title() string {
	if len(e.Names) == 0 {
		return "\U0010ffff" + e.SHA256
	}
	return e.Names[0].Reference + " " + e.SHA256
}

func (s *Store) entry(hash string, all map[string]pointer, verify bool) (Entry, error) {
	info, err := os.Lstat(s.image(hash))
	if err != nil {
		return Entry{}, err
	}
	e := Entry{SHA256: hash, Path: s.image(hash), Names: []Name{}, Size: info.Size(), Used: info.ModTime()}
	if info, err := os.Stat(s.image(hash) + recordSuffix); err == nil {
		e.Used = info.ModTime()
	}
	for _, p := range all {
		if p.SHA256 == hash {
			e.Names = append(e.Names, Name{p.Reference, p.Arch, p.Digest, p.Pulled})
		}
	}
	slices.SortFunc(e.Names, func(a, b Name) int { return strings.Compare(a.Reference+" "+a.Arch, b.Reference+" "+b.Arch) })
	r, whole, err := s.verify(hash, verify)
	e.Broken, e.Format, e.VirtualSize = !whole, r.Format, r.VirtualSize
	return e, err
}

// PruneOptions say what Prune removes beside images that are broken or that no reference leads to any more.
type PruneOptions struct {
	// All removes the others as well.
	All bool
	// Unused removes those that were not used for so long; 0 means none.
	Unused time.Duration
	// InUse reports whether a file is the base of some VM's disk. Such an image is kept.
	InUse func(path string) bool
}

// Prune removes images, and returns those that it removed. Images that are being handed out are kept.
func (s *Store) Prune(ctx context.Context, o PruneOptions) ([]Entry, error) {
	entries, err := s.List(ctx, false)
	if err != nil {
		return nil, err
	}
	var out []Entry
	for _, e := range entries {
		old := o.Unused > 0 && time.Since(e.Used) > o.Unused
		if !(o.All || old || e.Broken || len(e.Names) == 0) || o.InUse != nil && o.InUse(e.Path) {
			continue
		}
		gone, err := s.remove(e)
		if err != nil {
			return out, err
		}
		if gone {
			out = append(out, e)
		}
	}
	return out, errors.Join(s.forget(pointersDir), s.forget(imagesDir))
}

// remove removes an image unless somebody has it.
func (s *Store) remove(e Entry) (bool, error) {
	held, busy, err := lockNow(s.image(e.SHA256)+lockSuffix, false)
	if err != nil || busy {
		return false, err
	}
	defer held.Close()
	for _, suffix := range []string{recordSuffix, "", lockSuffix} {
		if err := os.Remove(s.image(e.SHA256) + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
	}
	return true, nil
}

// forget removes the records and locks in a directory of the store that belong to no image any more.
func (s *Store) forget(dir string) error {
	locks, err := filepath.Glob(filepath.Join(s.Dir, dir, "*"+lockSuffix))
	if err != nil {
		return err
	}
	for _, path := range locks {
		file, hash := strings.TrimSuffix(path, lockSuffix)+recordSuffix, strings.TrimSuffix(filepath.Base(path), lockSuffix)
		if dir == pointersDir {
			p, ok, err := s.loadPointer(file)
			if err != nil {
				return err
			}
			if hash = p.SHA256; !ok {
				hash = "none"
			}
		}
		if _, err := os.Lstat(s.image(hash)); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		// Whoever holds the lock is about to write the record anew.
		held, busy, err := lockNow(path, false)
		if err != nil {
			return err
		}
		if busy {
			continue
		}
		if err = os.Remove(file); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		if err := errors.Join(err, os.Remove(path), held.Close()); err != nil {
			return err
		}
	}
	return nil
}

// user is a directory of VMs whose disks may be overlays on images of the store.
type user struct {
	Dir string `json:"dir"`
}

// AddUser remembers a directory of VMs, so that whoever prunes can ask what its disks are overlays on.
func (s *Store) AddUser(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if err := s.prepare(); err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(dir))
	return save(filepath.Join(s.Dir, usersDir, hex.EncodeToString(sum[:])+recordSuffix), user{dir})
}

// Users returns the directories of VMs that AddUser was told of and that are still there.
func (s *Store) Users() ([]string, error) {
	files, err := filepath.Glob(filepath.Join(s.Dir, usersDir, "*"+recordSuffix))
	if err != nil {
		return nil, err
	}
	var out []string
	for _, file := range files {
		var u user
		if ok, err := load(file, &u); err != nil {
			return nil, err
		} else if !ok {
			continue
		}
		if _, err := os.Stat(u.Dir); err == nil {
			out = append(out, u.Dir)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return out, nil
}
