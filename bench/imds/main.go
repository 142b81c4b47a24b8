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
	for _, concurrency := range []int{1000, 10_000} {
		if err := bootFleets(machines, concurrency); err != nil {
			return err
		}
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

// bootFleets boots a fleet at vmseed's service and at the bare one, and prints what came of it.
func bootFleets(machines, concurrency int) error {
	fmt.Println()
	for _, mode := range []string{modeOurs, modeBare} {
		p, err := startOwn(mode, machines)
		if err != nil {
			return err
		}
		before := p.peak()
		c := boot(p.address, machines, concurrency)
		fmt.Printf("%s: %s; peak memory %d MiB, %d MiB before\n", mode, c, p.peak(), before)
		p.stop()
		if c.reason != nil {
			return c.reason
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
	// ratios are to the bare handler in the same round, processor the time on a processor for one request.
	ratios    []float64
	processor []time.Duration
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
		var bare float64
		for _, r := range results {
			used := r.process.processor()
			rate, err := r.streams[reads].run(r.process.address, connections, duration)
			if err != nil {
				return nil, fmt.Errorf("%s, %s: %w", r.name, reads, err)
			}
			if r.name == bareName {
				bare = rate
			}
			if round > 0 {
				r.rates = append(r.rates, rate)
				r.ratios = append(r.ratios, rate/bare)
				r.processor = append(r.processor, time.Duration(float64(r.process.processor()-used)/(rate*duration.Seconds())))
			}
		}
	}
	return results, nil
}

// median is the middle one.
func median[T float64 | time.Duration](all []T) T {
	all = slices.Clone(all)
	slices.Sort(all)
	return all[len(all)/2]
}

// printTable prints the results. The ratio is the median of those of the rounds.
func printTable(reads string, results []*result) error {
	fmt.Println()
	t := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "requests/s\tratio\tprocessor\tpeak\t\t")
	for _, r := range results {
		fmt.Fprintf(t, "%.0f\t%.2f\t%.1f µs\t%d MiB\t  %s, %s\n", median(r.rates), median(r.ratios),
			float64(median(r.processor).Nanoseconds())/1000, r.process.peak(), r.name, reads)
	}
	return t.Flush()
}
