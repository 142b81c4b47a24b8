//go:build conformance && extended

package subresources_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"crypto/tls"

	"github.com/virtual-kubelet/virtual-kubelet/node/api"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	utilexec "k8s.io/utils/exec"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubecluster "github.com/vmseed/vmseed/kube/internal/cluster"
	"github.com/vmseed/vmseed/kube/internal/controlplane"
	"github.com/vmseed/vmseed/kube/internal/controlplane/controlplanetest"
	"github.com/vmseed/vmseed/kube/manifests"
	"github.com/vmseed/vmseed/kube/subresources"
)

const (
	installation = "kubevirt"
	account      = "system:serviceaccount:kubevirt:vmseed-controller"
	nodeName     = "host"
	patience     = 3 * time.Minute
)

// cluster is a real control plane with the server behind it, as the controller's service account, and one node whose
// kubelet stands for VMs: it echoes.
type cluster struct {
	*controlplane.ControlPlane
	client  client.Client
	address string // of the server itself, past the API server
	virtctl string
	kubelet *kubelet
}

// shared is the cluster of this package's tests.
var shared *cluster

func TestMain(m *testing.M) {
	os.Exit(controlplanetest.Main(m, controlplane.Options{Alone: true}, start))
}

func start(ctx context.Context, plane *controlplane.ControlPlane) (func(), error) {
	c := &cluster{ControlPlane: plane}
	config, err := plane.Config()
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), kubevirtv1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	if c.client, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	c.address = listener.Addr().String()
	if err := c.install(ctx, int(netip.MustParseAddrPort(c.address).Port())); err != nil {
		return nil, err
	}
	if err := c.startKubelet(ctx); err != nil {
		return nil, err
	}
	as, err := plane.As(account, "system:serviceaccounts", "system:serviceaccounts:"+installation)
	if err != nil {
		return nil, err
	}
	server, err := subresources.New(subresources.Options{Config: as, Namespace: installation, Listener: listener, Version: "test", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	var served sync.WaitGroup
	served.Go(func() {
		if err := server.Start(ctx); err != nil {
			fmt.Fprintln(os.Stderr, "the server:", err)
		}
	})
	shared = c
	c.virtctl, err = buildVirtctl(ctx)
	return served.Wait, err
}

// install applies the manifests, and has a user who may do everything with VMs.
func (c *cluster) install(ctx context.Context, port int) error {
	objects, err := manifests.Objects(manifests.CRD, manifests.RBAC, manifests.Policy)
	if err != nil {
		return err
	}
	if err := manifests.Apply(ctx, c.client, objects); err != nil {
		return err
	}
	if err := kubecluster.Expose(ctx, c.client, port); err != nil {
		return err
	}
	return c.client.Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "owner"}, Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: "owner"}},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "kubevirt.io:admin"},
	})
}

// buildVirtctl returns the path of KubeVirt's client.
func buildVirtctl(ctx context.Context) (string, error) {
	build := exec.CommandContext(ctx, "../../tools/virtctl/build.sh")
	build.Stderr = os.Stderr
	path, err := build.Output()
	return strings.TrimSpace(string(path)), err
}

// startKubelet makes a node and serves its kubelet's API, to the API server alone.
func (c *cluster) startKubelet(ctx context.Context) error {
	c.kubelet = &kubelet{}
	serving, err := c.Serving(nodeName)
	if err != nil {
		return err
	}
	certificate, err := tls.X509KeyPair(serving.Cert, serving.Key)
	if err != nil {
		return err
	}
	server := httptest.NewUnstartedServer(api.PodHandler(api.PodHandlerConfig{
		RunInContainer: c.kubelet.run, AttachToContainer: c.kubelet.attach, PortForward: c.kubelet.forward,
		StreamIdleTimeout: time.Hour, StreamCreationTimeout: time.Minute,
	}, false))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: []string{"http/1.1"}}
	server.StartTLS()
	context.AfterFunc(ctx, server.Close)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName}}
	if err := c.client.Create(ctx, node); err != nil {
		return err
	}
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}}
	node.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(netip.MustParseAddrPort(server.Listener.Addr().String()).Port())
	return c.client.Status().Update(ctx, node)
}

// kubelet stands for VMs: consoles and ports echo in capitals, and commands run here.
type kubelet struct {
	mu      sync.Mutex
	reboots []string
	// words are what was asked for VMs themselves.
	words []string
}

func (k *kubelet) attach(_ context.Context, _, pod, _ string, attach api.AttachIO) error {
	if _, err := io.WriteString(attach.Stdout(), "console of "+pod+"\n"); err != nil {
		return err
	}
	return echo(attach.Stdout(), attach.Stdin())
}

func (k *kubelet) forward(_ context.Context, _, _ string, port int32, stream io.ReadWriteCloser) error {
	defer stream.Close()
	if port != 7 {
		return fmt.Errorf("nobody listens on port %d of the guest", port)
	}
	return echo(stream, stream)
}

func (k *kubelet) run(ctx context.Context, _, pod, _ string, command []string, attach api.AttachIO) error {
	if strings.Contains(command[len(command)-1], "shutdown -r") {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.reboots = append(k.reboots, pod)
		return nil
	}
	if strings.HasPrefix(command[0], "vmseed.dev/") {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.words = append(k.words, strings.Join(append(command, pod), " "))
		return nil
	}
	local := exec.CommandContext(ctx, command[0], command[1:]...)
	local.Stdout, local.Stderr = attach.Stdout(), attach.Stderr()
	err := local.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return utilexec.CodeExitError{Err: err, Code: exit.ExitCode()}
	}
	return err
}

func echo(w io.Writer, r io.Reader) error {
	buffer := make([]byte, 512)
	for {
		n, err := r.Read(buffer)
		if _, err := w.Write(bytes.ToUpper(buffer[:n])); err != nil {
			return err
		}
		if bytes.Contains(buffer[:n], []byte("poweroff")) || errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// namespace makes a namespace for a test.
func (c *cluster) namespace(t *testing.T) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "t-"}}
	if err := c.client.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	return ns.Name
}

// machine makes a VirtualMachine of a run strategy and, if running, an instance and its launcher pod.
func (c *cluster) machine(t *testing.T, namespace, name string, strategy kubevirtv1.VirtualMachineRunStrategy, running bool) *kubevirtv1.VirtualMachine {
	t.Helper()
	ctx := t.Context()
	memory, grace := resource.MustParse("64Mi"), int64(180)
	spec := kubevirtv1.VirtualMachineInstanceSpec{
		Domain: kubevirtv1.DomainSpec{Memory: &kubevirtv1.Memory{Guest: &memory}}, TerminationGracePeriodSeconds: &grace,
	}
	vm := &kubevirtv1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: kubevirtv1.VirtualMachineSpec{
		RunStrategy: &strategy, Template: &kubevirtv1.VirtualMachineInstanceTemplateSpec{Spec: spec},
	}}
	must(t, c.client.Create(ctx, vm))
	if !running {
		return vm
	}
	vmi := &kubevirtv1.VirtualMachineInstance{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, OwnerReferences: []metav1.OwnerReference{
			*metav1.NewControllerRef(vm, kubevirtv1.VirtualMachineGroupVersionKind)}},
		Spec: spec,
	}
	must(t, c.client.Create(ctx, vmi))
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "virt-launcher-" + name + "-x", Labels: map[string]string{
			kubevirtv1.AppLabel: "virt-launcher", kubevirtv1.CreatedByLabel: string(vmi.UID)},
			Annotations:     map[string]string{"vmseed.dev/launch-secret": "none"},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(vmi, kubevirtv1.VirtualMachineInstanceGroupVersionKind)}},
		Spec: corev1.PodSpec{NodeName: nodeName, Containers: []corev1.Container{{Name: "compute", Image: "none"}}},
	}
	must(t, c.client.Create(ctx, pod))
	pod.Status.Phase = corev1.PodRunning
	must(t, c.client.Status().Update(ctx, pod))
	before := vmi.DeepCopy()
	vmi.Status.Phase, vmi.Status.NodeName = kubevirtv1.Running, nodeName
	vmi.Status.ActivePods = map[types.UID]string{pod.UID: nodeName}
	vmi.Status.Conditions = []kubevirtv1.VirtualMachineInstanceCondition{{Type: kubevirtv1.VirtualMachineInstanceAgentConnected, Status: corev1.ConditionTrue}}
	must(t, c.client.Status().Patch(ctx, vmi, client.MergeFrom(before)))
	machine := vm.DeepCopy()
	vm.Status.Created, vm.Status.Ready = true, true
	must(t, c.client.Status().Patch(ctx, vm, client.MergeFrom(machine)))
	return vm
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// kubeconfig writes the configuration of a user, as the clients read it.
func (c *cluster) kubeconfig(t *testing.T, user string) string {
	t.Helper()
	var groups []string
	if user == "root" {
		groups = []string{"system:masters"}
	}
	path, err := c.WriteKubeconfig(filepath.Join(t.TempDir(), user), user, groups...)
	must(t, err)
	return path
}

// run runs virtctl for a user and returns everything that it writes.
func (c *cluster) run(t *testing.T, user, namespace string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	command := exec.CommandContext(ctx, c.virtctl, append([]string{"--kubeconfig", c.kubeconfig(t, user), "--namespace", namespace}, args...)...)
	out, err := command.CombinedOutput()
	return string(out), err
}

// available waits until the API server says that it reaches the server.
func (c *cluster) available(t *testing.T) {
	t.Helper()
	for _, version := range subresources.Versions() {
		service := &unstructured.Unstructured{}
		service.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"})
		var message string
		err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
			if err := c.client.Get(ctx, client.ObjectKey{Name: version + "." + subresources.Group}, service); err != nil {
				return false, err
			}
			conditions, _, err := unstructured.NestedSlice(service.Object, "status", "conditions")
			for _, condition := range conditions {
				if m := condition.(map[string]any); m["type"] == "Available" {
					message = fmt.Sprint(m["message"])
					return m["status"] == "True", nil
				}
			}
			return false, err
		})
		if err != nil {
			t.Fatalf("%s: %v: %s", service.GetName(), err, message)
		}
	}
}

// direct asks the server itself, past the API server.
func (c *cluster) direct(t *testing.T, certificate *tls.Certificate, headers map[string]string, method, path string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, "https://"+c.address+path, nil)
	must(t, err)
	for k, v := range headers {
		request.Header.Set(k, v)
	}
	config := &tls.Config{InsecureSkipVerify: true} //nolint:gosec // who the server is, is not what this asks
	if certificate != nil {
		config.Certificates = []tls.Certificate{*certificate}
	}
	response, err := (&http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}).Do(request)
	must(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	must(t, err)
	return response.StatusCode, string(body)
}

// frontProxy is the certificate by which the server knows the API server.
func (c *cluster) frontProxy(t *testing.T) *tls.Certificate {
	t.Helper()
	dir := filepath.Dir(c.CA())
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "front-proxy-client.crt"), filepath.Join(dir, "front-proxy-client.key"))
	must(t, err)
	return &pair
}

// path is that of a subresource.
func path(version, namespace, resource, name string, rest ...string) string {
	return "/apis/" + subresources.Group + "/" + version + "/namespaces/" + namespace + "/" + resource + "/" + name + "/" + strings.Join(rest, "/")
}

// pod returns the launcher pod of a machine, empty when there is none.
func (c *cluster) pod(t *testing.T, namespace, name string) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{}
	must(t, client.IgnoreNotFound(c.client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "virt-launcher-" + name + "-x"}, pod)))
	return pod
}
