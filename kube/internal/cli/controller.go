package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/uuid"

	core "github.com/vmseed/vmseed/internal/cli"
	"github.com/vmseed/vmseed/kube/admission"
	"github.com/vmseed/vmseed/kube/controller"
	"github.com/vmseed/vmseed/kube/objects"
	"github.com/vmseed/vmseed/kube/subresources"
)

// nowhere is the address of a server that is not to be.
const nowhere = "0"

// controllerFlags are those of the command controller.
type controllerFlags struct {
	log                            logFlags
	kubeconfig, context, namespace string
	elect, beside                  bool
	metrics, health, subresources  string
	workers                        int
}

func controllerCommand(log io.Writer) *cobra.Command {
	var f controllerFlags
	cmd := &cobra.Command{
		Use: "controller", Short: "Run VirtualMachines and VirtualMachineInstances of a cluster", Args: cobra.NoArgs,
		Long: `Controller gives KubeVirt's kinds their meaning in a cluster whose nodes run vmseed-kube
node: it makes instances of VirtualMachines and launcher pods of instances, and says in
their status what became of them. It serves the API subresources.kubevirt.io, by which
virtctl starts, stops and looks into machines.

Any number of replicas may run: one leads, the others wait and serve the API.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			logger, err := f.log.logger(log)
			if err != nil {
				return err
			}
			return core.Trouble(f.run(cmd.Context(), logger))
		},
	}
	f.log.register(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "file with which the API server is reached (default: as kubectl, or the pod's service account)")
	flags.StringVar(&f.context, "context", "", "context of the kubeconfig")
	flags.StringVar(&f.namespace, "install-namespace", cmp.Or(os.Getenv("POD_NAMESPACE"), controller.Namespace), "namespace of the installation: of the lease, the feature gates and the Service")
	flags.BoolVar(&f.elect, "leader-elect", true, "lead only with the lease "+controller.Lease+", so that there may be other replicas")
	flags.BoolVar(&f.beside, "beside-kubevirt", false, "care for objects with the label or annotation "+controller.ManagedKey+"=true alone, in a cluster whose definitions are KubeVirt's")
	flags.StringVar(&f.metrics, "metrics-listen", nowhere, "address for Prometheus metrics, by http; "+nowhere+" is nowhere")
	flags.StringVar(&f.health, "health-listen", ":8081", "address for /healthz and /readyz, by http; "+nowhere+" is nowhere")
	flags.StringVar(&f.subresources, "subresources-listen", subresources.DefaultListen, "address for the API subresources.kubevirt.io; "+nowhere+" is nowhere")
	flags.IntVar(&f.workers, "workers", 0, "how many objects of a kind are looked at at once (default 16)")
	return cmd
}

// address is one for net.Listen, which is empty for nowhere.
func address(flag string) string {
	if flag == nowhere {
		return ""
	}
	return flag
}

func (f *controllerFlags) run(ctx context.Context, log *slog.Logger) error {
	config, _, err := objects.Config(f.kubeconfig, f.context)
	if err != nil {
		return err
	}
	manager, err := controller.New(ctx, config, controller.Options{Namespace: f.namespace, NoElection: !f.elect, Beside: f.beside,
		MetricsAddress: address(f.metrics), HealthAddress: address(f.health), Workers: f.workers, Log: log})
	if err != nil {
		return err
	}
	if address(f.subresources) != "" {
		server, err := subresources.New(subresources.Options{Config: config, Namespace: f.namespace, Listen: f.subresources, Version: core.Version(),
			Identities: admission.Webhook(func() string { return string(uuid.NewUUID()) }), Log: log})
		if err != nil {
			return fmt.Errorf("the API of subresources: %w", err)
		}
		if err := manager.Add(server); err != nil {
			return err
		}
	}
	go func() {
		if manager.GetCache().WaitForCacheSync(ctx) {
			log.Info("the controller is ready")
		}
	}()
	return manager.Start(ctx)
}
