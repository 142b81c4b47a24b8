package cli

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite the expectations below testdata")

// canary stands in every secret of the inputs and must not stand in any message.
const canary = "CANARY"

// TestBadInput runs the command on wrong inputs, one archive below testdata/bad each. The comment of an archive is the
// command line, its files are laid out in a directory of their own, and want holds the exit status and standard error.
// Whatever the input, nothing may be written and no secret said.
func TestBadInput(t *testing.T) {
	cases, err := filepath.Glob("testdata/bad/*.txtar")
	if err != nil || len(cases) < 80 {
		t.Fatalf("%d cases, %v; there should be at least 80", len(cases), err)
	}
	for _, file := range cases {
		path, err := filepath.Abs(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { badInput(t, path) })
	}
}

func badInput(t *testing.T, file string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	var want string
	for _, f := range archive.Files {
		if f.Name == "want" {
			want = string(f.Data)
			continue
		}
		layOut(t, f)
	}
	before := listing(t)
	args := strings.Fields(strings.TrimSpace(string(archive.Comment)))
	var stdout, stderr bytes.Buffer
	status := Main(args, Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr})
	got := fmt.Sprintf("exit status %d\n%s", status, stderr.String())
	if status == exitDone || stdout.Len() > 0 {
		t.Errorf("exit status %d, standard output %q", status, stdout.String())
	}
	if after := listing(t); !slices.Equal(before, after) {
		t.Errorf("files before %q, after %q", before, after)
	}
	if strings.Contains(got, canary) {
		t.Errorf("a message holds a secret:\n%s", got)
	}
	if *update {
		archive.Files = slices.DeleteFunc(archive.Files, func(f txtar.File) bool { return f.Name == "want" })
		archive.Files = append(archive.Files, txtar.File{Name: "want", Data: []byte(got)})
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// layOut writes a file of an archive. A few names stand for contents that no archive can hold.
func layOut(t *testing.T, f txtar.File) {
	t.Helper()
	data := f.Data
	if kind, ok := strings.CutPrefix(strings.TrimSpace(string(data)), "GENERATE "); ok {
		data = generate(t, kind)
	}
	if strings.HasSuffix(f.Name, "/") {
		if err := os.MkdirAll(f.Name, 0o755); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err := os.MkdirAll(filepath.Dir(f.Name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(f.Name, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// generate makes the contents that are too large, too deep or no text.
func generate(t *testing.T, kind string) []byte {
	switch kind {
	case "bomb":
		var b strings.Builder
		b.WriteString("a: &a [x,x,x,x,x,x,x,x,x,x]\n")
		for c := 'b'; c < 'j'; c++ {
			fmt.Fprintf(&b, "%c: &%c [%s*%c]\n", c, c, strings.Repeat(fmt.Sprintf("*%c,", c-1), 9), c-1)
		}
		return []byte(b.String())
	case "deep flow":
		return []byte("a: " + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000))
	case "deep block":
		var b strings.Builder
		for i := range 2_000 {
			b.WriteString(strings.Repeat(" ", i) + "a:\n")
		}
		return []byte(b.String())
	case "deep json":
		return []byte(strings.Repeat(`{"a":`, 10_000) + "1" + strings.Repeat("}", 10_000))
	case "NUL":
		return []byte("apiVersion: v1\nkind: Pod\nname: a\x00b\n")
	case "latin-1":
		return []byte("apiVersion: v1\nkind: Pod\n# caf\xe9\n")
	case "huge":
		return bytes.Repeat([]byte("# filler\n"), 600_000)
	case "empty":
		return nil
	case "deep xml":
		return []byte(strings.Repeat("<vm>", 10_000) + strings.Repeat("</vm>", 10_000))
	case "huge xml":
		return []byte("<vm><description>" + strings.Repeat("filler ", 800_000) + "</description></vm>")
	case "wide xml":
		return []byte("<vms>" + strings.Repeat("<vm/>", 400_000) + "</vms>")
	case "latin-1 xml":
		return []byte("<vm>\n  <description>caf\xe9</description>\n</vm>\n")
	case "payload":
		return []byte("<vm><name>a</name><payloads><payload><files><file><name>a</name>\n<content>" + strings.Repeat("x", 8193) + "</content></file></files></payload></payloads></vm>")
	case "tar":
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		if err := errors.Join(w.WriteHeader(&tar.Header{Name: "disk1", Mode: 0o644}), w.Close()); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	case "tar.gz":
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		if _, err := w.Write(generate(t, "tar")); err != nil || w.Close() != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	t.Fatalf("no such content %q", kind)
	return nil
}

// listing names every file below the working directory.
func listing(t *testing.T) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(".", func(p string, _ fs.DirEntry, err error) error {
		out = append(out, p)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
