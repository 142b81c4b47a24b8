// Command bench measures format/iso9660 and format/fat beside the libraries and programs that others use to make
// seeds, in one run on one machine, and prints a table of ratios:
//
//	cd bench && go run .
//
// Absolute times depend on the machine and its load; the ratios of one run are what counts. Contenders take turns, so
// that a change of load meets all of them. Every volume is read back: one that a guest cannot read is shown as such.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/vmseed/vmseed/format/fat"
	"github.com/vmseed/vmseed/format/iso9660"
)

func main() {
	if len(os.Args) == 5 && (os.Args[1] == isoMode || os.Args[1] == fatMode) {
		exit(writeVolume(os.Args[1], os.Args[2], os.Args[3], os.Args[4]))
	}
	rounds := flag.Int("rounds", 15, "measure everything this many `times` and show the medians")
	base := flag.String("dir", defaultDir(), "write to this `directory`, which should be on a tmpfs")
	program := flag.String("vmseed", "", "measure this vmseed `program` too, as cloud-localds (default: built from ../cmd/vmseed)")
	flag.Parse()
	if flag.NArg() > 0 || *rounds < 1 {
		flag.Usage()
		os.Exit(2)
	}
	exit(run(*base, *program, *rounds))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// run measures all contenders on all workloads.
func run(base, program string, rounds int) error {
	dir, err := os.MkdirTemp(base, "vmseed-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	// Libraries that stage files shall stage them in the same place.
	if err := os.Setenv("TMPDIR", dir); err != nil {
		return err
	}
	if program == "" {
		if program, err = buildVmseed(dir); err != nil {
			return err
		}
	}
	fmt.Printf("medians of %d rounds, written to %s; load average %s\n", rounds, base, loadAverage())
	for _, w := range []*workload{seedWorkload(), driveWorkload()} {
		if err := w.store(dir); err != nil {
			return err
		}
		results, err := measure(w, contenders(program), dir, rounds)
		if err != nil {
			return err
		}
		fmt.Printf("\n%s: %d files, %d bytes\n", w.name, len(w.files), w.bytes())
		if err := printTable(os.Stdout, results); err != nil {
			return err
		}
	}
	fmt.Print(legend)
	return nil
}

// buildVmseed builds the program of the module that bench is part of.
func buildVmseed(dir string) (string, error) {
	program := filepath.Join(dir, "vmseed")
	build := exec.Command("go", "build", "-o", program, "./cmd/vmseed")
	build.Dir = ".."
	if said, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building vmseed (bench runs in its own directory, or with -vmseed): %w: %s", err, said)
	}
	return program, nil
}

// defaultDir returns a directory on tmpfs, or the temporary directory where there is none.
func defaultDir() string {
	const shm = "/dev/shm"
	if info, err := os.Stat(shm); err == nil && info.IsDir() {
		return shm
	}
	return os.TempDir()
}

func loadAverage() string {
	content, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(content))[:3], " ")
}

// These arguments make bench write one volume and end: our libraries as programs, to be compared with programs.
const (
	isoMode = "write-iso"
	fatMode = "write-fat"
)

// writeVolume writes the tree in dir to the file out.
func writeVolume(mode, label, dir, out string) error {
	if mode == fatMode {
		files, err := fat.Files(os.DirFS(dir))
		if err != nil {
			return err
		}
		im, err := fat.New(files, fat.Options{Label: label})
		if err != nil {
			return err
		}
		return writeFile(im, out)
	}
	files, err := iso9660.Files(os.DirFS(dir))
	if err != nil {
		return err
	}
	im, err := iso9660.New(files, iso9660.Options{Label: label})
	if err != nil {
		return err
	}
	return writeFile(im, out)
}
