// Package cluster runs a whole cluster on this machine, for tests and for `make kube-up`: the control plane of package
// controlplane, what vmseed installs into a cluster, its controller, and nodes whose VMs are this machine's. Every part is
// the program that an administrator would run, as a process that can be killed and started again.
package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vmseed/vmseed/internal/supervisor"
	"github.com/vmseed/vmseed/kube/internal/controlplane"
	"github.com/vmseed/vmseed/kube/manifests"
)

// Namespace is the one that vmseed's own objects are in, as KubeVirt's are.
const Namespace = "kubevirt"

// Options are what a cluster is like.
type Options struct {
	// Dir holds everything. A cluster that was stopped goes on with what is there, its VMs included.
	Dir string
	// Program is vmseed-kube.
	Program string
	// Nodes is how many nodes there are, named node1, node2 …
	Nodes int
	// NodeFlags are further flags of the nodes, such as --image-dir. Unless they say otherwise, each VM has a network of its own:
	// the CNI configuration of this machine is another program's, and its plugins may need rights that the nodes do not have.
	NodeFlags []string
	// ControlPlane changes the control plane; its Dir is set.
	ControlPlane controlplane.Options
}

// Cluster is a cluster that runs.
type Cluster struct {
	*controlplane.ControlPlane
	// Client is the administrator's.
	Client client.Client

	options            Options
	controllers, nodes []*Process
}

// Start starts a cluster and returns when its nodes and its controller are ready. The caller stops it. The error wraps
// controlplane.ErrMissing when something must be installed first.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	c := &Cluster{options: o}
	plane := o.ControlPlane
	plane.Dir = filepath.Join(o.Dir, "controlplane")
	if err := os.MkdirAll(plane.Dir, 0o700); err != nil {
		return nil, err
	}
	var err error
	if c.ControlPlane, err = controlplane.Start(ctx, plane); err != nil {
		return nil, err
	}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) error {
	config, err := c.Config()
	if err != nil {
		return err
	}
	if c.Client, err = client.New(config, client.Options{}); err != nil {
		return err
	}
	if err := c.install(ctx); err != nil {
		return fmt.Errorf("installing vmseed into the cluster: %w", err)
	}
	controller, port, err := c.prepareController("controller")
	if err != nil {
		return err
	}
	if err := Expose(ctx, c.Client, port); err != nil {
		return fmt.Errorf("installing the API of subresources: %w", err)
	}
	c.controllers = []*Process{controller}
	started := []*Process{controller}
	for i := range c.options.Nodes {
		node, err := c.prepareNode(fmt.Sprintf("node%d", i+1))
		if err != nil {
			return err
		}
		c.nodes = append(c.nodes, node)
		started = append(started, node)
	}
	for _, p := range started {
		if err := p.launch(); err != nil {
			return err
		}
	}
	for _, p := range started {
		if err := p.await(ctx); err != nil {
			return err
		}
	}
	return nil
}

// install applies what vmseed needs in a cluster, but for the Deployment of the controller: there are no nodes for
// containers here.
func (c *Cluster) install(ctx context.Context) error {
	objects, err := manifests.Objects(manifests.CRD, manifests.RBAC, manifests.Policy, manifests.Node, manifests.Virtlet)
	if err != nil {
		return err
	}
	return manifests.Apply(ctx, c.Client, objects)
}

// Expose installs the API of subresources of a controller that is a process of this machine, with its port, and no pod
// behind a Service.
func Expose(ctx context.Context, c client.Client, port int) error {
	objects, err := manifests.Objects(manifests.APIService)
	if err != nil {
		return err
	}
	for _, o := range objects {
		switch o.GetKind() {
		case "Service":
			o.Object["spec"] = map[string]any{"type": "ExternalName", "externalName": "localhost"}
		case "APIService":
			if err := unstructured.SetNestedField(o.Object, int64(port), "spec", "service", "port"); err != nil {
				return err
			}
		}
	}
	return manifests.Apply(ctx, c, objects)
}

// AddController starts another controller beside those there are, as a further replica of its Deployment, and returns when it
// is ready to take over. The API of subresources stays the first one's.
func (c *Cluster) AddController(ctx context.Context) (*Process, error) {
	p, _, err := c.prepareController(fmt.Sprintf("controller%d", len(c.controllers)+1))
	if err != nil {
		return nil, err
	}
	c.controllers = append(c.controllers, p)
	return p, p.Start(ctx)
}

// prepareController makes a controller, as the service account that it has in a cluster, and returns the port of its API.
func (c *Cluster) prepareController(name string) (*Process, int, error) {
	dir := filepath.Join(c.options.Dir, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, 0, err
	}
	account := "system:serviceaccount:" + Namespace + ":vmseed-controller"
	config, err := c.WriteKubeconfig(filepath.Join(dir, "kubeconfig"), account, "system:serviceaccounts", "system:serviceaccounts:"+Namespace)
	if err != nil {
		return nil, 0, err
	}
	ports, err := controlplane.FreePorts(2)
	if err != nil {
		return nil, 0, err
	}
	return &Process{Name: name, dir: dir, program: c.options.Program, args: []string{
		"controller", "--kubeconfig", config, "--install-namespace", Namespace, "--leader-elect", "--log-format", "json", "--metrics-listen", "0",
		"--subresources-listen", fmt.Sprintf("127.0.0.1:%d", ports[0]), "--health-listen", fmt.Sprintf("127.0.0.1:%d", ports[1]),
	}}, ports[0], nil
}

// prepareNode makes a node with the rights of a node and no others.
func (c *Cluster) prepareNode(name string) (*Process, error) {
	dir := filepath.Join(c.options.Dir, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	config, err := c.WriteKubeconfig(filepath.Join(dir, "kubeconfig"), "system:node:"+name, "system:nodes")
	if err != nil {
		return nil, err
	}
	serving, err := c.Serving(name)
	if err != nil {
		return nil, err
	}
	cert, key := filepath.Join(dir, "serving.crt"), filepath.Join(dir, "serving.key")
	if err := errors.Join(os.WriteFile(cert, serving.Cert, 0o600), os.WriteFile(key, serving.Key, 0o600)); err != nil {
		return nil, err
	}
	ports, err := controlplane.FreePorts(1)
	if err != nil {
		return nil, err
	}
	return &Process{Name: name, dir: dir, program: c.options.Program, args: append([]string{
		"node", "--kubeconfig", config, "--name", name, "--state-dir", filepath.Join(dir, "state"), "--node-ip", "127.0.0.1",
		"--listen", fmt.Sprintf("127.0.0.1:%d", ports[0]), "--tls-cert-file", cert, "--tls-private-key-file", key,
		"--client-ca-file", c.CA(), "--log-format", "json"}, c.options.nodeFlags()...)}, nil
}

// nodeFlags are the flags that all nodes have. Of a flag that is given twice the last one counts.
func (o Options) nodeFlags() []string {
	return append([]string{"--cni-conf-dir="}, o.NodeFlags...)
}

// Node returns the process of a node.
func (c *Cluster) Node(name string) *Process {
	i := slices.IndexFunc(c.nodes, func(p *Process) bool { return p.Name == name })
	return c.nodes[i]
}

// Controller returns the process of the first controller.
func (c *Cluster) Controller() *Process { return c.controllers[0] }

// StateDir is where a node keeps its VMs.
func (c *Cluster) StateDir(node string) string { return filepath.Join(c.options.Dir, node, "state") }

// Run calls kubectl with some input, and returns what it said on its standard output and its standard error.
func (c *Cluster) Run(ctx context.Context, input io.Reader, args ...string) (stdout, stderr string, err error) {
	cmd := exec.CommandContext(ctx, c.Kubectl, append([]string{"--kubeconfig", c.Kubeconfig}, args...)...)
	var out, problems bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = input, &out, &problems
	if err = cmd.Run(); err != nil {
		err = fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(problems.String()))
	}
	return out.String(), problems.String(), err
}

// Stop ends the nodes' and the controller's processes and then the control plane. VMs run on.
func (c *Cluster) Stop() error {
	var errs []error
	for _, p := range slices.Concat(c.nodes, c.controllers) {
		errs = append(errs, p.Stop())
	}
	return errors.Join(append(errs, c.ControlPlane.Stop())...)
}

// Logs writes the end of what each part has said.
func (c *Cluster) Logs(w io.Writer) {
	for _, p := range slices.Concat(c.nodes, c.controllers) {
		fmt.Fprintf(w, "--- %s ---\n%s\n", p.Name, p.Log())
	}
	c.ControlPlane.Logs(w)
}

// SwitchOff ends the VMs of all nodes and their supervisors, as when the power goes. It is for a cluster whose nodes have
// stopped.
func (c *Cluster) SwitchOff(ctx context.Context) error {
	var errs []error
	for _, n := range c.nodes {
		dirs, err := supervisor.List(filepath.Join(c.StateDir(n.Name), "vms"))
		errs = append(errs, err)
		for _, dir := range dirs {
			vm, err := supervisor.Open(dir)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			state, err := vm.State(ctx)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			if !state.Status.Alive() {
				continue
			}
			// The supervisor first, so that it does not record an end.
			for _, pid := range []int{state.Supervisor, state.PID} {
				if p, err := os.FindProcess(pid); pid > 0 && err == nil {
					_ = p.Kill()
				}
			}
		}
	}
	return errors.Join(errs...)
}
