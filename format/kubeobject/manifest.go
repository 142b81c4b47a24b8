package kubeobject

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/vmseed/vmseed/diag"
)

// ErrNotFound is wrapped by the errors about an object that does not exist.
var ErrNotFound = errors.New("not found")

// MissingError says that an object is not in the manifests. It wraps ErrNotFound.
type MissingError struct {
	Ref Ref
	// Have are the objects of the same kind that are there: those of the same name first, then those of the same namespace.
	Have []Ref
}

// Error names the missing object and those that the input has instead.
func (e *MissingError) Error() string {
	if len(e.Have) == 0 {
		return fmt.Sprintf("%s is referred to here, the input has no %s", e.Ref, e.Ref.Kind)
	}
	names := make([]string, 0, len(e.Have))
	for _, r := range e.Have[:min(len(e.Have), 5)] {
		names = append(names, r.String())
	}
	if len(e.Have) > 5 {
		names = append(names, fmt.Sprintf("%d more", len(e.Have)-5))
	}
	return fmt.Sprintf("%s is referred to here, the input has %s", e.Ref, strings.Join(names, ", "))
}

// Unwrap returns ErrNotFound.
func (e *MissingError) Unwrap() error { return ErrNotFound }

// Manifest finds objects among those of an input. It may be used by several goroutines. The zero value is empty.
type Manifest struct {
	objects []Object
	index   map[Ref]int

	mu   sync.Mutex
	used map[Ref]bool
}

// NewManifest collects the objects of an input. Two objects of the same kind, namespace and name are an error.
func NewManifest(objects []Object) (*Manifest, diag.List) {
	var l diag.List
	m := &Manifest{index: map[Ref]int{}, used: map[Ref]bool{}}
	for _, o := range objects {
		if first, ok := m.index[o.Ref]; ok {
			l.Add(diag.Diagnostic{Code: CodeDuplicate, Severity: diag.Error, Range: o.Tree.Range(),
				Summary: fmt.Sprintf("%s stands twice in the input", o.Ref), Remedy: "remove or rename one of the two"}.
				With(m.objects[first].Tree.Range(), "the first one is here"))
			continue
		}
		m.index[o.Ref] = len(m.objects)
		m.objects = append(m.objects, o)
	}
	return m, l
}

// Resolve returns an object of the input, or a MissingError.
func (m *Manifest) Resolve(_ context.Context, ref Ref) (Object, error) {
	i, ok := m.index[ref]
	if !ok {
		missing := &MissingError{Ref: ref}
		for _, o := range m.objects {
			if o.Ref.Kind == ref.Kind {
				missing.Have = append(missing.Have, o.Ref)
			}
		}
		slices.SortFunc(missing.Have, func(a, b Ref) int {
			return cmp.Or(cmp.Compare(ref.distance(a), ref.distance(b)), cmp.Compare(a.String(), b.String()))
		})
		return Object{}, missing
	}
	m.mu.Lock()
	m.used[ref] = true
	m.mu.Unlock()
	return m.objects[i], nil
}

// distance says how unlikely it is that another object of the same kind was meant.
func (r Ref) distance(other Ref) int {
	switch {
	case r.Name == other.Name:
		return 0
	case r.Namespace == other.Namespace:
		return 1
	}
	return 2
}

// Unused reports, as notes, the objects that nobody has asked for, in the order of the input.
func (m *Manifest) Unused() diag.List {
	m.mu.Lock()
	defer m.mu.Unlock()
	var l diag.List
	for _, o := range m.objects {
		if !m.used[o.Ref] {
			l.Notef(CodeUnused, o.Tree.Range(), "", "nothing refers to %s", o.Ref)
		}
	}
	return l
}
