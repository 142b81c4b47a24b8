package fat

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"time"
	"unicode/utf16"
)

// node is a file or directory that is being laid out.
type node struct {
	name     string
	fold     string // name without regard to case
	file     *File  // nil for a directory
	modTime  time.Time
	parent   *node // the root is its own parent
	declared bool  // a directory with an entry of its own
	kids     []*node
	alias    alias
	long     bool // the name needs long entries beside its alias
	cluster  uint32
	clusters uint32
}

func (n *node) isDir() bool { return n.file == nil }

func (n *node) isRoot() bool { return n.parent == n }

func (n *node) path() string {
	if n.isRoot() {
		return ""
	}
	if p := n.parent.path(); p != "" {
		return p + "/" + n.name
	}
	return n.name
}

// entrySize is the size of a directory entry, and unitsPerEntry the characters that a long entry holds.
const (
	entrySize     = 32
	unitsPerEntry = 13
)

// entries returns how many directory entries n takes in its parent.
func (n *node) entries() int {
	if !n.long {
		return 1
	}
	units := 0
	for _, r := range n.name {
		units += utf16.RuneLen(r)
	}
	return 1 + (units+unitsPerEntry-1)/unitsPerEntry
}

// dirSize returns the bytes of the entries of a directory: its kids and either the label or "." and "..".
func (n *node) dirSize() int64 {
	count := int64(2)
	for _, k := range n.kids {
		count += int64(k.entries())
	}
	return count * entrySize
}

// treeBuilder turns the list of entries into a tree.
type treeBuilder struct {
	root    *node
	dirs    map[string]*node // by path as given
	nodes   int
	modTime time.Time
}

// buildTree checks every entry and returns the root of the tree.
func buildTree(files []File, modTime time.Time) (*node, error) {
	root := &node{modTime: modTime}
	root.parent = root
	b := &treeBuilder{root: root, dirs: make(map[string]*node), modTime: modTime}
	for i := range files {
		if err := b.add(&files[i]); err != nil {
			return nil, err
		}
	}
	return root, settle(root)
}

func (b *treeBuilder) add(f *File) error {
	if err := checkPath(f.Path); err != nil {
		return err
	}
	if err := checkMode(f); err != nil {
		return err
	}
	modTime := f.ModTime.UTC()
	if f.ModTime.IsZero() {
		modTime = b.modTime
	}
	if !yearFits(modTime) {
		return pathErrorf(f.Path, ErrLimit, "time %s is outside the years 1980 to 2107", modTime.Format(time.RFC3339))
	}
	if f.Mode.IsDir() {
		dir, err := b.dir(f.Path)
		if err != nil {
			return err
		}
		if dir.declared {
			return &PathError{Path: f.Path, Err: ErrDuplicate}
		}
		dir.modTime, dir.declared = modTime, true
		return nil
	}
	if size := f.size(); size < 0 || size > maxVolume {
		return pathErrorf(f.Path, ErrLimit, "size %d is not between 0 and %d", size, int64(maxVolume))
	}
	n, err := b.child(f.Path)
	if err != nil {
		return err
	}
	n.file, n.modTime = f, modTime
	return nil
}

// dir returns the directory of a checked path, and makes it and its parents if they are not there.
func (b *treeBuilder) dir(path string) (*node, error) {
	if path == "" {
		return b.root, nil
	}
	if d := b.dirs[path]; d != nil {
		return d, nil
	}
	n, err := b.child(path)
	if err != nil {
		return nil, err
	}
	n.modTime = b.modTime
	b.dirs[path] = n
	return n, nil
}

// child adds a node for path to its directory.
func (b *treeBuilder) child(path string) (*node, error) {
	slash := strings.LastIndexByte(path, '/')
	parent, err := b.dir(path[:max(slash, 0)])
	if err != nil {
		return nil, err
	}
	if b.nodes++; b.nodes > MaxEntries {
		return nil, pathErrorf(path, ErrLimit, "more than %d entries", MaxEntries)
	}
	name := path[slash+1:]
	n := &node{name: name, fold: fold(name), parent: parent}
	parent.kids = append(parent.kids, n)
	return n, nil
}

// settle sorts the tree below dir, refuses twins and gives every entry its alias.
func settle(dir *node) error {
	slices.SortFunc(dir.kids, func(a, b *node) int {
		return cmp.Or(cmp.Compare(a.fold, b.fold), cmp.Compare(a.name, b.name))
	})
	for i := 1; i < len(dir.kids); i++ {
		switch a, b := dir.kids[i-1], dir.kids[i]; {
		case a.fold != b.fold:
		case a.name == b.name:
			return &PathError{Path: b.path(), Err: ErrDuplicate}
		default:
			return pathErrorf(b.path(), ErrDuplicate, "%q differs in case only", a.path())
		}
	}
	assignAliases(dir.kids)
	for _, k := range dir.kids {
		if k.isDir() {
			if err := settle(k); err != nil {
				return err
			}
		}
	}
	return nil
}

// geometry says how the sectors of a volume are used: boot sector, two FATs, root directory, clusters.
type geometry struct {
	sectors    uint32 // of the whole volume
	perCluster uint32 // sectors
	fatSectors uint32 // of one FAT
	rootCount  uint32 // entries of the root directory
	clusters   uint32
	wide       bool // FAT16, else FAT12
	used       uint32
	dirUsed    uint32 // clusters of directories, the first ones
}

const (
	reservedSectors = 1
	fatCopies       = 2
	minRootEntries  = 512
	maxRootEntries  = 1<<16 - SectorSize/entrySize
	maxDirSize      = 1 << 21 // of a sub-directory, [FAT Directory Structure]
	firstCluster    = 2
	maxVolume       = 1<<31 - Alignment

	// The number of clusters alone tells FAT12, FAT16 and FAT32 apart, [FAT Type Determination]. As the
	// specification advises, counts near the limits, which some drivers get wrong, are left out.
	safety      = 16
	fat16Start  = 4085
	fat32Start  = 65525
	maxClusters = fat32Start - 1 - safety
)

func (g *geometry) rootSectors() uint32 { return g.rootCount * entrySize / SectorSize }
func (g *geometry) fixedSectors() uint32 {
	return reservedSectors + fatCopies*g.fatSectors + g.rootSectors()
}
func (g *geometry) clusterSize() int64  { return int64(g.perCluster) * SectorSize }
func (g *geometry) clusterStart() int64 { return int64(g.fixedSectors()) * SectorSize }
func (g *geometry) contentStart() int64 { return g.clusterStart() + int64(g.dirUsed)*g.clusterSize() }
func (g *geometry) entryOffset(n uint32) int64 {
	return g.clusterStart() + int64(n-firstCluster)*g.clusterSize()
}

// fit computes the number of clusters and the size of the FATs from the number of sectors. It reports whether the
// volume is sound and has room for need clusters.
func (g *geometry) fit(need uint32) bool {
	for g.fatSectors = 1; ; {
		if g.sectors <= g.fixedSectors() {
			return false
		}
		g.clusters = (g.sectors - g.fixedSectors()) / g.perCluster
		g.wide = g.clusters >= fat16Start
		bytes := ((g.clusters+firstCluster)*3 + 1) / 2
		if g.wide {
			bytes = (g.clusters + firstCluster) * 2
		}
		want := (bytes + SectorSize - 1) / SectorSize
		if want <= g.fatSectors {
			break
		}
		g.fatSectors = want
	}
	nearLimit := g.clusters >= fat16Start-safety && g.clusters < fat16Start+safety
	return !nearLimit && g.clusters >= max(need, 1) && g.clusters <= maxClusters
}

// layout chooses the geometry and gives everything its clusters: directories, then content.
func (im *Image) layout(root *node, size int64) error {
	im.dirs = []*node{root}
	for i := 0; i < len(im.dirs); i++ {
		for _, k := range im.dirs[i].kids {
			if k.isDir() {
				im.dirs = append(im.dirs, k)
			} else {
				im.files = append(im.files, k)
			}
		}
	}
	const perSector = SectorSize / entrySize
	rootEntries := max(root.dirSize()/entrySize, minRootEntries)
	if im.rootCount = uint32(rootEntries+perSector-1) / perSector * perSector; im.rootCount > maxRootEntries {
		return pathErrorf("", ErrLimit, "the root directory needs more than %d entries", maxRootEntries)
	}
	for _, d := range im.dirs[1:] {
		if d.dirSize() > maxDirSize {
			return pathErrorf(d.path(), ErrLimit, "the directory needs more than %d entries", maxDirSize/entrySize)
		}
	}
	if size%Alignment != 0 || size < 0 || size > maxVolume {
		return fmt.Errorf("fat: %w: size %d of the volume is not a multiple of %d up to %d",
			ErrLimit, size, Alignment, int64(maxVolume))
	}
	// Clusters of 2 KiB are small enough for seeds and need a small FAT. Larger ones make larger volumes, smaller
	// ones let many small files fit into a given size.
	for _, im.perCluster = range []uint32{4, 8, 16, 32, 64, 2, 1} {
		need := im.need()
		switch {
		case need > maxClusters:
			continue
		case size != 0:
			im.sectors = uint32(size / SectorSize)
			if !im.fit(uint32(need)) {
				continue
			}
		case !im.grow(uint32(need)):
			continue
		}
		im.place()
		return nil
	}
	if size != 0 {
		return fmt.Errorf("fat: %w: the entries do not fit into %d bytes", ErrLimit, size)
	}
	return fmt.Errorf("fat: %w: the entries do not fit into %d bytes, the most that FAT16 holds",
		ErrLimit, int64(maxVolume))
}

// need returns the number of clusters of all directories and files.
func (im *Image) need() int64 {
	cs := im.clusterSize()
	var n int64
	for _, d := range im.dirs[1:] {
		n += (d.dirSize() + cs - 1) / cs
	}
	for _, f := range im.files {
		n += (f.file.size() + cs - 1) / cs
	}
	return n
}

// grow finds the smallest aligned volume with room for need clusters.
func (im *Image) grow(need uint32) bool {
	const step = Alignment / SectorSize
	bytes := (need + firstCluster) * 2
	least := reservedSectors + im.rootSectors() + need*im.perCluster
	// A volume for need clusters has at most this many sectors; the search starts below the FATs' share of it.
	most := least + fatCopies*(bytes/SectorSize+1) + 2*step + (2*safety+1)*im.perCluster
	for s := (least + step) / step * step; s <= most; s += step {
		if im.sectors = s; im.fit(need) {
			return int64(s)*SectorSize <= maxVolume
		}
	}
	return false
}

// place gives directories and files their clusters.
func (im *Image) place() {
	cs := im.clusterSize()
	next := uint32(firstCluster)
	take := func(n *node, size int64) {
		if n.clusters = uint32((size + cs - 1) / cs); n.clusters > 0 {
			n.cluster = next
			next += n.clusters
		}
	}
	for _, d := range im.dirs[1:] {
		take(d, d.dirSize())
	}
	im.dirUsed = next - firstCluster
	for _, f := range im.files {
		take(f, f.file.size())
	}
	im.used = next - firstCluster
}

// derivedSerial hashes everything that is known before content is read.
func (im *Image) derivedSerial() uint32 {
	h := crc32.NewIEEE()
	number := func(n int64) { _ = binary.Write(h, binary.LittleEndian, n) }
	h.Write(im.label[:])
	number(int64(im.sectors))
	number(im.modTime.Unix())
	for _, d := range im.dirs {
		for _, k := range d.kids {
			h.Write([]byte(k.path()))
			number(k.modTime.Unix())
			if !k.isDir() {
				number(k.file.size())
			}
		}
	}
	return h.Sum32()
}
