package controller

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Machines and instances are read as they are, without Go types: one that fits no type must not stop the others, and a
// field that the types lack must not be lost. The types serve for their status alone.
var (
	vmKind       = schema.GroupVersionKind{Group: "kubevirt.io", Version: "v1", Kind: "VirtualMachine"}
	vmiKind      = schema.GroupVersionKind{Group: "kubevirt.io", Version: "v1", Kind: "VirtualMachineInstance"}
	kubevirtKind = schema.GroupVersionKind{Group: "kubevirt.io", Version: "v1", Kind: "KubeVirt"}
)

// empty returns an object of a kind.
func empty(kind schema.GroupVersionKind) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind)
	return u
}

// emptyList returns a list of objects of a kind.
func emptyList(kind schema.GroupVersionKind) *unstructured.UnstructuredList {
	u := &unstructured.UnstructuredList{}
	kind.Kind += "List"
	u.SetGroupVersionKind(kind)
	return u
}

// fetch reads an object out of the cache. It returns nil when there is none.
func fetch(ctx context.Context, c client.Reader, kind schema.GroupVersionKind, key client.ObjectKey) (*unstructured.Unstructured, error) {
	u := empty(kind)
	if err := c.Get(ctx, key, u); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return u, nil
}

// text returns a text of an object, or an empty one.
func text(u *unstructured.Unstructured, path ...string) string {
	s, _, _ := unstructured.NestedString(u.Object, path...)
	return s
}

// member returns a mapping of an object that is not to be written to, or nil.
func member(u *unstructured.Unstructured, path ...string) map[string]any {
	v, _, _ := unstructured.NestedFieldNoCopy(u.Object, path...)
	m, _ := v.(map[string]any)
	return m
}

// items returns a list of an object that is not to be written to, or nil.
func items(u *unstructured.Unstructured, path ...string) []any {
	v, _, _ := unstructured.NestedFieldNoCopy(u.Object, path...)
	l, _ := v.([]any)
	return l
}

// controlledBy reports whether an object belongs to another one as to its controller.
func controlledBy(u, owner *unstructured.Unstructured) bool {
	ref := metav1.GetControllerOf(u)
	return ref != nil && ref.UID == owner.GetUID()
}

// statusOf reads the status of an object. One that nobody could have written is read as if it were not there.
func statusOf[S any](u *unstructured.Unstructured) S {
	var s S
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(member(u, "status"), &s); err != nil {
		var none S
		return none
	}
	return s
}

// patchStatus writes what differs between two states of an object's status, and nothing when they are the same. With locked the
// write fails when somebody else has written the object meanwhile.
func patchStatus[S any](ctx context.Context, c client.Client, u *unstructured.Unstructured, old, now S, locked bool) error {
	before, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&old)
	if err != nil {
		return fmt.Errorf("the status of %s: %w", u.GetKind(), err)
	}
	after, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&now)
	if err != nil {
		return fmt.Errorf("the status of %s: %w", u.GetKind(), err)
	}
	base, changed := shell(u), shell(u)
	base.Object["status"], changed.Object["status"] = before, after
	patch := client.MergeFrom(base)
	if data, err := patch.Data(changed); err != nil || string(data) == "{}" {
		return err
	}
	// With the UID in it the patch is refused when another object has taken the name, and with the version when the object has changed.
	base.SetUID("")
	if locked {
		base.SetResourceVersion("")
	}
	return c.Status().Patch(ctx, changed, patch)
}

// shell is an object without its content.
func shell(u *unstructured.Unstructured) *unstructured.Unstructured {
	out := empty(u.GroupVersionKind())
	out.SetName(u.GetName())
	out.SetNamespace(u.GetNamespace())
	out.SetUID(u.GetUID())
	out.SetResourceVersion(u.GetResourceVersion())
	return out
}

// digest is a hash of something that can be written as JSON, whose mappings are in order.
func digest(parts ...any) string {
	data, err := json.Marshal(parts)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])[:16]
}
