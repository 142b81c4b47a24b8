package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/vmseed/vmseed/format/fat"
	"github.com/vmseed/vmseed/format/iso9660"
)

// result is what was found out about a contender.
type result struct {
	contender
	missing bool // its program is not installed
	times   []time.Duration
	allocs  uint64 // per write; libraries only
	bytes   uint64
	size    int64
	reads   verdict
	first   [sha256.Size]byte // of the volume of the first round
	same    bool              // and of the last one
}

// verdict says what a guest finds under each kind of names: "yes", "no" for wrong content or names, "-" for none.
type verdict struct{ rockRidge, joliet, plain, fat string }

// median returns the median time of one write.
func (r *result) median() time.Duration {
	times := slices.Clone(r.times)
	slices.Sort(times)
	return times[len(times)/2]
}

// measure lets the contenders take turns. The first round warms up and is not counted.
func measure(w *workload, list []contender, dir string, rounds int) ([]*result, error) {
	var results []*result
	for _, c := range list {
		r := &result{contender: c}
		if c.program != "" {
			_, err := exec.LookPath(c.program)
			r.missing = err != nil
		}
		results = append(results, r)
	}
	out := filepath.Join(dir, "volume")
	for round := range rounds + 1 {
		for i, r := range results {
			if r == nil || r.missing {
				continue
			}
			elapsed, err := r.once(w, out)
			if errors.Is(err, errSkip) {
				results[i] = nil
				continue
			}
			if err == nil && round > 0 {
				r.times = append(r.times, elapsed)
			}
			if err == nil && !r.memory && (round == 0 || round == rounds) {
				err = r.look(w, out, round == 0)
			}
			if err != nil {
				return nil, fmt.Errorf("%s, %s: %w", r.name, w.name, err)
			}
		}
	}
	return slices.DeleteFunc(results, func(r *result) bool { return r == nil }), nil
}

// once measures the time of one write, and what it allocates if it is a library's.
func (r *result) once(w *workload, out string) (time.Duration, error) {
	reps := w.reps
	if r.process {
		reps = 1
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	for range reps {
		if err := r.write(w, out); err != nil {
			return 0, err
		}
	}
	elapsed := time.Since(start) / time.Duration(reps)
	runtime.ReadMemStats(&after)
	if !r.process {
		r.allocs = (after.Mallocs - before.Mallocs) / uint64(reps)
		r.bytes = (after.TotalAlloc - before.TotalAlloc) / uint64(reps)
	}
	return elapsed, nil
}

// look examines the volume that was written.
func (r *result) look(w *workload, out string, first bool) error {
	volume, err := os.ReadFile(out)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(volume)
	if first {
		r.first = sum
	}
	r.same, r.size = sum == r.first, int64(len(volume))
	r.reads = verdict{"-", "-", "-", "-"}
	if r.fat {
		r.reads.fat = "no"
		if v, err := fat.NewReader(bytes.NewReader(volume), r.size); err == nil {
			r.reads.fat = reads(v, w)
		}
		return nil
	}
	v, err := iso9660.NewReader(bytes.NewReader(volume), r.size)
	if err != nil {
		r.reads = verdict{"no", "no", "no", "-"}
		return nil
	}
	for names, answer := range map[iso9660.Names]*string{
		iso9660.RockRidge: &r.reads.rockRidge, iso9660.Joliet: &r.reads.joliet, iso9660.Plain: &r.reads.plain,
	} {
		switch view, err := v.Through(names); {
		case err == nil:
			*answer = reads(view, w)
		case !errors.Is(err, iso9660.ErrNames):
			*answer = "no"
		}
	}
	return nil
}

// reads says whether a guest finds all files of the workload by their names.
func reads(fsys fs.FS, w *workload) string {
	for _, f := range w.files {
		if data, err := fs.ReadFile(fsys, f.path); err != nil || !bytes.Equal(data, f.data) {
			return "no"
		}
	}
	return "yes"
}

const legend = `
ratio: time by that of vmseed for the same format: libraries by its library, programs by it as a program
RR, Joliet, plain, FAT: whether a guest that reads these names finds every file under its name, with its content
same: whether two runs gave the same bytes
`

// printTable prints the results. The ratio of a contender is to ours of its kind.
func printTable(out io.Writer, results []*result) error {
	base := make(map[string]time.Duration)
	for _, r := range results {
		if !r.missing {
			base[r.name] = r.median()
		}
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "time\tratio\tallocs\tallocated\timage\tRR\tJoliet\tplain\tFAT\tsame\t\t")
	for _, r := range results {
		if r.missing {
			fmt.Fprintf(t, "not installed\t\t\t\t\t\t\t\t\t\t\t  %s\n", r.name)
			continue
		}
		reference := ourISO
		switch {
		case r.process && r.fat:
			reference = ourFATProcess
		case r.process:
			reference = ourISOProcess
		case r.fat:
			reference = ourFAT
		}
		row := fmt.Sprintf("%s\t%.2f\t", show(r.median()), float64(r.median())/float64(base[reference]))
		if r.process {
			row += "\t\t"
		} else {
			row += fmt.Sprintf("%d\t%s\t", r.allocs, kib(int64(r.bytes)))
		}
		if r.memory {
			row += "\t\t\t\t\t\t"
		} else {
			same := map[bool]string{true: "yes", false: "no"}[r.same]
			row += fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s\t", kib(r.size), r.reads.rockRidge, r.reads.joliet, r.reads.plain,
				r.reads.fat, same)
		}
		fmt.Fprintf(t, "%s\t  %s\n", row, r.name)
	}
	return t.Flush()
}

func show(d time.Duration) string {
	return fmt.Sprintf("%.3f ms", float64(d)/float64(time.Millisecond))
}

func kib(n int64) string { return fmt.Sprintf("%d KiB", (n+1023)/1024) }
