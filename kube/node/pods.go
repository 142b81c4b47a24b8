package node

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/virtual-kubelet/virtual-kubelet/errdefs"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	informersv1 "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// pods are those that are bound to the node, kept up to date by a watch that the API server filters.
type pods struct {
	factory  informers.SharedInformerFactory
	informer informersv1.PodInformer
	context  atomic.Pointer[context.Context]
}

func newPods(client kubernetes.Interface, node string) *pods {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTweakListOptions(func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector("spec.nodeName", node).String()
	}), informers.WithTransform(withoutFieldOwners))
	p := &pods{factory: factory, informer: factory.Core().V1().Pods()}
	p.informer.Informer()
	return p
}

// withoutFieldOwners drops what of objects nobody here reads and what is a good part of their size.
func withoutFieldOwners(object any) (any, error) {
	if pod, ok := object.(*corev1.Pod); ok {
		pod.ManagedFields = nil
	}
	return object, nil
}

// run watches from the moment on when owned is closed, until ctx is done. Before, the pods that are bound to a Node of this
// name may be another kubelet's.
func (p *pods) run(ctx context.Context, owned <-chan struct{}) error {
	select {
	case <-owned:
	case <-ctx.Done():
		return nil
	}
	p.context.Store(&ctx)
	p.factory.StartWithContext(ctx)
	<-ctx.Done()
	p.factory.Shutdown()
	return nil
}

func (p *pods) synced() bool { return p.informer.Informer().HasSynced() }

// List implements server.Pods.
func (p *pods) List() []*corev1.Pod {
	list, err := p.informer.Lister().List(labels.Everything())
	if err != nil {
		return nil
	}
	return list
}

// Get implements server.Pods.
func (p *pods) Get(namespace, name string) (*corev1.Pod, bool) {
	pod, err := p.informer.Lister().Pods(namespace).Get(name)
	return pod, err == nil
}

// whenMissed calls do for pods whose deletion the watch did not see, because it was interrupted, with the pod that has the
// name by now, if one has. The pod controller passes over those.
func (p *pods) whenMissed(do func(_ context.Context, gone, successor *corev1.Pod)) error {
	_, err := p.informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		DeleteFunc: func(object any) {
			missed, ok := object.(cache.DeletedFinalStateUnknown)
			if !ok {
				return
			}
			if pod, ok := missed.Obj.(*corev1.Pod); ok {
				go do(*p.context.Load(), pod, nil)
			}
		},
		// A pod and the one that took its name are one object that changes, for an informer.
		UpdateFunc: func(before, now any) {
			gone, ok := before.(*corev1.Pod)
			successor, is := now.(*corev1.Pod)
			if ok && is && gone.UID != successor.UID {
				go do(*p.context.Load(), gone, successor)
			}
		},
	})
	return err
}

// whenWritten calls do for pods whose status changes. They are the cache's: do does not change them.
func (p *pods) whenWritten(do func(*corev1.Pod)) error {
	_, err := p.informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(before, now any) {
		old, ok := before.(*corev1.Pod)
		pod, is := now.(*corev1.Pod)
		if ok && is && old.UID == pod.UID && !equality.Semantic.DeepEqual(old.Status, pod.Status) {
			do(pod)
		}
	}})
	return err
}

// replaceMissed has the provider delete a pod whose deletion was missed, and create the one that has its name. The pod
// controller compares only what users may change of a pod, which is often the same for both.
func replaceMissed(ctx context.Context, provider Provider, gone, successor *corev1.Pod) error {
	if err := deleteMissed(ctx, provider, gone); err != nil {
		return fmt.Errorf("pod %s/%s, which is gone: %w", gone.Namespace, gone.Name, err)
	}
	if successor == nil || successor.DeletionTimestamp != nil || over(successor) {
		return nil
	}
	if err := provider.CreatePod(ctx, successor.DeepCopy()); err != nil {
		return fmt.Errorf("pod %s/%s, which is new: %w", gone.Namespace, gone.Name, err)
	}
	return nil
}

// deleteMissed has the provider delete a pod, unless it has another one of that name by now.
func deleteMissed(ctx context.Context, provider Provider, pod *corev1.Pod) error {
	has, err := provider.GetPod(ctx, pod.Namespace, pod.Name)
	switch {
	case errdefs.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("asking the provider: %w", err)
	case has == nil || has.UID != pod.UID:
		return nil
	}
	if err := provider.DeletePod(ctx, has); err != nil && !errdefs.IsNotFound(err) {
		return errors.Join(errors.New("deleting"), err)
	}
	return nil
}
