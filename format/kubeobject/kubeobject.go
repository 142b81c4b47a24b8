// Package kubeobject reads the Kubernetes objects that VM definitions refer to: Secrets, ConfigMaps and claims, out of
// manifests as kubectl takes them, multi-document files and List objects included.
package kubeobject

import (
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/secret"
)

// Ref names an object.
type Ref struct {
	// Kind is Secret, ConfigMap, PersistentVolumeClaim and so on.
	Kind      string
	Namespace string
	Name      string
}

// String returns Kind namespace/name.
func (r Ref) String() string { return r.Kind + " " + r.Namespace + "/" + r.Name }

// Object is a Kubernetes object as far as definitions use it.
type Object struct {
	Ref Ref
	// Data are the values of a Secret or ConfigMap, decoded, sorted by key.
	Data []Item
	// Tree is the whole object.
	Tree tree.Value
}

// Item is a value of a Secret or ConfigMap.
type Item struct {
	Key    string
	Value  secret.Text
	Origin diag.Origin
}

// Item returns the value under key and whether there is one.
func (o Object) Item(key string) (Item, bool) {
	for _, it := range o.Data {
		if it.Key == key {
			return it, true
		}
	}
	return Item{}, false
}
