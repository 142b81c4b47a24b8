package iso9660

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"
)

// Names is a kind of names that a volume carries.
type Names int

// The kinds of names.
const (
	// Best is Rock Ridge if the volume has it, else Joliet, else Plain: what Linux shows.
	Best Names = iota
	// RockRidge has POSIX names, modes and symbolic links.
	RockRidge
	// Joliet has Unicode names.
	Joliet
	// Plain has the identifiers of ECMA-119, shown as Linux does by default: in lower case, without the version ;1
	// and without a dot at the end.
	Plain
)

// String returns the name of the kind as it is commonly written.
func (n Names) String() string {
	switch n {
	case Best:
		return "best"
	case RockRidge:
		return "Rock Ridge"
	case Joliet:
		return "Joliet"
	case Plain:
		return "plain"
	}
	return fmt.Sprintf("Names(%d)", int(n))
}

// Reader is an open volume. It implements fs.FS, fs.ReadDirFS, fs.ReadFileFS, fs.StatFS and fs.ReadLinkFS, and may be
// used by several goroutines at once. Open follows symbolic links inside the volume. Files have io.ReaderAt and
// io.Seeker.
type Reader struct {
	vol   *volume
	names Names
	root  *entry
}

// volume is what does not depend on the kind of names.
type volume struct {
	r         io.ReaderAt
	size      int64
	blockSize int64
	primary   descriptor
	joliet    *descriptor // nil if there is none
	rockRidge bool
	skip      int // bytes to skip in every system use area, SUSP 5.3
}

// descriptor is what is used of a volume descriptor.
type descriptor struct {
	label   string
	modTime time.Time
	root    extent
}

// extent is a stretch of the volume in bytes.
type extent struct{ offset, size int64 }

// NewReader opens the volume in the first size bytes of r by its best names. It reads all directories at once, so a
// Reader fails later only when r fails. Errors wrap ErrFormat or ErrLimit, or are errors of r. What a hostile volume
// can cost is bounded: every directory is read once, their sizes and those of all continuation areas add up to at
// most the size of the volume, and MaxDepth and MaxEntries hold. Names that fs.ValidPath refuses, names that occur
// twice in a directory and content outside the volume are errors.
func NewReader(r io.ReaderAt, size int64) (*Reader, error) {
	vol := &volume{r: r, size: size}
	if err := vol.open(); err != nil {
		return nil, err
	}
	return vol.reader(Best)
}

// Through returns a Reader of the same volume by the names of the given kind, or an error that wraps ErrNames.
func (r *Reader) Through(names Names) (*Reader, error) { return r.vol.reader(names) }

// Names returns the kind of names that the Reader uses, never Best.
func (r *Reader) Names() Names { return r.names }

// Label returns the volume label as stored in the primary volume descriptor, without padding.
func (r *Reader) Label() string { return r.vol.primary.label }

// JolietLabel returns the label of the Joliet volume descriptor, or "" if there is none.
func (r *Reader) JolietLabel() string {
	if r.vol.joliet == nil {
		return ""
	}
	return r.vol.joliet.label
}

// ModTime returns when the volume was last modified, or the zero time if it does not say.
func (r *Reader) ModTime() time.Time { return r.vol.primary.modTime }

// open reads the volume descriptors and finds out which names there are.
func (vol *volume) open() error {
	const maxDescriptors = 64
	found := false
	b := make([]byte, SectorSize)
	for i := range int64(maxDescriptors) {
		if err := vol.read(b, (systemSectors+i)*SectorSize); err != nil {
			if found && errors.Is(err, ErrFormat) {
				break // without a terminator: lenient, as Linux is
			}
			return fmt.Errorf("iso9660: volume descriptor: %w", err)
		}
		if string(b[1:6]) != "CD001" {
			if !found {
				return fmt.Errorf("iso9660: %w: no volume descriptor", ErrFormat)
			}
			break
		}
		switch kind := b[0]; {
		case kind == 1 && !found:
			found = true
			vol.blockSize = int64(binary.LittleEndian.Uint16(b[128:]))
			if bs := vol.blockSize; bs != 512 && bs != 1024 && bs != SectorSize {
				return fmt.Errorf("iso9660: %w: block size %d", ErrFormat, bs)
			}
			vol.primary = vol.descriptor(b, trimPadding(string(b[40:72])))
		case kind == 2 && vol.joliet == nil && found && isJoliet(b):
			d := vol.descriptor(b, trimPadding(decodeUTF16(string(b[40:72]))))
			vol.joliet = &d
		}
		if b[0] == 255 {
			break
		}
	}
	if !found {
		return fmt.Errorf("iso9660: %w: no primary volume descriptor", ErrFormat)
	}
	return vol.detectRockRidge()
}

// isJoliet reports whether a supplementary descriptor has one of the escape sequences of Joliet 3.2.
func isJoliet(b []byte) bool {
	escape := string(b[88:91])
	return escape == "%/@" || escape == "%/C" || escape == "%/E"
}

func (vol *volume) descriptor(b []byte, label string) descriptor {
	root := b[156:190]
	return descriptor{
		label:   label,
		modTime: volumeTime(b[830:847]),
		root:    extent{int64(le32(root[2:])) * vol.blockSize, int64(le32(root[10:]))},
	}
}

// detectRockRidge looks for the SP entry, SUSP 5.3, and the names of extensions in the first record of the root.
func (vol *volume) detectRockRidge() error {
	b := make([]byte, 255)
	n := min(int64(len(b)), vol.primary.root.size)
	if err := vol.read(b[:n], vol.primary.root.offset); err != nil {
		return fmt.Errorf("iso9660: root directory: %w", err)
	}
	record, err := parseRecord(b[:n])
	if err == nil && record == nil {
		err = fmt.Errorf("%w: no records", ErrFormat)
	}
	if err != nil {
		return fmt.Errorf("iso9660: root directory: %w", err)
	}
	use := record.use
	if len(use) < lenSP || string(use[:2]) != "SP" || use[4] != 0xbe || use[5] != 0xef {
		return nil
	}
	rr, err := newScan(vol, RockRidge).rockRidge(use[min(int(use[2]), len(use)):])
	if err != nil {
		return fmt.Errorf("iso9660: root directory: %w", err)
	}
	vol.rockRidge = rr.known || rr.hasMode
	vol.skip = int(use[6])
	return nil
}

// reader scans the tree of one kind of names.
func (vol *volume) reader(names Names) (*Reader, error) {
	if names == Best {
		switch {
		case vol.rockRidge:
			names = RockRidge
		case vol.joliet != nil:
			names = Joliet
		default:
			names = Plain
		}
	}
	root := vol.primary.root
	switch {
	case names == RockRidge && !vol.rockRidge, names == Joliet && vol.joliet == nil, names < Best || names > Plain:
		return nil, fmt.Errorf("iso9660: %w: %v", ErrNames, names)
	case names == Joliet:
		root = vol.joliet.root
	}
	tree, err := newScan(vol, names).tree(root)
	if err != nil {
		return nil, err
	}
	return &Reader{vol: vol, names: names, root: tree}, nil
}

// read fills b from the given offset. Reading outside the volume is an ErrFormat.
func (vol *volume) read(b []byte, offset int64) error {
	if offset < 0 || offset > vol.size || int64(len(b)) > vol.size-offset {
		return fmt.Errorf("%w: %d bytes at %d are outside of the volume of %d bytes",
			ErrFormat, len(b), offset, vol.size)
	}
	n, err := vol.r.ReadAt(b, offset)
	if n == len(b) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// entry is a file or directory of an open volume.
type entry struct {
	name    string
	mode    fs.FileMode
	modTime time.Time
	size    int64
	extents []extent // of the content
	target  string   // of a symbolic link
	kids    []*entry // sorted by name
}
