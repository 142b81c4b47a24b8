// Package iso9660 writes and reads ISO 9660 volumes with Rock Ridge and Joliet names. It depends on the standard
// library alone: entries or an fs.FS go in, an io.Writer takes the volume; an io.ReaderAt goes in, an fs.FS comes out.
//
// A volume is written in one forward pass, with no temporary file and no look at the clock, so the same entries
// always give the same bytes. Every volume carries three sets of names:
//
//   - Rock Ridge: the names as given, with modes and times, for Linux and other Unix systems;
//   - Joliet: the names in UCS-2, for Windows;
//   - plain identifiers for readers that know neither. They have at most 30 characters and use '-' beside the
//     characters of ECMA-119, so that a Linux mounted with norock,nojoliet still shows user-data as user-data.
//
// This is a subset on purpose. The writer makes no bootable volumes (El Torito), no multi-session volumes, no files
// of 4 GiB and more, no symbolic links, devices or owners. Directories may be nested deeper than the eight levels of
// ECMA-119, as every system in use reads them; MaxDepth is the limit. The reader takes multi-extent files, relocated
// directories, symbolic links and block sizes of 512, 1024 and 2048 bytes. It reads the first session only, and shows
// zisofs files compressed.
//
// Sources: ECMA-119 (ISO 9660), the Joliet Specification of 1995, the System Use Sharing Protocol (SUSP, IEEE P1281)
// and the Rock Ridge Interchange Protocol (RRIP, IEEE P1282). Section numbers in comments refer to these.
package iso9660

import (
	"errors"
	"fmt"
	"io/fs"
	"time"
)

const (
	// SectorSize is the size of a logical sector and, in volumes that this package writes, of a logical block.
	SectorSize = 2048
	// Alignment is what the size of every written volume is a multiple of: a page, and a sector of any disk.
	Alignment = 4096
	// MaxDepth is the largest number of path components, for writing and for reading.
	MaxDepth = 64
	// MaxEntries is the largest number of files and directories in a volume, for writing and for reading.
	MaxEntries = 1 << 20
	// MaxName is the largest length of a name in bytes that can be written. Rock Ridge could hold longer ones, but
	// Linux cuts them.
	MaxName = 253
	// MaxLabel is the largest length of a volume label in bytes.
	MaxLabel = 32
	// MaxFileSize is the size in bytes of the largest file that can be written.
	MaxFileSize = 1<<32 - SectorSize
)

var (
	// ErrFormat means that the data is not an ISO 9660 volume, or a damaged one.
	ErrFormat = errors.New("not a valid ISO 9660 volume")
	// ErrName means that a name cannot be stored so that every system reads it back.
	ErrName = errors.New("bad name")
	// ErrDuplicate means that two names in a directory are the same, or differ in case only.
	ErrDuplicate = errors.New("name is taken")
	// ErrLimit means that one of the limits of this package or of the format is exceeded.
	ErrLimit = errors.New("limit exceeded")
	// ErrLabel means that a volume label is too long or has characters other than printable ASCII.
	ErrLabel = errors.New("bad volume label")
	// ErrNames means that the volume has no names of the kind that was asked for.
	ErrNames = errors.New("the volume has no such names")
	// ErrMode means that an entry is neither a regular file nor a directory.
	ErrMode = errors.New("not a regular file or directory")
	// ErrSize means that the source of a file gave more or fewer bytes than its stated size.
	ErrSize = errors.New("source does not have the stated size")
)

// DefaultTime is the time of volumes and entries that state none.
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
		return fmt.Sprintf("iso9660: %v", e.Err)
	}
	return fmt.Sprintf("iso9660: %q: %v", e.Path, e.Err)
}

// Unwrap returns Err.
func (e *PathError) Unwrap() error { return e.Err }

// pathErrorf returns a PathError whose Err is kind with a detail.
func pathErrorf(path string, kind error, format string, args ...any) error {
	return &PathError{Path: path, Err: fmt.Errorf("%w: %s", kind, fmt.Sprintf(format, args...))}
}

// defaultMode is the mode of an entry that states no permissions: readable by everyone, as the media is read-only.
func defaultMode(mode fs.FileMode) fs.FileMode {
	if mode.Perm() != 0 || mode&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky) != 0 {
		return mode
	}
	if mode.IsDir() {
		return mode | 0o555
	}
	return mode | 0o444
}
