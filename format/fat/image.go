package fat

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"
)

// File is one entry to write. Directories on the way to an entry are made as needed; an entry of its own is needed
// only for an empty directory or for one with a time of its own.
type File struct {
	// Path is slash-separated and relative, such as "openstack/latest/user_data".
	Path string
	// Mode is fs.ModeDir for a directory; its permissions are not stored, and other types are refused.
	Mode fs.FileMode
	// ModTime is stored in steps of two seconds, in UTC. The zero time means Options.ModTime.
	ModTime time.Time
	// Data is the content, when Open is nil. It is read, never kept beyond the Image, and must not change meanwhile.
	Data []byte
	// Open returns the content, exactly Size bytes of it. It is called once in every Image.WriteTo.
	Open func() (io.ReadCloser, error)
	// Size is the number of bytes that Open gives. It is not used when Open is nil.
	Size int64
}

// Options are the properties of a volume. The zero value is a volume without a label, as small as possible.
type Options struct {
	// Label is the volume label, at most MaxLabel ASCII characters. FAT stores it in upper case: CIDATA, CONFIG-2.
	Label string
	// ModTime is the time of the label and of entries without one. The zero time means DefaultTime.
	ModTime time.Time
	// Size is the size of the volume in bytes, a multiple of Alignment. Zero means the smallest that holds the
	// entries.
	Size int64
	// Serial is the volume serial number, which Linux shows as the UUID. Zero means one that is derived from the
	// label, the paths, sizes and times of the entries and the size of the volume, but not from their content.
	Serial uint32
}

// Image is a volume that is laid out and ready to be written, as often as wanted.
type Image struct {
	geometry
	label   alias
	modTime time.Time
	serial  uint32
	dirs    []*node // the root first
	files   []*node // regular files in the order of their content
}

// Files lists the regular files and directories of fsys for New, without their times: two copies of a tree give the
// same volume. Set ModTime in the result for other times. Contents are opened when the volume is written. An entry of
// any other type is an error that wraps ErrMode.
func Files(fsys fs.FS) ([]File, error) {
	var files []File
	err := fs.WalkDir(fsys, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return &PathError{Path: path, Err: err}
		}
		if path == "." {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return &PathError{Path: path, Err: err}
		}
		f := File{Path: path, Mode: info.Mode()}
		if !info.IsDir() {
			f.Size = info.Size()
			f.Open = func() (io.ReadCloser, error) { return fsys.Open(path) }
		}
		files = append(files, f)
		return checkMode(&f)
	})
	return files, err
}

// New checks the entries and lays a volume out for them. Nothing is opened. The errors are PathErrors that wrap
// ErrName, ErrDuplicate, ErrLimit or ErrMode, or errors that wrap ErrLabel or ErrLimit. The order of files does not
// matter.
func New(files []File, opts Options) (*Image, error) {
	label, err := labelOf(opts.Label)
	if err != nil {
		return nil, err
	}
	if opts.ModTime.IsZero() {
		opts.ModTime = DefaultTime
	}
	im := &Image{label: label, modTime: opts.ModTime.UTC()}
	if !yearFits(im.modTime) {
		return nil, fmt.Errorf("fat: time of the volume: %w: %s is outside the years 1980 to 2107",
			ErrLimit, im.modTime.Format(time.RFC3339))
	}
	root, err := buildTree(files, im.modTime)
	if err != nil {
		return nil, err
	}
	if err := im.layout(root, opts.Size); err != nil {
		return nil, err
	}
	if im.serial = opts.Serial; im.serial == 0 {
		im.serial = im.derivedSerial()
	}
	return im, nil
}

// Size returns the exact size of the volume in bytes, a multiple of Alignment.
func (im *Image) Size() int64 { return int64(im.sectors) * SectorSize }

// chunk is how many bytes of file content are collected before they are written.
const chunk = 128 << 10

// WriteTo writes the volume in one forward pass; a small volume is one Write. It fails with a
// PathError when a source fails or does not have its stated size; the bytes written so far are then no valid volume.
func (im *Image) WriteTo(w io.Writer) (int64, error) {
	head := im.contentStart()
	out := &output{w: w, buf: make([]byte, head, min(im.Size(), head+chunk))}
	im.encode(out.buf)
	for _, f := range im.files {
		if err := out.file(f.file, im.clusterSize()); err != nil {
			return out.n, err
		}
	}
	if err := out.zeros(im.Size() - out.offset()); err != nil {
		return out.n, err
	}
	return out.n, out.flush()
}

// output collects what is to be written in one buffer.
type output struct {
	w   io.Writer
	buf []byte
	n   int64 // bytes given to w
}

// offset returns the place in the volume that the next byte goes to.
func (o *output) offset() int64 { return o.n + int64(len(o.buf)) }

func (o *output) flush() error {
	n, err := o.w.Write(o.buf)
	o.n += int64(n)
	if err == nil && n < len(o.buf) {
		err = io.ErrShortWrite
	}
	o.buf = o.buf[:0]
	return err
}

// free returns the unused part of the buffer, which is never empty: a full buffer is flushed first.
func (o *output) free() ([]byte, error) {
	if len(o.buf) == cap(o.buf) {
		if err := o.flush(); err != nil {
			return nil, err
		}
	}
	return o.buf[len(o.buf):cap(o.buf)], nil
}

// file writes the content of f and fills its last cluster.
func (o *output) file(f *File, clusterSize int64) error {
	size := f.size()
	var err error
	if f.Open == nil {
		err = o.bytes(f.Data)
	} else {
		err = o.source(f)
	}
	if err != nil {
		return err
	}
	return o.zeros(-size & (clusterSize - 1))
}

func (o *output) bytes(data []byte) error {
	if len(data) > cap(o.buf)-len(o.buf) && len(data) >= chunk {
		if err := o.flush(); err != nil {
			return err
		}
		n, err := o.w.Write(data)
		o.n += int64(n)
		return err
	}
	for len(data) > 0 {
		free, err := o.free()
		if err != nil {
			return err
		}
		n := copy(free, data)
		o.buf, data = o.buf[:len(o.buf)+n], data[n:]
	}
	return nil
}

// source copies what f.Open gives. Errors of the source are told from errors of the writer by their PathError.
func (o *output) source(f *File) (err error) {
	r, err := f.Open()
	if err != nil {
		return &PathError{Path: f.Path, Err: err}
	}
	defer func() {
		if cerr := r.Close(); err == nil && cerr != nil {
			err = &PathError{Path: f.Path, Err: cerr}
		}
	}()
	for left := f.Size; left > 0; {
		free, err := o.free()
		if err != nil {
			return err
		}
		n, err := io.ReadFull(r, free[:min(left, int64(len(free)))])
		o.buf = o.buf[:len(o.buf)+n]
		left -= int64(n)
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return pathErrorf(f.Path, ErrSize, "%d bytes instead of %d", f.Size-left, f.Size)
		}
		if err != nil {
			return &PathError{Path: f.Path, Err: err}
		}
	}
	var more [1]byte
	switch _, err := io.ReadFull(r, more[:]); {
	case err == nil:
		return pathErrorf(f.Path, ErrSize, "more than %d bytes", f.Size)
	case !errors.Is(err, io.EOF):
		return &PathError{Path: f.Path, Err: err}
	}
	return nil
}

func (o *output) zeros(n int64) error {
	for n > 0 {
		free, err := o.free()
		if err != nil {
			return err
		}
		free = free[:min(n, int64(len(free)))]
		clear(free)
		o.buf = o.buf[:len(o.buf)+len(free)]
		n -= int64(len(free))
	}
	return nil
}

// size returns the number of bytes of the content.
func (f *File) size() int64 {
	if f.Open == nil {
		return int64(len(f.Data))
	}
	return f.Size
}

// checkMode reports entries of a type that cannot be written.
func checkMode(f *File) error {
	if t := f.Mode.Type(); t != 0 && t != fs.ModeDir {
		return pathErrorf(f.Path, ErrMode, "%s", f.Mode)
	}
	return nil
}

// yearFits reports whether t has a year that a directory entry can hold, [FAT Date and Time Formats].
func yearFits(t time.Time) bool { return 1980 <= t.Year() && t.Year() <= 2107 }
