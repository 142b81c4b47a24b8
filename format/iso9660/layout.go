package iso9660

import (
	"cmp"
	"io/fs"
	"slices"
	"strings"
	"time"
)

// A volume holds two trees over the same content: the primary one with plain identifiers and Rock Ridge entries, and
// the Joliet one.
const (
	plainView = iota
	jolietView
	viewCount
)

// The sectors of a volume begin with the unused system area and the volume descriptors.
const (
	systemSectors = 16
	primarySector = systemSectors
	jolietSector  = systemSectors + 1
	lastSector    = systemSectors + 2
	tablesSector  = systemSectors + 3
)

// node is a file or directory that is being laid out.
type node struct {
	name      string
	fold      string // name without regard to case
	file      *File  // nil for a directory
	mode      fs.FileMode
	modTime   time.Time
	parent    *node // the root is its own parent
	declared  bool  // a directory with an entry of its own
	shortened bool  // in Joliet
	subdirs   uint32
	extent    uint32 // first sector of a file's content
	ceOffset  uint32 // place of the name's rest in the continuation area
	ceLen     uint32
	view      [viewCount]place
}

// place is what a node has once per tree.
type place struct {
	id     string  // identifier as stored
	kids   []*node // sorted by id
	extent uint32  // first sector of a directory
	size   uint32  // bytes of a directory, whole sectors
	number uint16  // of a directory in the path table, from 1
}

// pathTable is the place of the two copies of a path table, ECMA-119 6.9.
type pathTable struct {
	little, big uint32 // sectors
	size        uint32 // bytes
}

func (n *node) isDir() bool { return n.file == nil }

func (n *node) path() string {
	if n.parent == n {
		return ""
	}
	if p := n.parent.path(); p != "" {
		return p + "/" + n.name
	}
	return n.name
}

// treeBuilder turns the list of entries into a tree.
type treeBuilder struct {
	root    *node
	dirs    map[string]*node // by path as given
	nodes   int
	modTime time.Time
}

// buildTree checks every entry and returns the root of the tree. Directories have their kids sorted by fold in the
// plain view.
func buildTree(files []File, modTime time.Time) (*node, error) {
	root := &node{mode: defaultMode(fs.ModeDir), modTime: modTime}
	root.parent = root
	b := &treeBuilder{root: root, dirs: make(map[string]*node), nodes: 1, modTime: modTime}
	for i := range files {
		if err := b.add(&files[i]); err != nil {
			return nil, err
		}
	}
	if err := settle(root); err != nil {
		return nil, err
	}
	return root, nil
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
		return pathErrorf(f.Path, ErrLimit, "time %s is outside the years 1900 to 2155", modTime.Format(time.RFC3339))
	}
	if f.Mode.IsDir() {
		dir, err := b.dir(f.Path)
		if err != nil {
			return err
		}
		if dir.declared {
			return &PathError{Path: f.Path, Err: ErrDuplicate}
		}
		dir.mode, dir.modTime, dir.declared = defaultMode(f.Mode), modTime, true
		return nil
	}
	if size := f.size(); size < 0 || size > MaxFileSize {
		return pathErrorf(f.Path, ErrLimit, "size %d is not between 0 and %d", size, int64(MaxFileSize))
	}
	parent, name := b.root, f.Path
	if slash := strings.LastIndexByte(f.Path, '/'); slash >= 0 {
		dir, err := b.dir(f.Path[:slash])
		if err != nil {
			return err
		}
		parent, name = dir, f.Path[slash+1:]
	}
	n, err := b.child(parent, name)
	if err != nil {
		return err
	}
	n.file, n.mode, n.modTime = f, defaultMode(f.Mode), modTime
	return nil
}

// dir returns the directory of a checked path, and makes it and its parents if they are not there.
func (b *treeBuilder) dir(path string) (*node, error) {
	if d := b.dirs[path]; d != nil {
		return d, nil
	}
	parent, name := b.root, path
	if slash := strings.LastIndexByte(path, '/'); slash >= 0 {
		d, err := b.dir(path[:slash])
		if err != nil {
			return nil, err
		}
		parent, name = d, path[slash+1:]
	}
	n, err := b.child(parent, name)
	if err != nil {
		return nil, err
	}
	n.mode, n.modTime = defaultMode(fs.ModeDir), b.modTime
	b.dirs[path] = n
	parent.subdirs++
	return n, nil
}

func (b *treeBuilder) child(parent *node, name string) (*node, error) {
	if b.nodes++; b.nodes > MaxEntries {
		return nil, pathErrorf(name, ErrLimit, "more than %d entries", MaxEntries)
	}
	n := &node{name: name, fold: fold(name), parent: parent}
	parent.view[plainView].kids = append(parent.view[plainView].kids, n)
	return n, nil
}

// settle sorts the tree below dir, refuses twins and gives every entry its identifiers.
func settle(dir *node) error {
	kids := dir.view[plainView].kids
	slices.SortFunc(kids, func(a, b *node) int {
		return cmp.Or(cmp.Compare(a.fold, b.fold), cmp.Compare(a.name, b.name))
	})
	for i := 1; i < len(kids); i++ {
		switch a, b := kids[i-1], kids[i]; {
		case a.fold != b.fold:
		case a.name == b.name:
			return &PathError{Path: b.path(), Err: ErrDuplicate}
		default:
			return pathErrorf(b.path(), ErrDuplicate, "%q differs in case only", a.path())
		}
	}
	assignIDs(kids)
	dir.view[jolietView].kids = slices.Clone(kids)
	slices.SortFunc(kids, comparePlain)
	slices.SortFunc(dir.view[jolietView].kids, compareJoliet)
	for _, k := range kids {
		if k.isDir() {
			if err := settle(k); err != nil {
				return err
			}
		}
	}
	return nil
}

// layout gives everything its sectors: descriptors, path tables, primary directories, continuation area, Joliet
// directories, content.
func (im *Image) layout(root *node) error {
	for v := range im.dirs {
		im.dirs[v] = []*node{root}
		for i := 0; i < len(im.dirs[v]); i++ {
			im.dirs[v][i].view[v].number = uint16(i + 1)
			for _, k := range im.dirs[v][i].view[v].kids {
				if k.isDir() {
					im.dirs[v] = append(im.dirs[v], k)
				}
			}
		}
	}
	if len(im.dirs[plainView]) > 1<<16-1 {
		return pathErrorf("", ErrLimit, "more than 65535 directories")
	}
	next := uint32(tablesSector)
	take := func(bytes int64) uint32 {
		at := next
		next += uint32((bytes + SectorSize - 1) / SectorSize)
		return at
	}
	for v := range im.tables {
		t := &im.tables[v]
		for _, d := range im.dirs[v] {
			t.size += uint32(pathRecordLen(d, v))
		}
		t.little, t.big = take(int64(t.size)), take(int64(t.size))
	}
	im.placeNames()
	for v := range im.dirs {
		for _, d := range im.dirs[v] {
			d.view[v].size = directorySize(d, v)
			d.view[v].extent = take(int64(d.view[v].size))
		}
		if v == plainView {
			im.ceStart = take(int64(im.ceSectors) * SectorSize)
		}
	}
	im.dataStart = next
	return im.placeContent()
}

// placeNames assigns places in the continuation area to the names that do not fit into their directory record. No
// name crosses the end of a sector, as Linux does not follow it there.
func (im *Image) placeNames() {
	var offset uint32
	for _, d := range im.dirs[plainView] {
		for _, k := range d.view[plainView].kids {
			if k.ceLen = uint32(nameRest(k)); k.ceLen == 0 {
				continue
			}
			if offset%SectorSize+k.ceLen > SectorSize {
				offset += -offset & (SectorSize - 1)
			}
			k.ceOffset = offset
			offset += k.ceLen
		}
	}
	im.ceSectors = (offset + SectorSize - 1) / SectorSize
}

// placeContent assigns sectors to the files and completes the volume.
func (im *Image) placeContent() error {
	const maxSectors = 1<<32 - 2 // block numbers have 32 bits
	next := int64(im.dataStart)
	for _, d := range im.dirs[plainView] {
		for _, k := range d.view[plainView].kids {
			if k.isDir() {
				continue
			}
			im.files = append(im.files, k)
			if size := k.file.size(); size > 0 {
				k.extent = uint32(next)
				next += (size + SectorSize - 1) / SectorSize
			}
			if next > maxSectors {
				return pathErrorf(k.path(), ErrLimit, "the volume is larger than 8 TiB")
			}
		}
	}
	const perUnit = Alignment / SectorSize
	im.sectors = uint32((next + perUnit - 1) / perUnit * perUnit)
	return nil
}
