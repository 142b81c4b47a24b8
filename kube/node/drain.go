package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vmseed/vmseed/kube/node/server"
)

// drainEvery is how often a pod that a disruption budget protects is tried again.
const drainEvery = 5 * time.Second

// Drain makes the node unschedulable and evicts its pods, as kubectl drain does, and returns when the provider has nothing
// left of any that ran. Run must go on meanwhile: it ends the pods. The next Run makes the node schedulable again.
func (n *Node) Drain(ctx context.Context) error {
	if err := cordon(ctx, n.config.Client, n.config.Name, true); err != nil {
		return fmt.Errorf("cordoning the node: %w", err)
	}
	asked := map[string]bool{}
	tick := time.NewTicker(drainEvery)
	defer tick.Stop()
	for {
		for _, p := range n.pods.List() {
			if asked[string(p.UID)] || p.DeletionTimestamp != nil || over(p) {
				continue
			}
			uid := p.UID
			err := n.config.Client.PolicyV1().Evictions(p.Namespace).Evict(ctx, &policyv1.Eviction{
				ObjectMeta:    metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name},
				DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}})
			switch {
			case err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err):
				asked[string(p.UID)] = true
			case apierrors.IsTooManyRequests(err):
				n.config.Logger.Info("a disruption budget protects a pod; trying again", "namespace", p.Namespace, "pod", p.Name)
			case apierrors.IsForbidden(err):
				return fmt.Errorf("evicting pod %s/%s: %w", p.Namespace, p.Name, err)
			default:
				n.config.Logger.Warn("a pod could not be evicted; trying again", "namespace", p.Namespace, "pod", p.Name, "error", err)
			}
		}
		left, err := n.residents(ctx)
		if err != nil {
			return err
		}
		if len(left) == 0 {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("%d pods still run, the first is %s/%s", len(left), left[0].Namespace, left[0].Name), context.Cause(ctx))
		}
	}
}

func over(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// residents are the pods that the node is not rid of yet.
func (n *Node) residents(ctx context.Context) ([]*corev1.Pod, error) {
	if p, ok := n.config.Provider.(server.Residents); ok {
		return p.ResidentPods(ctx)
	}
	pods, err := n.config.Provider.GetPods(ctx)
	return slices.DeleteFunc(pods, over), err
}
