// Package objects reads Secrets, ConfigMaps and claims out of a cluster, one GET for each: it never lists or watches, so
// a node needs no more than the node authorizer gives it, and holds no more than its pods name.
package objects

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	"github.com/vmseed/vmseed/format/kubeobject"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/internal/bounded"
)

// maxObjects is how many objects one Resolver asks for. A definition that names more is not one of a VM.
const maxObjects = 512

// ErrForbidden is wrapped by errors about objects that this client may not read.
var ErrForbidden = errors.New("the API server forbids it")

// Resolver finds objects at an API server. It keeps what it has read for its own life, which is to be that of one reading
// of one definition, so that all references to an object are to the same state of it. It may be used by several
// goroutines.
type Resolver struct {
	// Hint says what to do about an object that may not be read.
	Hint string
	// Admit is asked about each object that was read, which its error keeps back. It may be nil, and asks this Resolver nothing.
	Admit func(ctx context.Context, object runtime.Object) error

	client kubernetes.Interface
	mutex  sync.Mutex
	known  map[kubeobject.Ref]answer
}

// answer is what the API server said about an object.
type answer struct {
	object kubeobject.Object
	err    error
}

var _ frontend.Resolver = (*Resolver)(nil)

// New returns a Resolver that asks by means of a client.
func New(client kubernetes.Interface) *Resolver {
	return &Resolver{client: client, known: map[kubeobject.Ref]answer{}}
}

// Resolve gets an object. The error wraps frontend.ErrNotFound when there is none, and ErrForbidden when this client may not
// read it. Neither errors nor what they wrap hold anything of an object's contents.
func (r *Resolver) Resolve(ctx context.Context, ref kubeobject.Ref) (kubeobject.Object, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if a, ok := r.known[ref]; ok {
		return a.object, a.err
	}
	if len(r.known) >= maxObjects {
		return kubeobject.Object{}, fmt.Errorf("%s: more than %d objects are named", ref, maxObjects)
	}
	o, err := r.get(ctx, ref)
	if ctx.Err() == nil {
		r.known[ref] = answer{o, err}
	}
	return o, err
}

// get asks the API server.
func (r *Resolver) get(ctx context.Context, ref kubeobject.Ref) (kubeobject.Object, error) {
	object, err := r.fetch(ctx, ref)
	switch {
	case apierrors.IsNotFound(err):
		return kubeobject.Object{}, fmt.Errorf("%s: %w in the cluster", ref, frontend.ErrNotFound)
	case apierrors.IsForbidden(err):
		err = ErrForbidden // whose object the caller says; the API server's own words name the node's user, which helps nobody
		if r.Hint != "" {
			err = fmt.Errorf("%w; %s", err, r.Hint)
		}
		return kubeobject.Object{}, err
	case err != nil:
		return kubeobject.Object{}, err
	}
	if r.Admit != nil {
		if err := r.Admit(ctx, object); err != nil {
			return kubeobject.Object{}, fmt.Errorf("%s: %w", ref, err)
		}
	}
	return Parse(object)
}

// fetch gets the typed object, with its kind, which answers of typed clients lack.
func (r *Resolver) fetch(ctx context.Context, ref kubeobject.Ref) (o runtime.Object, err error) {
	core, get := r.client.CoreV1(), metav1.GetOptions{}
	kind := metav1.TypeMeta{APIVersion: "v1", Kind: ref.Kind}
	switch ref.Kind {
	case kubeobject.Secret:
		x, err := core.Secrets(ref.Namespace).Get(ctx, ref.Name, get)
		if err != nil {
			return nil, err
		}
		x.TypeMeta, x.ManagedFields, x.Annotations = kind, nil, nil
		return x, nil
	case kubeobject.ConfigMap:
		x, err := core.ConfigMaps(ref.Namespace).Get(ctx, ref.Name, get)
		if err != nil {
			return nil, err
		}
		x.TypeMeta, x.ManagedFields, x.Annotations = kind, nil, nil
		return x, nil
	case kubeobject.PersistentVolumeClaim:
		x, err := core.PersistentVolumeClaims(ref.Namespace).Get(ctx, ref.Name, get)
		if err != nil {
			return nil, err
		}
		x.TypeMeta, x.ManagedFields, x.Status = kind, nil, corev1.PersistentVolumeClaimStatus{}
		return x, nil
	case kubeobject.PersistentVolume:
		x, err := core.PersistentVolumes().Get(ctx, ref.Name, get)
		if err != nil {
			return nil, err
		}
		x.TypeMeta, x.ManagedFields, x.Status = kind, nil, corev1.PersistentVolumeStatus{}
		return x, nil
	}
	return nil, fmt.Errorf("objects of the kind %s are not read from a cluster: %w", ref.Kind, frontend.ErrNotFound)
}

// Parse makes of an object of the API what definitions refer to. It has to have its kind and apiVersion.
func Parse(object runtime.Object) (kubeobject.Object, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return kubeobject.Object{}, err
	}
	meta, ok := object.(metav1.Object)
	if !ok {
		return kubeobject.Object{}, errors.New("this is no object of an API server")
	}
	file := meta.GetName()
	if meta.GetNamespace() != "" {
		file = meta.GetNamespace() + "/" + file
	}
	file = object.GetObjectKind().GroupVersionKind().Kind + "/" + file
	values, l := tree.Parse(file, text, bounded.Defaults())
	objects, _, problems := kubeobject.Read(values)
	l = append(l, problems...)
	if err := l.Err(); err != nil || len(objects) != 1 {
		return kubeobject.Object{}, errors.Join(fmt.Errorf("%s is no object that definitions refer to", file), err)
	}
	return objects[0], nil
}
