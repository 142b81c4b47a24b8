package testguest

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// The kernel unpacks an archive in order and makes no missing directory, and
// finds each header and content at a multiple of four. That it accepts the whole
// is judged by the booted guests.
func TestWriteCPIO(t *testing.T) {
	var archive bytes.Buffer
	files := []cpioFile{
		{"a/b/c.ko", 0o644, []byte("12345")},
		{"init", 0o755, []byte("x")},
		{"a/empty", 0o600, nil},
	}
	if err := writeCPIO(&archive, files); err != nil {
		t.Fatal(err)
	}
	want := []string{"a 40755 0", "a/b 40755 0", "a/b/c.ko 100644 5", "init 100755 1", "a/empty 100600 0", "TRAILER!!! 0 0"}
	got := listCPIO(t, archive.Bytes())
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("archive holds\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// listCPIO reads an archive the way the format defines it: "name mode size".
func listCPIO(t *testing.T, archive []byte) []string {
	t.Helper()
	const headerSize = 6 + 13*8
	field := func(header []byte, n int) int {
		v, err := strconv.ParseUint(string(header[6+8*n:6+8*n+8]), 16, 32)
		if err != nil {
			t.Fatal(err)
		}
		return int(v)
	}
	align := func(n int) int { return (n + 3) / 4 * 4 }
	var entries []string
	for at := 0; at < len(archive); {
		header := archive[at : at+headerSize]
		if string(header[:6]) != "070701" {
			t.Fatalf("no magic number at %d: %q", at, header[:6])
		}
		size, nameSize := field(header, 6), field(header, 11)
		name := archive[at+headerSize : at+headerSize+nameSize]
		if name[nameSize-1] != 0 {
			t.Fatalf("name %q does not end with NUL", name)
		}
		entries = append(entries, fmt.Sprintf("%s %o %d", name[:nameSize-1], field(header, 1), size))
		at = align(at+headerSize+nameSize) + align(size)
	}
	return entries
}
