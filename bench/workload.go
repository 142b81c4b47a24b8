package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/vmseed/vmseed/format/fat"
	"github.com/vmseed/vmseed/format/iso9660"
)

// workload is a tree to write.
type workload struct {
	name  string
	label string
	files []file
	dir   string // holds the tree for programs
	reps  int    // writes per measurement of a library
}

type file struct {
	path string
	data []byte
}

// seedWorkload is a typical NoCloud seed.
func seedWorkload() *workload {
	return &workload{name: "NoCloud seed", label: "cidata", reps: 20, files: []file{
		{"meta-data", fill("instance-id: i-", 200)},
		{"user-data", fill("#cloud-config\n", 4<<10)},
		{"network-config", fill("version: 2\n", 500)},
	}}
}

// driveWorkload is a large config drive.
func driveWorkload() *workload {
	w := &workload{name: "config drive", label: "config-2", reps: 1}
	for i := range 1000 {
		w.files = append(w.files, file{fmt.Sprintf("openstack/content/%04d", i), fill(fmt.Sprint("file ", i, "\n"), 16<<20/1000)})
	}
	return w
}

// fill repeats a text up to a length.
func fill(text string, length int) []byte {
	return bytes.Repeat([]byte(text), length/len(text)+1)[:length]
}

func (w *workload) bytes() int {
	n := 0
	for _, f := range w.files {
		n += len(f.data)
	}
	return n
}

// store writes the tree below dir, for programs to read.
func (w *workload) store(dir string) error {
	w.dir = filepath.Join(dir, w.label+"-tree")
	for _, f := range w.files {
		path := filepath.Join(w.dir, f.path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, f.data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (w *workload) isoFiles() []iso9660.File {
	files := make([]iso9660.File, len(w.files))
	for i, f := range w.files {
		files[i] = iso9660.File{Path: f.path, Data: f.data}
	}
	return files
}

func (w *workload) fatFiles() []fat.File {
	files := make([]fat.File, len(w.files))
	for i, f := range w.files {
		files[i] = fat.File{Path: f.path, Data: f.data}
	}
	return files
}
