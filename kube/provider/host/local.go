package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/client-go/kubernetes"

	"github.com/vmseed/vmseed/format/kubeobject"
	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/kube/objects"
)

// hint is what to do about an object that the node authorizer keeps from the node.
const hint = "a node may read what the volumes and the environment of its pods name: install vmseed-kube's MutatingAdmissionPolicy vmseed-sources " +
	"(config/virtlet), which adds a volume for what annotations name, and make the pod anew; or give it such a volume with optional: true"

// local resolves objects of one namespace: those of others are no pod's business, whatever the node may read. Of volumes it
// knows those that are bound to a claim there.
type local struct {
	*objects.Resolver
	client          kubernetes.Interface
	namespace, node string

	mutex sync.Mutex
	// volumes are the paths on this host of the volumes that were read.
	volumes map[string]bool
}

// newLocal returns the resolver for pods of a namespace on a node.
func newLocal(client kubernetes.Interface, namespace, node string) *local {
	l := &local{Resolver: objects.New(client), client: client, namespace: namespace, node: node, volumes: map[string]bool{}}
	l.Hint, l.Admit = hint, l.admit
	return l
}

// Resolve gets an object of the pod's namespace, or a volume of the cluster.
func (l *local) Resolve(ctx context.Context, ref kubeobject.Ref) (kubeobject.Object, error) {
	if ref.Namespace != l.namespace && ref.Kind != kubeobject.PersistentVolume {
		return kubeobject.Object{}, fmt.Errorf("%s is of another namespace: %w here", ref, frontend.ErrNotFound)
	}
	return l.Resolver.Resolve(ctx, ref)
}

// paths returns the paths of the volumes that were read.
func (l *local) paths() []string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return slices.Sorted(maps.Keys(l.volumes))
}

// admit keeps volumes away that are not the pod's. The name of a volume in a claim may be any: its user writes it, and what
// it is bound to the volume says.
func (l *local) admit(ctx context.Context, object runtime.Object) error {
	volume, ok := object.(*corev1.PersistentVolume)
	if !ok {
		return nil
	}
	to := volume.Spec.ClaimRef
	if to == nil || to.Namespace != l.namespace {
		return errors.New("the volume is not bound to a claim of the pod's namespace")
	}
	claim, err := l.client.CoreV1().PersistentVolumeClaims(to.Namespace).Get(ctx, to.Name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("the claim that the volume is bound to: %w", err)
	}
	if claim.Spec.VolumeName != volume.Name || to.UID != "" && to.UID != claim.UID {
		return errors.New("the volume and the claim are not bound to each other")
	}
	if a := volume.Spec.NodeAffinity; a != nil && a.Required != nil {
		node, err := l.client.CoreV1().Nodes().Get(ctx, l.node, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("whether the volume is on this node: %w", err)
		}
		if !slices.ContainsFunc(a.Required.NodeSelectorTerms, func(t corev1.NodeSelectorTerm) bool { return matches(t, node) }) {
			return errors.New("the volume is on another node")
		}
	}
	path := ""
	switch s := volume.Spec.PersistentVolumeSource; {
	case s.Local != nil:
		path = s.Local.Path
	case s.HostPath != nil:
		path = s.HostPath.Path
	}
	if path != "" {
		l.mutex.Lock()
		defer l.mutex.Unlock()
		l.volumes[filepath.Clean(path)] = true
	}
	return nil
}

// matches reports whether a node is one that a term selects. An empty term selects none (NodeSelectorTerm v1 core).
func matches(t corev1.NodeSelectorTerm, node *corev1.Node) bool {
	all := func(list []corev1.NodeSelectorRequirement, have labels.Set) bool {
		for _, e := range list {
			op, ok := operators[e.Operator]
			r, err := labels.NewRequirement(e.Key, op, e.Values)
			if !ok || err != nil || !r.Matches(have) {
				return false
			}
		}
		return true
	}
	return len(t.MatchExpressions)+len(t.MatchFields) > 0 && all(t.MatchExpressions, node.Labels) &&
		all(t.MatchFields, labels.Set{metav1.ObjectNameField: node.Name})
}

// operators are those of labels for those of node selectors.
var operators = map[corev1.NodeSelectorOperator]selection.Operator{corev1.NodeSelectorOpIn: selection.In, corev1.NodeSelectorOpNotIn: selection.NotIn,
	corev1.NodeSelectorOpExists: selection.Exists, corev1.NodeSelectorOpDoesNotExist: selection.DoesNotExist,
	corev1.NodeSelectorOpGt: selection.GreaterThan, corev1.NodeSelectorOpLt: selection.LessThan}
