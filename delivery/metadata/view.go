package metadata

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/vmseed/vmseed/seed"
)

// view is all that a site answers at one time. It is not changed once it is made.
type view struct {
	// roots are the trees by the directories in which they stand; depth is the number of parts of the longest.
	roots map[string]*branch
	depth int
	// tops are the directories above the roots, by their paths.
	tops map[string]top
}

// branch is a tree. Its entries are by their paths, without a slash at the end.
type branch struct {
	name     string
	tokens   seed.Tokens
	hopLimit int
	entries  map[string]*entry
}

// top is a directory above roots. Its listing is read like the branch, if that is set.
type top struct {
	listing *entry
	branch  *branch
}

// entry is an answer with its header fields.
type entry struct {
	content     []byte
	contentType []string
	length      []string
	sealable    bool
	// listing is that of a directory, derived one that was made of the names in it.
	listing, derived bool
}

// plainText is the content type of listings, and of blobs that state none.
const plainText = "text/plain"

func newEntry(content []byte, contentType string) *entry {
	e := &entry{content: content, contentType: textType, length: []string{strconv.Itoa(len(content))}}
	if contentType != "" && contentType != plainText {
		e.contentType = []string{contentType}
	}
	return e
}

func newView(trees []seed.Tree) *view {
	v := &view{roots: map[string]*branch{}}
	for _, t := range trees {
		b := &branch{name: t.Name, tokens: t.Tokens, hopLimit: max(1, t.HopLimit), entries: make(map[string]*entry, len(t.Blobs)*2)}
		for _, blob := range t.Blobs {
			e := newEntry([]byte(blob.Content.Reveal()), blob.ContentType)
			e.sealable, e.listing = blob.Sealable, strings.HasSuffix(blob.Path, "/")
			b.entries[strings.TrimSuffix(blob.Path, "/")] = e
		}
		b.list()
		for _, root := range t.Roots {
			v.roots[root] = b
			if root != "" {
				v.depth = max(v.depth, strings.Count(root, "/")+1)
			}
		}
	}
	v.list()
	return v
}

// list adds listings of the directories that have none.
func (b *branch) list() {
	names := map[string]map[string]bool{"": {}}
	add := func(path, suffix string) {
		for path != "" {
			dir, name := parent(path)
			if names[dir] == nil {
				names[dir] = map[string]bool{}
			}
			names[dir][name+suffix] = true
			path, suffix = dir, "/"
		}
	}
	for path, e := range b.entries {
		if e.listing {
			add(path, "/")
		} else {
			add(path, "")
		}
	}
	if b.name == openStack {
		add(passwordFile, "")
	}
	for dir, below := range names {
		if _, stated := b.entries[dir]; !stated {
			b.entries[dir] = listing(below)
			b.entries[dir].derived = true
		}
	}
}

// listing is the answer that lists names, in order and without a line feed at the end.
func listing(names map[string]bool) *entry {
	e := newEntry([]byte(strings.Join(slices.Sorted(maps.Keys(names)), "\n")), "")
	e.listing = true
	return e
}

// list makes the listings above the roots. Where roots stand directly below, those alone are named, as EC2 and OpenStack
// name their versions: one a line and without a slash.
func (v *view) list() {
	roots, dirs := map[string]map[string]bool{}, map[string]map[string]bool{}
	add := func(to map[string]map[string]bool, dir, name string) {
		if to[dir] == nil {
			to[dir] = map[string]bool{}
		}
		to[dir][name] = true
	}
	v.tops = map[string]top{}
	for root, b := range v.roots {
		if root == "" {
			continue
		}
		dir, name := parent(root)
		add(roots, dir, name)
		if t := v.tops[dir]; t.branch == nil || t.branch.tokens < b.tokens { // "" < optional < required
			v.tops[dir] = top{branch: b}
		}
		for dir != "" {
			up, name := parent(dir)
			add(dirs, up, name+"/")
			dir = up
		}
	}
	maps.Copy(dirs, roots)
	for dir, below := range dirs {
		v.tops[dir] = top{listing: listing(below), branch: v.tops[dir].branch}
	}
}

func parent(path string) (dir, name string) {
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		return path[:i], path[i+1:]
	}
	return "", path
}

// sealed is the view without what the guest needs for its first boot alone.
func (v *view) sealed() *view {
	out := &view{roots: make(map[string]*branch, len(v.roots)), depth: v.depth}
	made := map[*branch]*branch{}
	for root, b := range v.roots {
		if made[b] == nil {
			made[b] = b.sealed()
		}
		out.roots[root] = made[b]
	}
	out.list()
	return out
}

func (b *branch) sealed() *branch {
	out := &branch{name: b.name, tokens: b.tokens, hopLimit: b.hopLimit, entries: make(map[string]*entry, len(b.entries))}
	for path, e := range b.entries {
		switch {
		case e.derived:
		case !e.sealable:
			out.entries[path] = e
		case b.name == noCloud:
			out.entries[path] = newEntry(nil, e.contentType[0])
		}
	}
	out.list()
	return out
}

// find finds the tree that a path without its leading slash is in, and the rest of the path. The longest root counts.
func (v *view) find(path string) (b *branch, rest string) {
	b, rest = v.roots[""], path
	for end, n := 0, 0; n < v.depth && end < len(path); n++ {
		if i := strings.IndexByte(path[end:], '/'); i >= 0 {
			end += i
		} else {
			end = len(path)
		}
		if found := v.roots[path[:end]]; found != nil {
			b, rest = found, path[min(end+1, len(path)):]
		}
		end++
	}
	return b, rest
}

// entry is the answer at a path, with or without a slash at its end.
func (b *branch) entry(path string) *entry {
	return b.entries[strings.TrimSuffix(path, "/")]
}
