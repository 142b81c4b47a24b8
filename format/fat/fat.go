// Package fat writes and reads FAT file systems: seeds for guests that have no driver for ISO 9660. It depends on
// the standard library alone: entries or an fs.FS go in, an io.Writer takes the volume; an io.ReaderAt goes in, an
// fs.FS comes out.
//
// The writer makes FAT12 or FAT16, whichever the number of clusters asks for, with long names (VFAT) beside the 8.3
// aliases, in one forward pass, without a temporary file and without a look at the clock or a random number: the same
// entries always give the same bytes, the volume serial number included. A volume may have up to 2 GiB. FAT stores
// no modes and no owners, and times to two seconds from 1980 to 2107; the writer stores UTC, which is what Linux
// reads in a guest whose clock runs in UTC. There are no partition tables and no symbolic links.
//
// The reader takes FAT12, FAT16 and FAT32 volumes as mkfs.vfat, mtools, Windows and this package make them.
//
// Sources: the Microsoft FAT specification of 2005 (its section names are in comments as [FAT ...]) and ECMA-107. How
// names without long entries are shown follows Linux's vfat.
package fat

import (
	"errors"
	"fmt"
	"time"
)

const (
	// SectorSize is the size of a sector in volumes that this package writes.
	SectorSize = 512
	// Alignment is what the size of every written volume is a multiple of, and what Options.Size must be.
	Alignment = 4096
	// MaxDepth is the largest number of path components, for writing and for reading.
	MaxDepth = 64
	// MaxEntries is the largest number of files and directories in a volume, for writing and for reading.
	MaxEntries = 1 << 20
	// MaxName is the largest length of a name in bytes that can be written. It is that of format/iso9660, a little
	// below the 255 units that FAT could hold.
	MaxName = 253
	// MaxLabel is the largest length of a volume label in bytes.
	MaxLabel = 11
)

var (
	// ErrFormat means that the data is not a FAT volume, or a damaged one.
	ErrFormat = errors.New("not a valid FAT volume")
	// ErrName means that a name cannot be stored so that every system reads it back.
	ErrName = errors.New("bad name")
	// ErrDuplicate means that two names in a directory are the same, or differ in case only.
	ErrDuplicate = errors.New("name is taken")
	// ErrLimit means that one of the limits of this package or of the format is exceeded.
	ErrLimit = errors.New("limit exceeded")
	// ErrLabel means that a volume label is too long or has characters that FAT does not allow.
	ErrLabel = errors.New("bad volume label")
	// ErrMode means that an entry is neither a regular file nor a directory.
	ErrMode = errors.New("not a regular file or directory")
	// ErrSize means that the source of a file gave more or fewer bytes than its stated size.
	ErrSize = errors.New("source does not have the stated size")
)

// DefaultTime is the time of entries that state none, the earliest that FAT can hold.
var DefaultTime = time.Date(1980, time.January, 1, 0, 0, 0, 0, time.UTC)

// PathError is an error that concerns one entry of a volume. Err wraps one of the errors of this package, or is the
// error of the entry's source.
type PathError struct {
	Path string // Path is the entry's path as given, unchecked; empty for the root directory.
	Err  error
}

// Error quotes the path, so that a hostile name cannot forge lines in a log.
func (e *PathError) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("fat: %v", e.Err)
	}
	return fmt.Sprintf("fat: %q: %v", e.Path, e.Err)
}

// Unwrap returns Err.
func (e *PathError) Unwrap() error { return e.Err }

// pathErrorf returns a PathError whose Err is kind with a detail.
func pathErrorf(path string, kind error, format string, args ...any) error {
	return &PathError{Path: path, Err: fmt.Errorf("%w: %s", kind, fmt.Sprintf(format, args...))}
}
