package store_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/vmseed/vmseed/daemon/store"
)

// TestMain lets the test's own program be a process that writes until it is killed, or until its files may grow no more.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "write" {
		if err := writer(os.Args[2], os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// fileLimit is more than a new store and less than what the writer would write.
const fileLimit = 1 << 20

// writer writes pairs of records from several goroutines and prints the number of each pair that was acknowledged.
func writer(dir, how string) error {
	s, err := store.Open(dir, testKey(), store.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	if how == "full" {
		return fill(s)
	}
	var numbers sync.Mutex
	next := 0
	if err := s.Each(store.VM, func(id string, _ []byte) error {
		n, err := strconv.Atoi(id)
		next = max(next, n+1)
		return err
	}); err != nil {
		return err
	}
	var all sync.WaitGroup
	errs := make(chan error, 5)
	if how == "scrubbed" {
		all.Go(func() {
			for {
				if err := s.Scrub(); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	for range 4 {
		all.Go(func() {
			for {
				numbers.Lock()
				n := next
				next++
				numbers.Unlock()
				if err := pair(s, strconv.Itoa(n), how == "torn"); err != nil {
					errs <- err
					return
				}
				fmt.Println(n)
			}
		})
	}
	all.Wait()
	return <-errs
}

// pair writes two records and an event that belong together; torn makes a transaction of each.
func pair(s *store.Store, id string, torn bool) error {
	value := []byte(id + strings.Repeat(" and more", 300))
	changes := []store.Change{{Kind: store.VM, ID: id, Value: value}, {Kind: store.Disk, ID: id, Value: value}, {Kind: store.Event, Value: []byte(id)}}
	if !torn {
		_, err := s.Apply(nil, changes...)
		return err
	}
	for _, c := range changes {
		if _, err := s.Apply(nil, c); err != nil {
			return err
		}
	}
	return nil
}

// fill writes until the file may grow no more, and then goes on once it may.
func fill(s *store.Store) error {
	limit := syscall.Rlimit{Cur: fileLimit, Max: 1 << 40}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	n := 0
	for ; ; n++ {
		if err := pair(s, strconv.Itoa(n), false); err != nil {
			if !strings.Contains(err.Error(), "store.db") || !strings.Contains(err.Error(), "file too large") {
				return fmt.Errorf("the error does not say what is wrong: %w", err)
			}
			break
		}
		fmt.Println(n)
		if n > 10_000 {
			return fmt.Errorf("the disk does not get full")
		}
	}
	if v, err := s.Get(store.VM, "0"); err != nil || v == nil {
		return fmt.Errorf("a full disk keeps from reading: %w", err)
	}
	limit.Cur = limit.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	if err := pair(s, strconv.Itoa(n), false); err != nil {
		return fmt.Errorf("after there was room again: %w", err)
	}
	fmt.Println(n)
	return nil
}

// verify opens a store and returns what is wrong with it, given the pairs that were acknowledged.
func verify(t *testing.T, dir string, acknowledged []string) (problems []string) {
	t.Helper()
	s, err := store.Open(dir, testKey(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	vms, disks, told := map[string]bool{}, map[string]bool{}, map[string]int{}
	load := func(kind store.Kind, into map[string]bool) {
		if err := s.Each(kind, func(id string, value []byte) error {
			into[id] = true
			if !strings.HasPrefix(string(value), id+" and") {
				problems = append(problems, "value of "+id)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	load(store.VM, vms)
	load(store.Disk, disks)
	last := uint64(0)
	if err := s.EachEvent(func(n uint64, value []byte) error {
		told[string(value)]++
		if n != last+1 {
			problems = append(problems, fmt.Sprintf("event %d follows %d", n, last))
		}
		last = n
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, id := range acknowledged {
		if !vms[id] || !disks[id] || told[id] != 1 {
			problems = append(problems, "acknowledged and not there: "+id)
		}
	}
	for id := range vms {
		if !disks[id] || told[id] != 1 {
			problems = append(problems, "half: "+id)
		}
	}
	if len(vms) != len(disks) || len(vms) != len(told) {
		problems = append(problems, fmt.Sprintf("%d, %d and %d", len(vms), len(disks), len(told)))
	}
	return problems
}

// killed runs writers one after the other in a directory and kills each after some acknowledgements. It returns those of all.
func killed(t *testing.T, dir, how string, rounds int) (acknowledged []string) {
	t.Helper()
	for round := range rounds {
		cmd := exec.Command(os.Args[0], "write", dir, how)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for n := 0; lines.Scan(); n++ {
			acknowledged = append(acknowledged, lines.Text())
			if n == round%13 {
				_ = cmd.Process.Kill()
			}
		}
		if err := cmd.Wait(); cmd.ProcessState.ExitCode() != -1 {
			t.Fatalf("the writer ended by itself: %v", err)
		}
	}
	return acknowledged
}

// A process that is killed in the middle of writing loses nothing that it acknowledged, and leaves no half.
func TestKill(t *testing.T) {
	dir := t.TempDir()
	acknowledged := killed(t, dir, "whole", 40)
	if problems := verify(t, dir, acknowledged); problems != nil {
		t.Errorf("%d were acknowledged: %s", len(acknowledged), problems)
	}
	t.Logf("%d pairs acknowledged by 40 killed processes", len(acknowledged))
}

// So does one that rewrites the whole file again and again.
func TestKillWhileScrubbing(t *testing.T) {
	dir := t.TempDir()
	acknowledged := killed(t, dir, "scrubbed", 20)
	if problems := verify(t, dir, acknowledged); problems != nil {
		t.Errorf("%d were acknowledged: %s", len(acknowledged), problems)
	}
}

// The first test can fail: a writer that makes a transaction of each record leaves halves.
func TestKillControl(t *testing.T) {
	dir := t.TempDir()
	if problems := verify(t, dir, killed(t, dir, "torn", 15)); problems == nil {
		t.Error("records that are written one by one are all whole: the killing proves nothing")
	}
}

func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "write", dir, "full")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	acknowledged := strings.Fields(string(out))
	if len(acknowledged) < 10 {
		t.Fatalf("only %d pairs were written", len(acknowledged))
	}
	if problems := verify(t, dir, acknowledged); problems != nil {
		t.Errorf("%d were acknowledged: %s", len(acknowledged), problems)
	}
}
