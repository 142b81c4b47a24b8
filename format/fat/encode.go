package fat

import (
	"encoding/binary"
	"time"
	"unicode/utf16"
)

// Attributes of a directory entry, [FAT Directory Structure].
const (
	attrVolumeID  = 0x08
	attrDirectory = 0x10
	attrArchive   = 0x20
	attrLongName  = 0x0f
	attrLongMask  = 0x3f
)

const (
	media        = 0xf8 // a disk that cannot be removed
	lastLong     = 0x40 // marks the last long entry of a name, which stands first
	noLabel      = "NO NAME    "
	bootSigned   = 0x29 // serial number, label and type are there
	fatEndNarrow = 0xfff
	fatEndWide   = 0xffff
)

// encode fills buf, which is zero, with everything before the content of the files.
func (im *Image) encode(buf []byte) {
	im.bootSector(buf)
	fat := buf[reservedSectors*SectorSize:][:im.fatSectors*SectorSize]
	im.table(fat)
	copy(buf[(reservedSectors+im.fatSectors)*SectorSize:], fat)
	root := buf[(reservedSectors+fatCopies*im.fatSectors)*SectorSize:]
	if im.label[0] != ' ' {
		root = putEntry(root, im.label, attrVolumeID, im.modTime, 0, 0)
	}
	putKids(root, im.dirs[0])
	for _, d := range im.dirs[1:] {
		b := buf[im.entryOffset(d.cluster):]
		b = putEntry(b, alias([]byte(".          ")), attrDirectory, d.modTime, d.cluster, 0)
		b = putEntry(b, alias([]byte("..         ")), attrDirectory, d.parent.modTime, d.parent.cluster, 0)
		putKids(b, d)
	}
}

// bootSector writes [FAT Boot Sector and BPB].
func (im *Image) bootSector(b []byte) {
	le := binary.LittleEndian
	copy(b, "\xeb\x3c\x90MSWIN4.1")
	le.PutUint16(b[11:], SectorSize)
	b[13] = byte(im.perCluster)
	le.PutUint16(b[14:], reservedSectors)
	b[16] = fatCopies
	le.PutUint16(b[17:], uint16(im.rootCount))
	if im.sectors < 1<<16 {
		le.PutUint16(b[19:], uint16(im.sectors))
	} else {
		le.PutUint32(b[32:], im.sectors)
	}
	b[21] = media
	le.PutUint16(b[22:], uint16(im.fatSectors))
	le.PutUint16(b[24:], 32) // sectors per track and heads, which nothing uses any more
	le.PutUint16(b[26:], 64)
	b[36] = 0x80
	b[38] = bootSigned
	le.PutUint32(b[39:], im.serial)
	copy(b[43:], im.label[:])
	if im.label[0] == ' ' {
		copy(b[43:], noLabel)
	}
	if copy(b[54:], "FAT12   "); im.wide {
		copy(b[54:], "FAT16   ")
	}
	// A BIOS may try the volume as a boot disk: int 18h makes it go on with the next one; else halt.
	copy(b[62:], "\xcd\x18\xf4\xeb\xfd")
	b[510], b[511] = 0x55, 0xaa
}

// table writes one FAT. Every file and directory has its clusters in one run.
func (im *Image) table(b []byte) {
	put, end := put12, uint32(fatEndNarrow)
	if im.wide {
		put, end = put16, fatEndWide
	}
	put(b, 0, end&^0xff|media)
	put(b, 1, end)
	chain := func(n *node) {
		for i := range n.clusters {
			next := n.cluster + i + 1
			if i == n.clusters-1 {
				next = end
			}
			put(b, n.cluster+i, next)
		}
	}
	for _, d := range im.dirs {
		chain(d)
	}
	for _, f := range im.files {
		chain(f)
	}
}

// put12 sets an entry of 12 bits in a FAT that has zero there.
func put12(b []byte, n, value uint32) {
	at := n + n/2
	if n%2 == 0 {
		b[at] = byte(value)
		b[at+1] |= byte(value >> 8)
		return
	}
	b[at] |= byte(value << 4)
	b[at+1] = byte(value >> 4)
}

func put16(b []byte, n, value uint32) { binary.LittleEndian.PutUint16(b[2*n:], uint16(value)) }

// putKids writes the entries of all kids of a directory.
func putKids(b []byte, dir *node) {
	for _, k := range dir.kids {
		if k.long {
			b = putLong(b, k)
		}
		attr, size := byte(attrDirectory), int64(0)
		if !k.isDir() {
			attr, size = attrArchive, k.file.size()
		}
		b = putEntry(b, k.alias, attr, k.modTime, k.cluster, uint32(size))
	}
}

// putEntry writes a short entry and returns what is behind it.
func putEntry(b []byte, name alias, attr byte, modTime time.Time, cluster, size uint32) []byte {
	le := binary.LittleEndian
	copy(b, name[:])
	b[11] = attr
	date, clock := fatTime(modTime)
	if attr != attrVolumeID { // created, accessed
		le.PutUint16(b[14:], clock)
		le.PutUint16(b[16:], date)
		le.PutUint16(b[18:], date)
	}
	le.PutUint16(b[22:], clock)
	le.PutUint16(b[24:], date)
	le.PutUint16(b[26:], uint16(cluster))
	le.PutUint32(b[28:], size)
	return b[entrySize:]
}

// putLong writes the long entries of a name, the last part first, [FAT Long Directory Entries].
func putLong(b []byte, n *node) []byte {
	units := utf16.Encode([]rune(n.name))
	count := n.entries() - 1
	sum := n.alias.checksum()
	for part := count; part > 0; part-- {
		b[0] = byte(part)
		if part == count {
			b[0] |= lastLong
		}
		b[11] = attrLongName
		b[13] = sum
		for i, at := range longPlaces {
			unit := uint16(0xffff)
			switch k := (part-1)*unitsPerEntry + i; {
			case k < len(units):
				unit = units[k]
			case k == len(units):
				unit = 0
			}
			binary.LittleEndian.PutUint16(b[at:], unit)
		}
		b = b[entrySize:]
	}
	return b
}

// longPlaces are the offsets of the characters in a long entry.
var longPlaces = [unitsPerEntry]int{1, 3, 5, 7, 9, 14, 16, 18, 20, 22, 24, 28, 30}

// fatTime returns a time as stored, [FAT Date and Time Formats].
func fatTime(t time.Time) (date, clock uint16) {
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	return uint16((year-1980)<<9 | int(month)<<5 | day), uint16(hour<<11 | minute<<5 | second/2)
}
