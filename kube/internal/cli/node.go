package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"

	"github.com/vmseed/vmseed/hypervisor"
	"github.com/vmseed/vmseed/image"
	core "github.com/vmseed/vmseed/internal/cli"
	"github.com/vmseed/vmseed/kube/imagenames"
	"github.com/vmseed/vmseed/kube/node"
	"github.com/vmseed/vmseed/kube/node/certs"
	"github.com/vmseed/vmseed/kube/node/server"
	"github.com/vmseed/vmseed/kube/podnet"
	"github.com/vmseed/vmseed/kube/provider"
	"github.com/vmseed/vmseed/kube/provider/host"
	"github.com/vmseed/vmseed/report"
)

// DefaultStateDir is where a node keeps everything that outlives its process.
const DefaultStateDir = "/var/lib/vmseed-kube"

// nodeFlags are those of the command node.
type nodeFlags struct {
	log                                logFlags
	kubeconfig, bootstrap, name, state string
	ips                                []string
	listen, cert, key, clientCA        string
	request                            bool
	images, cache                      string
	mappings                           []string
	cniConf, clusterDomain             string
	cniBin, clusterDNS                 []string
	cniExclusive                       bool
	labels, reserve                    map[string]string
	taints                             []string
	maxPods                            int64
	accel, pressure, failOn            string
	firstBoot, drain                   time.Duration
	allowed                            host.Allowed
}

func nodeCommand(log io.Writer) *cobra.Command {
	var f nodeFlags
	cmd := &cobra.Command{
		Use: "node", Short: "Be a node of a cluster, whose pods are VMs of this host", Args: cobra.NoArgs,
		Long: `Node registers this host as a node of a Kubernetes cluster, with the label
extraRuntime=virtlet, and runs the pods that the scheduler gives to it as VMs.

It needs no rights in the cluster but those of a kubelet: the user system:node:NAME of
the group system:nodes, by --kubeconfig, or by --bootstrap-kubeconfig with a token by
which it requests a certificate.

VMs have supervisors of their own and go on when the node's process ends; it finds them
when it comes back. To take a node away, drain it first: by kubectl drain, or with --drain
whenever its process is told to end.`,
		Example: `  vmseed-kube node --kubeconfig /etc/vmseed-kube/kubeconfig --client-ca-file /etc/kubernetes/pki/ca.crt
  vmseed-kube node --bootstrap-kubeconfig /etc/vmseed-kube/bootstrap.kubeconfig --image-dir /srv/images`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			logger, err := f.log.logger(log)
			if err != nil {
				return err
			}
			n, err := f.check()
			if err != nil {
				return err
			}
			n.log = logger
			return core.Trouble(n.run(cmd.Context()))
		},
	}
	f.log.register(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "file with which the API server is reached; with --bootstrap-kubeconfig it is written")
	flags.StringVar(&f.bootstrap, "bootstrap-kubeconfig", "", "file with a token that a certificate is requested with while there is none")
	flags.StringVar(&f.name, "name", "", "name of the node (default: the host's name)")
	flags.StringVar(&f.state, "state-dir", DefaultStateDir, "directory of the VMs and of all that outlives this process")
	flags.StringSliceVar(&f.ips, "node-ip", nil, "address of the node, at which the API server reaches it (default: that of the route to the API server)")
	flags.StringVar(&f.listen, "listen", "", "address for logs, exec, attach, port-forward and top (default: port 10250 of the node's address; 0 is nowhere)")
	flags.StringVar(&f.cert, "tls-cert-file", "", "certificate to serve with (default: one that the node signs itself)")
	flags.StringVar(&f.key, "tls-private-key-file", "", "key of --tls-cert-file")
	flags.BoolVar(&f.request, "rotate-server-certificates", false, "request the certificate to serve with from the cluster; somebody must approve it: kubectl certificate approve")
	flags.StringVar(&f.clientCA, "client-ca-file", "", "authorities of the certificates that clients such as the API server show (default: only tokens are taken)")
	flags.StringVar(&f.images, "image-dir", "", "directory of images that are called what pods call them: virtlet.cloud/NAME is NAME, NAME.qcow2 or NAME.img; container disks by their full names")
	flags.StringArrayVar(&f.mappings, "image-mapping", nil, "file of Virtlet's rules for names of images, or directory of such files (repeatable)")
	flags.StringVar(&f.cache, "image-cache", "", "directory of images that were fetched (default: images in --state-dir)")
	flags.StringVar(&f.cniConf, "cni-conf-dir", podnet.DefaultConfDir, "directory of the CNI networks; without one in it, each VM gets a network of its own")
	flags.StringSliceVar(&f.cniBin, "cni-bin-dir", podnet.DefaultBinDirs(), "directories of CNI plugins")
	flags.BoolVar(&f.cniExclusive, "cni-exclusive", false, "no other program of this host uses the CNI networks, so what is left of unknown pods is given back")
	flags.StringSliceVar(&f.clusterDNS, "cluster-dns", nil, "addresses of the cluster's name service, for guests on CNI networks")
	flags.StringVar(&f.clusterDomain, "cluster-domain", "cluster.local", "domain of the cluster, with --cluster-dns")
	flags.StringToStringVar(&f.labels, "node-labels", nil, "further labels of the node: KEY=VALUE,...")
	flags.StringArrayVar(&f.taints, "register-with-taint", nil, "taint of a node that registers for the first time: KEY[=VALUE]:EFFECT (repeatable)")
	flags.StringToStringVar(&f.reserve, "reserve", defaultReserve(), "what is kept from pods: cpu, memory, ephemeral-storage; what is not named stays at its default")
	flags.StringVar(&f.pressure, "disk-pressure-below", "10%", "how much of the file system with the VMs must be free for the node to take pods: a quantity or a percentage")
	flags.Int64Var(&f.maxPods, "max-pods", 110, "how many pods the node takes")
	flags.StringArrayVar(&f.allowed.Paths, "allow-host-path", nil, "let pods name raw disks and devices in this directory of the host, beside those of claims (repeatable)")
	flags.StringArrayVar(&f.allowed.Shares, "allow-share", nil, "let pods share this directory of the host with guests, beside those of claims (repeatable)")
	flags.StringArrayVar(&f.allowed.Devices, "allow-host-device", nil, "let pods give guests the device of the host with this PCI address (repeatable)")
	flags.StringVar(&f.accel, "accel", "auto", "accelerator of the VMs: auto, kvm or tcg")
	flags.DurationVar(&f.firstBoot, "first-boot-timeout", provider.DefaultFirstBootTimeout, "how long a guest may boot in silence before it is taken to be up")
	flags.StringVar(&f.failOn, "fail-on", string(report.FailOnError), "what makes a guest's first boot a failed one: error, warning or deprecated; a pod's annotation vmseed.dev/fail-on goes before")
	flags.DurationVar(&f.drain, "drain", 0, "when told to end (SIGTERM), evict the pods first and wait this long for their VMs to end; the next start takes pods again (default: VMs run on)")
	return cmd
}

// nodeRun is a node as the flags ask for it.
type nodeRun struct {
	nodeFlags
	log     *slog.Logger
	dns     []netip.Addr
	given   []netip.Addr
	spared  corev1.ResourceList
	least   func(total int64) int64
	strict  report.FailOn
	tainted []corev1.Taint
}

// check reads the flags.
func (f nodeFlags) check() (*nodeRun, error) {
	n := &nodeRun{nodeFlags: f}
	var err error
	if n.dns, err = addrs("--cluster-dns", f.clusterDNS); err != nil {
		return nil, err
	}
	if n.given, err = addrs("--node-ip", f.ips); err != nil {
		return nil, err
	}
	if n.spared, err = reserved(f.reserve); err != nil {
		return nil, err
	}
	if n.least, err = leastStorage(f.pressure); err != nil {
		return nil, err
	}
	if n.strict, err = report.ParseFailOn(cmp.Or(f.failOn, string(report.FailOnError))); err != nil {
		return nil, fmt.Errorf("--fail-on: %w", err)
	}
	if err := node.CheckLabels(f.labels); err != nil {
		return nil, fmt.Errorf("--node-labels: %w", err)
	}
	for _, text := range f.taints {
		t, err := taint(text)
		if err != nil {
			return nil, err
		}
		n.tainted = append(n.tainted, t)
	}
	switch {
	case f.kubeconfig == "" && f.bootstrap == "":
		return nil, errors.New("node needs --kubeconfig or --bootstrap-kubeconfig")
	case (f.cert == "") != (f.key == ""):
		return nil, errors.New("--tls-cert-file and --tls-private-key-file go together")
	case f.cert != "" && f.request:
		return nil, errors.New("--rotate-server-certificates requests what --tls-cert-file gives already")
	case f.maxPods < 1:
		return nil, errors.New("--max-pods is at least 1")
	case f.drain < 0:
		return nil, errors.New("--drain is a time to wait, such as 5m")
	}
	if n.name == "" {
		if n.name, err = os.Hostname(); err != nil {
			return nil, core.Trouble(err)
		}
	}
	n.name = strings.ToLower(n.name)
	if n.state, err = filepath.Abs(f.state); err != nil {
		return nil, core.Trouble(err)
	}
	if n.cache == "" {
		n.cache = filepath.Join(n.state, "images")
	}
	return n, nil
}

func addrs(flag string, texts []string) ([]netip.Addr, error) {
	var out []netip.Addr
	for _, text := range texts {
		a, err := netip.ParseAddr(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %q is no IP address", flag, text)
		}
		out = append(out, a)
	}
	return out, nil
}

// taint reads KEY[=VALUE]:EFFECT.
func taint(text string) (corev1.Taint, error) {
	left, effect, ok := strings.Cut(text, ":")
	key, value, _ := strings.Cut(left, "=")
	switch e := corev1.TaintEffect(effect); {
	case ok && key != "" && (e == corev1.TaintEffectNoSchedule || e == corev1.TaintEffectPreferNoSchedule || e == corev1.TaintEffectNoExecute):
		return corev1.Taint{Key: key, Value: value, Effect: e}, nil
	}
	return corev1.Taint{}, fmt.Errorf("--register-with-taint takes KEY[=VALUE]:EFFECT with NoSchedule, PreferNoSchedule or NoExecute, not %q", text)
}

// run is the node until ctx ends.
func (n *nodeRun) run(ctx context.Context) error {
	if err := n.claim(); err != nil {
		return err
	}
	// What ends with the node, however that ends.
	var ready atomic.Pointer[node.Node]
	ctx, cancel := n.life(ctx, &ready)
	defer cancel()
	keys := filepath.Join(n.state, "certificates")
	config, err := certs.Client(ctx, certs.ClientOptions{Node: n.name, Kubeconfig: n.kubeconfig, Bootstrap: n.bootstrap, Dir: keys, Logger: n.log})
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(certs.Tune(rest.CopyConfig(config)))
	if err != nil {
		return err
	}
	beat, err := heartbeat(config)
	if err != nil {
		return err
	}
	ips := n.given
	if len(ips) == 0 {
		ip, err := towards(ctx, config.Host)
		if err != nil {
			return fmt.Errorf("the node's address: %w; name it with --node-ip", err)
		}
		ips = []netip.Addr{ip}
	}
	pods, err := n.provider(ctx, client, ips)
	if err != nil {
		return err
	}
	defer pods.Close()
	addresses := []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: ips[0].String()}, {Type: corev1.NodeHostName, Address: n.name}}
	c := node.Config{Name: n.name, Client: client, Heartbeat: beat, Provider: pods, Addresses: addresses, Labels: n.labels, Taints: n.tainted,
		Host: node.ThisHost(n.state), Reserve: n.spared, LeastStorage: n.least, MaxPods: n.maxPods, RuntimeVersion: "vmseed://" + release(),
		KubeletVersion: kubelet(), Recognise: n.recognise, Logger: n.log}
	if n.listen != nowhere {
		if err := n.serve(ctx, &c, config, client, keys); err != nil {
			return err
		}
	}
	made, err := node.New(c)
	if err != nil {
		return err
	}
	go func() {
		select {
		case <-made.Ready():
			ready.Store(made)
			n.log.Info("node " + n.name + " is ready")
		case <-ctx.Done():
		}
	}()
	return made.Run(ctx)
}

// provider makes the provider of pods.
func (n *nodeRun) provider(ctx context.Context, client kubernetes.Interface, ips []netip.Addr) (*provider.Provider, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	store := &image.Store{Dir: n.cache}
	names, err := imagenames.New(imagenames.Options{Dir: n.images, Mappings: n.mappings, Images: store})
	if err != nil {
		return nil, err
	}
	var networks *podnet.Manager
	if n.cniConf != "" {
		if networks, err = podnet.New(podnet.Config{ConfDir: n.cniConf, BinDirs: n.cniBin, StateDir: filepath.Join(n.state, "podnet"),
			ClusterDNS: n.dns, ClusterDomain: n.clusterDomain, Exclusive: n.cniExclusive, Log: n.log}); err != nil {
			return nil, fmt.Errorf("networks of pods: %w", err)
		}
		if err := networks.Tidy(ctx); err != nil {
			n.log.Warn("networks of pods that are gone are not all given back", "error", err)
		}
		switch err := networks.Usable(ctx); {
		case errors.Is(err, podnet.ErrNotConfigured):
			n.log.Info("each VM gets a network of its own", "reason", err)
		case err != nil:
			n.log.Warn("pods wait until CNI can connect them", "reason", err)
		}
	}
	runner, err := host.New(host.Options{Client: client, Root: filepath.Join(n.state, "vms"), Images: store, Names: names, Networks: networks,
		NodeIPs: ips, Allowed: n.allowed, Hypervisor: hypervisor.Options{Accel: n.accel}, Supervisor: []string{program, "supervise"}, Log: n.log})
	if err != nil {
		return nil, err
	}
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(&corev1client.EventSinkImpl{Interface: client.CoreV1().Events("")})
	context.AfterFunc(ctx, broadcaster.Shutdown)
	recorder := broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "vmseed-kube", Host: n.name})
	return provider.New(ctx, provider.Options{Runner: runner, Pods: client.CoreV1(), Events: recorder,
		Dir: filepath.Join(n.state, "pods"), NodeIPs: ips, FirstBootTimeout: n.firstBoot, FailOn: n.strict, Log: n.log})
}

// serve adds the kubelet's API to a node.
func (n *nodeRun) serve(ctx context.Context, c *node.Config, config *rest.Config, client kubernetes.Interface, keys string) error {
	reviews, err := kubernetes.NewForConfig(certs.Tune(rest.CopyConfig(config)))
	if err != nil {
		return err
	}
	o := certs.ServingOptions{Node: n.name, Addresses: c.Addresses, CertFile: n.cert, KeyFile: n.key, Dir: keys, Logger: n.log}
	if n.request {
		o.Client = client
	}
	certificate, err := certs.Serving(ctx, o)
	if err != nil {
		return err
	}
	at := n.listen
	if at == "" {
		at = net.JoinHostPort(c.Addresses[0].Address, "10250")
	}
	if c.Listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", at); err != nil {
		return err
	}
	c.Server = &server.Config{Reviews: reviews, ClientCA: n.clientCA, Certificate: certificate, Logger: n.log}
	return nil
}

// towards is the address from which this host reaches a server. Nothing is sent for that.
func towards(ctx context.Context, server string) (netip.Addr, error) {
	u, _, err := rest.DefaultServerUrlFor(&rest.Config{Host: server})
	if err != nil {
		return netip.Addr{}, err
	}
	port := u.Port()
	if port == "" {
		port = "443"
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "udp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return netip.Addr{}, err
	}
	defer conn.Close()
	at, err := netip.ParseAddrPort(conn.LocalAddr().String())
	return at.Addr().Unmap(), err
}

// kubelet is the version that the node has as one of Kubernetes: that of the libraries, with ours behind it.
func kubelet() string {
	version := "v1"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == "k8s.io/client-go" {
				version = "v1" + strings.TrimPrefix(m.Version, "v0")
			}
		}
	}
	return version + "-vmseed-" + release()
}

// release is the version of this program in the characters that versions have.
func release() string { return strings.Trim(strings.TrimPrefix(core.Version(), "v"), "()") }
