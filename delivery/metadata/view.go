package metadata

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/vmseed/vmseed/seed"
)

// view is all that a site answers at one time. It is not changed once it is made.
type view struct {
	// roots are the directories in which trees stand, in order; depth is the number of parts of the longest.
	roots []root
	depth int
	// tops are the directories above the roots, by their paths.
	tops map[string]top
}

// root is a directory in which a tree stands. A machine of EC2 has dozens, and there may be thousands of machines, so they
// are not a map.
type root struct {
	path   string
	branch *branch
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
	content  []byte
	head     *head
	sealable bool
	// listing is that of a directory, derived one that was made of the names in it.
	listing, derived bool
}

// head is the header fields of an answer. Entries share them, and nobody changes them.
type head struct{ contentType, length []string }

// plainText is the content type of listings, and of blobs that state none.
const plainText = "text/plain"

func newEntry(content []byte, contentType string) *entry {
	return &entry{content: content, head: newHead(contentType, len(content))}
}

// shortHeads are the heads of short texts, which most answers are.
var shortHeads = sync.OnceValue(func() *[512]head {
	var out [512]head
	for n := range out {
		out[n] = head{textType, []string{strconv.Itoa(n)}}
	}
	return &out
})

func newHead(contentType string, length int) *head {
	if contentType == "" || contentType == plainText {
		if short := shortHeads(); length < len(short) {
			return &short[length]
		}
		return &head{textType, []string{strconv.Itoa(length)}}
	}
	return &head{[]string{contentType}, []string{strconv.Itoa(length)}}
}

func newView(trees []seed.Tree) *view {
	v := &view{}
	large := map[string][]byte{}
	for _, t := range trees {
		b := newBranch(t, large)
		for _, path := range t.Roots {
			v.roots = append(v.roots, root{path, b})
		}
	}
	slices.SortFunc(v.roots, func(a, b root) int { return strings.Compare(a.path, b.path) })
	v.list()
	return v
}

// smallBlob is the size below which the blobs of a tree share one piece of memory: most are a few bytes. Sealing makes
// another piece, so that this one goes away. Large ones that are the same in several trees, as user-data may be, are there once.
const smallBlob = 1 << 10

func newBranch(t seed.Tree, large map[string][]byte) *branch {
	b := &branch{name: t.Name, tokens: t.Tokens, hopLimit: max(1, t.HopLimit), entries: make(map[string]*entry, len(t.Blobs)*3/2)}
	size := 0
	for _, blob := range t.Blobs {
		if n := blob.Content.Len(); n < smallBlob {
			size += n
		}
	}
	small, entries := make([]byte, 0, size), make([]entry, len(t.Blobs))
	for i, blob := range t.Blobs {
		text := blob.Content.Reveal()
		content := large[text]
		if len(text) < smallBlob {
			begin := len(small)
			small = append(small, text...)
			content = small[begin:len(small):len(small)]
		} else if content == nil {
			content = []byte(text)
			large[text] = content
		}
		entries[i] = entry{content: content, head: newHead(blob.ContentType, len(content)), sealable: blob.Sealable,
			listing: strings.HasSuffix(blob.Path, "/")}
		b.entries[strings.TrimSuffix(blob.Path, "/")] = &entries[i]
	}
	b.list()
	return b
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
	for _, r := range v.roots {
		if r.path == "" {
			continue
		}
		v.depth = max(v.depth, strings.Count(r.path, "/")+1)
		b := r.branch
		dir, name := parent(r.path)
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

// sealed is the view without what the guest needs for its first boot alone. Nothing in it keeps the memory of what is gone.
func (v *view) sealed() *view {
	out := &view{}
	made := map[*branch]*branch{}
	for _, r := range v.roots {
		if made[r.branch] == nil {
			made[r.branch] = r.branch.sealed()
		}
		out.roots = append(out.roots, root{r.path, made[r.branch]})
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
			kept := *e
			if len(e.content) < smallBlob {
				kept.content = bytes.Clone(e.content)
			}
			out.entries[path] = &kept
		case b.name == noCloud:
			out.entries[path] = newEntry(nil, e.head.contentType[0])
		}
	}
	out.list()
	return out
}

// at returns the tree that stands in a directory, or nil.
func (v *view) at(path string) *branch {
	i, ok := slices.BinarySearchFunc(v.roots, path, func(r root, path string) int { return strings.Compare(r.path, path) })
	if !ok {
		return nil
	}
	return v.roots[i].branch
}

// find finds the tree that a path without its leading slash is in, and the rest of the path. The longest root counts.
func (v *view) find(path string) (b *branch, rest string) {
	rest = path
	if len(v.roots) > 0 && v.roots[0].path == "" {
		b = v.roots[0].branch
	}
	for end, n := 0, 0; n < v.depth && end < len(path); n++ {
		if i := strings.IndexByte(path[end:], '/'); i >= 0 {
			end += i
		} else {
			end = len(path)
		}
		if found := v.at(path[:end]); found != nil {
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
