// Command controlplane is the API server, the scheduler and the controller manager of Kubernetes, and kubectl, as one
// program: the first argument, or the name under which it is called, says which. Tests and `make kube-up` start it;
// nothing of vmseed links to it.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func main() {
	if name := filepath.Base(os.Args[0]); program(name) == nil && len(os.Args) > 1 {
		os.Args = os.Args[1:]
	}
	command := program(filepath.Base(os.Args[0]))
	if command == nil {
		fmt.Fprintln(os.Stderr, "usage: controlplane kube-apiserver|kube-scheduler|kube-controller-manager|kubectl [flags]")
		os.Exit(2)
	}
	os.Exit(cli.Run(command()))
}

// program returns the command of a name, or nil.
func program(name string) func() *cobra.Command {
	switch name {
	case "kube-apiserver":
		return apiserver.NewAPIServerCommand
	case "kube-scheduler":
		return func() *cobra.Command { return scheduler.NewSchedulerCommand() }
	case "kube-controller-manager":
		return controllermanager.NewControllerManagerCommand
	case "kubectl":
		return kubectl.NewDefaultKubectlCommand
	}
	return nil
}
