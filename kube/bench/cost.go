package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"
)

// calls are numbers of requests, by verb and resource.
type calls map[string]float64

// label finds a label of a metric.
var label = regexp.MustCompile(`([a-z_]+)="([^"]*)"`)

// requests asks the API server how many requests it has answered. Those that go on, and its own, do not count.
func requests(ctx context.Context, client kubernetes.Interface) (calls, error) {
	text, err := client.CoreV1().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return nil, err
	}
	out := calls{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		rest, ok := strings.CutPrefix(lines.Text(), "apiserver_request_total{")
		if !ok {
			continue
		}
		labels := map[string]string{}
		for _, m := range label.FindAllStringSubmatch(rest, -1) {
			labels[m[1]] = m[2]
		}
		if labels["resource"] == "" || labels["verb"] == "WATCH" {
			continue
		}
		number, err := strconv.ParseFloat(rest[strings.LastIndexByte(rest, ' ')+1:], 64)
		if err != nil {
			return nil, err
		}
		name := labels["verb"] + " " + labels["resource"]
		if labels["subresource"] != "" {
			name += "/" + labels["subresource"]
		}
		if code := labels["code"]; !strings.HasPrefix(code, "2") {
			name += " (" + code + ")"
		}
		out[name] += number
	}
	return out, lines.Err()
}

// minus is what has been asked since.
func (c calls) minus(before calls) calls {
	out := maps.Clone(c)
	for name, n := range before {
		out[name] -= n
	}
	return out
}

// tell prints the requests for each machine.
func (c calls) tell(machines int) {
	total := 0.0
	for _, n := range c {
		total += n
	}
	fmt.Printf("\n%.0f requests of the API server, %.1f for each VM:\n", total, total/float64(machines))
	names := slices.SortedFunc(maps.Keys(c), func(a, b string) int { return cmp.Compare(c[b], c[a]) })
	for _, name := range names {
		if each := c[name] / float64(machines); each >= 0.05 {
			fmt.Printf("  %6.2f  %s\n", each, name)
		}
	}
}

// process is what a process needs.
type process struct {
	name   string
	cpu    time.Duration
	memory int64
}

// ticks are the units of time of /proc in a second.
const ticks = 100

// processes are this one and those that it has started (proc(5)).
func processes() map[int]process {
	out := map[int]process{}
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(filepath.Join(dir, "stat"))
		if err != nil {
			continue
		}
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(fields) < 22 || pid != os.Getpid() && fields[1] != strconv.Itoa(os.Getpid()) {
			continue
		}
		number := func(i int) int64 {
			n, _ := strconv.ParseInt(fields[i-3], 10, 64) // of field i as proc(5) counts them
			return n
		}
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		words := strings.Split(string(line), "\x00")
		name := filepath.Base(words[0])
		if len(words) > 1 && !strings.HasPrefix(words[1], "-") {
			name += " " + words[1]
		}
		out[pid] = process{name, time.Duration(number(14)+number(15)) * time.Second / ticks, number(24) * int64(os.Getpagesize())}
	}
	return out
}

// tell prints what processes have used since.
func tell(now, before map[int]process) {
	fmt.Printf("\n%-40s %10s %12s\n", "process", "CPU time", "memory")
	for _, pid := range slices.Sorted(maps.Keys(now)) {
		p := now[pid]
		if pid == os.Getpid() {
			p.name = "this one: the nodes, and who creates"
		}
		fmt.Printf("%-40s %8.1f s %8d MiB\n", p.name, (p.cpu - before[pid].cpu).Seconds(), p.memory>>20)
	}
}
