package fat

import (
	"encoding/binary"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"
	"unicode/utf16"
)

// scan reads the directories of a volume.
type scan struct {
	vol     *volume
	taken   []uint64 // one bit per cluster that belongs to a file or directory
	entries int      // found so far
	label   string
}

func newScan(vol *volume) *scan {
	return &scan{vol: vol, taken: make([]uint64, vol.clusters/64+1)}
}

// tree reads the whole tree and the label in the root directory.
func (s *scan) tree() (*entry, string, error) {
	root := &entry{name: ".", dir: true}
	extents := []extent{{s.vol.rootOffset, s.vol.rootBytes}}
	if s.vol.bits == 32 {
		var err error
		if extents, err = s.chain(s.vol.rootCluster, -1); err != nil {
			return nil, "", &PathError{Err: err}
		}
	}
	err := s.directory(root, extents, "", 0)
	return root, s.label, err
}

// chain returns the extents of the clusters from first on. It takes only as many as size bytes need; a negative size
// means all.
func (s *scan) chain(first uint32, size int64) ([]extent, error) {
	var extents []extent
	for n, more := first, size != 0; more; {
		if !s.vol.holds(n) {
			return nil, fmt.Errorf("%w: cluster %d does not exist", ErrFormat, n)
		}
		bit := n - firstCluster
		if s.taken[bit/64]&(1<<(bit%64)) != 0 {
			return nil, fmt.Errorf("%w: cluster %d belongs to two chains or to a loop", ErrFormat, n)
		}
		s.taken[bit/64] |= 1 << (bit % 64)
		x := extent{s.vol.offset(n), s.vol.clusterBytes}
		if size >= 0 {
			x.size = min(x.size, size)
			size -= x.size
		}
		if x.offset+x.size > s.vol.size {
			return nil, fmt.Errorf("%w: cluster %d is outside of the volume", ErrFormat, n)
		}
		if k := len(extents) - 1; k >= 0 && extents[k].offset+extents[k].size == x.offset {
			extents[k].size += x.size
		} else {
			extents = append(extents, x)
		}
		if size == 0 {
			break
		}
		n, more = s.vol.next(n)
	}
	if size > 0 {
		return nil, fmt.Errorf("%w: the chain of clusters is %d bytes short", ErrFormat, size)
	}
	return extents, nil
}

// directory reads the entries of dir, which stands at the given path and extents, and everything below it.
func (s *scan) directory(dir *entry, extents []extent, path string, depth int) error {
	if depth > MaxDepth {
		return pathErrorf(path, ErrLimit, "more than %d levels of directories", MaxDepth)
	}
	sub, err := s.list(dir, extents, path == "")
	if err != nil {
		return &PathError{Path: path, Err: err}
	}
	slices.SortFunc(dir.kids, func(a, b *entry) int { return strings.Compare(a.name, b.name) })
	names := make(map[string]bool, len(dir.kids))
	for _, k := range dir.kids {
		at := k.name
		if path != "" {
			at = path + "/" + k.name
		}
		key := fold(k.name)
		if names[key] {
			return &PathError{Path: at, Err: fmt.Errorf("%w: %w", ErrFormat, ErrDuplicate)}
		}
		names[key] = true
		if first, ok := sub[k]; ok {
			where, err := s.chain(first, -1)
			if err != nil {
				return &PathError{Path: at, Err: err}
			}
			if err := s.directory(k, where, at, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// list reads the entries of one directory. It returns the first clusters of the directories among them.
func (s *scan) list(dir *entry, extents []extent, root bool) (map[*entry]uint32, error) {
	sub := make(map[*entry]uint32)
	var long longName
	b := make([]byte, entrySize)
	const portion = 128 * entrySize
	buf := make([]byte, portion)
	for _, x := range extents {
		for at := int64(0); at < x.size; at += entrySize {
			if at%portion == 0 {
				buf = buf[:min(portion, x.size-at)]
				if err := s.vol.read(buf, x.offset+at); err != nil {
					return nil, err
				}
			}
			b = buf[at%portion:][:entrySize]
			switch attr := b[11]; {
			case b[0] == 0: // the end
				return sub, nil
			case b[0] == 0xe5: // deleted
				long = longName{}
			case attr&attrLongMask == attrLongName:
				long.add(b)
			case attr&attrVolumeID != 0:
				if root && s.label == "" {
					s.label = strings.TrimRight(codePage437(b[:11]), " ")
				}
				long = longName{}
			default:
				if err := s.add(dir, b, long.take(alias(b[:11])), sub); err != nil {
					return nil, err
				}
				long = longName{}
			}
		}
		buf = buf[:portion]
	}
	return sub, nil
}

// add adds what a short entry describes to dir, by its long name if it has one.
func (s *scan) add(dir *entry, b []byte, name string, sub map[*entry]uint32) error {
	if name == "" {
		name = shortName(b)
	}
	if name == "." || name == ".." {
		return nil
	}
	if !fs.ValidPath(name) || strings.ContainsAny(name, "/\x00") {
		return fmt.Errorf("%w: %w: %q", ErrFormat, ErrName, name)
	}
	if s.entries++; s.entries > MaxEntries {
		return fmt.Errorf("%w: more than %d entries", ErrLimit, MaxEntries)
	}
	le := binary.LittleEndian
	first := uint32(le.Uint16(b[26:]))
	if s.vol.bits == 32 {
		first |= uint32(le.Uint16(b[20:])) << 16
	}
	e := &entry{name: name, dir: b[11]&attrDirectory != 0, modTime: timeOf(le.Uint16(b[24:]), le.Uint16(b[22:]))}
	if e.dir {
		sub[e] = first
	} else {
		e.size = int64(le.Uint32(b[28:]))
		var err error
		if e.extents, err = s.chain(first, e.size); err != nil {
			return fmt.Errorf("%q: %w", name, err)
		}
	}
	dir.kids = append(dir.kids, e)
	return nil
}

// longName collects the long entries that stand before a short one.
type longName struct {
	units []uint16
	next  int // number of the entry that has to follow
	sum   byte
}

// add takes a long entry; one out of order spoils the name.
func (l *longName) add(b []byte) {
	number := int(b[0] &^ lastLong)
	if b[0]&lastLong != 0 {
		*l = longName{next: number, sum: b[13]}
	}
	if number == 0 || number != l.next || b[13] != l.sum || number > 20 {
		*l = longName{}
		return
	}
	l.next--
	part := make([]uint16, 0, unitsPerEntry*(number+1))
	for _, at := range longPlaces {
		part = append(part, binary.LittleEndian.Uint16(b[at:]))
	}
	l.units = append(part, l.units...)
}

// take returns the name if it is complete and belongs to the short entry, else "": then the short name counts, as
// systems without long names may have renamed the file.
func (l *longName) take(short alias) string {
	if len(l.units) == 0 || l.next != 0 || l.sum != short.checksum() {
		return ""
	}
	units := l.units
	if end := slices.Index(units, 0); end >= 0 {
		units = units[:end]
	}
	return string(utf16.Decode(units))
}

// shortName shows an 8.3 name. The two bits for lower case come from Windows NT; Linux and mtools honour them too.
func shortName(b []byte) string {
	const lowerStem, lowerExt = 0x08, 0x10
	stem := strings.TrimRight(codePage437(b[:8]), " ")
	ext := strings.TrimRight(codePage437(b[8:11]), " ")
	if b[12]&lowerStem != 0 {
		stem = strings.ToLower(stem)
	}
	if b[12]&lowerExt != 0 {
		ext = strings.ToLower(ext)
	}
	if b[0] == 0x05 { // stands for 0xe5, which would mean deleted
		stem = codePage437([]byte{0xe5}) + stem[1:]
	}
	if ext != "" {
		return stem + "." + ext
	}
	return stem
}

// upper437 has the characters 0x80 to 0xff of code page 437, which Linux assumes by default.
const upper437 = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u00a0"

// codePage437 decodes a short name or a label.
func codePage437(b []byte) string {
	ascii := true
	for _, c := range b {
		ascii = ascii && c < 0x80
	}
	if ascii {
		return string(b)
	}
	upper := []rune(upper437)
	var s strings.Builder
	for _, c := range b {
		if c < 0x80 {
			s.WriteByte(c)
		} else {
			s.WriteRune(upper[c-0x80])
		}
	}
	return s.String()
}

// timeOf returns a stored time as UTC. A date of zero means that no time is stated.
func timeOf(date, clock uint16) time.Time {
	if date == 0 {
		return time.Time{}
	}
	return time.Date(1980+int(date>>9), time.Month(date>>5&15), int(date&31),
		int(clock>>11), int(clock>>5&63), int(clock&31)*2, 0, time.UTC)
}
