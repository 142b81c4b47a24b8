package fat

import (
	"bytes"
	"fmt"
	"testing"
)

func BenchmarkWriteSeed(b *testing.B) {
	files := seedFiles()
	b.ReportAllocs()
	var buf bytes.Buffer
	for b.Loop() {
		im, err := New(files, Options{Label: "CIDATA"})
		if err != nil {
			b.Fatal(err)
		}
		buf.Reset()
		if _, err := im.WriteTo(&buf); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkConfigDrive1000 writes 1,000 files of 16 MiB in all to memory, BenchmarkRawWrite the same bytes without
// making a volume of them.
func BenchmarkConfigDrive1000(b *testing.B) {
	files := configDrive()
	b.ReportAllocs()
	var buf bytes.Buffer
	for b.Loop() {
		im, err := New(files, Options{Label: "CONFIG-2"})
		if err != nil {
			b.Fatal(err)
		}
		buf.Reset()
		if _, err := im.WriteTo(&buf); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRawWrite(b *testing.B) {
	image := write(b, configDrive(), Options{})
	var buf bytes.Buffer
	for b.Loop() {
		buf.Reset()
		buf.Write(image)
	}
}

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
