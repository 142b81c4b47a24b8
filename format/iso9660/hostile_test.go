package iso9660

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"
)

// patched returns a small volume that change has damaged. record gives the bytes of the directory record with the
// given plain identifier, from its start on.
func patched(t *testing.T, change func(image []byte, record func(id string) []byte)) []byte {
	t.Helper()
	image := write(t, []File{
		{Path: "first", Data: bytes.Repeat([]byte("1"), 3000)},
		{Path: "frost", Data: []byte("2")},
		{Path: "dir/inner", Data: []byte("3")},
		{Path: strings.Repeat("long", 50), Data: []byte("4")},
	}, Options{Label: "cidata"})
	change(image, func(id string) []byte {
		at := bytes.Index(image[tablesSector*SectorSize+4*SectorSize:], append([]byte{byte(len(id))}, id...))
		if at < 0 {
			t.Fatalf("no record of %s", id)
		}
		return image[tablesSector*SectorSize+4*SectorSize+at-recordHead+1:]
	})
	return image
}

// entryOf returns the system use entry with the given signature in a record.
func entryOf(record []byte, signature string) []byte {
	return record[bytes.Index(record, []byte(signature)):]
}

func TestHostileVolumes(t *testing.T) {
	type record = func(id string) []byte
	const long = "LONGLONGLONGLONGLONGLONGLONGLO.;1"
	for name, tc := range map[string]struct {
		change func(image []byte, record record)
		want   error
	}{
		"no descriptor":          {func(b []byte, _ record) { b[primarySector*SectorSize+1] = 'X' }, ErrFormat},
		"no primary descriptor":  {func(b []byte, _ record) { b[primarySector*SectorSize] = 3 }, ErrFormat},
		"block size 0":           {func(b []byte, _ record) { b[primarySector*SectorSize+129] = 0 }, ErrFormat},
		"root outside":           {func(b []byte, _ record) { put32(b[primarySector*SectorSize+158:], 1<<31) }, ErrFormat},
		"root of 4 GiB":          {func(b []byte, _ record) { put32(b[primarySector*SectorSize+166:], 1<<32-1) }, ErrFormat},
		"root of no bytes":       {func(b []byte, _ record) { put32(b[primarySector*SectorSize+166:], 0) }, ErrFormat},
		"root without records":   {func(b []byte, _ record) { put32(b[primarySector*SectorSize+158:], 0) }, ErrFormat},
		"directory loop":         {func(b []byte, r record) { copy(r("DIR")[2:10], b[primarySector*SectorSize+158:]) }, ErrFormat},
		"directory outside":      {func(_ []byte, r record) { put32(r("DIR")[2:], 1<<31) }, ErrFormat},
		"directory of 4 GiB":     {func(_ []byte, r record) { put32(r("DIR")[10:], 1<<32-2048) }, ErrFormat},
		"file outside":           {func(_ []byte, r record) { put32(r("FIRST.;1")[2:], 1<<31) }, ErrFormat},
		"file of 4 GiB":          {func(_ []byte, r record) { put32(r("FIRST.;1")[10:], 1<<32-1) }, ErrFormat},
		"interleaved file":       {func(_ []byte, r record) { r("FIRST.;1")[26] = 1 }, ErrFormat},
		"short record":           {func(_ []byte, r record) { r("FIRST.;1")[0] = 33 }, ErrFormat},
		"record past the sector": {func(_ []byte, r record) { r("INNER.;1")[0] = 255; r("INNER.;1")[255] = 255 }, ErrFormat},
		"identifier too long":    {func(_ []byte, r record) { r("FIRST.;1")[32] = 255 }, ErrFormat},
		"no identifier":          {func(_ []byte, r record) { r("FIRST.;1")[32] = 0 }, ErrFormat},
		"entry of length 3":      {func(_ []byte, r record) { entryOf(r("FIRST.;1"), "PX")[2] = 3 }, ErrFormat},
		"entry too long":         {func(_ []byte, r record) { entryOf(r("FIRST.;1"), "NM")[2] = 250 }, ErrFormat},
		"name with a slash":      {func(_ []byte, r record) { entryOf(r("FIRST.;1"), "NM")[7] = '/' }, ErrName},
		"name with a NUL":        {func(_ []byte, r record) { entryOf(r("FIRST.;1"), "NM")[7] = 0 }, ErrName},
		"name not in UTF-8":      {func(_ []byte, r record) { entryOf(r("FIRST.;1"), "NM")[7] = 0xff }, ErrName},
		"name dot-dot":           {func(_ []byte, r record) { copy(entryOf(r("DIR"), "NM")[2:], "\x07\x01\x00..") }, ErrName},
		"same name twice":        {func(_ []byte, r record) { entryOf(r("FIRST.;1"), "NM")[6] = 'r'; entryOf(r("FIRST.;1"), "NM")[7] = 'o' }, ErrDuplicate},
		"file that is a directory": {func(_ []byte, r record) { put32(entryOf(r("FIRST.;1"), "PX")[4:], unixDir) },
			ErrFormat},
		"extent without an end":     {func(_ []byte, r record) { r(long)[25] = flagMultiExtent }, ErrFormat},
		"extents of two files":      {func(_ []byte, r record) { r("FIRST.;1")[25] = flagMultiExtent }, ErrFormat},
		"continuation outside":      {func(_ []byte, r record) { put32(entryOf(r(long), "CE")[4:], 1<<31) }, ErrFormat},
		"continuation of 4 GiB":     {func(_ []byte, r record) { put32(entryOf(r(long), "CE")[20:], 1<<32-1) }, ErrFormat},
		"continuation loop":         {loop, ErrFormat},
		"relocated directory loops": {func(b []byte, r record) { copy(entryOf(r("FIRST.;1"), "PX"), relocatedTo(b)) }, ErrFormat},
		"relocated to nowhere":      {func(_ []byte, r record) { copy(entryOf(r("FIRST.;1"), "PX"), "CL\x0c\x01\xff\xff\xff\x7f") }, ErrFormat},
		"link component too long":   {func(_ []byte, r record) { copy(entryOf(r("FIRST.;1"), "PX"), "SL\x24\x01\x00\x00\xf0") }, ErrFormat},
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

// loop makes the continuation area of a name continue in itself.
func loop(image []byte, record func(string) []byte) {
	entry := entryOf(record("LONGLONGLONGLONGLONGLONGLONGLO.;1"), "CE")
	area := image[le32(entry[4:])*SectorSize+le32(entry[12:]):]
	copy(area, entry[:lenCE])
}

// relocatedTo returns an entry that makes a record stand for the root directory, and ends the system use area.
func relocatedTo(image []byte) []byte {
	entry := append([]byte("CL\x0c\x01"), make([]byte, 12)...)
	put32(entry[4:], binary.LittleEndian.Uint32(image[primarySector*SectorSize+158:]))
	return entry
}

func TestTruncated(t *testing.T) {
	image := patched(t, func([]byte, func(string) []byte) {})
	last, err := open(t, image).lookup("open", strings.Repeat("long", 50), false)
	if err != nil {
		t.Fatal(err)
	}
	for size := 0; size <= int(last.extents[0].offset); size += 512 {
		if _, err := NewReader(bytes.NewReader(image), int64(size)); !errors.Is(err, ErrFormat) {
			t.Errorf("the first %d of %d bytes: %v, want ErrFormat", size, len(image), err)
		}
		// A medium that is shorter than stated fails when the missing part is read.
		r, err := NewReader(bytes.NewReader(image[:size]), int64(len(image)))
		if err == nil {
			_, err = r.ReadFile(strings.Repeat("long", 50))
		}
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%d bytes that are said to be %d: %v, want ErrUnexpectedEOF", size, len(image), err)
		}
	}
	if _, err := NewReader(bytes.NewReader(image), -1); !errors.Is(err, ErrFormat) {
		t.Errorf("a negative size: %v", err)
	}
}

// TestReadErrors checks that errors of the medium are told from errors of the format.
func TestReadErrors(t *testing.T) {
	image := patched(t, func([]byte, func(string) []byte) {})
	broken := errors.New("medium error")
	for fail := 0; ; fail++ {
		m := &medium{r: bytes.NewReader(image), left: fail, err: broken}
		r, err := NewReader(m, int64(len(image)))
		if err == nil {
			m.left = 0
			if _, err := r.ReadFile("first"); !errors.Is(err, broken) {
				t.Errorf("ReadFile: %v", err)
			}
			if f, err := r.Open("first"); err != nil {
				t.Error(err)
			} else if _, err := io.ReadAll(f); !errors.Is(err, broken) {
				t.Errorf("Read: %v", err)
			}
			return
		}
		if !errors.Is(err, broken) || errors.Is(err, ErrFormat) {
			t.Errorf("when read %d fails: %v", fail, err)
		}
	}
}

// medium fails after some reads.
type medium struct {
	r    io.ReaderAt
	left int
	err  error
}

func (m *medium) ReadAt(p []byte, offset int64) (int, error) {
	if m.left--; m.left < 0 {
		return 0, m.err
	}
	return m.r.ReadAt(p, offset)
}

// TestMultiExtent joins the records of two files into one file of two extents, as a file of 4 GiB and more has.
func TestMultiExtent(t *testing.T) {
	image := patched(t, func(_ []byte, record func(string) []byte) {
		first, second := record("FIRST.;1"), record("FROST.;1")
		first[25] = flagMultiExtent
		put32(first[10:], SectorSize)
		copy(entryOf(second, "NM"), entryOf(first, "NM")[:10])
	})
	r := open(t, image)
	want := strings.Repeat("1", SectorSize) + "2"
	if data, err := r.ReadFile("first"); err != nil || string(data) != want {
		t.Errorf("%d bytes, %v; want %d", len(data), err, len(want))
	}
	f, err := r.Open("first")
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 3)
	if _, err := f.(io.ReaderAt).ReadAt(got, SectorSize-2); err != nil || string(got) != "112" {
		t.Errorf("across the extents: %q, %v", got, err)
	}
	if _, err := r.Stat("frost"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the second extent is a file of its own: %v", err)
	}
}

// TestBlockSize reads a volume whose blocks are smaller than its sectors.
func TestBlockSize(t *testing.T) {
	image := patched(t, func(b []byte, record func(string) []byte) {
		for _, d := range []int{primarySector, jolietSector} {
			put16(b[d*SectorSize+128:], 512)
			root := b[d*SectorSize+156:]
			put32(root[2:], le32(root[2:])*4)
		}
		for _, id := range []string{"FIRST.;1", "FROST.;1", "DIR", "INNER.;1", "LONGLONGLONGLONGLONGLONGLONGLO.;1"} {
			put32(record(id)[2:], le32(record(id)[2:])*4)
		}
		entry := entryOf(record("LONGLONGLONGLONGLONGLONGLONGLO.;1"), "CE")
		put32(entry[4:], le32(entry[4:])*4)
	})
	r := open(t, image)
	for path, want := range map[string]string{"frost": "2", "dir/inner": "3", strings.Repeat("long", 50): "4"} {
		if data, err := r.ReadFile(path); err != nil || string(data) != want {
			t.Errorf("%s: %q, %v", path, data, err)
		}
	}
}

func TestNotFiles(t *testing.T) {
	r := open(t, patched(t, func([]byte, func(string) []byte) {}))
	if _, err := r.ReadFile("dir"); err == nil {
		t.Error("a directory was read as a file")
	}
	if _, err := r.ReadDir("first"); err == nil {
		t.Error("a file was read as a directory")
	}
	if _, err := r.ReadLink("first"); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("ReadLink of a file: %v", err)
	}
	for _, path := range []string{"first/x", "none", "dir/none"} {
		if _, err := r.Open(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v, want ErrNotExist", path, err)
		}
	}
	for _, path := range []string{"", "/", "../x", "dir/", "./first"} {
		if _, err := r.Open(path); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%q: %v, want ErrInvalid", path, err)
		}
	}
}
