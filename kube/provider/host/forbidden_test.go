package host

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"

	"github.com/vmseed/vmseed/kube/provider"
)

// TestForbidden has a pod wait for an object that only an annotation names, and names what lets the node read it.
func TestForbidden(t *testing.T) {
	client := fake.NewClientset()
	client.PrependReactor("get", "secrets", func(ktesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "keys", errors.New("no relationship found"))
	})
	h := testHost(t, client)
	pod := testPod()
	pod.Annotations["VirtletSSHKeySource"] = "secret/keys"
	_, _, l, err := h.machine(t.Context(), h.completed(pod, connection{}), newLocal(client, "n", "node"))
	var wait *provider.WaitError
	if !errors.As(passing(l, err), &wait) || wait.Reason != provider.ReasonConfigError || !strings.Contains(wait.Error(), "vmseed-sources") {
		t.Errorf("%v, %v", l, err)
	}
	for _, d := range advised(l) {
		if strings.Contains(d.Error(), "canary") {
			t.Errorf("a secret is told: %v", d)
		}
	}
}
