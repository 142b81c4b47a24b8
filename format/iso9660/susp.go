package iso9660

import (
	"encoding/binary"
	"fmt"
	"io/fs"
	"slices"
	"time"
)

// Flags of an NM entry and of the components of an SL entry, RRIP 4.1.4 and 4.1.3.1.
const (
	nameContinues = 0x01
	nameCurrent   = 0x02
	nameParent    = 0x04
	nameRoot      = 0x08
)

const (
	// maxContinuations is the largest number of continuation areas of one record. A name and a link target of
	// usual length need one; the limit ends loops.
	maxContinuations = 64
	// maxContinuation is the largest size in bytes of one continuation area.
	maxContinuation = 64 << 10
	// maxTarget is the largest length in bytes of the target of a symbolic link, Linux's PATH_MAX.
	maxTarget = 4096
)

// rockRidge is what the system use entries of one directory record say.
type rockRidge struct {
	name      []byte
	mode      uint32 // POSIX
	hasMode   bool
	modTime   time.Time // zero if not stated
	target    []byte    // of a symbolic link
	open      bool      // the last component of target goes on in the next SL entry
	child     uint32    // block of a directory that was relocated
	hasChild  bool
	relocated bool // the record stands where a directory was relocated to
	known     bool // an ER entry names Rock Ridge
}

// continuation is where a CE entry points, SUSP 5.1.
type continuation struct{ block, offset, length uint32 }

// rockRidge reads the system use entries in use and in its continuation areas.
func (s *scan) rockRidge(use []byte) (*rockRidge, error) {
	rr := new(rockRidge)
	for range maxContinuations {
		next, err := rr.parse(use)
		if err != nil || next.length == 0 {
			return rr, err
		}
		if next.length > maxContinuation {
			return nil, fmt.Errorf("%w: continuation area of %d bytes", ErrFormat, next.length)
		}
		use = make([]byte, next.length)
		if err := s.read(use, int64(next.block)*s.vol.blockSize+int64(next.offset)); err != nil {
			return nil, fmt.Errorf("continuation area: %w", err)
		}
	}
	return nil, fmt.Errorf("%w: more than %d continuation areas in one record", ErrFormat, maxContinuations)
}

// parse reads the entries of one area, SUSP 4.
func (rr *rockRidge) parse(use []byte) (next continuation, err error) {
	for len(use) >= 4 && use[0] != 0 {
		signature, n := string(use[:2]), int(use[2])
		if n < 4 || n > len(use) {
			return next, fmt.Errorf("%w: system use entry %q has length %d", ErrFormat, signature, n)
		}
		body := use[4:n]
		use = use[n:]
		switch {
		case signature == "ST": // the end, SUSP 5.4
			return next, nil
		case signature == "CE" && len(body) >= 24:
			next = continuation{le32(body), le32(body[8:]), le32(body[16:])}
		case signature == "ER" && len(body) >= 4:
			id := body[4:min(len(body), 4+int(body[0]))]
			rr.known = rr.known || slices.Contains([]string{rripID, "IEEE_P1282", "IEEE_1282"}, string(id))
		case signature == "PX" && len(body) >= 8:
			rr.mode, rr.hasMode = le32(body), true
		case signature == "NM" && len(body) >= 1:
			if body[0]&(nameCurrent|nameParent) == 0 {
				rr.name = append(rr.name, body[1:]...)
			}
		case signature == "SL" && len(body) >= 1:
			if err := rr.link(body[1:]); err != nil {
				return next, err
			}
		case signature == "TF" && len(body) >= 1:
			rr.times(body)
		case signature == "CL" && len(body) >= 4:
			rr.child, rr.hasChild = le32(body), true
		case signature == "RE":
			rr.relocated = true
		}
	}
	return next, nil
}

// link adds the components of an SL entry to the target, RRIP 4.1.3.
func (rr *rockRidge) link(components []byte) error {
	for len(components) >= 2 {
		flags, n := components[0], int(components[1])
		if 2+n > len(components) {
			return fmt.Errorf("%w: component of a symbolic link has length %d", ErrFormat, n)
		}
		text := components[2 : 2+n]
		components = components[2+n:]
		if len(rr.target) > 0 && !rr.open && rr.target[len(rr.target)-1] != '/' {
			rr.target = append(rr.target, '/')
		}
		switch {
		case flags&nameRoot != 0:
			rr.target = append(rr.target[:0], '/')
		case flags&nameParent != 0:
			rr.target = append(rr.target, ".."...)
		case flags&nameCurrent != 0:
			rr.target = append(rr.target, '.')
		default:
			rr.target = append(rr.target, text...)
		}
		rr.open = flags&nameContinues != 0
		if len(rr.target) > maxTarget {
			return fmt.Errorf("%w: target of a symbolic link has more than %d bytes", ErrFormat, maxTarget)
		}
	}
	return nil
}

// times reads the modification time of a TF entry, RRIP 4.1.6.
func (rr *rockRidge) times(body []byte) {
	const creation, modification, longForm = 0x01, 0x02, 0x80
	flags, stamps := body[0], body[1:]
	size := 7
	if flags&longForm != 0 {
		size = 17
	}
	if flags&creation != 0 {
		stamps = stamps[min(size, len(stamps)):]
	}
	switch {
	case flags&modification == 0 || len(stamps) < size:
	case flags&longForm != 0:
		rr.modTime = volumeTime(stamps)
	default:
		rr.modTime = recordTime(stamps)
	}
}

// fileMode returns the Go form of a POSIX mode.
func fileMode(unix uint32) fs.FileMode {
	mode := fs.FileMode(unix) & fs.ModePerm
	switch unix & unixTypeMask {
	case unixRegular:
	case unixDir:
		mode |= fs.ModeDir
	case unixLink:
		mode |= fs.ModeSymlink
	case 0o060000:
		mode |= fs.ModeDevice
	case 0o020000:
		mode |= fs.ModeDevice | fs.ModeCharDevice
	case 0o010000:
		mode |= fs.ModeNamedPipe
	case 0o140000:
		mode |= fs.ModeSocket
	default:
		mode |= fs.ModeIrregular
	}
	for _, bit := range modeBits {
		if unix&bit.unix != 0 {
			mode |= bit.mode
		}
	}
	return mode
}

// recordTime reads the 7 bytes of ECMA-119 9.1.5. All zero means that no time is stated.
func recordTime(b []byte) time.Time {
	if [6]byte(b) == [6]byte{} {
		return time.Time{}
	}
	t := time.Date(1900+int(b[0]), time.Month(b[1]), int(b[2]), int(b[3]), int(b[4]), int(b[5]), 0, time.UTC)
	return t.Add(-quarters(b[6]))
}

// volumeTime reads the 17 bytes of ECMA-119 8.4.26.1. What is no time gives the zero time.
func volumeTime(b []byte) time.Time {
	t, err := time.Parse("20060102150405", string(b[:14]))
	if err != nil {
		return time.Time{}
	}
	return t.Add(-quarters(b[16]))
}

// quarters returns an offset from UTC, which is stored in quarters of an hour.
func quarters(b byte) time.Duration { return time.Duration(int8(b)) * 15 * time.Minute }

func le32(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }
