package qcow2

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"
)

// image makes the start of an image whose backing file, if it has a name, is named behind the header.
func image(version uint32, size, incompatible uint64, backing string) []byte {
	head := make([]byte, HeaderSize, HeaderSize+len(backing))
	copy(head, magic)
	binary.BigEndian.PutUint32(head[atVersion:], version)
	binary.BigEndian.PutUint64(head[atSize:], size)
	binary.BigEndian.PutUint64(head[atIncompatible:], incompatible)
	if backing != "" {
		binary.BigEndian.PutUint64(head[atBacking:], HeaderSize)
		binary.BigEndian.PutUint32(head[atBackingSize:], uint32(len(backing)))
	}
	return append(head, backing...)
}

func TestParse(t *testing.T) {
	long := strings.Repeat("x", nameLimit)
	beyond := image(3, 1, 0, "base")
	beyond[atBacking] = 0xff
	for _, tt := range []struct {
		name  string
		image []byte
		want  Header
		leads bool
		base  string
		err   error // of Parse, or of BackingFile
	}{
		{"version 2", image(2, 5<<30, 0, ""), Header{Version: 2, Size: 5 << 30}, false, "", nil},
		{"version 3", image(3, 1<<40, 0, ""), Header{Version: 3, Size: 1 << 40}, false, "", nil},
		{"no bytes for a guest", image(3, 0, 0, ""), Header{Version: 3}, false, "", nil},
		{"version 2 of 72 bytes", image(2, 7, 0, "")[:72], Header{Version: 2, Size: 7}, false, "", nil},
		{"version 2 has no features", image(2, 7, externalData, ""), Header{Version: 2, Size: 7}, false, "", nil},
		{"another feature", image(3, 7, 1, ""), Header{Version: 3, Size: 7}, false, "", nil},
		{"data elsewhere", image(3, 7, externalData|1, ""), Header{Version: 3, Size: 7, ExternalData: true}, true, "", nil},
		{"overlay", image(3, 7, 0, "../base, 1.qcow2"), Header{Version: 3, Size: 7}, true, "../base, 1.qcow2", nil},
		{"longest name", image(2, 7, 0, long), Header{Version: 2, Size: 7}, true, long, nil},
		{"name too long", image(2, 7, 0, long+"x"), Header{Version: 2, Size: 7}, true, "", ErrBacking},
		{"name cut", image(3, 7, 0, "base")[:HeaderSize+3], Header{Version: 3, Size: 7}, true, "", ErrBacking},
		{"name beyond every file", beyond, Header{Version: 3, Size: 1}, true, "", ErrBacking},
		{"empty", nil, Header{}, false, "", ErrFormat},
		{"raw", make([]byte, 4096), Header{}, false, "", ErrFormat},
		{"magic alone", []byte(magic), Header{}, false, "", ErrTruncated},
		{"version 2 cut", image(2, 7, 0, "")[:71], Header{}, false, "", ErrTruncated},
		{"version 3 cut", image(3, 7, 0, "")[:HeaderSize-1], Header{}, false, "", ErrTruncated},
		{"version 1", image(1, 7, 0, ""), Header{}, false, "", ErrVersion},
		{"version 4", image(4, 7, 0, ""), Header{}, false, "", ErrVersion},
		{"largest", image(3, math.MaxInt64, 0, ""), Header{Version: 3, Size: math.MaxInt64}, false, "", nil},
		{"too large", image(3, math.MaxInt64+1, 0, ""), Header{}, false, "", ErrSize},
	} {
		h, err := Parse(tt.image)
		base := ""
		if err == nil {
			base, err = h.BackingFile(bytes.NewReader(tt.image))
		}
		got := h
		got.backing, got.backingSize = 0, 0
		if got != tt.want || h.Leads() != tt.leads || base != tt.base || !errors.Is(err, tt.err) {
			t.Errorf("%s: %+v, leads %t to %q, %v", tt.name, h, h.Leads(), base, err)
		}
		if Is(tt.image) == (tt.err == ErrFormat) {
			t.Errorf("%s: Is says %t", tt.name, Is(tt.image))
		}
	}
}

// broken fails at every read.
type broken struct{}

var errBroken = errors.New("broken")

func (broken) ReadAt([]byte, int64) (int, error) { return 0, errBroken }

func TestBackingFileOfBrokenDisk(t *testing.T) {
	h, err := Parse(image(3, 1, 0, "base"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.BackingFile(broken{}); !errors.Is(err, errBroken) || errors.Is(err, ErrBacking) {
		t.Errorf("a disk that cannot be read: %v", err)
	}
}

// FuzzParse checks that every header has an error or a size and a version within bounds, that what follows it does not
// change what it says, and that a name of a backing file is one that stands in the image.
func FuzzParse(f *testing.F) {
	f.Add(image(2, 1<<30, 0, ""))
	f.Add(image(3, 1<<30, externalData, "base.qcow2"))
	f.Add(image(3, math.MaxUint64, 0, "x")[:90])
	f.Fuzz(func(t *testing.T, image []byte) {
		h, err := Parse(image)
		if head, again := Parse(image[:min(len(image), HeaderSize)]); head != h || again != err {
			t.Fatalf("the header alone is %+v, %v; with the image behind it, %+v, %v", head, again, h, err)
		}
		if err != nil {
			if h != (Header{}) {
				t.Fatalf("%+v with %v", h, err)
			}
			return
		}
		if h.Size < 0 || h.Version != 2 && h.Version != 3 {
			t.Fatalf("%+v", h)
		}
		name, err := h.BackingFile(bytes.NewReader(image))
		if err == nil && (len(name) > nameLimit || !bytes.Contains(image, []byte(name)) || name != "" && !h.Leads()) {
			t.Fatalf("%+v leads to %q", h, name)
		}
		if err != nil && !errors.Is(err, ErrBacking) {
			t.Fatal(err)
		}
	})
}
