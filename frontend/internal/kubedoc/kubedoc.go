// Package kubedoc holds what the readers of Kubernetes' documents have in common: tables that say what becomes of each
// field, the look-up of objects that a document refers to, and amounts.
package kubedoc

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/kubeobject"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/frontend"
)

// Class says what becomes of a field of a document.
type Class int

// The classes of fields.
const (
	// Used fields are read by some other code.
	Used Class = iota + 1
	// Cluster fields concern the cluster or its container runtime.
	Cluster
	// Tuning fields are about how a machine is run; the guest works the same without them.
	Tuning
	// Lost fields have an effect in the guest or around it that there is no way to have here.
	Lost
)

// Table is the class of every field of a mapping.
type Table map[string]Class

// Sort reports an error for every field that is not in the table. Those that no code reads are handed to report, unless
// they are null, and count as read.
func (t Table) Sort(l *diag.List, v tree.Value, report func(Class, tree.Entry)) {
	for _, e := range v.Entries() {
		class, known := t[e.Key]
		switch {
		case !known:
			l.Add(diag.Diagnostic{Code: tree.CodeUnknownField, Severity: diag.Error, Range: e.Span(), Field: e.Value.Path(),
				Summary: fmt.Sprintf("there is no field %q here", e.Key), Remedy: tree.Suggest(e.Key, slices.Sorted(maps.Keys(t)))})
		case class == Used:
			continue
		case e.Value.Kind() != tree.Null:
			report(class, e)
		}
		e.Value.Consume()
	}
}

// Finder finds the objects that a document refers to.
type Finder struct {
	Ctx      context.Context
	Resolver frontend.Resolver
	// Namespace is that of the document, and with it of the objects.
	Namespace string
	// Missing is the code for objects that are not there, MissingKey that for keys that an object does not have.
	Missing, MissingKey diag.Code
}

// Find finds the object that v refers to. A missing one is an error at v, or a note when it is optional.
func (f Finder) Find(l *diag.List, v tree.Value, kind, name string, optional bool) (kubeobject.Object, bool) {
	if !kubeobject.ValidName(name) {
		v.Errorf(l, f.Missing, "", "%q cannot be the name of a %s", name, kind)
		return kubeobject.Object{}, false
	}
	o, err := f.Resolver.Resolve(f.Ctx, kubeobject.Ref{Kind: kind, Namespace: f.Namespace, Name: name})
	switch {
	case err == nil:
		return o, true
	case optional && errors.Is(err, frontend.ErrNotFound):
		Note(l, v, f.Missing, "%s %s/%s is not there; it is optional", kind, f.Namespace, name)
	case errors.Is(err, frontend.ErrNotFound):
		v.Errorf(l, f.Missing, "add the object to the input, or correct the name", "%v", err)
	default:
		v.Errorf(l, f.Missing, "", "%s %s/%s cannot be read: %v", kind, f.Namespace, name, err)
	}
	return kubeobject.Object{}, false
}

// Lacks reports that an object has none of some keys, with the closest one it has as remedy, or all of them.
func (f Finder) Lacks(l *diag.List, v tree.Value, o kubeobject.Object, optional bool, keys ...string) {
	what := fmt.Sprintf("no key %q", keys[0])
	if len(keys) > 1 {
		what = "neither key " + strings.Join(keys, " nor ")
	}
	if optional {
		Note(l, v, f.MissingKey, "%s has %s; it is optional", o.Ref, what)
		return
	}
	v.Errorf(l, f.MissingKey, tree.SuggestOf("keys", keys[0], Keys(o)), "%s has %s", o.Ref, what)
}

// Keys lists the keys of a Secret or ConfigMap.
func Keys(o kubeobject.Object) []string {
	out := make([]string, 0, len(o.Data))
	for _, it := range o.Data {
		out = append(out, it.Key)
	}
	return out
}

// Note adds a remark that asks for nothing.
func Note(l *diag.List, v tree.Value, code diag.Code, format string, args ...any) {
	l.Add(diag.Diagnostic{Code: code, Severity: diag.Note, Range: v.Span(), Field: v.Path(), Summary: fmt.Sprintf(format, args...)})
}

// Text reads a text, and says whether it could.
func Text(l *diag.List, v tree.Value) (string, bool) {
	before := len(*l)
	text := v.Str(l)
	return text, len(*l) == before
}

// maxAmount is the largest amount that documents may state, 1Ei.
const maxAmount = 1 << 60

// Quantity reads an amount that is not negative. It returns false when there is none.
func Quantity(l *diag.List, v tree.Value, code diag.Code) (kubeobject.Quantity, bool) {
	if !v.Exists() || v.Kind() == tree.Null {
		return kubeobject.Quantity{}, false
	}
	before := len(*l)
	text := v.Loose(l)
	if len(*l) > before {
		return kubeobject.Quantity{}, false
	}
	q, err := kubeobject.ParseQuantity(text)
	if err != nil {
		v.Errorf(l, code, "", "this is %v", err)
		return q, false
	}
	if q.Sign() < 0 || q.Times(1) > maxAmount {
		v.Errorf(l, code, "", "an amount from 0 to 1Ei should stand here")
		return q, false
	}
	return q, true
}
