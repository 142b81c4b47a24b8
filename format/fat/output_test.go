package fat

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

// source gives data and then, if it is set, an error.
type source struct {
	io.Reader
	closed *int
}

func (s source) Close() error { *s.closed++; return nil }

func TestSourceErrors(t *testing.T) {
	broken := errors.New("broken")
	closed := 0
	opener := func(r io.Reader) func() (io.ReadCloser, error) {
		return func() (io.ReadCloser, error) { return source{r, &closed}, nil }
	}
	for name, tc := range map[string]struct {
		file File
		want error
	}{
		"short":         {File{Size: 4, Open: opener(strings.NewReader("abc"))}, ErrSize},
		"long":          {File{Size: 2, Open: opener(strings.NewReader("abc"))}, ErrSize},
		"read error":    {File{Size: 4, Open: opener(io.MultiReader(strings.NewReader("a"), errorReader{broken}))}, broken},
		"error at end":  {File{Size: 1, Open: opener(io.MultiReader(strings.NewReader("a"), errorReader{broken}))}, broken},
		"does not open": {File{Size: 4, Open: func() (io.ReadCloser, error) { return nil, broken }}, broken},
	} {
		t.Run(name, func(t *testing.T) {
			tc.file.Path = "dir/file"
			closed = 0
			im, err := New([]File{tc.file}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			_, err = im.WriteTo(io.Discard)
			var pathErr *PathError
			if !errors.Is(err, tc.want) || !errors.As(err, &pathErr) || pathErr.Path != "dir/file" {
				t.Errorf("got %v, want %v of dir/file", err, tc.want)
			}
			if name != "does not open" && closed != 1 {
				t.Errorf("the source was closed %d times", closed)
			}
		})
	}
}

type errorReader struct{ err error }

func (r errorReader) Read([]byte) (int, error) { return 0, r.err }

// failAfter accepts n bytes.
type failAfter struct{ n int }

var errFull = errors.New("full")

func (w *failAfter) Write(p []byte) (int, error) {
	if len(p) > w.n {
		n := w.n
		w.n = 0
		return n, errFull
	}
	w.n -= len(p)
	return len(p), nil
}

func TestWriterErrors(t *testing.T) {
	files := append(treeFiles(), File{Path: "big", Data: make([]byte, 1<<20)},
		File{Path: "opened", Size: 1 << 20, Open: func() (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(make([]byte, 1<<20))), nil
		}})
	im, err := New(files, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for room := 0; int64(room) < im.Size(); room += 100_000 {
		n, err := im.WriteTo(&failAfter{room})
		if !errors.Is(err, errFull) || n != int64(room) {
			t.Errorf("with room for %d bytes: %d, %v", room, n, err)
		}
	}
	if n, err := im.WriteTo(&failAfter{int(im.Size())}); err != nil || n != im.Size() {
		t.Errorf("with enough room: %d, %v", n, err)
	}
}
