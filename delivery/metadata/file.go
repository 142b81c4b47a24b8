package metadata

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/vmseed/vmseed/delivery"
	"github.com/vmseed/vmseed/internal/atomicfile"
	"github.com/vmseed/vmseed/internal/bounded"
	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

// form and formVersion are how a file begins.
const (
	form        = "vmseed-metadata"
	formVersion = 1
)

// maxFile is the largest file that is read. An Ignition config may be large, a disk image is not a seed.
const maxFile = 128 << 20

// ErrNewer is wrapped for a file that a later vmseed wrote.
var ErrNewer = errors.New("the file is of a newer vmseed")

// header is what tells a file of ours, of any version.
type header struct {
	Form    string `json:"form"`
	Version int    `json:"version"`
}

// file is the form on disk.
type file struct {
	header
	Base       string        `json:"base"`
	Machine    seed.Name     `json:"machine"`
	DataSource string        `json:"dataSource"`
	Identity   seed.Identity `json:"identity"`
	Seal       bool          `json:"seal,omitempty"`
	Sealed     bool          `json:"sealed,omitempty"`
	Password   []byte        `json:"password,omitempty"`
	SMBIOS     []row         `json:"smbios,omitempty"`
	KernelArgs []string      `json:"kernelArgs,omitempty"`
	Trees      []tree        `json:"trees"`
}

type row struct {
	Type  int    `json:"type"`
	Field string `json:"field"`
	Value string `json:"value"`
}

type tree struct {
	Name     string      `json:"name"`
	Roots    []string    `json:"roots"`
	Tokens   seed.Tokens `json:"tokens,omitempty"`
	HopLimit int         `json:"hopLimit,omitempty"`
	Blobs    []blob      `json:"blobs"`
}

type blob struct {
	Path        string `json:"path"`
	ContentType string `json:"contentType,omitempty"`
	Sealable    bool   `json:"sealable,omitempty"`
	Content     []byte `json:"content"`
}

func encode(s seed.Seed, base string) ([]byte, error) {
	f := file{header: header{form, formVersion}, Base: base, Machine: s.Machine, DataSource: s.DataSource, Identity: s.Identity,
		Seal: s.Seal, KernelArgs: s.KernelArgs}
	for _, r := range s.Firmware.SMBIOS {
		f.SMBIOS = append(f.SMBIOS, row(r))
	}
	for _, t := range s.Trees {
		out := tree{Name: t.Name, Roots: t.Roots, Tokens: t.Tokens, HopLimit: t.HopLimit, Blobs: make([]blob, len(t.Blobs))}
		for i, b := range t.Blobs {
			out.Blobs[i] = blob{Path: b.Path, ContentType: b.ContentType, Sealable: b.Sealable, Content: []byte(b.Content.Reveal())}
		}
		f.Trees = append(f.Trees, out)
	}
	return f.bytes()
}

func (f file) bytes() ([]byte, error) {
	out, err := json.Marshal(f)
	if err != nil {
		return nil, err
	}
	if out = append(out, '\n'); len(out) > maxFile {
		return nil, fmt.Errorf("%w: the file would have %d bytes, and may have %d", bounded.ErrTooLarge, len(out), maxFile)
	}
	return out, nil
}

// read reads and checks a file.
func read(path string) (file, error) {
	in, err := os.Open(path)
	if err != nil {
		return file{}, err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return file{}, err
	}
	if !info.Mode().IsRegular() {
		return file{}, fmt.Errorf("%s: %w: no regular file", path, delivery.ErrNotSeed)
	}
	if info.Size() > maxFile {
		return file{}, fmt.Errorf("%s: %w: more than %d bytes", path, bounded.ErrTooLarge, int64(maxFile))
	}
	// A disk is not read to its end to see that it is none.
	head := make([]byte, len(`{"form":"`)+len(form))
	if _, err := io.ReadFull(in, head); err != nil || string(head) != `{"form":"`+form {
		return file{}, fmt.Errorf("%s: %w: it does not begin as files of trees do", path, delivery.ErrNotSeed)
	}
	rest, err := bounded.ReadAll(in, maxFile-int64(len(head)))
	if err != nil {
		return file{}, fmt.Errorf("%s: %w", path, err)
	}
	f, err := parse(slices.Concat(head, rest))
	if err != nil {
		return file{}, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// parse reads the form. Its errors never show a value of the file.
func parse(data []byte) (file, error) {
	var h header
	if err := json.Unmarshal(data, &h); err != nil || h.Form != form || h.Version < 1 {
		return file{}, fmt.Errorf("%w: damaged", delivery.ErrNotSeed)
	}
	if h.Version > formVersion {
		return file{}, fmt.Errorf("%w: %w: version %d of the form, and this vmseed reads %d", delivery.ErrNotSeed, ErrNewer, h.Version, formVersion)
	}
	var f file
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return file{}, fmt.Errorf("%w: damaged", delivery.ErrNotSeed)
	}
	if err := checkTrees(f.seed().Trees); err != nil {
		return file{}, fmt.Errorf("%w: %w", delivery.ErrNotSeed, err)
	}
	return f, nil
}

func (f file) seed() seed.Seed {
	s := seed.Seed{Machine: f.Machine, DataSource: f.DataSource, Identity: f.Identity, Seal: f.Seal, KernelArgs: f.KernelArgs}
	for _, r := range f.SMBIOS {
		s.Firmware.SMBIOS = append(s.Firmware.SMBIOS, seed.SMBIOS(r))
	}
	for _, t := range f.Trees {
		out := seed.Tree{Name: t.Name, Roots: t.Roots, Tokens: t.Tokens, HopLimit: t.HopLimit, Blobs: make([]seed.Blob, len(t.Blobs))}
		for i, b := range t.Blobs {
			out.Blobs[i] = seed.Blob{Path: b.Path, ContentType: b.ContentType, Sealable: b.Sealable, Content: secret.FromBytes(b.Content)}
		}
		s.Trees = append(s.Trees, out)
	}
	return s
}

// Load reads the file that Deliver wrote. The error wraps delivery.ErrNotSeed when it is another one.
func Load(path string) (*Site, error) {
	f, err := read(path)
	if err != nil {
		return nil, err
	}
	site, err := NewSite(f.seed())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(f.Password) > 0 {
		if _, err := site.setPassword(f.Password, nil); err != nil {
			return nil, err
		}
	}
	if f.Sealed {
		site.Seal()
	}
	return site, nil
}

// SealFile takes the contents out of a file that its guest needs for its first boot alone, and marks it so that Load
// gives a sealed Site. The bytes of the old file are overwritten. Sealing twice is no error.
func SealFile(path string) error {
	return rewrite(path, func(f *file) bool {
		if f.Sealed {
			return false
		}
		f.Sealed = true
		for i := range f.Trees {
			for j := range f.Trees[i].Blobs {
				if b := &f.Trees[i].Blobs[j]; b.Sealable {
					b.Content = nil
				}
			}
		}
		return true
	})
}

// SavePassword puts the password that a guest has posted into the file, so that it outlives the server. It fits
// Config.Password for a server that knows the file of each site.
func SavePassword(path string, password []byte) error {
	return rewrite(path, func(f *file) bool {
		f.Password = password
		return true
	})
}

// openLocked opens a file for whoever changes it, alone. While it was waited for, another may have replaced it.
func openLocked(path string) (*os.File, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return nil, err
		}
		if err := atomicfile.Lock(f); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		locked, err := f.Stat()
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if now, err := os.Stat(path); err == nil && os.SameFile(locked, now) {
			return f, nil
		}
		_ = f.Close()
	}
}

// rewrite replaces a file by one that change made of it, and overwrites the bytes of the old one, which may outlive its
// name on the disk.
func rewrite(path string, change func(*file) bool) error {
	old, err := openLocked(path)
	if err != nil {
		return err
	}
	defer old.Close()
	f, err := read(path)
	if err != nil {
		return err
	}
	if !change(&f) {
		return nil
	}
	content, err := f.bytes()
	if err != nil {
		return err
	}
	info, err := old.Stat()
	if err != nil {
		return err
	}
	if err := atomicfile.WriteBytes(path, content); err != nil {
		return err
	}
	if _, err := old.Write(make([]byte, info.Size())); err != nil {
		return err
	}
	return old.Sync()
}
