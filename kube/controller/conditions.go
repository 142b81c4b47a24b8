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

// setInstance puts a condition into a list. The time of its last transition changes with its status alone.
func setInstance(list []virtv1.VirtualMachineInstanceCondition, c condition, now metav1.Time) []virtv1.VirtualMachineInstanceCondition {
	next := virtv1.VirtualMachineInstanceCondition{Type: virtv1.VirtualMachineInstanceConditionType(c.kind), Status: c.status,
		LastTransitionTime: now, Reason: c.reason, Message: c.message}
	i := slices.IndexFunc(list, func(o virtv1.VirtualMachineInstanceCondition) bool { return string(o.Type) == c.kind })
	if i < 0 {
		return append(list, next)
	}
	if list[i].Status == c.status {
		next.LastTransitionTime = list[i].LastTransitionTime
	}
	next.LastProbeTime = list[i].LastProbeTime
	list[i] = next
	return list
}

// instanceCondition returns a condition of an instance, or one without a type.
func instanceCondition(list []virtv1.VirtualMachineInstanceCondition, kind virtv1.VirtualMachineInstanceConditionType) virtv1.VirtualMachineInstanceCondition {
	for _, c := range list {
		if c.Type == kind {
			return c
		}
	}
	return virtv1.VirtualMachineInstanceCondition{}
}

// dropInstance takes a condition out of a list.
func dropInstance(list []virtv1.VirtualMachineInstanceCondition, kind virtv1.VirtualMachineInstanceConditionType) []virtv1.VirtualMachineInstanceCondition {
	return slices.DeleteFunc(list, func(c virtv1.VirtualMachineInstanceCondition) bool { return c.Type == kind })
}

// setMachine is setInstance for machines.
func setMachine(list []virtv1.VirtualMachineCondition, c condition, now metav1.Time) []virtv1.VirtualMachineCondition {
	next := virtv1.VirtualMachineCondition{Type: virtv1.VirtualMachineConditionType(c.kind), Status: c.status,
		LastTransitionTime: now, Reason: c.reason, Message: c.message}
	i := slices.IndexFunc(list, func(o virtv1.VirtualMachineCondition) bool { return string(o.Type) == c.kind })
	if i < 0 {
		return append(list, next)
	}
	if list[i].Status == c.status {
		next.LastTransitionTime = list[i].LastTransitionTime
	}
	next.LastProbeTime = list[i].LastProbeTime
	list[i] = next
	return list
}

// hasMachine reports whether a machine has a condition.
func hasMachine(list []virtv1.VirtualMachineCondition, kind virtv1.VirtualMachineConditionType) bool {
	return slices.ContainsFunc(list, func(c virtv1.VirtualMachineCondition) bool { return c.Type == kind })
}

// dropMachine takes a condition out of a list.
func dropMachine(list []virtv1.VirtualMachineCondition, kind virtv1.VirtualMachineConditionType) []virtv1.VirtualMachineCondition {
	return slices.DeleteFunc(list, func(c virtv1.VirtualMachineCondition) bool { return c.Type == kind })
}
