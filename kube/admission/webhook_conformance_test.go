//go:build conformance

package admission_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/vmseed/vmseed/kube/admission"
	"github.com/vmseed/vmseed/kube/controller"
	"github.com/vmseed/vmseed/kube/internal/cluster"
	"github.com/vmseed/vmseed/kube/internal/controlplane"
	"github.com/vmseed/vmseed/kube/internal/controlplane/controlplanetest"
	"github.com/vmseed/vmseed/kube/manifests"
	"github.com/vmseed/vmseed/kube/subresources"
)

const (
	machine = `
kind: VirtualMachine
spec:
  runStrategy: %STRATEGY%
  template:
    spec:
      domain: {memory: {guest: 64Mi}, firmware: %FIRMWARE%, devices: {disks: [{name: root, disk: {bus: virtio}}]}}
      volumes: [{name: root, containerDisk: {image: quay.io/containerdisks/debian:13}}]
`
	instance = `
kind: VirtualMachineInstance
spec:
  domain: {memory: {guest: 64Mi}, firmware: %FIRMWARE%, devices: {disks: [{name: root, disk: {bus: virtio}}]}}
  volumes: [{name: root, containerDisk: {image: quay.io/containerdisks/debian:13}}]
`
	patience = 3 * time.Minute
)

// with fills in what an object is to have.
func with(text, strategy, firmware string) string {
	return strings.NewReplacer("%STRATEGY%", strategy, "%FIRMWARE%", firmware).Replace(text)
}

// create creates an object and returns the UUID and the serial number that the answer has.
func create(t *testing.T, c client.Client, version, text string, options ...client.CreateOption) (o *unstructured.Unstructured, id, serial string) {
	t.Helper()
	o = &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatal(err)
	}
	o.SetAPIVersion("kubevirt.io/" + version)
	o.SetGenerateName("a-")
	o.SetNamespace("default")
	if err := c.Create(t.Context(), o, options...); err != nil {
		t.Fatalf("%s: %v", version, err)
	}
	id, serial = identity(o)
	return o, id, serial
}

// completed creates objects until one is answered with an identity: on a machine that is busy elsewhere the webhook may be given up.
func completed(t *testing.T, c client.Client, version, text string) (o *unstructured.Unstructured, id, serial string) {
	t.Helper()
	for range 10 {
		if o, id, serial = create(t, c, version, text); id != "" {
			break
		}
	}
	return o, id, serial
}

// identity returns what an object has of one.
func identity(o *unstructured.Unstructured) (id, serial string) {
	path := []string{"spec", "domain", "firmware"}
	if o.GetKind() == "VirtualMachine" {
		path = []string{"spec", "template", "spec", "domain", "firmware"}
	}
	held, _, _ := unstructured.NestedStringMap(o.Object, path...)
	return held["uuid"], held["serial"]
}

// TestWebhook creates objects at a real API server whose webhook is the one of an installation, first with the server behind
// it and then without.
func TestWebhook(t *testing.T) {
	plane := controlplanetest.Start(t, controlplane.Options{Alone: true})
	config, err := plane.Config()
	check(t, err)
	admin, err := client.New(config, client.Options{})
	check(t, err)
	objects, err := manifests.Objects(manifests.CRD, manifests.RBAC, manifests.Policy)
	check(t, err)
	check(t, manifests.Apply(t.Context(), admin, objects))
	own, err := plane.As("system:serviceaccount:kubevirt:vmseed-controller", "system:serviceaccounts", "system:serviceaccounts:kubevirt", "system:authenticated")
	check(t, err)
	stop := serve(t, admin, own)

	versions := []string{"v1", "v1alpha3", "v1alpha2"}
	// The API server takes a while until it knows of a webhook, and that the server behind it can be reached.
	eventually(t, "the webhook answers", func() bool {
		_, id, _ := create(t, admin, "v1", with(machine, "Halted", "{}"), client.DryRunAll)
		return id != ""
	})
	for _, version := range versions {
		if o, id, serial := completed(t, admin, version, with(machine, "Halted", "{}")); len(id) != 36 || len(serial) != 36 || id == serial || o.GetGeneration() != 1 {
			t.Errorf("a machine of %s is created with the UUID %q and the serial number %q", version, id, serial)
		}
		if _, id, serial := completed(t, admin, version, with(machine, "Halted", "{serial: mine}")); len(id) != 36 || serial != "mine" {
			t.Errorf("a machine of %s with a serial number is created with the UUID %q and the serial number %q", version, id, serial)
		}
		if _, id, serial := completed(t, admin, version, with(instance, "", "{}")); len(id) != 36 || serial != "" {
			t.Errorf("an instance of %s is created with the UUID %q and the serial number %q", version, id, serial)
		}
		const mine = "5d307ca9-b3ef-428c-8861-06e72d69f223"
		for _, text := range []string{machine, instance} {
			if _, id, serial := create(t, admin, version, with(text, "Halted", "{uuid: "+mine+"}")); id != mine || serial != "" {
				t.Errorf("an object of %s with a UUID is created with %q and the serial number %q", version, id, serial)
			}
		}
	}
	stop()
	o, id, _ := create(t, admin, "v1", with(machine, "Always", "{}"))
	if id != "" {
		t.Errorf("without a server the machine is created with the UUID %q", id)
	}
	running, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- controller.Run(running, own, controller.Options{NoElection: true}) }()
	t.Cleanup(func() {
		end()
		check(t, <-ended)
	})
	eventually(t, "the controller gives the machine its identity", func() bool {
		check(t, admin.Get(t.Context(), client.ObjectKeyFromObject(o), o))
		id, serial := identity(o)
		return len(id) == 36 && len(serial) == 36
	})
}

// serve starts the server behind the webhook, with the rights of the controller, and returns what ends it.
func serve(t *testing.T, admin client.Client, own *rest.Config) (stop func()) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	check(t, err)
	address, ok := listener.Addr().(*net.TCPAddr)
	if !ok {
		t.Fatal("the listener has no port")
	}
	check(t, cluster.Expose(t.Context(), admin, address.Port))
	server, err := subresources.New(subresources.Options{Config: own, Namespace: cluster.Namespace, Listener: listener,
		Identities: admission.Webhook(func() string { return string(uuid.NewUUID()) }), Log: slog.New(slog.DiscardHandler)})
	check(t, err)
	serving, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Start(serving) }()
	stop = sync.OnceFunc(func() {
		end()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return stop
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 200*time.Millisecond, patience, true, func(context.Context) (bool, error) { return is(), nil }); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
