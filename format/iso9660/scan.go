package iso9660

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// scan reads the directories of a volume by one kind of names.
type scan struct {
	vol     *volume
	names   Names
	budget  int64          // bytes of directories and continuation areas that may still be read
	entries int            // found so far
	seen    map[int64]bool // offsets of the directories read
}

func newScan(vol *volume, names Names) *scan {
	return &scan{vol: vol, names: names, budget: vol.size, seen: make(map[int64]bool)}
}

// read fills b and takes its length from the budget. A sound volume never runs out of it, because its directories
// and continuation areas do not overlap.
func (s *scan) read(b []byte, offset int64) error {
	if s.budget -= int64(len(b)); s.budget < 0 {
		return fmt.Errorf("%w: directories overlap", ErrFormat)
	}
	return s.vol.read(b, offset)
}

// tree reads the tree below the root directory at x.
func (s *scan) tree(x extent) (*entry, error) {
	root := &entry{name: ".", mode: fs.ModeDir | 0o555}
	if err := s.directory(root, x, "", 0); err != nil {
		return nil, err
	}
	return root, nil
}

// directory reads the records of dir, at the given path and extent, and everything below it.
func (s *scan) directory(dir *entry, x extent, path string, depth int) error {
	if depth > MaxDepth {
		return pathErrorf(path, ErrLimit, "more than %d levels of directories", MaxDepth)
	}
	if s.seen[x.offset] {
		return pathErrorf(path, ErrFormat, "the directory contains itself or stands in two places")
	}
	s.seen[x.offset] = true
	sub, err := s.records(dir, x)
	if err != nil {
		return &PathError{Path: path, Err: err}
	}
	slices.SortFunc(dir.kids, func(a, b *entry) int { return strings.Compare(a.name, b.name) })
	for i, k := range dir.kids {
		at := k.name
		if path != "" {
			at = path + "/" + k.name
		}
		if i > 0 && dir.kids[i-1].name == k.name {
			return &PathError{Path: at, Err: fmt.Errorf("%w: %w", ErrFormat, ErrDuplicate)}
		}
		if where, ok := sub[k]; ok {
			if err := s.directory(k, where, at, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// records reads the records of one directory. It returns where the directories among the kids stand.
func (s *scan) records(dir *entry, x extent) (map[*entry]extent, error) {
	sub := make(map[*entry]extent)
	const portion = 16 * SectorSize
	buf := make([]byte, min(portion, x.size))
	var open *entry // a file whose next extent is to come
	for offset := int64(0); offset < x.size; offset += portion {
		b := buf[:min(portion, x.size-offset)]
		if err := s.read(b, x.offset+offset); err != nil {
			return nil, err
		}
		for at := 0; at < len(b); {
			end := min(at/SectorSize*SectorSize+SectorSize, len(b))
			record, err := parseRecord(b[at:end])
			if err != nil {
				return nil, err
			}
			if record == nil {
				at = end // no record crosses the end of a sector
				continue
			}
			at += record.length
			if open, err = s.add(dir, open, record, sub); err != nil {
				return nil, err
			}
		}
	}
	if open != nil {
		return nil, fmt.Errorf("%w: %q has no last extent", ErrFormat, open.name)
	}
	return sub, nil
}

// add adds what a record describes to dir. open is the file that the record before it left open; the file that this
// record leaves open is returned.
func (s *scan) add(dir, open *entry, record *rawRecord, sub map[*entry]extent) (*entry, error) {
	if record.flags&flagAssociated != 0 {
		return open, nil // a resource fork
	}
	if record.id == parentID {
		return nil, nil
	}
	e, where, err := s.entry(record)
	if err != nil || e == nil {
		return nil, err
	}
	if record.id == selfID {
		dir.mode, dir.modTime = e.mode|fs.ModeDir, e.modTime
		return nil, nil
	}
	if open != nil {
		if open.name != e.name || !e.mode.IsRegular() {
			return nil, fmt.Errorf("%w: %q has no last extent", ErrFormat, open.name)
		}
		open.extents = append(open.extents, where)
		if open.size += where.size; open.size > s.vol.size {
			return nil, fmt.Errorf("%w: %q is larger than the volume", ErrFormat, open.name)
		}
		e = open
	} else {
		if s.entries++; s.entries > MaxEntries {
			return nil, fmt.Errorf("%w: more than %d entries", ErrLimit, MaxEntries)
		}
		dir.kids = append(dir.kids, e)
	}
	if e.mode.IsDir() {
		sub[e] = where
	}
	if record.flags&flagMultiExtent != 0 && e.mode.IsRegular() {
		return e, nil
	}
	return nil, nil
}

// entry turns a record into an entry and the place it refers to, or returns nil for a directory that is shown
// elsewhere.
func (s *scan) entry(record *rawRecord) (*entry, extent, error) {
	e := &entry{mode: 0o444, modTime: recordTime(record.time)}
	if record.flags&flagDirectory != 0 {
		e.mode = fs.ModeDir | 0o555
	}
	where := extent{int64(record.extent) * s.vol.blockSize, int64(record.size)}
	switch s.names {
	case RockRidge:
		rr, err := s.rockRidge(record.use[min(s.vol.skip, len(record.use)):])
		if err != nil || rr.relocated {
			return nil, where, err
		}
		if where, err = s.apply(rr, e, record, where); err != nil {
			return nil, where, err
		}
	case Joliet:
		e.name = strings.TrimRight(strings.TrimSuffix(decodeUTF16(record.id), ";1"), ".")
	default:
		e.name = linuxName(record.id)
	}
	if record.id != selfID {
		if err := checkRead(e.name); err != nil {
			return nil, where, err
		}
	}
	if !e.mode.IsRegular() {
		return e, where, nil
	}
	if record.interleaved {
		return nil, where, fmt.Errorf("%w: %q is interleaved", ErrFormat, e.name)
	}
	if where.size > 0 && where.offset+where.size > s.vol.size {
		return nil, where, fmt.Errorf("%w: content of %q is outside of the volume", ErrFormat, e.name)
	}
	e.size, e.extents = where.size, []extent{where}
	return e, where, nil
}

// apply gives e what its Rock Ridge entries say and returns the place it refers to.
func (s *scan) apply(rr *rockRidge, e *entry, record *rawRecord, where extent) (extent, error) {
	if e.name = string(rr.name); e.name == "" {
		e.name = linuxName(record.id)
	}
	if !rr.modTime.IsZero() {
		e.modTime = rr.modTime
	}
	if rr.hasChild {
		e.mode |= fs.ModeDir
		var err error
		if where, err = s.relocated(rr.child); err != nil {
			return where, err
		}
	}
	if !rr.hasMode {
		return where, nil
	}
	mode := fileMode(rr.mode)
	switch {
	case e.mode.IsDir(): // the mode of a relocated directory is in its own record
		mode = mode&^fs.ModeType | fs.ModeDir
	case mode.IsDir():
		return where, fmt.Errorf("%w: %q has the mode of a directory and is none", ErrFormat, e.name)
	case mode&fs.ModeSymlink != 0:
		e.target = string(rr.target)
	}
	e.mode = mode
	return where, nil
}

// relocated returns the extent of the directory at the given block, RRIP 4.1.5.1. Its length is in its own record.
func (s *scan) relocated(block uint32) (extent, error) {
	where := extent{offset: int64(block) * s.vol.blockSize}
	b := make([]byte, recordHead+1)
	if err := s.vol.read(b, where.offset); err != nil {
		return where, err
	}
	where.size = int64(le32(b[10:]))
	return where, nil
}

// Identifiers of the records of a directory itself and its parent, ECMA-119 6.8.2.2.
const (
	selfID   = "\x00"
	parentID = "\x01"
)

// rawRecord is a directory record as it stands in the volume, ECMA-119 9.1.
type rawRecord struct {
	length      int
	extent      uint32 // in blocks
	size        uint32
	time        []byte
	flags       byte
	interleaved bool
	id          string
	use         []byte // system use area
}

// parseRecord reads the record at the start of b, or returns nil if there is none.
func parseRecord(b []byte) (*rawRecord, error) {
	if len(b) == 0 || b[0] == 0 {
		return nil, nil
	}
	n := int(b[0])
	if n <= recordHead || n > len(b) {
		return nil, fmt.Errorf("%w: directory record of %d bytes", ErrFormat, n)
	}
	b = b[:n]
	idLen := int(b[32])
	if idLen == 0 || recordHead+idLen > n {
		return nil, fmt.Errorf("%w: identifier of %d bytes in a directory record of %d", ErrFormat, idLen, n)
	}
	return &rawRecord{
		length:      n,
		extent:      le32(b[2:]),
		size:        le32(b[10:]),
		time:        b[18:25],
		flags:       b[25],
		interleaved: b[26] != 0 || b[27] != 0,
		id:          string(b[recordHead : recordHead+idLen]),
		use:         b[min(headLen(idLen), n):],
	}, nil
}

// linuxName shows a plain identifier as Linux's isofs does with map=normal.
func linuxName(id string) string {
	id = strings.TrimSuffix(strings.TrimSuffix(id, ";1"), ".")
	return strings.Map(func(r rune) rune {
		switch {
		case 'A' <= r && r <= 'Z':
			return r + ('a' - 'A')
		case r == ';' || r == '/':
			return '.'
		}
		return r
	}, id)
}

// checkRead reports names that a tree of the fs package cannot have.
func checkRead(name string) error {
	if name == "." || !fs.ValidPath(name) || strings.ContainsAny(name, "/\x00") {
		return fmt.Errorf("%w: %w: %q", ErrFormat, ErrName, name)
	}
	return nil
}
