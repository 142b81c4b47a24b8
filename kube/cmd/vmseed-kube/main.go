// Command vmseed-kube runs VMs of a Kubernetes cluster: it is a node of the cluster on a hypervisor's host, and the
// controller of KubeVirt's kinds.
package main

import (
	"os"

	core "github.com/vmseed/vmseed/internal/cli"
	"github.com/vmseed/vmseed/kube/internal/cli"
)

func main() {
	os.Exit(cli.Main(os.Args, core.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
