//go:build conformance

package controller_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vmseed/vmseed/kube/launch"
)

// node stands for a host: what it says of pods is what the provider says of VMs.
type node struct {
	name   string
	client client.WithWatch
}

// register makes the node and its lease, and keeps both fresh.
func (n *node) register(ctx context.Context) error {
	amounts := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("64"), corev1.ResourceMemory: resource.MustParse("256Gi"), corev1.ResourcePods: resource.MustParse("500")}
	object := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.name, Labels: map[string]string{launch.NodeLabel: launch.NodeValue, "kubernetes.io/hostname": n.name}},
		Status: corev1.NodeStatus{Capacity: amounts, Allocatable: amounts, Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue,
			Reason: "KubeletReady", LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now()}}}}
	if err := n.client.Create(ctx, object); err != nil {
		return fmt.Errorf("node %s: %w", n.name, err)
	}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: n.name, Namespace: corev1.NamespaceNodeLease}}
	seconds, now := int32(40), metav1.NowMicro()
	lease.Spec = coordinationv1.LeaseSpec{HolderIdentity: &n.name, LeaseDurationSeconds: &seconds, RenewTime: &now}
	if err := n.client.Create(ctx, lease); err != nil {
		return fmt.Errorf("lease of %s: %w", n.name, err)
	}
	go func() {
		for tick := time.NewTicker(10 * time.Second); ; {
			select {
			case <-ctx.Done():
				tick.Stop()
				return
			case <-tick.C:
				base := lease.DeepCopy()
				now := metav1.NowMicro()
				lease.Spec.RenewTime = &now
				if err := n.client.Patch(ctx, lease, client.MergeFrom(base)); err != nil && ctx.Err() == nil {
					fmt.Fprintln(os.Stderr, err)
				}
			}
		}
	}()
	return nil
}

// run follows the pods of the node.
func (n *node) run(ctx context.Context) {
	for ctx.Err() == nil {
		w, err := n.client.Watch(ctx, &corev1.PodList{}, client.MatchingFields{"spec.nodeName": n.name})
		if err != nil {
			if ctx.Err() == nil {
				fmt.Fprintln(os.Stderr, err)
			}
			return
		}
		for e := range w.ResultChan() {
			if pod, ok := e.Object.(*corev1.Pod); ok {
				if err := n.pod(ctx, pod); client.IgnoreNotFound(err) != nil && ctx.Err() == nil {
					fmt.Fprintln(os.Stderr, "node:", err)
				}
			}
		}
	}
}

// pod does what a node does: it reads what it may read, says that the guest runs, and in the end that it is gone.
func (n *node) pod(ctx context.Context, pod *corev1.Pod) error {
	if pod.DeletionTimestamp != nil {
		return n.client.Delete(ctx, pod, client.GracePeriodSeconds(0), client.Preconditions{UID: &pod.UID})
	}
	if pod.Status.Phase != corev1.PodPending {
		return nil
	}
	base := pod.DeepCopy()
	state := n.judge(ctx, pod)
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: launch.Container, Image: pod.Spec.Containers[0].Image, State: state, Ready: state.Running != nil}}
	ready := corev1.ConditionFalse
	if state.Running != nil {
		ready = corev1.ConditionTrue
		pod.Status.Phase = corev1.PodRunning
		pod.Status.PodIP, pod.Status.PodIPs = "10.9.8.7", []corev1.PodIP{{IP: "10.9.8.7"}, {IP: "fd00::7"}}
	}
	pod.Status.Conditions = slices.DeleteFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady || c.Type == launch.ConditionGuestAgent
	})
	for kind, message := range map[corev1.PodConditionType]string{corev1.PodReady: "", launch.ConditionGuestAgent: "Debian GNU/Linux 12 (bookworm)"} {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: kind, Status: ready, Message: message, LastTransitionTime: metav1.Now()})
	}
	return n.client.Status().Patch(ctx, pod, client.MergeFrom(base))
}

// judge reads what the pod is to become, with the rights of the node. An object that is not there is waited for.
func (n *node) judge(ctx context.Context, pod *corev1.Pod) corev1.ContainerState {
	wait := func(reason, message string) corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
	}
	var secret corev1.Secret
	if err := n.client.Get(ctx, client.ObjectKey{Namespace: pod.Namespace, Name: launch.SecretName(pod)}, &secret); err != nil {
		return wait("CreateContainerConfigError", err.Error())
	}
	if _, err := launch.Read(pod, &secret); err != nil {
		return wait("CreateContainerConfigError", err.Error())
	}
	for _, v := range pod.Spec.Volumes {
		if v.Secret == nil {
			continue
		}
		key := client.ObjectKey{Namespace: pod.Namespace, Name: v.Secret.SecretName}
		if err := n.client.Get(ctx, key, &secret); err != nil {
			return wait("CreateContainerConfigError", err.Error())
		}
	}
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}
}
