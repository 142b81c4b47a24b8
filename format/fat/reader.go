package fat

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"
)

// Reader is an open volume. It implements fs.FS, fs.ReadDirFS, fs.ReadFileFS and fs.StatFS, and may be used by
// several goroutines at once. Names are found without regard to case, as every system does on FAT; listings give them
// as stored. Files have io.ReaderAt and io.Seeker.
type Reader struct {
	vol   *volume
	label string
	root  *entry
}

// volume is the geometry of an open volume.
type volume struct {
	r            io.ReaderAt
	size         int64 // of r
	bits         int   // 12, 16 or 32
	clusterBytes int64
	clusters     uint32
	rootOffset   int64 // fixed root directory of FAT12 and FAT16
	rootBytes    int64
	rootCluster  uint32 // of FAT32
	dataOffset   int64
	bootLabel    string
	serial       uint32
	table        []byte // the first FAT
}

// extent is a stretch of the volume in bytes.
type extent struct{ offset, size int64 }

// entry is a file or directory of an open volume.
type entry struct {
	name    string
	dir     bool
	modTime time.Time
	size    int64
	extents []extent // of the content
	kids    []*entry // sorted by name
}

// NewReader opens the volume in the first size bytes of r. It reads the FAT and all directories at once, so a Reader
// fails later only when r fails. Errors wrap ErrFormat or ErrLimit, or are errors of r. What a hostile volume can
// cost is bounded: no cluster may belong to two files or directories, and MaxDepth and MaxEntries hold. Names that
// fs.ValidPath refuses and names that occur twice in a directory are errors.
func NewReader(r io.ReaderAt, size int64) (*Reader, error) {
	vol := &volume{r: r, size: size}
	if err := vol.open(); err != nil {
		return nil, fmt.Errorf("fat: %w", err)
	}
	root, label, err := newScan(vol).tree()
	if err != nil {
		return nil, err
	}
	if label == "" {
		label = vol.bootLabel
	}
	return &Reader{vol: vol, label: label, root: root}, nil
}

// Label returns the volume label: that of the root directory, else that of the boot sector, else "".
func (r *Reader) Label() string { return r.label }

// Serial returns the volume serial number, 0 if there is none.
func (r *Reader) Serial() uint32 { return r.vol.serial }

// Bits returns the kind of FAT: 12, 16 or 32.
func (r *Reader) Bits() int { return r.vol.bits }

// open reads the boot sector and the first FAT.
func (vol *volume) open() error {
	b := make([]byte, 512)
	if err := vol.read(b, 0); err != nil {
		return fmt.Errorf("boot sector: %w", err)
	}
	le := binary.LittleEndian
	sectorBytes := int64(le.Uint16(b[11:]))
	perCluster := int64(b[13])
	reserved := int64(le.Uint16(b[14:]))
	copies := int64(b[16])
	rootEntries := int64(le.Uint16(b[17:]))
	sectors := int64(le.Uint16(b[19:]))
	fatSectors := int64(le.Uint16(b[22:]))
	if sectors == 0 {
		sectors = int64(le.Uint32(b[32:]))
	}
	extended := b[36:]
	if fatSectors == 0 { // FAT32 has a longer boot sector
		fatSectors = int64(le.Uint32(b[36:]))
		vol.rootCluster = le.Uint32(b[44:])
		extended = b[64:]
	}
	switch {
	case b[0] != 0xeb && b[0] != 0xe9:
		return fmt.Errorf("%w: no boot sector", ErrFormat)
	case sectorBytes < 512 || sectorBytes > 4096 || sectorBytes&(sectorBytes-1) != 0:
		return fmt.Errorf("%w: sector size %d", ErrFormat, sectorBytes)
	case perCluster == 0 || perCluster&(perCluster-1) != 0:
		return fmt.Errorf("%w: %d sectors per cluster", ErrFormat, perCluster)
	case reserved == 0 || copies == 0 || fatSectors == 0:
		return fmt.Errorf("%w: no FAT", ErrFormat)
	}
	vol.rootOffset = (reserved + copies*fatSectors) * sectorBytes
	vol.rootBytes = rootEntries * entrySize
	rootSectors := (vol.rootBytes + sectorBytes - 1) / sectorBytes
	vol.dataOffset = vol.rootOffset + rootSectors*sectorBytes
	vol.clusterBytes = perCluster * sectorBytes
	clusters := (sectors*sectorBytes - vol.dataOffset) / vol.clusterBytes
	if vol.dataOffset > vol.size || clusters < 1 || clusters >= 1<<28-16 {
		return fmt.Errorf("%w: %d sectors leave no sound number of clusters", ErrFormat, sectors)
	}
	vol.clusters = uint32(clusters)
	switch {
	case vol.rootCluster != 0:
		vol.bits = 32
	case clusters < fat16Start:
		vol.bits = 12
	default:
		vol.bits = 16
	}
	if extended[2] == bootSigned {
		vol.serial = le.Uint32(extended[3:])
		if label := string(extended[7:18]); label != noLabel {
			vol.bootLabel = strings.TrimRight(label, " \x00")
		}
	}
	need := (int64(vol.clusters+firstCluster)*int64(vol.bits) + 7) / 8
	if need > fatSectors*sectorBytes {
		return fmt.Errorf("%w: a FAT of %d bytes is too small for %d clusters",
			ErrFormat, fatSectors*sectorBytes, vol.clusters)
	}
	if need > vol.size {
		return fmt.Errorf("%w: the FAT is larger than the volume", ErrFormat)
	}
	vol.table = make([]byte, need)
	if err := vol.read(vol.table, reserved*sectorBytes); err != nil {
		return fmt.Errorf("FAT: %w", err)
	}
	return nil
}

// next returns the cluster that follows n in its chain, and whether there is one.
func (vol *volume) next(n uint32) (uint32, bool) {
	var value, end uint32
	switch vol.bits {
	case 12:
		at := n + n/2
		value = uint32(vol.table[at])
		if int(at+1) < len(vol.table) {
			value |= uint32(vol.table[at+1]) << 8
		}
		if n%2 == 1 {
			value >>= 4
		}
		value, end = value&0xfff, 0xff8
	case 16:
		value, end = uint32(binary.LittleEndian.Uint16(vol.table[2*n:])), 0xfff8
	default:
		value, end = binary.LittleEndian.Uint32(vol.table[4*n:])&0x0fffffff, 0x0ffffff8
	}
	return value, value < end
}

// holds reports whether n is the number of a cluster.
func (vol *volume) holds(n uint32) bool {
	return n >= firstCluster && n < vol.clusters+firstCluster
}

func (vol *volume) offset(n uint32) int64 {
	return vol.dataOffset + int64(n-firstCluster)*vol.clusterBytes
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

// mode returns the mode of an entry: readable by everyone, as FAT stores none.
func (e *entry) mode() fs.FileMode {
	if e.dir {
		return fs.ModeDir | 0o555
	}
	return 0o444
}
