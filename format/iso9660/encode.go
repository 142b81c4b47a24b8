package iso9660

import (
	"encoding/binary"
	"io/fs"
	"time"
)

// Lengths in bytes of the Rock Ridge and SUSP entries that are written.
const (
	lenSP = 7  // SUSP 5.3
	lenER = 18 // SUSP 5.5, with the 10 bytes of rripID and no texts
	lenCE = 28 // SUSP 5.1
	lenPX = 36 // RRIP 4.1.1, without the serial number of RRIP 1.12
	lenTF = 12 // RRIP 4.1.6, the modification time only
	lenNM = 5  // RRIP 4.1.4, without the name

	// rripID is the extension identifier of RRIP 1.09 to 1.12, RRIP 4.3. Its texts are only recommended and
	// would need a sector of their own.
	rripID = "RRIP_1991A"

	maxRecord  = 254 // largest even length of a directory record, ECMA-119 9.1.1
	recordHead = 33  // its fixed part
)

// Flags of a directory record, ECMA-119 9.1.6.
const (
	flagDirectory   = 0x02
	flagAssociated  = 0x04
	flagMultiExtent = 0x80
)

// headLen returns the length of a directory record without system use entries.
func headLen(idLen int) int { return recordHead + idLen + 1 - idLen&1 }

// recordLen returns the length of the record of k in the tree v.
func recordLen(k *node, v int) int {
	n := headLen(len(k.view[v].id))
	if v == plainView {
		n += lenPX + lenTF + lenNM + len(k.name)
		if rest := nameRest(k); rest > 0 {
			n = n + lenCE - (rest - lenNM)
		}
		n += n & 1
	}
	return n
}

// nameRest returns the length of the NM entry that has to go to the continuation area, or 0.
func nameRest(k *node) int {
	room := maxRecord - headLen(len(k.view[plainView].id)) - lenPX - lenTF - lenNM
	if len(k.name) <= room {
		return 0
	}
	return lenNM + len(k.name) - (room - lenCE)
}

// selfLen returns the length of the records for a directory itself and for its parent.
func selfLen(d *node, v int) (self, parent int) {
	self, parent = headLen(1), headLen(1)
	if v == plainView {
		self, parent = self+lenPX+lenTF, parent+lenPX+lenTF
		if d.parent == d {
			self += lenSP + lenER
		}
		self, parent = self+self&1, parent+parent&1
	}
	return self, parent
}

// directorySize returns the bytes of a directory in whole sectors. No record crosses the end of a sector, ECMA-119
// 6.8.1.1.
func directorySize(d *node, v int) uint32 {
	self, parent := selfLen(d, v)
	at := self + parent
	for _, k := range d.view[v].kids {
		at = recordStart(at, recordLen(k, v)) + recordLen(k, v)
	}
	return uint32(at+SectorSize-1) / SectorSize * SectorSize
}

// recordStart returns where a record of length n goes that is due at offset at.
func recordStart(at, n int) int {
	if at%SectorSize+n > SectorSize {
		return (at/SectorSize + 1) * SectorSize
	}
	return at
}

// pathRecordLen returns the length of the path table record of d, ECMA-119 9.4.
func pathRecordLen(d *node, v int) int {
	n := len(d.view[v].id)
	if d.parent == d {
		n = 1
	}
	return 8 + n + n&1
}

// encode fills buf, which is zero, with everything before the content of the files.
func (im *Image) encode(buf []byte) {
	im.descriptor(buf[primarySector*SectorSize:], plainView)
	im.descriptor(buf[jolietSector*SectorSize:], jolietView)
	last := buf[lastSector*SectorSize:]
	last[0] = 255
	copy(last[1:], "CD001\x01")
	for v := range im.dirs {
		little := buf[im.tables[v].little*SectorSize:]
		big := buf[im.tables[v].big*SectorSize:]
		for _, d := range im.dirs[v] {
			n := putPathRecord(little, d, v, binary.LittleEndian)
			putPathRecord(big, d, v, binary.BigEndian)
			little, big = little[n:], big[n:]
			im.directory(buf, d, v)
		}
	}
}

// descriptor writes the primary or the Joliet volume descriptor, ECMA-119 8.4 and 8.5.
func (im *Image) descriptor(b []byte, v int) {
	root, table := im.dirs[v][0], im.tables[v]
	text := putText
	b[0] = 1
	if v == jolietView {
		text = putText16
		b[0] = 2
		copy(b[88:], "%/E") // Joliet level 3
	}
	copy(b[1:], "CD001\x01")
	text(b[8:40], "")
	text(b[40:72], im.label)
	put32(b[80:], im.sectors)
	put16(b[120:], 1) // volumes in the set
	put16(b[124:], 1) // number of this volume
	put16(b[128:], SectorSize)
	put32(b[132:], table.size)
	binary.LittleEndian.PutUint32(b[140:], table.little)
	binary.BigEndian.PutUint32(b[148:], table.big)
	record := directoryRecord{id: "\x00", extent: root.view[v].extent, size: root.view[v].size,
		flags: flagDirectory, modTime: im.modTime}
	record.put(b[156:190])
	text(b[190:318], "") // volume set
	text(b[318:446], "") // publisher
	text(b[446:574], "") // data preparer
	text(b[574:702], "") // application
	text(b[702:739], "") // copyright file
	text(b[739:776], "") // abstract file
	text(b[776:813], "") // bibliographic file
	putVolumeTime(b[813:], im.modTime)
	putVolumeTime(b[830:], im.modTime)
	copy(b[847:], "0000000000000000\x000000000000000000\x00") // expires, effective: not stated
	b[881] = 1                                                // file structure version
}

func putPathRecord(b []byte, d *node, v int, order binary.ByteOrder) int {
	id := d.view[v].id
	if d.parent == d {
		id = "\x00"
	}
	b[0] = byte(len(id))
	order.PutUint32(b[2:], d.view[v].extent)
	order.PutUint16(b[6:], d.parent.view[v].number)
	copy(b[8:], id)
	return pathRecordLen(d, v)
}

// directory writes all records of d at their place in buf.
func (im *Image) directory(buf []byte, d *node, v int) {
	start := int(d.view[v].extent) * SectorSize
	self, parent := selfLen(d, v)
	putSpecial(buf[start:start+self], d, d, "\x00", v)
	putSpecial(buf[start+self:start+self+parent], d.parent, d, "\x01", v)
	at := self + parent
	for _, k := range d.view[v].kids {
		n := recordLen(k, v)
		at = recordStart(at, n)
		im.record(buf, buf[start+at:start+at+n], k, v)
		at += n
	}
}

// special writes the record by which the directory owner refers to dir, itself or its parent.
func putSpecial(b []byte, dir, owner *node, id string, v int) {
	r := directoryRecord{id: id, extent: dir.view[v].extent, size: dir.view[v].size, flags: flagDirectory,
		modTime: dir.modTime}
	use := r.put(b)
	if v == jolietView {
		return
	}
	isRoot := owner.parent == owner
	if isRoot && id == "\x00" {
		copy(use, "SP\x07\x01\xbe\xef\x00")
		use = use[lenSP:]
	}
	use = putAttributes(use, dir)
	if isRoot && id == "\x00" {
		copy(use, "ER\x12\x01\x0a\x00\x00\x01"+rripID)
	}
}

// record writes the record of k, and the rest of a long name to the continuation area.
func (im *Image) record(buf, b []byte, k *node, v int) {
	r := directoryRecord{id: k.view[v].id, modTime: k.modTime}
	if k.isDir() {
		r.extent, r.size, r.flags = k.view[v].extent, k.view[v].size, flagDirectory
	} else {
		r.extent, r.size = k.extent, uint32(k.file.size())
	}
	use := r.put(b)
	if v == jolietView {
		return
	}
	use = putAttributes(use, k)
	if k.ceLen == 0 {
		putName(use, k.name, 0)
		return
	}
	first := len(k.name) - (int(k.ceLen) - lenNM)
	use = putName(use, k.name[:first], nameContinues)
	copy(use, "CE\x1c\x01")
	put32(use[4:], im.ceStart+k.ceOffset/SectorSize)
	put32(use[12:], k.ceOffset%SectorSize)
	put32(use[20:], k.ceLen)
	putName(buf[im.ceStart*SectorSize+k.ceOffset:], k.name[first:], 0)
}

// putAttributes writes the mode and the time, RRIP 4.1.1 and 4.1.6, and returns what is behind them.
func putAttributes(use []byte, n *node) []byte {
	links := uint32(1)
	if n.isDir() {
		links = 2 + n.subdirs
	}
	copy(use, "PX\x24\x01")
	put32(use[4:], unixMode(n.mode))
	put32(use[12:], links)
	use = use[lenPX:] // user and group stay 0
	copy(use, "TF\x0c\x01\x02")
	putTime(use[5:], n.modTime)
	return use[lenTF:]
}

// putName writes an NM entry, RRIP 4.1.4, and returns what is behind it.
func putName(use []byte, name string, flags byte) []byte {
	n := lenNM + len(name)
	copy(use, "NM")
	use[2], use[3], use[4] = byte(n), 1, flags
	copy(use[lenNM:], name)
	return use[n:]
}

// directoryRecord is the fixed part of a directory record, ECMA-119 9.1.
type directoryRecord struct {
	id      string
	extent  uint32 // in blocks
	size    uint32
	flags   byte
	modTime time.Time
}

// put writes a record as long as b and returns its system use area.
func (r *directoryRecord) put(b []byte) []byte {
	b[0] = byte(len(b))
	put32(b[2:], r.extent)
	put32(b[10:], r.size)
	putTime(b[18:], r.modTime)
	b[25] = r.flags
	put16(b[28:], 1) // volume number
	b[32] = byte(len(r.id))
	copy(b[33:], r.id)
	return b[headLen(len(r.id)):]
}

// put16 writes a number in both byte orders, ECMA-119 7.2.3.
func put16(b []byte, n uint16) {
	binary.LittleEndian.PutUint16(b, n)
	binary.BigEndian.PutUint16(b[2:], n)
}

// put32 writes a number in both byte orders, ECMA-119 7.3.3.
func put32(b []byte, n uint32) {
	binary.LittleEndian.PutUint32(b, n)
	binary.BigEndian.PutUint32(b[4:], n)
}

// putTime writes the 7 bytes of ECMA-119 9.1.5. The offset from UTC stays 0.
func putTime(b []byte, t time.Time) {
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	b[0], b[1], b[2] = byte(year-1900), byte(month), byte(day)
	b[3], b[4], b[5] = byte(hour), byte(minute), byte(second)
}

// putVolumeTime writes the 17 bytes of ECMA-119 8.4.26.1.
func putVolumeTime(b []byte, t time.Time) { copy(b, t.Format("2006010215040500")) }

// putText fills a field of a descriptor with ASCII and spaces.
func putText(field []byte, s string) {
	n := copy(field, s)
	for i := n; i < len(field); i++ {
		field[i] = ' '
	}
}

// putText16 fills a field of the Joliet descriptor. A field of odd length ends in a zero.
func putText16(field []byte, s string) {
	for i := 0; i+1 < len(field); i += 2 {
		field[i], field[i+1] = 0, ' '
		if i/2 < len(s) {
			field[i+1] = s[i/2]
		}
	}
}

// File types of POSIX, as PX stores them.
const (
	unixTypeMask = 0o170000
	unixDir      = 0o040000
	unixRegular  = 0o100000
	unixLink     = 0o120000
)

// unixMode returns the POSIX form of a mode.
func unixMode(mode fs.FileMode) uint32 {
	m := uint32(mode.Perm()) | unixRegular
	if mode.IsDir() {
		m ^= unixRegular | unixDir
	}
	for _, bit := range modeBits {
		if mode&bit.mode != 0 {
			m |= bit.unix
		}
	}
	return m
}

// modeBits pairs the mode bits that Go and POSIX hold in different places.
var modeBits = [...]struct {
	mode fs.FileMode
	unix uint32
}{{fs.ModeSetuid, 0o4000}, {fs.ModeSetgid, 0o2000}, {fs.ModeSticky, 0o1000}}
