package iso9660

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// The benchmarks write to memory and to a file on tmpfs. BenchmarkRawWrite writes the same bytes as
// BenchmarkConfigDrive1000 without making a volume of them: the floor to compare with.

// configDrive is a config drive with 1,000 files of 16 MiB in all.
func configDrive() []File {
	files := make([]File, 1000)
	for i := range files {
		files[i] = File{
			Path: fmt.Sprintf("openstack/content/%04d", i),
			Data: bytes.Repeat([]byte{byte(i), byte(i >> 8), 'x', '\n'}, 16<<20/1000/4),
		}
	}
	return files
}

// tmpfsFile creates a file in memory, or skips the benchmark where /dev/shm is not there.
func tmpfsFile(b *testing.B) *os.File {
	dir, err := os.MkdirTemp("/dev/shm", "iso9660-bench-")
	if err != nil {
		b.Skip("no tmpfs: ", err)
	}
	b.Cleanup(func() { _ = os.RemoveAll(dir) })
	f, err := os.Create(filepath.Join(dir, "volume.iso"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = f.Close() })
	return f
}

func BenchmarkWriteSeed(b *testing.B) {
	files := seedFiles()
	b.Run("memory", func(b *testing.B) {
		b.ReportAllocs()
		var buf bytes.Buffer
		for b.Loop() {
			im, err := New(files, Options{Label: "cidata"})
			if err != nil {
				b.Fatal(err)
			}
			buf.Reset()
			if _, err := im.WriteTo(&buf); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("tmpfs", func(b *testing.B) {
		b.ReportAllocs()
		path := tmpfsFile(b).Name()
		for b.Loop() {
			im, err := New(files, Options{Label: "cidata"})
			if err != nil {
				b.Fatal(err)
			}
			f, err := os.Create(path)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := im.WriteTo(f); err != nil {
				b.Fatal(err)
			}
			if err := f.Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkConfigDrive1000(b *testing.B) {
	files := configDrive()
	f := tmpfsFile(b)
	b.ReportAllocs()
	for b.Loop() {
		rewind(b, f)
		im, err := New(files, Options{Label: "config-2"})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := im.WriteTo(f); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRawWrite(b *testing.B) {
	image := write(b, configDrive(), Options{Label: "config-2"})
	f := tmpfsFile(b)
	b.ReportAllocs()
	for b.Loop() {
		rewind(b, f)
		if _, err := f.Write(image); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	for name, files := range map[string][]File{"seed": seedFiles(), "config-drive": configDrive()} {
		image := write(b, files, Options{})
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := NewReader(bytes.NewReader(image), int64(len(image))); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func rewind(b *testing.B, f *os.File) {
	if err := f.Truncate(0); err != nil {
		b.Fatal(err)
	}
	if _, err := f.Seek(0, 0); err != nil {
		b.Fatal(err)
	}
}
