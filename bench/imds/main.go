// Command imds measures the metadata service: a fleet of machines that boots at once, and the throughput of its answers
// beside that of a bare net/http handler with the same bytes and of other metadata servers, in one run on one machine:
//
//	cd bench && go run ./imds
//
// Absolute numbers depend on the machine and its load; the ratios of one run are what counts. Contenders take turns, so
// that a change of load meets all of them. The clients share the processors with the servers, and check every byte.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

func main() {
	ownServer()
	machines := flag.Int("machines", 10_000, "the size of the `fleet`")
	rounds := flag.Int("rounds", 9, "measure everything this many `times` and show the medians")
	duration := flag.Duration("duration", time.Second, "how `long` a contender answers in each round")
	connections := flag.Int("connections", 32, "how many `machines` read at one time in these rounds")
	peers := flag.Bool("peers", true, "measure amazon-ec2-metadata-mock and Hegel too, built from ./peers")
	flag.Parse()
	if flag.NArg() > 0 || *rounds < 1 || *machines < *connections || *connections < 1 {
		flag.Usage()
		os.Exit(2)
	}
	exit(run(*machines, *rounds, *connections, *duration, *peers))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "imds:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func run(machines, rounds, connections int, duration time.Duration, peers bool) error {
	if err := bootFleets(machines, min(1000, machines), machines); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "vmseed-imds-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if peers {
		if err := buildPeers(dir); err != nil {
			return err
		}
	}
	list, stop, err := contenders(dir, connections, peers)
	if err != nil {
		return err
	}
	defer stop()
	fmt.Printf("\nthroughput, medians of %d rounds of %s, %d connections\n", rounds, duration, connections)
	for _, reads := range []string{"user-data", "instance-id"} {
		results, err := compare(list, reads, rounds, connections, duration)
		if err != nil {
			return err
		}
		if err := printTable(reads, results); err != nil {
			return err
		}
	}
	return nil
}

// bootFleets boots a fleet at vmseed's service and at the bare one, with a number of machines at one time, and prints what
// came of it.
func bootFleets(machines int, concurrencies ...int) error {
	fmt.Println("a fleet that boots; servers with", memoryLimit)
	for _, mode := range []string{modeOurs, modeBare} {
		p, err := startOwn(mode, machines)
		if err != nil {
			return err
		}
		defer p.stop()
		for _, concurrency := range concurrencies {
			before := p.peak()
			c := boot(p.address, machines, concurrency)
			fmt.Printf("%s: %s; peak memory %d MiB, %d MiB before\n", mode, c, p.peak(), before)
			if c.reason != nil && mode == modeOurs {
				return c.reason
			}
		}
	}
	return nil
}

// buildPeers compiles the other servers.
func buildPeers(dir string) error {
	for name, program := range map[string]string{"aemm": "github.com/aws/amazon-ec2-metadata-mock/cmd", "hegel": "github.com/tinkerbell/hegel/cmd/hegel"} {
		build := exec.Command("go", "build", "-o", filepath.Join(dir, name), program)
		build.Dir = "peers"
		if said, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("building %s (imds runs in the directory bench; -peers=false goes without): %w: %s", name, err, said)
		}
	}
	return nil
}

// result is what was found out about a contender for one path.
type result struct {
	contender
	rates []float64
	// ratios are to the bare handler in the same round. used is the time on processors for one request, in microseconds, and
	// cheaper that of the bare handler by it.
	ratios, used, cheaper []float64
	// failed is why a server of somebody else's is measured no further.
	failed error
}

// compare lets the contenders take turns. The first round warms up and is not counted.
func compare(list []contender, reads string, rounds, connections int, duration time.Duration) ([]*result, error) {
	var results []*result
	for _, c := range list {
		if _, ok := c.streams[reads]; ok {
			results = append(results, &result{contender: c})
		}
	}
	for round := range rounds + 1 {
		var bare, bareUsed float64
		for _, r := range results {
			used := r.process.processor()
			if r.failed != nil {
				continue
			}
			rate, err := r.streams[reads].run(r.process.address, connections, duration)
			if err != nil && r.ours {
				return nil, fmt.Errorf("%s, %s: %w", r.name, reads, err)
			}
			if r.failed = err; err != nil {
				continue
			}
			each := float64((r.process.processor() - used).Microseconds()) / (rate * duration.Seconds())
			if r.name == bareName {
				bare, bareUsed = rate, each
			}
			if round > 0 {
				r.rates, r.ratios = append(r.rates, rate), append(r.ratios, rate/bare)
				r.used, r.cheaper = append(r.used, each), append(r.cheaper, bareUsed/each)
			}
		}
	}
	return results, nil
}

// median is the middle one.
func median(all []float64) float64 {
	all = slices.Clone(all)
	slices.Sort(all)
	return all[len(all)/2]
}

// printTable prints the results. Ratios are the medians of those of the rounds: above 1 is better than the bare handler.
func printTable(reads string, results []*result) error {
	fmt.Println()
	t := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "requests/s\tratio\tprocessor\tratio\tpeak\t\t")
	for _, r := range results {
		if r.failed != nil {
			line, _, _ := strings.Cut(r.failed.Error(), "\n")
			fmt.Fprintf(t, "gave up\t\t\t\t\t  %s, %s: %s\n", r.name, reads, line)
			continue
		}
		fmt.Fprintf(t, "%.0f\t%.2f\t%.1f µs\t%.2f\t%d MiB\t  %s, %s\n", median(r.rates), median(r.ratios),
			median(r.used), median(r.cheaper), r.process.peak(), r.name, reads)
	}
	return t.Flush()
}
