// Package cli is the command vmseed-kube: node and controller, and vmseed's own commands for definitions, which find
// Secrets and ConfigMaps in a cluster here. The contract of the command, exit statuses included, is that of vmseed.
package cli

import (
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/frontend"
	core "github.com/vmseed/vmseed/internal/cli"
	"github.com/vmseed/vmseed/kube/controller"
	"github.com/vmseed/vmseed/kube/launch"
	"github.com/vmseed/vmseed/kube/node"
	"github.com/vmseed/vmseed/kube/objects"
	"github.com/vmseed/vmseed/kube/podnet"
	"github.com/vmseed/vmseed/kube/provider"
)

const long = `vmseed-kube makes VMs a part of a Kubernetes cluster. Pods with the annotation
kubernetes.io/target-runtime: virtlet.cloud and KubeVirt's VirtualMachines become VMs on
the hosts that run vmseed-kube node. The cluster's own scheduler, garbage collector and
leases do the rest.

The commands for definitions are those of vmseed. With --kubeconfig or --context they
find Secrets, ConfigMaps and claims in a cluster.

Exit status: 0 done; 1 the input is wrong; 2 the command line is wrong; 3 something on
this machine or in the cluster is missing.`

// Main runs the command line args, whose first element is the name of the program, and returns the exit status.
func Main(args []string, std core.Streams) int { return program(std.Err).Main(args, std) }

// program is the command; its own commands write their logs to log.
func program(log io.Writer) core.Program {
	return core.Program{Name: "vmseed-kube", Short: "Run the VMs of a Kubernetes cluster", Long: long, Cluster: cluster, Codes: codes(),
		Commands: []*cobra.Command{nodeCommand(log), controllerCommand(log)}}
}

// codes are the diagnostics of this module.
func codes() []diag.Explanation {
	return slices.Concat(provider.Codes(), podnet.Codes(), launch.Codes(), controller.Codes())
}

// cluster finds the objects of a cluster.
func cluster(kubeconfig, context string) (frontend.Resolver, error) {
	config, _, err := objects.Config(kubeconfig, context)
	if err != nil {
		return nil, fmt.Errorf("the cluster: %w", err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("the cluster: %w", err)
	}
	r := objects.New(client)
	r.Hint = "your user needs the right to get it"
	return r, nil
}

// logFlags say how a command that runs on tells what it does.
type logFlags struct{ format, level string }

func (l *logFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&l.format, "log-format", "text", "how the log is written: text or json")
	cmd.Flags().StringVar(&l.level, "log-level", "info", "what is logged: debug, info, warn or error")
}

// logger makes the log of the process, that of the Kubernetes libraries included.
func (l logFlags) logger(w io.Writer) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(l.level)); err != nil {
		return nil, fmt.Errorf("--log-level takes debug, info, warn or error, not %q", l.level)
	}
	o := &slog.HandlerOptions{Level: level}
	var handler slog.Handler
	switch strings.ToLower(l.format) {
	case "text":
		handler = slog.NewTextHandler(w, o)
	case "json":
		handler = slog.NewJSONHandler(w, o)
	default:
		return nil, fmt.Errorf("--log-format takes text or json, not %q", l.format)
	}
	log := slog.New(handler)
	node.LogTo(log)
	return log, nil
}
