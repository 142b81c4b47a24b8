package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vmseed/vmseed/kube/launch"
)

// configName is the name of KubeVirt's ConfigMap, in the namespace of the installation.
const configName = "kubevirt-config"

// gates reads KubeVirt's configuration out of the cache, in either of its forms.
func (c *controller) gates(ctx context.Context) (launch.Cluster, error) {
	var out launch.Cluster
	var config corev1.ConfigMap
	switch err := c.client.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: configName}, &config); {
	case err == nil:
		out.ConfigMap = maps.Clone(config.Data)
		if out.ConfigMap == nil {
			out.ConfigMap = map[string]string{}
		}
	case !apierrors.IsNotFound(err):
		return out, fmt.Errorf("the ConfigMap %s/%s: %w", c.namespace, configName, err)
	}
	if !c.kubevirts {
		return out, nil
	}
	list := emptyList(kubevirtKind)
	if err := c.client.List(ctx, list, client.InNamespace(c.namespace)); err != nil {
		return out, fmt.Errorf("the KubeVirt object in %s: %w", c.namespace, err)
	}
	slices.SortFunc(list.Items, func(a, b unstructured.Unstructured) int {
		return a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time)
	})
	if len(list.Items) == 0 {
		return out, nil
	}
	// KubeVirt takes the oldest, too.
	developer := []string{"spec", "configuration", "developerConfiguration"}
	out.Configured = true
	out.Enabled, _, _ = unstructured.NestedStringSlice(list.Items[0].Object, append(developer, "featureGates")...)
	out.Disabled, _, _ = unstructured.NestedStringSlice(list.Items[0].Object, append(developer, "disabledFeatureGates")...)
	return out, nil
}

// waiting asks for the instances that have no launcher pod yet: what was refused may be allowed now.
func (c *controller) waiting(ctx context.Context, _ client.Object) []ctrl.Request {
	return c.requests(ctx, vmiKind, func(u *unstructured.Unstructured) bool {
		phase := text(u, "status", "phase")
		return phase == "" || phase == "Pending"
	})
}

// failed asks for the machines whose instances could not be made.
func (c *controller) failed(ctx context.Context, _ client.Object) []ctrl.Request {
	return c.requests(ctx, vmKind, func(u *unstructured.Unstructured) bool {
		return slices.ContainsFunc(items(u, "status", "conditions"), func(x any) bool {
			condition, _ := x.(map[string]any)
			return condition["type"] == "Failure"
		})
	})
}

// requests asks for the objects of a kind that a question picks.
func (c *controller) requests(ctx context.Context, kind schema.GroupVersionKind, pick func(*unstructured.Unstructured) bool) []ctrl.Request {
	list := emptyList(kind)
	if err := c.client.List(ctx, list); err != nil {
		c.log.Warn("objects cannot be listed", "kind", kind.Kind, "err", err)
		return nil
	}
	var out []ctrl.Request
	for i := range list.Items {
		if u := &list.Items[i]; pick(u) {
			out = append(out, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(u)})
		}
	}
	return out
}

// onNode asks for the instances whose launcher pods are on a node.
func (c *controller) onNode(ctx context.Context, node client.Object) []ctrl.Request {
	var pods corev1.PodList
	if err := c.client.List(ctx, &pods, client.MatchingFields{nodeField: node.GetName()}); err != nil {
		c.log.Warn("pods cannot be listed", "err", err)
		return nil
	}
	var out []ctrl.Request
	for i := range pods.Items {
		out = append(out, instancesOf(ctx, &pods.Items[i])...)
	}
	return out
}

// instancesOf asks for the instance of a launcher pod.
func instancesOf(_ context.Context, pod client.Object) []ctrl.Request {
	for _, o := range pod.GetOwnerReferences() {
		if o.Kind == vmiKind.Kind {
			return []ctrl.Request{{NamespacedName: client.ObjectKey{Namespace: pod.GetNamespace(), Name: o.Name}}}
		}
	}
	return nil
}
