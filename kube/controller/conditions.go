package controller

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	virtv1 "kubevirt.io/api/core/v1"
)

// condition is a condition of a machine or an instance.
type condition struct {
	kind    string
	status  corev1.ConditionStatus
	reason  string
	message string
}

// either is a condition as KubeVirt's types have it. The two have the same fields, but for the type of one.
type either interface {
	virtv1.VirtualMachineCondition | virtv1.VirtualMachineInstanceCondition
}

// kindOf returns the type of a condition.
func kindOf[C either](c C) string {
	switch c := any(c).(type) {
	case virtv1.VirtualMachineCondition:
		return string(c.Type)
	case virtv1.VirtualMachineInstanceCondition:
		return string(c.Type)
	}
	return ""
}

// with returns what becomes of a condition, or of one that is not there. The time of its last transition changes with its
// status alone.
func with[C either](old C, next condition, now metav1.Time) C {
	switch c := any(&old).(type) {
	case *virtv1.VirtualMachineCondition:
		if c.Status != next.status {
			c.LastTransitionTime = now
		}
		c.Type, c.Status, c.Reason, c.Message = virtv1.VirtualMachineConditionType(next.kind), next.status, next.reason, next.message
	case *virtv1.VirtualMachineInstanceCondition:
		if c.Status != next.status {
			c.LastTransitionTime = now
		}
		c.Type, c.Status, c.Reason, c.Message = virtv1.VirtualMachineInstanceConditionType(next.kind), next.status, next.reason, next.message
	}
	return old
}

// set puts a condition into a list.
func set[C either](list []C, next condition, now metav1.Time) []C {
	i := slices.IndexFunc(list, func(c C) bool { return kindOf(c) == next.kind })
	if i < 0 {
		var none C
		return append(list, with(none, next, now))
	}
	list[i] = with(list[i], next, now)
	return list
}

// drop takes a condition out of a list.
func drop[C either, K ~string](list []C, kind K) []C {
	return slices.DeleteFunc(list, func(c C) bool { return kindOf(c) == string(kind) })
}

// find returns a condition of a list, or one without a type.
func find[C either, K ~string](list []C, kind K) C {
	var none C
	for _, c := range list {
		if kindOf(c) == string(kind) {
			return c
		}
	}
	return none
}
