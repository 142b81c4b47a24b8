// Command testsummary runs the steps of `make test` and keeps count, so that the run ends with one table: how many
// tests passed, failed and were skipped, for what reasons, and how long each phase took.
//
// usage:
//
//	testsummary step PHASE NAME COMMAND...   run a command that passes or fails as a whole
//	testsummary test PHASE FLAGS...          run go test FLAGS, print failures and skips; -C DIRECTORY may come first
//	testsummary total PHASE...               print the table; fail when anything failed, is missing, or was skipped
//	                                         because a tool is not installed
//
// The counts lie in bin/summary, one file for each phase.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

const dir = "bin/summary"

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "testsummary:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	if len(args) < 2 {
		return errors.New("usage: testsummary step|test|total PHASE...")
	}
	switch args[0] {
	case "step":
		if len(args) < 4 {
			return errors.New("usage: testsummary step PHASE NAME COMMAND...")
		}
		return step(args[1], args[2], args[3:], out)
	case "test":
		return test(args[1], args[2:], out)
	case "total":
		return total(args[1:], out)
	}
	return fmt.Errorf("there is no %s", args[0])
}

// load reads the counts of a phase; there may be none yet.
func load(phase string) (Counts, error) {
	var c Counts
	data, err := os.ReadFile(filepath.Join(dir, phase+".json"))
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	return c, json.Unmarshal(data, &c)
}

// add adds counts to those of a phase.
func add(phase string, c Counts) error {
	have, err := load(phase)
	if err != nil {
		return err
	}
	data, err := json.MarshalIndent(have.Plus(c), "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, phase+".json"), append(data, '\n'), 0o644)
}

func step(phase, name string, command []string, out io.Writer) error {
	start := time.Now()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	err := cmd.Run()
	c := Counts{Seconds: time.Since(start).Seconds()}
	verdict := "ok  "
	if err != nil {
		c.Failed, verdict = []string{name}, "FAIL"
	} else {
		c.Passed = 1
	}
	fmt.Fprintf(out, "%s  %s: %s (%.1f s)\n", verdict, phase, name, c.Seconds)
	return errors.Join(err, add(phase, c))
}

func test(phase string, flags []string, out io.Writer) error {
	start := time.Now()
	// go insists on this flag being the first.
	command := []string{"test"}
	if len(flags) > 1 && flags[0] == "-C" {
		command, flags = append(command, flags[:2]...), flags[2:]
	}
	cmd := exec.Command("go", append(append(command, "-json"), flags...)...)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	c, err := Read(bufio.NewReader(stdout), out)
	wait := cmd.Wait()
	if wait != nil && len(c.Failed) == 0 {
		c.Failed = []string{"go test: " + wait.Error()}
	}
	c.Seconds = time.Since(start).Seconds()
	if err = errors.Join(err, wait, add(phase, c)); err == nil && c.Passed == 0 {
		err = errors.New("no test ran")
	}
	fmt.Fprintf(out, "%s: %s\n", phase, c)
	return err
}

func total(phases []string, out io.Writer) error {
	var sum Counts
	fmt.Fprintf(out, "\n%-14s %8s %8s %8s %8s\n", "", "passed", "failed", "skipped", "seconds")
	row := func(name string, c Counts) {
		fmt.Fprintf(out, "%-14s %8d %8d %8d %8.0f\n", name, c.Passed, len(c.Failed), len(c.Skipped), c.Seconds)
	}
	for _, phase := range phases {
		c, err := load(phase)
		if err != nil {
			return err
		}
		if c.Passed == 0 && len(c.Failed) == 0 {
			c.Failed = []string{"the phase " + phase + " did not run"}
		}
		row(phase, c)
		sum = sum.Plus(c)
	}
	row("total", sum)
	missing := 0
	for _, s := range sum.Skipped {
		fmt.Fprintf(out, "skipped %s: %s\n", s.Test, s.Reason)
		if s.Missing() {
			missing++
		}
	}
	for _, name := range sum.Failed {
		fmt.Fprintf(out, "FAILED  %s\n", name)
	}
	switch {
	case len(sum.Failed) > 0:
		return fmt.Errorf("%d failed", len(sum.Failed))
	case missing > 0:
		return fmt.Errorf("%d tests were skipped because something is not installed; run make tools as root", missing)
	}
	fmt.Fprintln(out, "all is well")
	return nil
}
