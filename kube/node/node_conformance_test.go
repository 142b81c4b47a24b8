//go:build conformance

package node_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/vmseed/vmseed/kube/internal/controlplane"
	"github.com/vmseed/vmseed/kube/internal/controlplane/controlplanetest"
	"github.com/vmseed/vmseed/kube/node"
	"github.com/vmseed/vmseed/kube/node/certs"
	"github.com/vmseed/vmseed/kube/node/server"
)

// world is a control plane and its administrator.
type world struct {
	*controlplane.ControlPlane
	admin kubernetes.Interface
}

// TestNodes runs nodes against a real control plane. The parts share it, as it takes a while to start.
func TestNodes(t *testing.T) {
	c := controlplanetest.Start(t, controlplane.Options{})
	config, err := c.Config()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{ControlPlane: c, admin: kubernetes.NewForConfigOrDie(config)}
	t.Run("life", func(t *testing.T) { w.life(t) })
	t.Run("kubectl", func(t *testing.T) { w.kubectl(t) })
	t.Run("access", func(t *testing.T) { w.access(t) })
	t.Run("bootstrap", func(t *testing.T) { w.bootstrap(t) })
	t.Run("foreign", func(t *testing.T) { w.foreign(t) })
	t.Run("drain", func(t *testing.T) { w.drain(t) })
	t.Run("outage", func(t *testing.T) { w.outage(t) })
}

// little is what the disk of a machine that tests must have free: it may be nearly full.
func little(int64) int64 { return 1 << 20 }

// running is a node that runs.
type running struct {
	*node.Node
	name     string
	provider *echo
	address  string
	stop     func()
}

// node starts one with the rights of system:node:NAME and no other.
func (w *world) node(t *testing.T, name string, change func(*node.Config)) *running {
	t.Helper()
	config, err := w.As("system:node:"+name, "system:nodes")
	if err != nil {
		t.Fatal(err)
	}
	client := kubernetes.NewForConfigOrDie(certs.Tune(config))
	reviews := kubernetes.NewForConfigOrDie(rest.CopyConfig(config))
	issued, err := w.Serving(name)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(issued.Cert, issued.Key)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &running{name: name, provider: newEcho(client), address: l.Addr().String()}
	logger := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelInfo}))
	c := node.Config{Name: name, Client: client, Provider: r.provider, Listener: l, Host: node.ThisHost(t.TempDir()), Logger: logger,
		Addresses:      []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}, {Type: corev1.NodeHostName, Address: name}},
		RuntimeVersion: "vmseed://0.0.0-test", KubeletVersion: "v1.36.3-vmseed",
		LeastStorage: little,
		Recognise: func(c node.Cluster) error {
			if c.Service == "" {
				return errors.New("a node may not read by what it knows its cluster")
			}
			return nil
		},
		Server: &server.Config{Reviews: reviews, ClientCA: w.CA(), Certificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &pair, nil }}}
	if change != nil {
		change(&c)
	}
	if r.Node, err = node.New(c); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	ended := false
	r.stop = func() {
		if ended {
			return
		}
		ended = true
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the node ended with %v", err)
		}
	}
	t.Cleanup(r.stop)
	select {
	case <-r.Ready():
	case err := <-done:
		t.Fatal(err)
	case <-time.After(3 * time.Minute):
		t.Fatal("the node is not registered after three minutes")
	}
	return r
}

// until waits for an object to be as it should, and fails with what it is otherwise.
func until[T any](t *testing.T, what string, get func() (T, error), good func(T) bool) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		object, err := get()
		if err == nil && good(object) {
			return object
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s: it is still %+v (%v)", what, object, err)
		}
	}
}

func condition(n *corev1.Node, kind corev1.NodeConditionType) corev1.NodeCondition {
	for _, c := range n.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return corev1.NodeCondition{}
}

func (w *world) get(name string) func() (*corev1.Node, error) {
	return func() (*corev1.Node, error) {
		return w.admin.CoreV1().Nodes().Get(context.Background(), name, metav1.GetOptions{})
	}
}

func isReady(n *corev1.Node) bool {
	return condition(n, corev1.NodeReady).Status == corev1.ConditionTrue
}

// life follows a Node from its registration over illness, deletion and restart, while others write to it as well.
func (w *world) life(t *testing.T) {
	ctx := t.Context()
	r := w.node(t, "life", func(c *node.Config) { c.Labels = map[string]string{"zone": "a"}; c.Lease = 4 * time.Second })
	n := until(t, "a new node", w.get("life"), isReady)
	if n.Labels["extraRuntime"] != "virtlet" || n.Labels["zone"] != "a" || n.Labels[corev1.LabelHostname] != "life" || n.Labels[corev1.LabelOSStable] != "linux" {
		t.Errorf("its labels are %v", n.Labels)
	}
	if fmt.Sprint(n.Status.DaemonEndpoints.KubeletEndpoint.Port) != r.address[strings.LastIndexByte(r.address, ':')+1:] || len(n.Status.Addresses) != 2 {
		t.Errorf("it is reached at %v, port %d", n.Status.Addresses, n.Status.DaemonEndpoints.KubeletEndpoint.Port)
	}
	for _, kind := range []corev1.NodeConditionType{corev1.NodeMemoryPressure, corev1.NodePIDPressure, corev1.NodeNetworkUnavailable} {
		if c := condition(n, kind); c.Status != corev1.ConditionFalse {
			t.Errorf("%s is %s: %s", kind, c.Status, c.Message)
		}
	}
	if n.Status.Capacity.Cpu().IsZero() || n.Status.Allocatable.Memory().IsZero() || n.Status.NodeInfo.ContainerRuntimeVersion != "vmseed://0.0.0-test" || len(n.Status.Images) != 1 {
		t.Errorf("its status is %+v", n.Status)
	}
	until(t, "the taint of nodes that are not ready", w.get("life"), func(n *corev1.Node) bool { return len(n.Spec.Taints) == 0 })

	leases := w.admin.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	lease, err := leases.Get(ctx, "life", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the lease is renewed", func() (time.Time, error) {
		l, err := leases.Get(ctx, "life", metav1.GetOptions{})
		if err != nil {
			return time.Time{}, err
		}
		return l.Spec.RenewTime.Time, nil
	}, lease.Spec.RenewTime.Time.Before)

	// What the control plane does to a Node that it did not hear of for a while.
	unknown := []byte(`{"status":{"conditions":[{"type":"Ready","status":"Unknown","reason":"NodeStatusUnknown"}]}}`)
	n, err = w.admin.CoreV1().Nodes().Patch(ctx, "life", types.StrategicMergePatchType, unknown, metav1.PatchOptions{}, "status")
	if err != nil || isReady(n) {
		t.Fatalf("the Node is still ready: %v", err)
	}
	until(t, "a Node that was given up", w.get("life"), isReady)

	theirs := []byte(`{"metadata":{"labels":{"team":"x"}},"spec":{"taints":[{"key":"theirs","effect":"NoSchedule"}]}}`)
	if _, err := w.admin.CoreV1().Nodes().Patch(ctx, "life", types.StrategicMergePatchType, theirs, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	r.provider.mu.Lock()
	r.provider.sick = errors.New("no KVM here")
	r.provider.mu.Unlock()
	n = until(t, "a sick provider", w.get("life"), func(n *corev1.Node) bool { return condition(n, corev1.NodeReady).Status == corev1.ConditionFalse })
	if m := condition(n, corev1.NodeReady).Message; m != "no KVM here" {
		t.Errorf("it is not ready because of %q", m)
	}
	r.stop()
	r = w.node(t, "life", func(c *node.Config) { c.Labels = map[string]string{"zone": "b"} })
	n = until(t, "after a restart", w.get("life"), func(n *corev1.Node) bool { return isReady(n) && n.Labels["zone"] == "b" })
	if n.Labels["team"] != "x" || len(n.Spec.Taints) == 0 || n.Spec.Taints[0].Key != "theirs" {
		t.Errorf("others' labels and taints are %v, %v", n.Labels, n.Spec.Taints)
	}
	old := n.UID
	if err := w.admin.CoreV1().Nodes().Delete(ctx, "life", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	until(t, "a deleted Node is registered again", w.get("life"), func(n *corev1.Node) bool { return n.UID != old && isReady(n) })
}

// pod makes one that only the node takes, and waits until it runs.
func (w *world) pod(t *testing.T, node, name string) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: corev1.PodSpec{NodeSelector: map[string]string{corev1.LabelHostname: node}, Containers: []corev1.Container{{Name: "compute", Image: "virtlet.cloud/cirros"}}}}
	until(t, "the service account", func() (*corev1.Pod, error) {
		return w.admin.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{})
	}, func(*corev1.Pod) bool { return true })
	return until(t, "the pod "+name, func() (*corev1.Pod, error) {
		return w.admin.CoreV1().Pods("default").Get(t.Context(), name, metav1.GetOptions{})
	}, func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning })
}

// kubectl does what users do, with the newest kubectl (web sockets) and, where there is one, the distribution's (SPDY).
func (w *world) kubectl(t *testing.T) {
	r := w.node(t, "kubectl", nil)
	w.pod(t, "kubectl", "vm")
	programs := map[string]string{"current": w.Kubectl}
	if path, err := exec.LookPath("kubectl"); err == nil {
		programs["distribution"] = path
	}
	for version, program := range programs {
		t.Run(version, func(t *testing.T) {
			run := func(stdin string, args ...string) (string, error) {
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
				defer cancel()
				c := exec.CommandContext(ctx, program, append([]string{"--kubeconfig", w.Kubeconfig}, args...)...)
				c.Stdin = strings.NewReader(stdin)
				var out, errs bytes.Buffer
				c.Stdout, c.Stderr = &out, &errs
				err := c.Run()
				if err != nil {
					err = fmt.Errorf("%w: %s", err, errs.String())
				}
				return out.String(), err
			}
			for _, c := range []struct{ stdin, args, want string }{
				{"", "logs vm", "vm has started\nlogin:\n"},
				{"", "logs vm --limit-bytes=6", "vm has"},
				{"", "logs vm --tail=0", ""},
				{"", "exec vm -- uname -a", "uname -a\n"},
				{"typed", "exec -i vm -- cat", "typed"},
				{"console", "attach -i vm", "console"},
			} {
				if out, err := run(c.stdin, strings.Fields(c.args)...); err != nil || out != c.want {
					t.Errorf("kubectl %s: %v, %q, not %q", c.args, err, out, c.want)
				}
			}
			_, err := run("", "exec", "vm", "--", "false")
			if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 7 {
				t.Errorf("a command that ends with 7: %v", err)
			}
			w.forward(t, program)
		})
	}
	if err := w.admin.CoreV1().Pods("default").Delete(t.Context(), "vm", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	until(t, "a pod that is deleted", func() (bool, error) {
		_, err := w.admin.CoreV1().Pods("default").Get(t.Context(), "vm", metav1.GetOptions{})
		return apierrors.IsNotFound(err), nil
	}, func(gone bool) bool { return gone })
	key := <-r.provider.gone
	if _, starts := r.provider.seen(); key != "default/vm" || starts != 1 {
		t.Errorf("%s is deleted after %d starts", key, starts)
	}
}

// forward has kubectl forward a port, and speaks to it twice.
func (w *world) forward(t *testing.T, program string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	c := exec.CommandContext(ctx, program, "--kubeconfig", w.Kubeconfig, "port-forward", "pod/vm", ":22")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Wait() //nolint:errcheck // It is killed.
	defer cancel()
	var port int
	if _, err := fmt.Fscanf(out, "Forwarding from 127.0.0.1:%d -> 22\n", &port); err != nil {
		t.Errorf("kubectl port-forward: %v", err)
		return
	}
	for range 2 {
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(conn, "hello") //nolint:errcheck // Judged by the answer.
		answer, err := io.ReadAll(conn)
		conn.Close() //nolint:errcheck // All is read.
		if err != nil || string(answer) != "22 hello" {
			t.Errorf("through kubectl port-forward: %v, %q", err, answer)
		}
	}
}

// access knocks at the node itself: the API server decides who comes in.
func (w *world) access(t *testing.T) {
	ctx := t.Context()
	r := w.node(t, "access", nil)
	authority, err := os.ReadFile(w.CA())
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	ask := func(path string, cert []tls.Certificate, token string) (int, string) {
		t.Helper()
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: pool, Certificates: cert}}}
		q, err := http.NewRequestWithContext(ctx, "GET", "https://"+r.address+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			q.Header.Set("Authorization", "Bearer "+token)
		}
		answer, err := client.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close() //nolint:errcheck // All is read.
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(body)
	}
	status := func(cert []tls.Certificate, token string) int {
		t.Helper()
		s, _ := ask("/pods", cert, token)
		return s
	}
	certificate := func(user string, groups ...string) []tls.Certificate {
		config, err := w.As(user, groups...)
		if err != nil {
			t.Fatal(err)
		}
		c, err := tls.X509KeyPair(config.CertData, config.KeyData)
		if err != nil {
			t.Fatal(err)
		}
		return []tls.Certificate{c}
	}
	w.grant(t, "kubelet-admin", "system:kubelet-api-admin")
	_, err = w.admin.RbacV1().ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "metrics"},
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"nodes/metrics", "nodes/stats"}, Verbs: []string{"get"}}}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w.grant(t, "metrics", "metrics")
	w.pod(t, "access", "measured")
	unrelated, admin, metrics := w.accountToken(t, "unrelated"), w.accountToken(t, "kubelet-admin"), w.accountToken(t, "metrics")
	for _, c := range []struct {
		who    string
		status int
		want   int
	}{
		{"nobody", status(nil, ""), 401},
		{"an invented token", status(nil, "abc"), 401},
		{"another node", status(certificate("system:node:n2", "system:nodes"), ""), 403},
		{"an unrelated service account", status(nil, unrelated), 403},
		{"an administrator", status(certificate("admin", "system:masters"), ""), 200},
	} {
		if c.status != c.want {
			t.Errorf("%s gets %d, not %d", c.who, c.status, c.want)
		}
	}
	// RBAC reads bindings from a watch, so the right may be a moment late; a refusal is remembered for half a minute.
	until(t, "a service account with the role", func() (int, error) { return status(nil, admin), nil }, func(s int) bool { return s == 200 })
	// What metrics-server does, with the rights that it has.
	until(t, "the metrics of resources", func() (string, error) {
		_, body := ask("/metrics/resource", nil, metrics)
		return body, nil
	}, func(body string) bool {
		return strings.Contains(body, `pod_cpu_usage_seconds_total{namespace="default",pod="measured"} 1 `) && strings.Contains(body, "node_cpu_usage_seconds_total ")
	})
	if s, body := ask("/stats/summary", nil, metrics); s != 200 || !strings.Contains(body, `"name":"measured"`) {
		t.Errorf("the summary is %d: %s", s, body)
	}
	if s := status(nil, metrics); s != 403 {
		t.Errorf("who may read metrics gets %d for the pods", s)
	}
}

// accountToken makes a service account of the namespace default, if there is none, and returns a token of it.
func (w *world) accountToken(t *testing.T, account string) string {
	t.Helper()
	accounts := w.admin.CoreV1().ServiceAccounts("default")
	_, err := accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	answer, err := accounts.CreateToken(t.Context(), account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return answer.Status.Token
}

// grant lets a service account of the namespace default do what a role says.
func (w *world) grant(t *testing.T, account, role string) {
	t.Helper()
	_, err := w.admin.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: account},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "default", Name: account}}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// foreign: a Node of another kubelet is not taken over.
func (w *world) foreign(t *testing.T) {
	other := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "foreign"},
		Status: corev1.NodeStatus{NodeInfo: corev1.NodeSystemInfo{ContainerRuntimeVersion: "containerd://2.0.0"}}}
	if _, err := w.admin.CoreV1().Nodes().Create(t.Context(), other, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	config, err := w.As("system:node:foreign", "system:nodes")
	if err != nil {
		t.Fatal(err)
	}
	client := kubernetes.NewForConfigOrDie(config)
	n, err := node.New(node.Config{Name: "foreign", Client: client, Provider: newEcho(client), Host: node.ThisHost(t.TempDir()), RuntimeVersion: "vmseed://0"})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "containerd") {
		t.Errorf("the Node of another kubelet is taken over: %v", err)
	}
}

// drain: a node that is emptied takes no pods until it starts again.
func (w *world) drain(t *testing.T) {
	r := w.node(t, "drain", nil)
	w.pod(t, "drain", "evicted")
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	if err := r.Drain(ctx); err != nil {
		t.Fatal(err)
	}
	n, err := w.get("drain")()
	if run, _ := r.provider.seen(); err != nil || !n.Spec.Unschedulable || run != 0 {
		t.Errorf("%v: unschedulable is %v, and %d pods run", err, n.Spec.Unschedulable, run)
	}
	r.stop()
	w.node(t, "drain", nil)
	until(t, "after a restart", w.get("drain"), func(n *corev1.Node) bool { return !n.Spec.Unschedulable && n.Annotations["vmseed.dev/drained"] == "" })
}
