package provider

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/frontend/kubevirt"
	"github.com/vmseed/vmseed/frontend/virtlet"
)

// telling bounds what the users of one pod are told.
type telling struct {
	// pod is the object that the last try to start was made with.
	pod *corev1.Pod
	// said counts how often a thing was said, under its reason.
	said map[string]map[string]int
}

// The bounds of what is told of one pod. A guest can make its supervisor say a lot, which is not to keep anything else from
// being told.
const (
	maxSaid  = 25 // under one reason
	maxEvent = 1000
)

// reasonStarted is that of the event of a VM that runs.
const reasonStarted = "Started"

// milestone reports whether a reason is that of what becomes of every VM. Users of an instance hear of it from the controller, which
// reads it in the launcher pod's status: an event of that pod would be a request to the API server that nobody looks at.
func milestone(reason string) bool { return reason == reasonStarted || reason == reasonDone }

// event tells the users of a pod what happened to its VM; of a launcher pod those of its instance too, when it is a warning.
// What is said again and again is told the first, second, fourth, eighth time and so on.
func (v *vm) event(kind, reason, message string) {
	v.mutex.Lock()
	launcher := isLauncher(v.pod)
	v.mutex.Unlock()
	if launcher && milestone(reason) {
		return
	}
	v.announce(kind, reason, message, kind == corev1.EventTypeWarning)
}

// announce is event, with or without the users of the instance.
func (v *vm) announce(kind, reason, message string, instance bool) {
	if v.p.options.Events == nil {
		return
	}
	v.mutex.Lock()
	if v.told.said == nil {
		v.told.said = map[string]map[string]int{}
	}
	said := v.told.said[reason]
	if said == nil {
		said = map[string]int{}
		v.told.said[reason] = said
	}
	n := said[message]
	if n == 0 && len(said) >= maxSaid {
		v.mutex.Unlock()
		return
	}
	said[message] = n + 1
	pod := v.pod
	v.mutex.Unlock()
	if n&(n+1) != 0 {
		return
	}
	v.p.options.Events.Event(pod, kind, reason, clip(message, maxEvent))
	if owner := instanceOf(pod); instance && owner != nil {
		v.p.options.Events.Event(owner, kind, reason, clip(message, maxEvent))
	}
}

// tell makes events of diagnostics: one for each code, under that code, with the first of them in full and the fields of
// the others.
func (v *vm) tell(l diag.List) {
	for _, group := range grouped(l) {
		kind := corev1.EventTypeNormal
		if group[0].Severity != diag.Note {
			kind = corev1.EventTypeWarning
		}
		// What the definition is warned of, its users have from the controller, which has read it too.
		instance := group[0].Severity == diag.Error || group[0].Severity == diag.Warning && !ofDefinition(group[0].Code)
		v.announce(kind, group[0].Code.String(), groupText(group), instance)
	}
}

// ofDefinition reports whether a code is of the front end for instances.
func ofDefinition(code diag.Code) bool {
	return slices.ContainsFunc(kubevirt.Codes(), func(e diag.Explanation) bool { return e.Code == code })
}

// instanceOf returns the VirtualMachineInstance that a launcher pod stands for, or nil.
func instanceOf(pod *corev1.Pod) *corev1.ObjectReference {
	owner := metav1.GetControllerOf(pod)
	if !isLauncher(pod) || owner == nil {
		return nil
	}
	return &corev1.ObjectReference{APIVersion: owner.APIVersion, Kind: owner.Kind, Namespace: pod.Namespace, Name: owner.Name, UID: owner.UID}
}

// grouped gathers diagnostics of one code and severity, in the order of the first of each. Notes that a field of the pod is
// the cluster's business are left out: here is the cluster, and it has read them.
func grouped(l diag.List) [][]diag.Diagnostic {
	var out [][]diag.Diagnostic
	for _, d := range l {
		if d.Severity == diag.Note && d.Code == virtlet.CodeNoGuest {
			continue
		}
		i := slices.IndexFunc(out, func(g []diag.Diagnostic) bool { return g[0].Code == d.Code && g[0].Severity == d.Severity })
		if i < 0 {
			out = append(out, nil)
			i = len(out) - 1
		}
		out[i] = append(out[i], d)
	}
	return out
}

// groupText tells of diagnostics of one code.
func groupText(group []diag.Diagnostic) string {
	text := sentence(group[0])
	if len(group) == 1 {
		return text
	}
	var fields []string
	for _, d := range group[1:] {
		if d.Field != "" && d.Field != group[0].Field && !slices.Contains(fields, d.Field) {
			fields = append(fields, d.Field)
		}
	}
	text += fmt.Sprintf("; and %d more", len(group)-1)
	if len(fields) > 0 {
		text += ": " + strings.Join(fields, ", ")
	}
	return text
}

// sentence is a diagnostic without its code and without a place in the text of an object, which nobody has as a file: the
// field is the place.
func sentence(d diag.Diagnostic) string {
	text := d.Summary
	if d.Field != "" {
		text = d.Field + ": " + text
	}
	if d.Remedy != "" {
		text = strings.TrimSuffix(text, ".") + "; " + d.Remedy
	}
	return text
}

// summary says in one text why nothing can be made of a definition.
func summary(l diag.List) string {
	var out []string
	for _, d := range l {
		if d.Severity == diag.Error {
			out = append(out, d.Code.String()+": "+sentence(d))
		}
	}
	return strings.Join(out, " | ")
}
