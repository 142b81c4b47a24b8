package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// Counts is what became of a phase's tests.
type Counts struct {
	Passed  int
	Failed  []string
	Skipped []Skip
	Seconds float64
}

// Skip is a test that did not run.
type Skip struct{ Test, Reason string }

// Missing reports whether the test was skipped because a tool is not installed.
func (s Skip) Missing() bool { return strings.HasPrefix(s.Reason, "SKIP-MISSING:") }

// Plus returns the sum of two counts.
func (c Counts) Plus(d Counts) Counts {
	return Counts{c.Passed + d.Passed, slices.Concat(c.Failed, d.Failed), slices.Concat(c.Skipped, d.Skipped), c.Seconds + d.Seconds}
}

// String returns the counts in words.
func (c Counts) String() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped, %.0f s", c.Passed, len(c.Failed), len(c.Skipped), c.Seconds)
}

// event is a line of go test -json (go doc test2json), or of the build output that precedes it.
type event struct {
	Action, Package, ImportPath, Test, Output, FailedBuild string
	Elapsed                                                float64
}

// slow is the time in seconds from which on a passed test is shown.
const slow = 5

// skipLine is how package testing prints the reason of a skip: file.go:12: reason.
var skipLine = regexp.MustCompile(`^\s*[\w.-]+\.go:[0-9]+: (.*)$`)

// Read follows the output of go test -json. It prints a line for each package and each slow test, the output of tests
// that fail, and the reasons of skips. Tests with subtests are counted by their subtests.
func Read(in *bufio.Reader, out io.Writer) (Counts, error) {
	var c Counts
	output := map[string][]string{}
	parents := map[string]bool{}
	for {
		line, err := in.ReadString('\n')
		if line != "" {
			var e event
			if json.Unmarshal([]byte(line), &e) != nil {
				fmt.Fprint(out, line)
			} else {
				c.follow(e, output, parents, out)
			}
		}
		if errors.Is(err, io.EOF) {
			return c, nil
		}
		if err != nil {
			return c, err
		}
	}
}

func (c *Counts) follow(e event, output map[string][]string, parents map[string]bool, out io.Writer) {
	key := e.Package + " " + e.Test
	name := strings.TrimSpace(key)
	switch e.Action {
	case "build-output":
		fmt.Fprint(out, e.Output)
	case "run":
		if i := strings.LastIndexByte(e.Test, '/'); i >= 0 {
			parents[e.Package+" "+e.Test[:i]] = true
		}
	case "output":
		output[key] = append(output[key], e.Output)
		// A TestMain that finds nothing to test with can only print so.
		if s := (Skip{name, strings.TrimSpace(e.Output)}); e.Test == "" && s.Missing() {
			c.Skipped = append(c.Skipped, s)
			fmt.Fprintf(out, "skip  %s: %s\n", name, s.Reason)
		}
	case "pass":
		switch {
		case e.Test == "":
			fmt.Fprintf(out, "ok    %s (%.1f s)\n", e.Package, e.Elapsed)
		case e.Elapsed >= slow:
			fmt.Fprintf(out, "      %s (%.1f s)\n", e.Test, e.Elapsed)
		}
		if e.Test != "" && !parents[key] {
			c.Passed++
		}
		delete(output, key)
	case "skip":
		if e.Test != "" {
			s := Skip{name, reason(output[key])}
			c.Skipped = append(c.Skipped, s)
			fmt.Fprintf(out, "skip  %s: %s\n", name, s.Reason)
		}
		delete(output, key)
	case "fail":
		fmt.Fprintf(out, "FAIL  %s\n%s", name, strings.Join(output[key], ""))
		if e.Test != "" && !parents[key] || e.Test == "" && !c.failedIn(e.Package) {
			c.Failed = append(c.Failed, name)
		}
		delete(output, key)
	}
}

// failedIn reports whether a test of the package is among the failed ones already.
func (c *Counts) failedIn(pkg string) bool {
	return slices.ContainsFunc(c.Failed, func(name string) bool { return strings.HasPrefix(name, pkg+" ") })
}

// reason finds why a test was skipped: the last thing it logged.
func reason(lines []string) string {
	for _, line := range slices.Backward(lines) {
		if m := skipLine.FindStringSubmatch(strings.TrimRight(line, "\n")); m != nil {
			return m[1]
		}
	}
	return "no reason given"
}
