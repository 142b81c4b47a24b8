// Package virtlet reads the pods of Virtlet, a Kubernetes runtime that ran one VM for each pod. What Virtlet put into a
// guest becomes fields of the machine: the mounted Secrets and ConfigMaps as files, the environment, mounts, disks and
// links, SSH keys, and user-data and meta-data as layers.
//
// The rules are those of Virtlet's last release as its code had them. Where that lost or leaked what the author wrote,
// this package does better; docs/compat/virtlet.md lists every difference.
package virtlet

import (
	"context"
	"fmt"
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/kubeobject"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/frontend/internal/kubedoc"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// Frontend is the front end for Virtlet pods. Its zero value is ready for use.
type Frontend struct{}

var _ frontend.Frontend = Frontend{}

// Name returns virtlet.
func (Frontend) Name() string { return "virtlet" }

// Read turns pods into machines, one for each document.
func (Frontend) Read(ctx context.Context, src frontend.Source) ([]machine.Machine, diag.List) {
	var out []machine.Machine
	var l diag.List
	for _, doc := range src.Documents {
		if !doc.Tree.Exists() {
			l.Errorf(CodeNotPod, diag.At(doc.File, 1, 1), "", "a Kubernetes Pod should stand here")
			continue
		}
		r := reader{ctx: ctx, resolver: src.Resolver, list: &l, pod: doc.Tree, places: machine.Places{},
			notes: map[string]annotation{}, volumes: map[string]*volume{}}
		r.m.Document = machine.Document{Form: "virtlet", Text: secret.FromBytes(doc.Data)}
		if r.read() {
			r.m.Places = r.places
			out = append(out, r.m)
		}
	}
	return out, l
}

// reader reads one pod. Its methods report troubles in list and go on, so that one run shows them all.
type reader struct {
	ctx      context.Context
	resolver frontend.Resolver
	list     *diag.List
	pod      tree.Value
	m        machine.Machine
	places   machine.Places

	notes       map[string]annotation
	overwrite   bool
	chown       bool
	dhcp        bool
	container   tree.Value
	environment map[string]string // for subPathExpr
	volumes     map[string]*volume
}

// Short names for the classes of the tables of fields.
const (
	used  = kubedoc.Used
	quiet = kubedoc.Cluster
	lost  = kubedoc.Lost
)

// fields sorts out the fields of a mapping by a table: those that no code reads are reported and counted as read.
func (r *reader) fields(v tree.Value, table kubedoc.Table) {
	table.Sort(r.list, v, func(c kubedoc.Class, e tree.Entry) {
		if c == quiet {
			r.add(diag.Note, CodeNoGuest, e, "", "the field %s concerns the cluster, not the guest", e.Key)
			return
		}
		r.add(diag.Warning, CodeNoEffect, e, "let user-data do this in the guest", "the field %s has no effect on a VM", e.Key)
	})
}

func (r *reader) add(s diag.Severity, code diag.Code, e tree.Entry, remedy, format string, args ...any) {
	r.list.Add(diag.Diagnostic{Code: code, Severity: s, Range: e.Span(), Field: e.Value.Path(),
		Summary: fmt.Sprintf(format, args...), Remedy: remedy})
}

// text reads a text, and says whether it could.
func (r *reader) text(v tree.Value) (string, bool) { return kubedoc.Text(r.list, v) }

// note adds a remark that asks for nothing.
func (r *reader) note(v tree.Value, code diag.Code, format string, args ...any) {
	kubedoc.Note(r.list, v, code, format, args...)
}

// at records where a value of the machine stands in the document.
func (r *reader) at(place diag.Range, path string, args ...any) {
	if !place.IsZero() {
		r.places[fmt.Sprintf(path, args...)] = place
	}
}

var podFields = kubedoc.Table{"apiVersion": used, "kind": used, "metadata": used, "spec": used, "status": quiet}

// read fills the machine. It returns false when the document is no pod at all.
func (r *reader) read() bool {
	if !r.isPod() {
		r.pod.Consume()
		return false
	}
	r.fields(r.pod, podFields)
	r.metadata()
	spec := r.pod.Get("spec")
	if !spec.Exists() {
		spec.Errorf(r.list, CodeContainers, "give it spec.containers", "the pod has no spec")
	}
	spec.Want(r.list, tree.Map)
	r.fields(spec, specFields)
	r.findContainer(spec)
	r.identity(spec)
	r.lifecycle(spec)
	r.hardware()
	r.env()
	r.findVolumes(spec)
	r.image()
	r.devices()
	r.flexDisks()
	r.mounts()
	r.hostAliases(spec)
	r.injected()
	r.sshKeys()
	r.metaData()
	r.userData()
	r.network(spec)
	for _, e := range r.pod.Unread() {
		r.add(diag.Warning, CodeUnread, e, "", "nothing reads %s, so what it says is lost", e.Value.Path())
	}
	return true
}

// controllers are kinds of objects that make pods from a template.
var controllers = map[string]bool{"Deployment": true, "StatefulSet": true, "DaemonSet": true, "ReplicaSet": true,
	"ReplicationController": true, "Job": true, "CronJob": true, "PodTemplate": true}

func (r *reader) isPod() bool {
	if r.pod.Kind() != tree.Map {
		r.pod.Errorf(r.list, CodeNotPod, "", "a Kubernetes Pod should stand here")
		return false
	}
	kind, version := r.pod.Get("kind"), r.pod.Get("apiVersion")
	switch name := kind.Loose(r.list); {
	case name == "Pod":
	case controllers[name]:
		kind.Errorf(r.list, CodeNotPod, "give the Pod that it makes, with a name of its own: the template as metadata and spec of a Pod",
			"vmseed reads Pods, not the template of a %s", name)
		return false
	default:
		r.pod.Errorf(r.list, CodeNotPod, "", "a Kubernetes Pod should stand here")
		return false
	}
	if v := version.Loose(r.list); v == "" {
		version.Errorf(r.list, CodeNotPod, `add "apiVersion: v1"`, "the Pod has no apiVersion")
	} else if v != "v1" {
		version.Errorf(r.list, CodeNotPod, `write "v1"`, "Pods have the apiVersion v1")
	}
	return true
}

// finder finds objects in the namespace of the pod.
func (r *reader) finder() kubedoc.Finder {
	return kubedoc.Finder{Ctx: r.ctx, Resolver: r.resolver, Namespace: r.m.Namespace, Missing: CodeMissingObject, MissingKey: CodeMissingKey}
}

// resolve finds an object that v refers to by name. A missing one is an error at v, or a note when it is optional.
func (r *reader) resolve(v tree.Value, kind, name string, optional bool) (kubeobject.Object, bool) {
	return r.finder().Find(r.list, v, kind, name, optional)
}

// missingKey reports that an object lacks a key, and names those it has.
func (r *reader) missingKey(v tree.Value, o kubeobject.Object, key string, optional bool) {
	r.finder().Lacks(r.list, v, o, optional, key)
}

// sourceKinds are the kinds that annotations name, in lower case.
var sourceKinds = map[string]string{"configmap": kubeobject.ConfigMap, "secret": kubeobject.Secret}

// source finds the object that an annotation names as kind/name, or kind/name/key when withKey is set.
func (r *reader) source(a annotation, withKey bool) (o kubeobject.Object, key string, ok bool) {
	parts := strings.Split(a.text, "/")
	kind := sourceKinds[strings.ToLower(parts[0])]
	form := "configmap/NAME or secret/NAME"
	if withKey {
		form += ", with /KEY behind it if need be"
	}
	if kind == "" || len(parts) != 2 && !(withKey && len(parts) == 3) || parts[len(parts)-1] == "" {
		a.value.Errorf(r.list, CodeAnnotationValue, "write "+form, "%s does not name a ConfigMap or Secret", a.name)
		return o, "", false
	}
	if len(parts) == 3 {
		key = parts[2]
	}
	o, ok = r.resolve(a.value, kind, parts[1], false)
	return o, key, ok
}
