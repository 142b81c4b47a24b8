package iso9660

import (
	"cmp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	plainMax  = 30 // characters of a plain file identifier without its separators, ECMA-119 10.2 (level 2)
	jolietMax = 64 // UCS-2 units of a Joliet identifier
)

// checkPath reports why path cannot be written, as an error that wraps ErrName or ErrLimit. A path is slash-separated
// and relative; what Windows or FAT could not hold is refused everywhere, so that a tree that one kind of volume
// takes is taken by the other and means the same to every guest.
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
		if r < utf8.RuneSelf {
			if 'A' <= r && r <= 'Z' {
				r += 'a' - 'A'
			}
			return r
		}
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		if 'A' <= least && least <= 'Z' {
			least += 'a' - 'A'
		}
		return least
	}, name)
}

// assignIDs gives the entries of one directory their plain and Joliet identifiers. kids must be sorted by fold and
// free of twins. Names that survive unchanged go first, so that a name is never changed for the sake of one that
// has to be changed anyway.
func assignIDs(kids []*node) {
	plain := make(map[string]int, len(kids))
	joliet := make(map[string]int)
	var lossy []*node
	for _, k := range kids {
		stem, ext, exact := plainName(k.name, k.isDir())
		if exact {
			plain[stem+"."+ext] = 1
			k.view[plainView].id = plainID(stem, ext, k.isDir())
		} else {
			lossy = append(lossy, k)
		}
		if units := utf16Len(k.name); units <= jolietMax {
			k.view[jolietView].id = jolietID(k.name, k.isDir())
			if units == jolietMax {
				joliet[k.fold] = 1 // only a name of full length can meet a shortened one
			}
		}
	}
	for _, k := range lossy {
		stem, ext, _ := plainName(k.name, k.isDir())
		limit := plainMax - len(ext)
		stem = unique(plain, stem, limit, func(s string) string { return s + "." + ext }, "_")
		k.view[plainView].id = plainID(stem, ext, k.isDir())
	}
	for _, k := range kids {
		if k.view[jolietView].id != "" {
			continue
		}
		k.shortened = true
		stem, ext := shorten(k.name)
		limit := jolietMax - utf16Len(ext)
		stem = unique(joliet, cutUnits(stem, limit-2)+"~1", limit, func(s string) string { return fold(s + ext) }, "~")
		k.view[jolietView].id = jolietID(stem+ext, k.isDir())
	}
}

// unique returns stem, or stem with its end replaced by sep and a number, cut to limit units, such that its key is
// not yet in used, and enters it there. The value in used is the number to try next, which keeps a directory full of
// colliding names linear.
func unique(used map[string]int, stem string, limit int, key func(string) string, sep string) string {
	first := key(stem)
	if used[first] == 0 {
		used[first] = 1
		return stem
	}
	for n := used[first]; ; n++ {
		suffix := sep + strconv.Itoa(n)
		candidate := cutUnits(stem, limit-len(suffix)) + suffix
		if k := key(candidate); used[k] == 0 {
			used[k] = 1
			used[first] = n + 1
			return candidate
		}
	}
}

// plainName maps a name to the characters of a plain identifier, without separators and version. exact reports that
// a reader which lowers the case of the identifier gets the name back, apart from its case.
func plainName(name string, dir bool) (stem, ext string, exact bool) {
	stem, exact = name, true
	if dot := strings.LastIndexByte(name, '.'); dot >= 0 && !dir {
		stem, ext = name[:dot], name[dot+1:]
	}
	stem, exactStem := plainChars(stem)
	ext, exactExt := plainChars(ext)
	exact = exactStem && exactExt
	if len(stem)+len(ext) > plainMax {
		exact = false
		ext = ext[:min(len(ext), 8)]
		stem = stem[:min(len(stem), plainMax-len(ext))]
	}
	return stem, ext, exact
}

// plainChars maps a name to upper-case letters, digits, '_' and '-'.
func plainChars(name string) (string, bool) {
	exact := true
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z':
			return r - ('a' - 'A')
		case 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-':
			return r
		}
		exact = false
		return '_'
	}, name), exact
}

// plainID joins the parts of a plain identifier: ECMA-119 7.5 for files, 7.6 for directories.
func plainID(stem, ext string, dir bool) string {
	if dir {
		return stem
	}
	return stem + "." + ext + ";1"
}

// comparePlain orders plain identifiers as ECMA-119 9.3 asks: by name, then by extension, each padded with spaces.
func comparePlain(a, b *node) int {
	stemA, restA, _ := strings.Cut(a.view[plainView].id, ".")
	stemB, restB, _ := strings.Cut(b.view[plainView].id, ".")
	if c := cmp.Compare(stemA, stemB); c != 0 {
		return c
	}
	extA, _, _ := strings.Cut(restA, ";")
	extB, _, _ := strings.Cut(restB, ";")
	return cmp.Compare(extA, extB)
}

// compareJoliet orders Joliet identifiers by their UCS-2 units.
func compareJoliet(a, b *node) int {
	return cmp.Compare(a.view[jolietView].id, b.view[jolietView].id)
}

// utf16Len returns the number of UTF-16 units of s.
func utf16Len(s string) int {
	n := 0
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}

// cutUnits returns the longest prefix of s that has at most limit UTF-16 units and no half of a surrogate pair.
func cutUnits(s string, limit int) string {
	for i, r := range s {
		limit -= utf16.RuneLen(r)
		if limit < 0 {
			return s[:i]
		}
	}
	return s
}

// shorten splits a name that is too long for Joliet into its stem and an extension, with its dot, worth keeping.
func shorten(name string) (stem, ext string) {
	if dot := strings.LastIndexByte(name, '.'); dot > 0 && len(name)-dot <= 17 {
		return name[:dot], name[dot:]
	}
	return name, ""
}

// jolietID returns the identifier as big-endian units. Characters beyond the basic plane become surrogate pairs,
// which Windows and Linux understand.
func jolietID(name string, dir bool) string {
	buf := make([]byte, 0, 2*len(name)+4)
	buf = appendUTF16(buf, name)
	if !dir {
		buf = append(buf, 0, ';', 0, '1')
	}
	return string(buf)
}

// appendUTF16 appends s in big-endian UTF-16.
func appendUTF16(buf []byte, s string) []byte {
	for _, r := range s {
		if r1, r2 := utf16.EncodeRune(r); r1 != unicode.ReplacementChar {
			buf = append(buf, byte(r1>>8), byte(r1), byte(r2>>8), byte(r2))
			continue
		}
		buf = append(buf, byte(r>>8), byte(r))
	}
	return buf
}

// decodeUTF16 is the inverse of appendUTF16. Lone surrogates become the replacement character.
func decodeUTF16(b string) string {
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = uint16(b[2*i])<<8 | uint16(b[2*i+1])
	}
	return string(utf16.Decode(units))
}

// trimPadding removes the spaces and zeros that fill a text field.
func trimPadding(s string) string { return strings.TrimRight(s, " \x00") }
