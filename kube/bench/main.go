// Command bench measures vmseed on Kubernetes without the guests: VirtualMachines are created at a real control plane, the
// real controller and real nodes make pods of them and run those, and only the VMs are simulated. It prints how long it takes until
// all run, what that costs the API server, and what each process needs.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/vmseed/vmseed/kube/internal/cluster"
	"github.com/vmseed/vmseed/kube/node"
)

// options are what is measured.
type options struct {
	program        string
	machines       int
	nodes, clients int
	limit          time.Duration
	verbose        bool
	profile        string
	gogc, dir      string
}

func main() {
	var o options
	flag.StringVar(&o.program, "program", "vmseed-kube", "the program vmseed-kube, which runs the controller")
	flag.IntVar(&o.machines, "vms", 1000, "how many VirtualMachines are created")
	flag.IntVar(&o.nodes, "nodes", 10, "how many nodes there are")
	flag.IntVar(&o.clients, "clients", 16, "how many clients create them")
	flag.DurationVar(&o.limit, "limit", 10*time.Minute, "when to give up")
	flag.StringVar(&o.profile, "profile", "", "file for a profile of what the API server spends the first 20 seconds on (go tool pprof)")
	flag.StringVar(&o.dir, "dir", memory(), "directory for the state of etcd and the nodes; one in memory stands for disks of their own")
	flag.StringVar(&o.gogc, "gogc", "", "GOGC of all processes, for a control plane that trades memory for processor time (default: as in the environment)")
	flag.BoolVar(&o.verbose, "v", false, "show what nodes log")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// memory is a directory in memory where the system has one, and else the one for temporary files.
func memory() string {
	const shared = "/dev/shm" // shm_overview(7)
	if info, err := os.Stat(shared); err == nil && info.IsDir() {
		return shared
	}
	return os.TempDir()
}

// run measures once.
func run(ctx context.Context, o options) (err error) {
	dir, err := os.MkdirTemp(o.dir, "bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fmt.Printf("the state is in %s; %d processors\n", o.dir, runtime.NumCPU())
	log := slog.New(slog.DiscardHandler)
	if o.verbose {
		log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
	node.LogTo(log)
	if o.gogc != "" {
		if err := os.Setenv("GOGC", o.gogc); err != nil {
			return err
		}
		fmt.Println("all processes of the cluster run with GOGC=" + o.gogc)
	}
	ctx, cancel := context.WithTimeout(ctx, o.limit)
	defer cancel()
	c, err := cluster.Start(ctx, cluster.Options{Dir: dir, Program: o.program})
	if err != nil {
		return err
	}
	defer func() {
		cancel() // the API server waits for those who watch
		err = errors.Join(err, c.Stop())
	}()
	nodes, stopNodes, err := startNodes(ctx, c, o.nodes, filepath.Join(dir, "nodes"), log)
	if err != nil {
		return err
	}
	defer stopNodes()
	config, err := c.Config()
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	if err := collected(ctx, config); err != nil {
		return fmt.Errorf("waiting for the garbage collector: %w", err)
	}
	before, err := requests(ctx, client)
	if err != nil {
		return err
	}
	spent := processes()
	watch, err := follow(ctx, config, o.machines)
	if err != nil {
		return err
	}
	profiled := make(chan error, 1)
	go func() { profiled <- profile(ctx, client, o.profile) }()
	start := time.Now()
	if err := create(ctx, config, o); err != nil {
		return err
	}
	fmt.Printf("%d VirtualMachines are created after %.1f s\n", o.machines, time.Since(start).Seconds())
	if err := watch.await(ctx, start); err != nil {
		return errors.Join(err, watch.tell())
	}
	took := time.Since(start)
	after, err := requests(ctx, client)
	if err != nil {
		return err
	}
	fmt.Printf("all are Running after %.1f s, on %d nodes\n", took.Seconds(), len(nodes))
	after.minus(before).tell(o.machines)
	tell(processes(), spent)
	return <-profiled
}

// profile writes a profile of the API server's CPU time into a file, if there is to be one.
func profile(ctx context.Context, client kubernetes.Interface, file string) error {
	if file == "" {
		return nil
	}
	data, err := client.CoreV1().RESTClient().Get().AbsPath("/debug/pprof/profile").Param("seconds", "20").DoRaw(ctx)
	if err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o600)
}
