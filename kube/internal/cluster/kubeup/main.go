// Command kubeup runs a cluster with vmseed on this machine until it is interrupted: what `make kube-up` starts. It is for
// trying vmseed out; nobody else can reach it. What is in the cluster is there again at the next start.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/vmseed/vmseed/kube/internal/cluster"
	"github.com/vmseed/vmseed/kube/internal/controlplane"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "kube-up:", err)
		os.Exit(1)
	}
}

func run() error {
	state, err := stateDir()
	if err != nil {
		return err
	}
	flags := flag.NewFlagSet("kubeup", flag.ExitOnError)
	dir := flags.String("dir", state, "where the cluster is kept")
	program := flags.String("program", "vmseed-kube", "the program vmseed-kube")
	nodes := flags.Int("nodes", 2, "how many nodes there are")
	port := flags.Int("port", 16443, "the port of the API server on 127.0.0.1")
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), "usage: kubeup [flags] [-- flags of the nodes]")
		flags.PrintDefaults()
	}
	if err := flags.Parse(os.Args[1:]); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	fmt.Println("starting the control plane, the controller and the nodes …")
	c, err := cluster.Start(ctx, cluster.Options{Dir: *dir, Program: *program, Nodes: *nodes, NodeFlags: flags.Args(),
		ControlPlane: controlplane.Options{Port: *port, Durable: true}})
	if err != nil {
		return err
	}
	fmt.Printf(`The cluster runs until you press Ctrl-C. In another terminal:

    export KUBECONFIG=%s
    alias kubectl=%s
    kubectl get nodes

Logs are controller/log, node1/log … and controlplane/logs in %s.
`, c.Kubeconfig, c.Kubectl, *dir)
	<-ctx.Done()
	fmt.Println("stopping; the VMs are cut off")
	return errors.Join(c.Stop(), c.SwitchOff(context.Background()))
}

// stateDir is where the cluster of this user is kept.
func stateDir() (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); dir != "" {
		return filepath.Join(dir, "vmseed", "kube"), nil
	}
	home, err := os.UserHomeDir()
	return filepath.Join(home, ".local", "state", "vmseed", "kube"), err
}
