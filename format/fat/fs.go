package fat

import (
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"
)

var (
	errNotDir = errors.New("not a directory")
	errIsDir  = errors.New("is a directory")
)

var (
	_ fs.ReadDirFS  = (*Reader)(nil)
	_ fs.ReadFileFS = (*Reader)(nil)
	_ fs.StatFS     = (*Reader)(nil)
)

// Open opens the file or directory at name.
func (r *Reader) Open(name string) (fs.File, error) {
	e, err := r.lookup("open", name)
	if err != nil {
		return nil, err
	}
	if e.dir {
		return &openDir{entry: e}, nil
	}
	return &openFile{entry: e, SectionReader: io.NewSectionReader(&content{r.vol, e.extents}, 0, e.size)}, nil
}

// ReadDir returns the entries of the directory at name, sorted by name.
func (r *Reader) ReadDir(name string) ([]fs.DirEntry, error) {
	e, err := r.lookup("readdir", name)
	if err != nil {
		return nil, err
	}
	if !e.dir {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: errNotDir}
	}
	return dirEntries(e.kids), nil
}

// ReadFile returns the content of the file at name.
func (r *Reader) ReadFile(name string) ([]byte, error) {
	e, err := r.lookup("read", name)
	if err != nil {
		return nil, err
	}
	if e.dir {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errIsDir}
	}
	data := make([]byte, e.size)
	if _, err := (&content{r.vol, e.extents}).ReadAt(data, 0); err != nil && err != io.EOF {
		return nil, &fs.PathError{Op: "read", Path: name, Err: err}
	}
	return data, nil
}

// Stat describes the file or directory at name.
func (r *Reader) Stat(name string) (fs.FileInfo, error) {
	e, err := r.lookup("stat", name)
	if err != nil {
		return nil, err
	}
	return fileInfo{e}, nil
}

// lookup finds the entry at name.
func (r *Reader) lookup(op, name string) (*entry, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	e := r.root
	if name == "." {
		return e, nil
	}
	for part := range strings.SplitSeq(name, "/") {
		if e = e.kid(part); e == nil {
			return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
		}
	}
	return e, nil
}

// kid returns the entry of e with the given name, in any case, or nil.
func (e *entry) kid(name string) *entry {
	i, ok := slices.BinarySearchFunc(e.kids, name, func(k *entry, name string) int {
		return strings.Compare(k.name, name)
	})
	if ok {
		return e.kids[i]
	}
	for _, k := range e.kids {
		if strings.EqualFold(k.name, name) {
			return k
		}
	}
	return nil
}

func dirEntries(kids []*entry) []fs.DirEntry {
	list := make([]fs.DirEntry, len(kids))
	for i, k := range kids {
		list[i] = fs.FileInfoToDirEntry(fileInfo{k})
	}
	return list
}

// fileInfo is an entry as fs.FileInfo.
type fileInfo struct{ e *entry }

func (i fileInfo) Name() string       { return i.e.name }
func (i fileInfo) Size() int64        { return i.e.size }
func (i fileInfo) Mode() fs.FileMode  { return i.e.mode() }
func (i fileInfo) ModTime() time.Time { return i.e.modTime }
func (i fileInfo) IsDir() bool        { return i.e.dir }
func (i fileInfo) Sys() any           { return nil }
func (i fileInfo) String() string     { return fs.FormatFileInfo(i) }

// content reads the bytes of a file that may have several extents.
type content struct {
	vol     *volume
	extents []extent
}

// ReadAt implements io.ReaderAt.
func (c *content) ReadAt(p []byte, offset int64) (int, error) {
	n := 0
	for _, x := range c.extents {
		if offset >= x.size {
			offset -= x.size
			continue
		}
		part := p[n:min(int64(len(p)), int64(n)+x.size-offset)]
		if len(part) == 0 {
			break
		}
		if err := c.vol.read(part, x.offset+offset); err != nil {
			return n, err
		}
		n += len(part)
		offset = 0
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// openFile is an open regular file.
type openFile struct {
	entry *entry
	*io.SectionReader
}

func (f *openFile) Stat() (fs.FileInfo, error) { return fileInfo{f.entry}, nil }
func (f *openFile) Close() error               { return nil }

// openDir is an open directory.
type openDir struct {
	entry *entry
	next  int
}

func (d *openDir) Stat() (fs.FileInfo, error) { return fileInfo{d.entry}, nil }
func (d *openDir) Close() error               { return nil }

func (d *openDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.entry.name, Err: errIsDir}
}

// ReadDir implements fs.ReadDirFile.
func (d *openDir) ReadDir(n int) ([]fs.DirEntry, error) {
	rest := d.entry.kids[d.next:]
	if n > 0 {
		if len(rest) == 0 {
			return nil, io.EOF
		}
		rest = rest[:min(n, len(rest))]
	}
	d.next += len(rest)
	return dirEntries(rest), nil
}
