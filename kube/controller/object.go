package controller

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
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

// writeStatus writes what differs between two states of an object's status, and nothing when they are the same. It fails with a conflict
// when somebody else has written the object since it was read, or another one has taken its name. The object is then what it has become.
// It is written as a whole, which costs the API server less than a patch.
func writeStatus[S any](ctx context.Context, c client.Client, u *unstructured.Unstructured, old, now S) error {
	before, err := mapping(old)
	if err != nil {
		return fmt.Errorf("the status of %s: %w", u.GetKind(), err)
	}
	after, err := mapping(now)
	if err != nil {
		return fmt.Errorf("the status of %s: %w", u.GetKind(), err)
	}
	if equality.Semantic.DeepEqual(before, after) {
		return nil
	}
	changed := &unstructured.Unstructured{Object: maps.Clone(u.Object)}
	changed.Object["status"] = differing(member(u, "status"), before, after)
	if err := c.Status().Update(ctx, changed); err != nil {
		return err
	}
	u.Object = changed.Object
	return nil
}

// mapping returns a value as unstructured objects hold it: with the numbers that they may have.
func mapping(v any) (out map[string]any, err error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return out, utiljson.Unmarshal(data, &out)
}

// differing returns a mapping in which what differs between two states of it is as in the later one. Members that the states do not
// know stay as they are.
func differing(held, before, after map[string]any) map[string]any {
	out := maps.Clone(held)
	if out == nil {
		out = map[string]any{}
	}
	for name := range before {
		if _, ok := after[name]; !ok {
			delete(out, name)
		}
	}
	for name, v := range after {
		below, ok := v.(map[string]any)
		was, _ := before[name].(map[string]any)
		switch is, _ := out[name].(map[string]any); {
		case ok && is != nil:
			out[name] = differing(is, was, below)
		case !equality.Semantic.DeepEqual(before[name], v) || out[name] == nil:
			out[name] = v
		}
	}
	return out
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
