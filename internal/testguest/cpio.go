package testguest

import (
	"fmt"
	"io"
	"path"
	"sort"
	"strings"
)

// cpioFile is a regular file of an initramfs.
type cpioFile struct {
	name    string // relative, slash-separated
	mode    uint32 // permission bits
	content []byte
}

// Type bits of a cpio mode field, which are those of stat(2).
const (
	cpioDirectory = 0o040000
	cpioRegular   = 0o100000
)

// writeCPIO writes files, and the directories above them, as a cpio archive in
// the "newc" format that the kernel unpacks (Documentation/driver-api/
// early-userspace/buffer-format). Everything belongs to root and is dated 0.
func writeCPIO(w io.Writer, files []cpioFile) error {
	out := &cpioWriter{w: w}
	for _, dir := range parents(files) {
		out.entry(dir, cpioDirectory|0o755, nil)
	}
	for _, f := range files {
		out.entry(f.name, cpioRegular|f.mode, f.content)
	}
	out.inode = 0
	out.entry("TRAILER!!!", 0, nil)
	return out.err
}

// parents lists every directory above the files, outer ones first, since the
// kernel makes no missing parent.
func parents(files []cpioFile) []string {
	seen := map[string]bool{}
	for _, f := range files {
		for dir := path.Dir(f.name); dir != "." && dir != "/"; dir = path.Dir(dir) {
			seen[dir] = true
		}
	}
	dirs := make([]string, 0, len(seen))
	for dir := range seen {
		dirs = append(dirs, dir)
	}
	sort.Strings(dirs)
	return dirs
}

// cpioWriter writes entries until the first error.
type cpioWriter struct {
	w     io.Writer
	inode int
	err   error
}

// entry writes a header of 13 fields of 8 hexadecimal digits after the magic
// number, the name with its NUL, and the content. The content and the next
// header start at multiples of four.
func (c *cpioWriter) entry(name string, mode uint32, content []byte) {
	if c.err != nil {
		return
	}
	c.inode++
	links := 1
	if mode&cpioDirectory != 0 && mode&cpioRegular != cpioRegular {
		links = 2
	}
	header := fmt.Sprintf("070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x",
		c.inode, mode, 0, 0, links, 0, len(content), 0, 0, 0, 0, len(name)+1, 0)
	c.write(padded(header + name + "\x00"))
	c.write(padded(string(content)))
}

func (c *cpioWriter) write(s string) {
	if c.err == nil {
		_, c.err = io.WriteString(c.w, s)
	}
}

// padded appends NUL bytes up to a multiple of four.
func padded(s string) string {
	return s + strings.Repeat("\x00", -len(s)&3)
}
