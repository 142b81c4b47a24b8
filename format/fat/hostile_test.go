package fat

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"testing"
)

// patched returns a small volume that change has damaged. entry gives the bytes of the short entry with the given
// 8.3 name, with its long entries before it in the slice.
func patched(t *testing.T, change func(image []byte, entry func(name string) []byte)) []byte {
	t.Helper()
	image := write(t, []File{
		{Path: "FIRST", Data: bytes.Repeat([]byte("1"), 5000)},
		{Path: "FROST", Data: []byte("2")},
		{Path: "DIR/INNER", Data: []byte("3")},
		{Path: "long name", Data: []byte("4")},
	}, Options{Label: "CIDATA"})
	change(image, func(name string) []byte {
		at := bytes.Index(image, []byte((name + "           ")[:11]))
		if at < 0 {
			t.Fatalf("no entry %s", name)
		}
		return image[at:]
	})
	return image
}

// setFAT overwrites an entry of the first FAT.
func setFAT(image []byte, n, value uint32) {
	at := SectorSize + n + n/2
	if n%2 == 0 {
		image[at], image[at+1] = byte(value), image[at+1]&0xf0|byte(value>>8)
		return
	}
	image[at], image[at+1] = image[at]&0x0f|byte(value<<4), byte(value>>4)
}

func TestHostileVolumes(t *testing.T) {
	type entry = func(name string) []byte
	le := binary.LittleEndian
	cluster := func(e []byte) uint32 { return uint32(le.Uint16(e[26:])) }
	for name, tc := range map[string]struct {
		change func(image []byte, entry entry)
		want   error
	}{
		"no jump":                  {func(b []byte, _ entry) { b[0] = 0 }, ErrFormat},
		"sector size 0":            {func(b []byte, _ entry) { le.PutUint16(b[11:], 0) }, ErrFormat},
		"sector size 513":          {func(b []byte, _ entry) { le.PutUint16(b[11:], 513) }, ErrFormat},
		"cluster size 0":           {func(b []byte, _ entry) { b[13] = 0 }, ErrFormat},
		"cluster size 3":           {func(b []byte, _ entry) { b[13] = 3 }, ErrFormat},
		"no reserved sectors":      {func(b []byte, _ entry) { le.PutUint16(b[14:], 0) }, ErrFormat},
		"no FATs":                  {func(b []byte, _ entry) { b[16] = 0 }, ErrFormat},
		"FAT32 without a FAT":      {func(b []byte, _ entry) { copy(b[22:], "\x00\x00"); copy(b[36:], "\x00\x00\x00\x00") }, ErrFormat},
		"FAT outside":              {func(b []byte, _ entry) { le.PutUint16(b[22:], 0xffff) }, ErrFormat},
		"FAT too small":            {func(b []byte, _ entry) { le.PutUint16(b[19:], 0xffff) }, ErrFormat},
		"no clusters":              {func(b []byte, _ entry) { le.PutUint16(b[19:], 20) }, ErrFormat},
		"2^32 sectors":             {func(b []byte, _ entry) { le.PutUint16(b[19:], 0); le.PutUint32(b[32:], 1<<32-1) }, ErrFormat},
		"directory in cluster 0":   {func(_ []byte, e entry) { le.PutUint16(e("DIR")[26:], 0) }, ErrFormat},
		"directory outside":        {func(_ []byte, e entry) { le.PutUint16(e("DIR")[26:], 0xfff0) }, ErrFormat},
		"directory loop":           {func(b []byte, e entry) { setFAT(b, cluster(e("DIR")), cluster(e("DIR"))) }, ErrFormat},
		"directory in itself":      {func(_ []byte, e entry) { e("INNER")[11] = attrDirectory; copy(e("INNER")[26:28], e("DIR")[26:]) }, ErrFormat},
		"file outside":             {func(_ []byte, e entry) { le.PutUint16(e("FIRST")[26:], 0xfff0) }, ErrFormat},
		"file without clusters":    {func(_ []byte, e entry) { le.PutUint16(e("FIRST")[26:], 0) }, ErrFormat},
		"file longer than chain":   {func(_ []byte, e entry) { le.PutUint32(e("FROST")[28:], 1<<32-1) }, ErrFormat},
		"chain into a bad cluster": {func(b []byte, e entry) { setFAT(b, cluster(e("FIRST")), 0xff7) }, ErrFormat},
		"chain into a free one":    {func(b []byte, e entry) { setFAT(b, cluster(e("FIRST")), 0) }, ErrFormat},
		"chain loop":               {func(b []byte, e entry) { setFAT(b, cluster(e("FIRST"))+1, cluster(e("FIRST"))) }, ErrFormat},
		"cross-linked files":       {func(_ []byte, e entry) { copy(e("FROST")[26:28], e("FIRST")[26:]) }, ErrFormat},
		"name with a slash":        {func(_ []byte, e entry) { e("FIRST")[2] = '/' }, ErrName},
		"name with a NUL":          {func(_ []byte, e entry) { e("FIRST")[2] = 0 }, ErrName},
		"no name":                  {func(_ []byte, e entry) { copy(e("FIRST"), "     ") }, ErrName},
		"long name with a slash":   {longName1('/'), ErrName},
		"same name twice":          {func(_ []byte, e entry) { copy(e("FROST"), "FIRST") }, ErrDuplicate},
		"case twins":               {func(_ []byte, e entry) { f := e("FROST"); copy(f, "FIRST"); f[12] = 8 }, ErrDuplicate},
	} {
		t.Run(name, func(t *testing.T) {
			image := patched(t, tc.change)
			_, err := NewReader(bytes.NewReader(image), int64(len(image)))
			if !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
		})
	}
}

// longName1 sets the second character of the long name.
func longName1(c byte) func([]byte, func(string) []byte) {
	return func(image []byte, _ func(string) []byte) {
		image[bytes.Index(image, []byte("l\x00o\x00n\x00g\x00"))+2] = c
	}
}

// TestLongNameLost checks that the 8.3 name counts when the long one does not belong to it, as after a rename by a
// system that knows no long names.
func TestLongNameLost(t *testing.T) {
	for name, change := range map[string]func(image []byte, entry func(string) []byte){
		"checksum":       func(b []byte, _ func(string) []byte) { b[bytes.Index(b, []byte("l\x00o\x00n\x00g\x00"))+12]++ },
		"order":          func(b []byte, _ func(string) []byte) { b[bytes.Index(b, []byte("l\x00o\x00n\x00g\x00"))-1] = 0x42 },
		"without a mark": func(b []byte, _ func(string) []byte) { b[bytes.Index(b, []byte("l\x00o\x00n\x00g\x00"))-1] = 1 },
	} {
		t.Run(name, func(t *testing.T) {
			r := open(t, patched(t, change))
			if data, err := r.ReadFile("LONGNA~1"); err != nil || string(data) != "4" {
				t.Errorf("%q, %v", data, err)
			}
		})
	}
}

// TestShortNames checks what is special about 8.3 names without long entries.
func TestShortNames(t *testing.T) {
	for _, tc := range []struct {
		stored string
		flags  byte
		want   string
	}{
		{"README  TXT", 0, "README.TXT"},
		{"README  TXT", 0x18, "readme.txt"},
		{"README  TXT", 0x08, "readme.TXT"},
		{"README  TXT", 0x10, "README.txt"},
		{"NOEXT      ", 0, "NOEXT"},
		{"A B     C D", 0, "A B.C D"},
		{"\x05UMLAUT    ", 0, "σUMLAUT"},
		{"UML\x9aUT     ", 0, "UMLÜUT"},
	} {
		if got := shortName(append([]byte(tc.stored), attrArchive, tc.flags)); got != tc.want {
			t.Errorf("%q with flags %#x is shown as %q, want %q", tc.stored, tc.flags, got, tc.want)
		}
	}
	if n := len([]rune(upper437)); n != 128 {
		t.Errorf("code page 437 has %d upper characters", n)
	}
}

func TestTruncated(t *testing.T) {
	image := patched(t, func([]byte, func(string) []byte) {})
	r := open(t, image)
	last := r.root.kid("long name").extents[0].offset
	for size := 0; size <= int(last); size += SectorSize {
		if _, err := NewReader(bytes.NewReader(image), int64(size)); !errors.Is(err, ErrFormat) {
			t.Errorf("the first %d of %d bytes: %v, want ErrFormat", size, len(image), err)
		}
		// A medium that is shorter than stated fails when the missing part is read.
		r, err := NewReader(bytes.NewReader(image[:size]), int64(len(image)))
		if err == nil {
			_, err = r.ReadFile("long name")
		}
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%d bytes that are said to be %d: %v, want ErrUnexpectedEOF", size, len(image), err)
		}
	}
	if _, err := NewReader(bytes.NewReader(image), -1); !errors.Is(err, ErrFormat) {
		t.Errorf("a negative size: %v", err)
	}
}

func TestNotFiles(t *testing.T) {
	r := open(t, patched(t, func([]byte, func(string) []byte) {}))
	if _, err := r.ReadFile("DIR"); err == nil {
		t.Error("a directory was read as a file")
	}
	if _, err := r.ReadDir("FIRST"); err == nil {
		t.Error("a file was read as a directory")
	}
	for _, path := range []string{"FIRST/x", "none", "DIR/none"} {
		if _, err := r.Open(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v, want ErrNotExist", path, err)
		}
	}
	for _, path := range []string{"", "/", "../x", "DIR/", "./FIRST"} {
		if _, err := r.Open(path); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%q: %v, want ErrInvalid", path, err)
		}
	}
}
