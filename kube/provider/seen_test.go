package provider

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestSaw: what others write into the status of a pod counts where it is theirs to say, and is written over elsewhere.
func TestSaw(t *testing.T) {
	lie(t, func(b *bed) {
		const gate = "example.com/balancer"
		pod := b.create(func(p *corev1.Pod) {
			p.Annotations[TimeoutAnnotation] = "0s"
			p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: gate}}
		})
		waits := brief(b.api(pod))
		write := func(kind corev1.PodConditionType, status corev1.ConditionStatus, version string) {
			t.Helper()
			now := b.api(pod)
			now.ResourceVersion = version
			for i := range now.Status.Conditions {
				if now.Status.Conditions[i].Type == kind {
					now.Status.Conditions[i].Status = status
				}
			}
			if condition(now, kind).Type == "" {
				now.Status.Conditions = append(now.Status.Conditions, corev1.PodCondition{Type: kind, Status: status})
			}
			if _, err := b.client.CoreV1().Pods(pod.Namespace).UpdateStatus(t.Context(), now, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			b.p.Saw(now)
		}
		write(gate, corev1.ConditionTrue, "10")
		b.is(pod, "Running running ready")
		write(corev1.PodReady, corev1.ConditionFalse, "12") // as the control plane does for a node that is not heard of
		if now := b.is(pod, "Running running ready"); condition(now, gate).Status != corev1.ConditionTrue {
			t.Errorf("others' conditions are %v", now.Status.Conditions)
		}
		write(gate, corev1.ConditionFalse, "14")
		b.is(pod, waits)
		old := b.api(pod)
		old.ResourceVersion = "13"
		for i := range old.Status.Conditions {
			old.Status.Conditions[i].Status = corev1.ConditionTrue
		}
		before := len(b.client.Actions())
		b.p.Saw(old)
		b.is(pod, waits)
		if n := len(b.client.Actions()) - before; n != 1 {
			t.Errorf("what was seen late makes %d requests", n-1)
		}
	})
}
