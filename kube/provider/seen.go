package provider

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// Saw is told of each pod whose status was written. What others have written counts where it is theirs to say, as readiness
// gates are; where it is not, it is written over: the control plane makes the pods of a node not ready when it has not heard
// of the node for a while (node lifecycle controller), and nobody but the node makes them ready again.
func (p *Provider) Saw(pod *corev1.Pod) {
	v := p.byUID(pod.UID)
	if v == nil || !v.differs(pod) {
		return
	}
	p.background(func() {
		// A status that is being written is newer than what was seen, or becomes it.
		v.writing.Lock()
		defer v.writing.Unlock()
		if v.differs(pod) {
			v.has(pod)
			signal(v.dirty)
		}
	})
}

// differs reports whether somebody has written other conditions since the status was written last.
func (v *vm) differs(pod *corev1.Pod) bool {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	if order, err := resourceversion.CompareResourceVersion(pod.ResourceVersion, v.version); !v.complete || err == nil && order <= 0 {
		return false
	}
	return !maps.Equal(conditions(v.pod), conditions(pod))
}

func conditions(pod *corev1.Pod) map[corev1.PodConditionType]corev1.ConditionStatus {
	m := map[corev1.PodConditionType]corev1.ConditionStatus{}
	for _, c := range pod.Status.Conditions {
		m[c.Type] = c.Status
	}
	return m
}
