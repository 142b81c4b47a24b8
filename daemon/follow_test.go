package daemon

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestGrowingLog reads a log that grows, is cut as supervisors cut theirs, and begins anew.
func TestGrowingLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "serial.log")
	var got, want bytes.Buffer
	clock := time.Unix(1_000_000, 0)
	write := func(text string) {
		t.Helper()
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err == nil {
			_, err = f.WriteString(text)
		}
		if err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
		want.WriteString(text)
	}
	copied := func(part int) {
		t.Helper()
		data, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path+".1", data[:len(data)/part], 0o600)
		}
		clock = clock.Add(time.Second)
		if err == nil {
			err = os.Chtimes(path+".1", clock, clock)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	l := growingLog{path: path}
	check := func(when string) {
		t.Helper()
		if err := l.read(func(p []byte) error { got.Write(p); return nil }); err != nil {
			t.Fatal(when, err)
		}
		if got.String() != want.String() {
			t.Fatalf("%s: %d bytes, not %d: …%.60q", when, got.Len(), want.Len(), got.String()[max(0, got.Len()-60):])
		}
	}
	check("before there is a log")
	write("older than the reader\n")
	copied(1)
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	write("first\n")
	check("at the beginning")
	for i := range 5 {
		write(strings.Repeat(fmt.Sprintln("line", i), 20_000))
		if i%2 == 0 {
			check("while it grows")
		}
		copied(2) // half way through the copy
		before := got.Len()
		if err := l.read(func(p []byte) error { got.Write(p); return nil }); err != nil || got.Len() != before {
			t.Fatalf("while the log is cut %d bytes are read: %v", got.Len()-before, err)
		}
		copied(1)
		if err := os.Truncate(path, 0); err != nil {
			t.Fatal(err)
		}
		write("after the cut\n")
		check("after it was cut")
	}
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	write("run 2\n")
	check("when another run has begun")
}
