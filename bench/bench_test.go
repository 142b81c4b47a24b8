package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestOurs checks on small workloads that the table can be made and that our own volumes are read by all names and
// come out the same twice. It runs libraries only.
func TestOurs(t *testing.T) {
	w := seedWorkload()
	w.reps = 1
	var libraries []contender
	for _, c := range contenders("") {
		if !c.process {
			libraries = append(libraries, c)
		}
	}
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	results, err := measure(w, libraries, dir, 2)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		want := verdict{"yes", "yes", "yes", "-"}
		switch r.name {
		case ourISO, rawWrite:
		case ourFAT:
			want = verdict{"-", "-", "-", "yes"}
		default:
			continue
		}
		if r.reads != want || !r.same || len(r.times) != 2 {
			t.Errorf("%s: %+v, same %v, %d times; want %+v", r.name, r.reads, r.same, len(r.times), want)
		}
	}
	var table bytes.Buffer
	if err := printTable(&table, results); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(table.String(), "\n"); lines != len(results)+1 {
		t.Errorf("%d lines for %d contenders:\n%s", lines, len(results), table.String())
	}
}

// TestVerdict checks that a volume with wrong names is found out.
func TestVerdict(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	wrong := contender{name: ourISO, write: func(w *workload, out string) error {
		other := *w
		other.files = append([]file{{"meta_data", w.files[0].data}}, w.files[1:]...)
		return oursToFile(&other, out)
	}}
	w := seedWorkload()
	w.reps = 1
	results, err := measure(w, []contender{wrong}, dir, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got := results[0].reads; got != (verdict{"no", "no", "no", "-"}) {
		t.Errorf("a volume without meta-data is judged %+v", got)
	}
}
