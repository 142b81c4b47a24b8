// Package controlplane runs a real control plane of Kubernetes on this machine, for tests and for `make kube-up`: etcd,
// the API server, the scheduler and the controller manager, as processes on 127.0.0.1 with certificates of their own.
// Nobody but this machine reaches it. A real cluster has its own.
package controlplane

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// ErrMissing is wrapped by errors about a program that is not on this machine.
var ErrMissing = errors.New("a program of the control plane is missing")

// patience is how long a part of the control plane may take until it is ready: these machines are shared.
const patience = 5 * time.Minute

// Options are what a control plane is like. The zero value is one for a test.
type Options struct {
	// Dir holds certificates, data and logs. A control plane that was stopped goes on with what is there.
	Dir string
	// Port is that of the API server; 0 picks a free one.
	Port int
	// Durable has etcd write to the disk before it says that it has. Tests need not wait for that.
	Durable bool
	// Alone leaves the scheduler and the controller manager out, and what needs them: taints of new nodes, service accounts.
	Alone bool
	// APIServer, ControllerManager and Scheduler are further flags, which go before those of this package.
	APIServer, ControllerManager, Scheduler []string
}

// ControlPlane is a control plane that runs. Its methods may be called by several goroutines.
type ControlPlane struct {
	// Kubectl is the path of kubectl, and Kubeconfig that of the administrator's configuration.
	Kubectl, Kubeconfig string
	// URL is the API server's.
	URL string

	dir, programs string
	ca            *authority
	processes     []*Process
}

// Start starts a control plane and returns when all of it is ready. The caller stops it; it ends with this process in any
// case. The error wraps ErrMissing when something must be installed first.
func Start(ctx context.Context, o Options) (*ControlPlane, error) {
	program, err := Build(ctx)
	if err != nil {
		return nil, err
	}
	c := &ControlPlane{dir: o.Dir, programs: filepath.Dir(program)}
	c.Kubectl = filepath.Join(c.programs, "kubectl")
	c.Kubeconfig = filepath.Join(o.Dir, "admin.kubeconfig")
	if err := c.start(ctx, o); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

// Build returns the path of the program that is all of the control plane but etcd, which lies beside it. It is built when
// the cache does not hold it, which takes some minutes.
func Build(ctx context.Context) (string, error) {
	list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/vmseed/vmseed")
	root, err := list.Output()
	if err != nil {
		return "", fmt.Errorf("the directory of vmseed's source: %w", err)
	}
	build := exec.CommandContext(ctx, filepath.Join(strings.TrimSpace(string(root)), "tools", "controlplane", "build.sh"))
	var problems bytes.Buffer
	build.Stderr = &problems
	path, err := build.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == 3 {
		return "", fmt.Errorf("%w: %s", ErrMissing, strings.TrimSpace(problems.String()))
	}
	if err != nil {
		return "", fmt.Errorf("building the control plane: %w: %s", err, strings.TrimSpace(problems.String()))
	}
	return strings.TrimSpace(string(path)), nil
}

func (c *ControlPlane) start(ctx context.Context, o Options) error {
	for _, d := range []string{"pki", "logs", "etcd"} {
		if err := os.MkdirAll(filepath.Join(c.dir, d), 0o700); err != nil {
			return err
		}
	}
	if err := c.identities(); err != nil {
		return err
	}
	ports, err := FreePorts(5)
	if err != nil {
		return err
	}
	api := cmp.Or(o.Port, ports[2])
	c.URL = "https://127.0.0.1:" + strconv.Itoa(api)
	if err := c.kubeconfigs(); err != nil {
		return err
	}
	client, peer := "http://127.0.0.1:"+strconv.Itoa(ports[0]), "http://127.0.0.1:"+strconv.Itoa(ports[1])
	flags := []string{"--data-dir", filepath.Join(c.dir, "etcd"), "--listen-client-urls", client, "--advertise-client-urls", client,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default=" + peer, "--log-level", "warn"}
	if !o.Durable {
		flags = append(flags, "--unsafe-no-fsync")
	}
	if err := c.run(ctx, "etcd", flags, client+"/health", http.DefaultClient); err != nil {
		return err
	}
	admin, err := c.Config()
	if err != nil {
		return err
	}
	ready, err := rest.HTTPClientFor(admin)
	if err != nil {
		return err
	}
	if err := c.run(ctx, "kube-apiserver", c.apiServer(o, client, api), c.URL+"/readyz", ready); err != nil {
		return err
	}
	if o.Alone {
		return nil
	}
	scheduler, manager := strconv.Itoa(ports[3]), strconv.Itoa(ports[4])
	if err := c.run(ctx, "kube-scheduler", c.scheduler(o, scheduler), "https://127.0.0.1:"+scheduler+"/healthz", insecure()); err != nil {
		return err
	}
	return c.run(ctx, "kube-controller-manager", c.controllerManager(o, manager), "https://127.0.0.1:"+manager+"/healthz", insecure())
}

// identities makes the certificates and keys that the parts need, unless they are there.
func (c *ControlPlane) identities() error {
	pki := filepath.Join(c.dir, "pki")
	var err error
	if c.ca, err = openAuthority(pki, "ca"); err != nil {
		return err
	}
	proxies, err := openAuthority(pki, "front-proxy-ca")
	if err != nil {
		return err
	}
	type maker func() (Certificate, error)
	for name, make := range map[string]maker{
		"apiserver": func() (Certificate, error) {
			return c.ca.server("kube-apiserver", "kubernetes", "kubernetes.default", "kubernetes.default.svc")
		},
		"kubelet-client":     func() (Certificate, error) { return c.ca.client("kube-apiserver-kubelet-client", "system:masters") },
		"front-proxy-client": func() (Certificate, error) { return proxies.client("front-proxy-client") },
	} {
		if _, err := os.Stat(filepath.Join(pki, name+".crt")); err == nil {
			continue
		}
		certificate, err := make()
		if err != nil {
			return err
		}
		if err := certificate.write(pki, name); err != nil {
			return err
		}
	}
	return serviceAccountKeys(pki)
}

// kubeconfigs writes those of the administrator and of the parts.
func (c *ControlPlane) kubeconfigs() error {
	for name, who := range map[string][]string{
		"admin":              {"admin", "system:masters"},
		"scheduler":          {"system:kube-scheduler"},
		"controller-manager": {"system:kube-controller-manager"},
	} {
		if _, err := c.WriteKubeconfig(filepath.Join(c.dir, name+".kubeconfig"), who[0], who[1:]...); err != nil {
			return err
		}
	}
	return nil
}

// WriteKubeconfig writes the configuration of a client that the API server takes for a user in groups, and returns its
// path: system:node:NAME in system:nodes is a node, system:serviceaccount:NAMESPACE:NAME in system:serviceaccounts a
// service account.
func (c *ControlPlane) WriteKubeconfig(path, user string, groups ...string) (string, error) {
	certificate, err := c.ca.client(user, groups...)
	if err != nil {
		return "", err
	}
	authority, err := os.ReadFile(c.ca.path)
	if err != nil {
		return "", err
	}
	return path, clientcmd.WriteToFile(api.Config{
		Clusters:       map[string]*api.Cluster{"vmseed": {Server: c.URL, CertificateAuthorityData: authority}},
		AuthInfos:      map[string]*api.AuthInfo{user: {ClientCertificateData: certificate.Cert, ClientKeyData: certificate.Key}},
		Contexts:       map[string]*api.Context{"vmseed": {Cluster: "vmseed", AuthInfo: user, Namespace: "default"}},
		CurrentContext: "vmseed",
	}, path)
}

// Config is the administrator's configuration for client-go, without limits on how often it may ask.
func (c *ControlPlane) Config() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	return config, nil
}

// As is the configuration of a user in groups, as WriteKubeconfig takes them.
func (c *ControlPlane) As(user string, groups ...string) (*rest.Config, error) {
	certificate, err := c.ca.client(user, groups...)
	if err != nil {
		return nil, err
	}
	config, err := c.Config()
	if err != nil {
		return nil, err
	}
	config.TLSClientConfig.CertData, config.TLSClientConfig.KeyData = certificate.Cert, certificate.Key
	return config, nil
}

// Serving issues a certificate for a server on 127.0.0.1 that the API server trusts, as that of a kubelet.
func (c *ControlPlane) Serving(name string) (Certificate, error) {
	return c.ca.server(name)
}

// CA is the path of the certificate of the authority that signed the certificates of all clients.
func (c *ControlPlane) CA() string { return c.ca.path }

// Stop ends all parts, the last one first.
func (c *ControlPlane) Stop() error {
	var errs []error
	for _, p := range slices.Backward(c.processes) {
		errs = append(errs, p.Stop())
	}
	c.processes = nil
	return errors.Join(errs...)
}

// Logs writes the end of what each part has said.
func (c *ControlPlane) Logs(w io.Writer) {
	for _, p := range c.processes {
		fmt.Fprintf(w, "--- %s ---\n%s\n", p.name, p.Tail(4000))
	}
}

// FreePorts returns ports of 127.0.0.1 that nobody listens on. They are below those from which systems take the ports of
// outgoing connections, so that nothing gets one of them by chance before it is listened on.
func FreePorts(n int) ([]int, error) {
	const first, last, tries = 10000, 32000, 1000
	var ports []int
	for range tries {
		if len(ports) == n {
			return ports, nil
		}
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(first+rand.IntN(last-first))))
		if err != nil {
			continue
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return nil, errors.New("no ports of 127.0.0.1 are free")
}
