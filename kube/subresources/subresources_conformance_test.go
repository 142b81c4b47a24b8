//go:build conformance && extended

package subresources_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/discovery"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestDiscovery has the API server find the server by the certificate that the server has put into the APIServices, and
// clients find the API.
func TestDiscovery(t *testing.T) {
	shared.available(t)
	config, err := shared.Config()
	must(t, err)
	finder, err := discovery.NewDiscoveryClientForConfig(config)
	must(t, err)
	list, err := finder.ServerResourcesForGroupVersion("subresources.kubevirt.io/v1")
	must(t, err)
	var names []string
	for _, r := range list.APIResources {
		names = append(names, r.Name)
	}
	got := strings.Join(names, " ")
	want := "virtualmachines/start virtualmachines/stop virtualmachines/restart virtualmachines/portforward virtualmachineinstances/console " +
		"virtualmachineinstances/portforward virtualmachineinstances/softreboot virtualmachineinstances/pause virtualmachineinstances/unpause " +
		"virtualmachineinstances/reset virtualmachineinstances/guestosinfo virtualmachineinstances/userlist virtualmachineinstances/filesystemlist"
	if got != want {
		t.Errorf("resources:\n%s\nwant\n%s", got, want)
	}
	if _, err := finder.ServerPreferredResources(); err != nil {
		t.Errorf("preferred resources: %v", err)
	}
	if _, err := finder.OpenAPISchema(); err != nil {
		t.Errorf("OpenAPI: %v", err)
	}
	// kubectl goes on finding the objects by their short names.
	out, err := exec.CommandContext(t.Context(), shared.Kubectl, "--kubeconfig", shared.Kubeconfig, "get", "vm,vmi", "-A").CombinedOutput()
	if err != nil {
		t.Errorf("kubectl get vm,vmi: %v\n%s", err, out)
	}
	version, err := shared.run(t, "owner", "default", "version")
	if err != nil || !strings.Contains(version, "Server Version") || !strings.Contains(version, "v1.8.0+vmseed.test") {
		t.Errorf("virtctl version: %v\n%s", err, version)
	}
}

// TestLifecycle has virtctl start, stop and restart machines of each strategy.
func TestLifecycle(t *testing.T) {
	shared.available(t)
	namespace := shared.namespace(t)
	for _, test := range []struct {
		name     string
		strategy kubevirtv1.VirtualMachineRunStrategy
		running  bool
		args     []string
		says     string
		becomes  kubevirtv1.VirtualMachineRunStrategy
		requests string
	}{
		{"start-halted", kubevirtv1.RunStrategyHalted, false, []string{"start"}, "was scheduled to start", kubevirtv1.RunStrategyAlways, ""},
		{"start-manual", kubevirtv1.RunStrategyManual, false, []string{"start"}, "was scheduled to start", kubevirtv1.RunStrategyManual, "Start"},
		{"start-running", kubevirtv1.RunStrategyManual, true, []string{"start"}, "VM is already running", kubevirtv1.RunStrategyManual, ""},
		{"start-always", kubevirtv1.RunStrategyAlways, false, []string{"start"}, "Always does not support manual start requests", kubevirtv1.RunStrategyAlways, ""},
		{"start-dry", kubevirtv1.RunStrategyHalted, false, []string{"start", "--dry-run"}, "was scheduled to start", kubevirtv1.RunStrategyHalted, ""},
		{"start-paused", kubevirtv1.RunStrategyHalted, false, []string{"start", "--paused"}, "cannot start a VM paused", kubevirtv1.RunStrategyHalted, ""},
		{"stop-always", kubevirtv1.RunStrategyAlways, true, []string{"stop"}, "was scheduled to stop", kubevirtv1.RunStrategyHalted, ""},
		{"stop-manual", kubevirtv1.RunStrategyManual, true, []string{"stop"}, "was scheduled to stop", kubevirtv1.RunStrategyManual, "Stop"},
		{"stop-force", kubevirtv1.RunStrategyAlways, true, []string{"stop", "--force", "--grace-period=0"}, "was scheduled to stop", kubevirtv1.RunStrategyHalted, ""},
		{"stop-stopped", kubevirtv1.RunStrategyManual, false, []string{"stop"}, "VM is not running", kubevirtv1.RunStrategyManual, ""},
		{"restart", kubevirtv1.RunStrategyAlways, true, []string{"restart"}, "was scheduled to restart", kubevirtv1.RunStrategyAlways, "Stop,Start"},
		{"restart-force", kubevirtv1.RunStrategyAlways, true, []string{"restart", "--force", "--grace-period=0"}, "was scheduled to restart", kubevirtv1.RunStrategyAlways, "Stop,Start"},
		{"restart-halted", kubevirtv1.RunStrategyHalted, false, []string{"restart"}, "RunStategy Halted does not support manual restart requests", kubevirtv1.RunStrategyHalted, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			vm := shared.machine(t, namespace, test.name, test.strategy, test.running)
			out, err := shared.run(t, "owner", namespace, append(test.args, test.name)...)
			if !strings.Contains(out, test.says) || (err == nil) != strings.Contains(test.says, "scheduled") {
				t.Errorf("virtctl says %v:\n%s\nwant %q", err, out, test.says)
			}
			if strings.Contains(out, "client virtctl version that is different") {
				t.Errorf("virtctl complains about the version:\n%s", out)
			}
			must(t, shared.client.Get(t.Context(), client.ObjectKeyFromObject(vm), vm))
			var requests []string
			for _, r := range vm.Status.StateChangeRequests {
				requests = append(requests, string(r.Action))
			}
			if got := strings.Join(requests, ","); *vm.Spec.RunStrategy != test.becomes || got != test.requests {
				t.Errorf("the machine has strategy %s and requests %q, want %s and %q", *vm.Spec.RunStrategy, got, test.becomes, test.requests)
			}
			vmi, pod := &kubevirtv1.VirtualMachineInstance{}, shared.pod(t, namespace, test.name)
			switch test.name {
			case "stop-force":
				must(t, shared.client.Get(t.Context(), client.ObjectKeyFromObject(vm), vmi))
				if g := vmi.Spec.TerminationGracePeriodSeconds; g == nil || *g != 0 {
					t.Errorf("the grace period of the instance is %v, want 0", g)
				}
			case "restart-force":
				if pod.DeletionTimestamp == nil || *pod.DeletionGracePeriodSeconds != 1 {
					t.Error("the launcher pod is not on its way out")
				}
			case "restart":
				if pod.DeletionTimestamp != nil {
					t.Error("the launcher pod is gone, though the guest had its grace period to end")
				}
			}
		})
	}
	if out, err := shared.run(t, "owner", namespace, "start", "nobody"); err == nil || !strings.Contains(out, `"nobody" not found`) {
		t.Errorf("virtctl start of a machine that is not there: %v\n%s", err, out)
	}
}

// TestConsole has virtctl talk to the console of a VM; a second one takes it over, and the end of the VM is told.
func TestConsole(t *testing.T) {
	shared.available(t)
	namespace := shared.namespace(t)
	shared.machine(t, namespace, "talks", kubevirtv1.RunStrategyAlways, true)
	first := shared.open(t, namespace, "console", "talks")
	first.want(t, "console of virt-launcher-talks-x")
	first.say(t, "hello\n")
	first.want(t, "HELLO")
	second := shared.open(t, namespace, "console", "talks")
	second.want(t, "console of virt-launcher-talks-x")
	if err := first.wait(); err == nil || !strings.Contains(first.errors.String(), "another user connected to the console") {
		t.Errorf("the console that was taken away ends with %v:\n%s", err, first.errors.String())
	}
	second.say(t, "poweroff\n")
	second.want(t, "POWEROFF")
	if err := second.wait(); err == nil || !strings.Contains(second.errors.String(), "the target VM was powered off") {
		t.Errorf("the console of a VM that ends says %v:\n%s", err, second.errors.String())
	}
	shared.machine(t, namespace, "halted", kubevirtv1.RunStrategyHalted, false)
	if out, err := shared.run(t, "owner", namespace, "console", "halted", "--timeout=1"); err == nil || !strings.Contains(out, `"halted" not found`) {
		t.Errorf("the console of a machine without an instance: %v\n%s", err, out)
	}
}

// TestForward has virtctl forward a port, by instance and by machine.
func TestForward(t *testing.T) {
	shared.available(t)
	namespace := shared.namespace(t)
	shared.machine(t, namespace, "serves", kubevirtv1.RunStrategyAlways, true)
	for _, kind := range []string{"vm", "vmi"} {
		s := shared.open(t, namespace, "port-forward", "--stdio=true", kind+"/serves", "7")
		s.say(t, "ping by "+kind+"\n")
		s.want(t, strings.ToUpper("ping by "+kind))
		s.end()
	}
	deaf := shared.open(t, namespace, "port-forward", "--stdio=true", "vmi/serves", "9")
	if err := deaf.wait(); err == nil || !strings.Contains(deaf.errors.String(), "nobody listens on port 9") {
		t.Errorf("a port that nobody listens on: %v\n%s", err, deaf.errors.String())
	}
	if out, err := shared.run(t, "owner", namespace, "port-forward", "--stdio=true", "vmi/serves", "udp/7"); err == nil || !strings.Contains(out, "only TCP is forwarded") {
		t.Errorf("UDP: %v\n%s", err, out)
	}
}

// TestGuest has virtctl ask a guest about itself; the guest is this machine.
func TestGuest(t *testing.T) {
	shared.available(t)
	namespace := shared.namespace(t)
	shared.machine(t, namespace, "guest", kubevirtv1.RunStrategyAlways, true)
	out, err := shared.run(t, "owner", namespace, "guestosinfo", "guest")
	var info kubevirtv1.VirtualMachineInstanceGuestAgentInfo
	if err != nil || json.Unmarshal([]byte(out), &info) != nil {
		t.Fatalf("virtctl guestosinfo: %v\n%s", err, out)
	}
	kernel, err := exec.Command("uname", "-r").Output()
	must(t, err)
	if info.OS.KernelRelease != strings.TrimSpace(string(kernel)) || info.OS.ID == "" || info.Hostname == "" || info.Timezone == "" {
		t.Errorf("the guest: %s", out)
	}
	for _, command := range []string{"userlist", "fslist"} {
		out, err := shared.run(t, "owner", namespace, command, "guest")
		var list struct{ Items []json.RawMessage }
		if err != nil || json.Unmarshal([]byte(out), &list) != nil || list.Items == nil {
			t.Errorf("virtctl %s: %v\n%s", command, err, out)
		}
	}
	if out, err := shared.run(t, "owner", namespace, "soft-reboot", "guest"); err != nil {
		t.Errorf("virtctl soft-reboot: %v\n%s", err, out)
	}
	shared.kubelet.mu.Lock()
	defer shared.kubelet.mu.Unlock()
	if len(shared.kubelet.reboots) != 1 || shared.kubelet.reboots[0] != "virt-launcher-guest-x" {
		t.Errorf("rebooted: %v", shared.kubelet.reboots)
	}
}

// TestPause has virtctl pause and reset a VM.
func TestPause(t *testing.T) {
	shared.available(t)
	namespace := shared.namespace(t)
	shared.machine(t, namespace, "rests", kubevirtv1.RunStrategyAlways, true)
	for _, command := range []string{"pause vm rests", "pause vmi rests --dry-run", "reset rests"} {
		if out, err := shared.run(t, "owner", namespace, strings.Fields(command)...); err != nil {
			t.Errorf("virtctl %s: %v\n%s", command, err, out)
		}
	}
	shared.kubelet.mu.Lock()
	defer shared.kubelet.mu.Unlock()
	if want := []string{"vmseed.dev/pause virt-launcher-rests-x", "vmseed.dev/reset virt-launcher-rests-x"}; !slices.Equal(shared.kubelet.words, want) {
		t.Errorf("the node was told %q", shared.kubelet.words)
	}
}

// TestRefused has virtctl ask for what vmseed does not do.
func TestRefused(t *testing.T) {
	shared.available(t)
	namespace := shared.namespace(t)
	shared.machine(t, namespace, "x", kubevirtv1.RunStrategyAlways, true)
	for _, test := range []struct{ args, says string }{
		{"unpause vmi x", "VMI is not paused"},
		{"migrate x", "vmseed does not migrate VMs"},
		{"expand --vm x", "no instance types or preferences"},
	} {
		out, err := shared.run(t, "root", namespace, strings.Fields(test.args)...)
		if err == nil || !strings.Contains(out, test.says) {
			t.Errorf("virtctl %s: %v\n%s", test.args, err, out)
		}
	}
}

// TestCallers holds who may call: users by their rights, and at the server's own address nobody but the front proxy.
func TestCallers(t *testing.T) {
	shared.available(t)
	namespace := shared.namespace(t)
	shared.machine(t, namespace, "x", kubevirtv1.RunStrategyHalted, false)
	out, err := shared.run(t, "stranger", namespace, "start", "x")
	if err == nil || !strings.Contains(out, "forbidden") {
		t.Errorf("a user without rights: %v\n%s", err, out)
	}
	start := path("v1", namespace, "virtualmachines", "x", "start")
	owner := map[string]string{"X-Remote-User": "owner", "X-Remote-Group": "system:masters"}
	proxy := shared.frontProxy(t)
	config, err := shared.As("owner", "system:masters")
	must(t, err)
	user, err := tls.X509KeyPair(config.CertData, config.KeyData)
	must(t, err)
	for _, test := range []struct {
		name        string
		certificate *tls.Certificate
		headers     map[string]string
		want        int
	}{
		{"no certificate", nil, owner, http.StatusUnauthorized},
		{"a user's certificate", &user, owner, http.StatusUnauthorized},
		{"the front proxy without a user", proxy, nil, http.StatusUnauthorized},
		{"the front proxy for a user without rights", proxy, map[string]string{"X-Remote-User": "stranger"}, http.StatusForbidden},
		{"the front proxy for a user with them", proxy, map[string]string{"X-Remote-User": "owner"}, http.StatusAccepted},
	} {
		if code, body := shared.direct(t, test.certificate, test.headers, http.MethodPut, start); code != test.want {
			t.Errorf("%s: %d %s, want %d", test.name, code, body, test.want)
		}
	}
	// kubectl alone will do; the request before has started the machine.
	replace := exec.CommandContext(t.Context(), shared.Kubectl, "--kubeconfig", shared.kubeconfig(t, "owner"), "replace", "--raw",
		path("v1alpha3", namespace, "virtualmachines", "x", "stop"), "-f", "-")
	replace.Stdin = strings.NewReader("{}")
	said, err := replace.CombinedOutput()
	vm := &kubevirtv1.VirtualMachine{}
	must(t, shared.client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "x"}, vm))
	if err != nil || *vm.Spec.RunStrategy != kubevirtv1.RunStrategyHalted {
		t.Errorf("kubectl replace --raw: %v, strategy %s\n%s", err, *vm.Spec.RunStrategy, said)
	}
	// Headers that a client of the API server adds itself do not reach the server.
	config, err = shared.As("stranger")
	must(t, err)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return forger{next} })
	finder, err := discovery.NewDiscoveryClientForConfig(config)
	must(t, err)
	err = finder.RESTClient().Put().AbsPath(start).Do(t.Context()).Error()
	if !apierrors.IsForbidden(err) {
		t.Errorf("a user who adds headers of the front proxy: %v", err)
	}
}

// forger adds the headers of the front proxy to requests.
type forger struct{ next http.RoundTripper }

func (f forger) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-Remote-User", "owner")
	r.Header.Set("X-Remote-Group", "system:masters")
	return f.next.RoundTrip(r)
}

// session is a virtctl that talks.
type session struct {
	command *exec.Cmd
	in      io.WriteCloser
	lines   chan string
	errors  strings.Builder
	cancel  context.CancelFunc
}

// open starts a virtctl command that is a dialogue.
func (c *cluster) open(t *testing.T, namespace string, args ...string) *session {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	s := &session{cancel: cancel, lines: make(chan string, 100)}
	s.command = exec.CommandContext(ctx, c.virtctl, append([]string{"--kubeconfig", c.kubeconfig(t, "owner"), "--namespace", namespace}, args...)...)
	s.command.Stderr = &s.errors
	var err error
	s.in, err = s.command.StdinPipe()
	must(t, err)
	out, err := s.command.StdoutPipe()
	must(t, err)
	must(t, s.command.Start())
	go func() {
		defer close(s.lines)
		scanner := bufio.NewScanner(out)
		for scanner.Scan() {
			s.lines <- scanner.Text()
		}
	}()
	return s
}

func (s *session) say(t *testing.T, text string) {
	t.Helper()
	_, err := io.WriteString(s.in, text)
	must(t, err)
}

// want reads until a line has a text.
func (s *session) want(t *testing.T, text string) {
	t.Helper()
	for line := range s.lines {
		if strings.Contains(line, text) {
			return
		}
	}
	err := s.command.Wait()
	t.Fatalf("virtctl ended (%v) before it wrote %q:\n%s", err, text, s.errors.String())
}

// wait returns how virtctl ended by itself.
func (s *session) wait() error {
	for range s.lines {
	}
	return s.command.Wait()
}

// end ends virtctl.
func (s *session) end() {
	s.cancel()
	_ = s.wait()
}
