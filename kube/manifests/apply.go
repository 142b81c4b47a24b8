package manifests

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The label by which the objects of an installation are known, and its value.
const (
	OwnerLabel = "app.kubernetes.io/managed-by"
	Owner      = "vmseed"
)

// FieldOwner is the name under which Apply holds fields.
const FieldOwner = "vmseed-kube"

// ErrForeign says that a definition belongs to another product, normally to a KubeVirt that is installed.
var ErrForeign = errors.New("belongs to another owner")

// definition is the kind of definitions of kinds.
var definition = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}

// CheckOwner returns an error that is ErrForeign when one of the definitions that vmseed installs is in the cluster
// and does not have the label OwnerLabel with the value Owner. It needs the right to get customresourcedefinitions.
func CheckOwner(ctx context.Context, c client.Reader) error {
	objects, err := Objects(CRD)
	if err != nil {
		return err
	}
	for _, o := range objects {
		found := &unstructured.Unstructured{}
		found.SetGroupVersionKind(definition)
		err := c.Get(ctx, client.ObjectKey{Name: o.GetName()}, found)
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return fmt.Errorf("asking who owns %s: %w", o.GetName(), err)
		case found.GetLabels()[OwnerLabel] != Owner:
			return fmt.Errorf("the definition %s %w (label %s is %q, not %q): a KubeVirt seems to be installed; "+
				"install vmseed beside it, for pods only, or remove it first", o.GetName(), ErrForeign, OwnerLabel,
				found.GetLabels()[OwnerLabel], Owner)
		}
	}
	return nil
}

// Apply applies objects in their order, on the server's side, and waits after each definition until its kind is served.
// It never takes a field away from another manager: that is an error (conflict), and so is a definition of another owner.
func Apply(ctx context.Context, c client.Client, objects []*unstructured.Unstructured) error {
	for _, o := range objects {
		if o.GetKind() == definition.Kind {
			if err := CheckOwner(ctx, c); err != nil {
				return err
			}
			break
		}
	}
	for _, o := range objects {
		if err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(o.DeepCopy()), client.FieldOwner(FieldOwner)); err != nil {
			return fmt.Errorf("applying %s %s: %w", o.GetKind(), client.ObjectKeyFromObject(o), err)
		}
		if o.GetKind() == definition.Kind {
			if err := established(ctx, c, o.GetName()); err != nil {
				return err
			}
		}
	}
	return nil
}

// Wait for a definition to be established for as long, and ask for it as often.
const (
	establishLimit    = time.Minute
	establishInterval = 100 * time.Millisecond
)

// established waits until the API server serves the kind of a definition.
func established(ctx context.Context, c client.Reader, name string) error {
	found := &unstructured.Unstructured{}
	found.SetGroupVersionKind(definition)
	err := wait.PollUntilContextTimeout(ctx, establishInterval, establishLimit, true, func(ctx context.Context) (bool, error) {
		if err := c.Get(ctx, client.ObjectKey{Name: name}, found); err != nil {
			return false, client.IgnoreNotFound(err)
		}
		// Right after its creation a definition has null there, which is no list.
		conditions, _, _ := unstructured.NestedSlice(found.Object, "status", "conditions")
		for _, condition := range conditions {
			if m, ok := condition.(map[string]any); ok && m["type"] == "Established" && m["status"] == "True" {
				return true, nil
			}
		}
		return false, nil
	})
	if err != nil && !meta.IsNoMatchError(err) {
		return fmt.Errorf("waiting for %s to be served: %w", name, err)
	}
	return err
}
