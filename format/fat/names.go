package fat

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// checkPath reports why path cannot be written, as an error that wraps ErrName or ErrLimit. A path is slash-separated
// and relative. The rules are those of format/iso9660, so that a tree fits on both kinds of volume or on neither.
func checkPath(path string) error {
	if path == "" {
		return pathErrorf(path, ErrName, "empty path")
	}
	if !utf8.ValidString(path) {
		return pathErrorf(path, ErrName, "not UTF-8")
	}
	depth := 0
	for name := range strings.SplitSeq(path, "/") {
		depth++
		if depth > MaxDepth {
			return pathErrorf(path, ErrLimit, "more than %d path components", MaxDepth)
		}
		if reason := nameFault(name); reason != "" {
			return pathErrorf(path, ErrName, "%s", reason)
		}
	}
	return nil
}

// nameFault says what is wrong with one path component, or returns "".
func nameFault(name string) string {
	switch {
	case name == "":
		return "empty path component (leading, trailing or double slash)"
	case name == "." || name == "..":
		return "path component " + strconv.Quote(name)
	case len(name) > MaxName:
		return "a path component is longer than 253 bytes"
	case name[len(name)-1] == '.' || name[len(name)-1] == ' ':
		return "a path component ends in a dot or a space, which Windows drops"
	}
	for _, c := range name {
		if c < 0x20 || c == 0x7f {
			return "control character " + strconv.QuoteRune(c)
		}
		if strings.ContainsRune(`"*:;<>?\|`, c) {
			return "character " + strconv.QuoteRune(c) + ", which Joliet or Windows does not allow"
		}
	}
	return ""
}

// fold returns name with every character replaced by one representative of its case variants, so that two names
// are case twins when their folds are equal.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= utf8.RuneSelf {
			least := r
			for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
				least = min(least, next)
			}
			r = least
		}
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, name)
}

// alias is an 8.3 name as a directory entry stores it, padded with spaces, [FAT Directory Structure].
type alias [11]byte

// assignAliases gives the entries of one directory their 8.3 names, [FAT Name Limits and Character Sets]. Names that
// are 8.3 names but for their case go first, so that none of them is changed for the sake of a long one.
func assignAliases(kids []*node) {
	used := make(map[alias]bool, len(kids))
	next := make(map[alias]int)
	var lossy []*node
	for _, k := range kids {
		var exact bool
		if k.alias, exact = aliasOf(k.name); exact {
			used[k.alias] = true
		} else {
			lossy = append(lossy, k)
		}
		k.long = !exact || k.name != strings.ToUpper(k.name)
	}
	for _, k := range lossy {
		basis := k.alias
		for n := max(next[basis], 1); ; n++ {
			if k.alias = numbered(basis, n); !used[k.alias] {
				used[k.alias] = true
				next[basis] = n + 1
				break
			}
		}
	}
}

// aliasOf maps a name to the characters of an 8.3 name. exact reports that only the case was changed.
func aliasOf(name string) (a alias, exact bool) {
	exact = true
	trimmed := strings.TrimLeft(name, ".")
	stem, ext := trimmed, ""
	if dot := strings.LastIndexByte(trimmed, '.'); dot >= 0 {
		stem, ext = trimmed[:dot], trimmed[dot+1:]
	}
	for i := range a {
		a[i] = ' '
	}
	put := func(field []byte, s string) {
		n := 0
		for _, r := range s {
			c, same := aliasChar(r)
			exact = exact && same
			if c == 0 {
				continue
			}
			if n == len(field) {
				exact = false
				return
			}
			field[n] = c
			n++
		}
	}
	put(a[:8], stem)
	put(a[8:], ext)
	if a[0] == ' ' { // nothing usable before the dot
		a[0], exact = '_', false
	}
	return a, exact && trimmed == name
}

// aliasChar maps a character; 0 means that it is left out.
func aliasChar(r rune) (c byte, same bool) {
	switch {
	case 'a' <= r && r <= 'z':
		return byte(r) - ('a' - 'A'), true
	case 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r < utf8.RuneSelf && strings.ContainsRune("$%'-_@~`!(){}^#&", r):
		return byte(r), true
	case r == ' ' || r == '.':
		return 0, false
	}
	return '_', false
}

// numbered returns the basis name with the numeric tail ~n.
func numbered(basis alias, n int) alias {
	tail := "~" + strconv.Itoa(n)
	end := 0
	for end < 8 && basis[end] != ' ' {
		end++
	}
	copy(basis[min(end, 8-len(tail)):8], tail)
	return basis
}

// checksum ties long entries to their 8.3 entry, [FAT Long Directory Entries].
func (a alias) checksum() byte {
	var sum byte
	for _, c := range a {
		sum = sum>>1 | sum<<7
		sum += c
	}
	return sum
}

// labelOf returns a label as stored: upper case, padded with spaces.
func labelOf(label string) (alias, error) {
	var a alias
	upper := strings.ToUpper(label)
	if len(upper) > MaxLabel {
		return a, fmt.Errorf("fat: %w: %q has more than %d bytes", ErrLabel, label, MaxLabel)
	}
	if strings.HasPrefix(label, " ") || strings.HasSuffix(label, " ") {
		return a, fmt.Errorf("fat: %w: %q begins or ends with a space", ErrLabel, label)
	}
	for i := range a {
		a[i] = ' '
		if i < len(upper) {
			a[i] = upper[i]
		}
		if c := a[i]; c < ' ' || c > '~' || strings.IndexByte(`"*+,./:;<=>?[\]|`, c) >= 0 {
			return a, fmt.Errorf("fat: %w: %q has a character that FAT does not allow", ErrLabel, label)
		}
	}
	return a, nil
}
