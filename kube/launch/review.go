package launch

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/kubeobject"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/frontend/kubevirt"
	"github.com/vmseed/vmseed/internal/bounded"
	"github.com/vmseed/vmseed/machine"
)

// IgnitionAnnotation holds the Ignition config of an instance, and IgnitionGate is the feature gate that it needs.
const (
	IgnitionAnnotation = "kubevirt.io/ignitiondata"
	IgnitionGate       = "ExperimentalIgnitionSupport"
)

// appliedAnnotation is kubectl's copy of what the user applied.
const appliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration"

// Cluster is what the cluster says beside an instance. The zero value is a cluster without configuration.
type Cluster struct {
	// ConfigMap is KubeVirt's ConfigMap kubevirt-config, and nil when there is none.
	ConfigMap map[string]string
	// Enabled and Disabled are the feature gates that the KubeVirt object names.
	Enabled, Disabled []string
	// Configured says that there is a KubeVirt object.
	Configured bool
	// DataVolumes are the templates of volumes (spec.dataVolumeTemplates) of the instance's VirtualMachine.
	DataVolumes []any
	// VirtualMachine is the name of the instance's VirtualMachine, empty when there is none.
	VirtualMachine string
}

// Review is what reading an instance without the objects that it refers to brings to light.
type Review struct {
	// Machine is what the instance asks for, as far as it can be known without those objects.
	Machine machine.Machine
	// References are the objects that the node will read, in the order in which the instance names them.
	References []kubeobject.Ref
	// Problems are those that KubeVirt's admission, and vmseed's own rules, find. What only the objects could tell is not
	// among them. They have fields and no places: nobody edits the document that they are about.
	Problems diag.List
}

// Closed reports whether an instance is refused because of a feature gate.
func (r Review) Closed() bool {
	return slices.ContainsFunc(r.Problems, func(d diag.Diagnostic) bool { return d.Severity == diag.Error && d.Code == kubevirt.CodeGate })
}

// Refusal returns the errors of a review in the words of KubeVirt's admission, joined as KubeVirt joins them, or nothing when
// the instance can be launched.
func (r Review) Refusal() string {
	var causes []string
	for _, d := range r.Problems {
		if d.Severity != diag.Error {
			continue
		}
		text := d.Summary
		if d.Field != "" && !strings.Contains(text, d.Field) {
			text = d.Field + ": " + text
		}
		causes = append(causes, text)
	}
	if n := len(causes) - maxCauses; n > 0 {
		causes = append(causes[:maxCauses], fmt.Sprintf("and %d more validation errors", n))
	}
	return strings.Join(causes, ", ")
}

// maxCauses is how many causes KubeVirt's admission puts into a message.
const maxCauses = 10

// Check reads an instance by the rules of the KubeVirt front end, as its node will.
func Check(ctx context.Context, vmi *unstructured.Unstructured, c Cluster) Review {
	doc, err := json.Marshal(document(vmi))
	if err != nil {
		return Review{Problems: diag.List{{Code: kubevirt.CodeNotVM, Severity: diag.Error, Summary: "the object cannot be written as JSON"}}}
	}
	var r Review
	var docs []frontend.Document
	for _, data := range append([][]byte{doc}, c.documents(vmi.GetNamespace())...) {
		values, problems := tree.Parse("vmi", data, bounded.Limits{})
		r.Problems = append(r.Problems, problems...)
		for _, v := range values {
			docs = append(docs, frontend.Document{File: "vmi", Data: data, Tree: v})
		}
	}
	seen := &recorder{config: c.configMap()}
	machines, problems := kubevirt.Frontend{}.Read(ctx, frontend.Source{Documents: docs, Resolver: seen})
	for _, d := range append(r.Problems, problems...) {
		if d.Code != kubevirt.CodeMissingObject && d.Code != kubevirt.CodeMissingKey && !OfPullSecret(d) {
			d.Range, d.Related = diag.Range{}, nil
			seen.problems = append(seen.problems, d)
		}
	}
	r.Problems, r.References = seen.problems, seen.refs
	if len(machines) == 1 {
		r.Machine = machines[0]
	}
	for _, d := range r.Machine.Disks {
		r.refer(kubeobject.PersistentVolumeClaim, vmi.GetNamespace(), d.Source.Claim)
	}
	return r
}

// refer adds a reference that nobody resolved.
func (r *Review) refer(kind, namespace, name string) {
	ref := kubeobject.Ref{Kind: kind, Namespace: cmp.Or(namespace, kubeobject.DefaultNamespace), Name: name}
	if name != "" && !slices.Contains(r.References, ref) {
		r.References = append(r.References, ref)
	}
}

// recorder is a resolver that finds nothing but KubeVirt's ConfigMap, and remembers what it was asked for.
type recorder struct {
	config   *kubeobject.Object
	refs     []kubeobject.Ref
	problems diag.List
}

// configRef is how the front end asks for KubeVirt's ConfigMap.
func configRef() kubeobject.Ref {
	return kubeobject.Ref{Kind: kubeobject.ConfigMap, Namespace: "kubevirt", Name: "kubevirt-config"}
}

// Resolve remembers the reference.
func (r *recorder) Resolve(_ context.Context, ref kubeobject.Ref) (kubeobject.Object, error) {
	if ref == configRef() {
		if r.config != nil {
			return *r.config, nil
		}
		return kubeobject.Object{}, &kubeobject.MissingError{Ref: ref}
	}
	if !slices.Contains(r.refs, ref) {
		r.refs = append(r.refs, ref)
	}
	return kubeobject.Object{}, &kubeobject.MissingError{Ref: ref}
}

// configMap returns KubeVirt's ConfigMap as the front end reads it, or nil.
func (c Cluster) configMap() *kubeobject.Object {
	if c.ConfigMap == nil {
		return nil
	}
	ref := configRef()
	data, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": ref.Kind,
		"metadata": map[string]any{"name": ref.Name, "namespace": ref.Namespace}, "data": c.ConfigMap})
	if err != nil {
		return nil
	}
	values, _ := tree.Parse("kubevirt-config", data, bounded.Limits{})
	objects, _, _ := kubeobject.Read(values)
	if len(objects) != 1 {
		return nil
	}
	return &objects[0]
}

// documents are the objects that an instance is read together with.
func (c Cluster) documents(namespace string) [][]byte {
	objects := c.related(namespace)
	if c.Configured {
		gates := map[string]any{"featureGates": c.Enabled, "disabledFeatureGates": c.Disabled}
		objects = append(objects, map[string]any{"apiVersion": "kubevirt.io/v1", "kind": "KubeVirt",
			"spec": map[string]any{"configuration": map[string]any{"developerConfiguration": gates}}})
	}
	var out [][]byte
	for _, o := range objects {
		if data, err := json.Marshal(o); err == nil {
			out = append(out, data)
		}
	}
	return out
}

// related are the volumes that the VirtualMachine describes and its instance only names.
func (c Cluster) related(namespace string) []any {
	var out []any
	for _, t := range c.DataVolumes {
		template, _ := t.(map[string]any)
		name, _, _ := unstructured.NestedString(template, "metadata", "name")
		if name == "" {
			continue
		}
		out = append(out, map[string]any{"apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataVolume",
			"metadata": map[string]any{"name": name, "namespace": namespace}, "spec": template["spec"]})
	}
	return out
}

// copied names the volumes that vmseed fills itself, with what is lost when the instance ends.
func (c Cluster) copied() []string {
	var out []string
	for _, v := range c.related("") {
		volume, _ := v.(map[string]any)
		source, _, _ := unstructured.NestedMap(volume, "spec", "source")
		for _, kind := range []string{"http", "registry", "blank"} {
			if _, ok := source[kind]; ok {
				name, _, _ := unstructured.NestedString(volume, "metadata", "name")
				out = append(out, name)
				break
			}
		}
	}
	return out
}

// document is an instance without what the cluster says about it. An instance of an old layout says so, because the API
// server converts nothing but the version.
func document(vmi *unstructured.Unstructured) map[string]any {
	meta := map[string]any{"name": vmi.GetName(), "namespace": vmi.GetNamespace(), "uid": string(vmi.GetUID())}
	if labels, ok, _ := unstructured.NestedFieldNoCopy(vmi.Object, "metadata", "labels"); ok {
		meta["labels"] = labels
	}
	if notes, ok, _ := unstructured.NestedFieldNoCopy(vmi.Object, "metadata", "annotations"); ok {
		meta["annotations"] = notes
		if notes, ok := notes.(map[string]any); ok {
			kept := map[string]any{}
			for key, value := range notes {
				if key != appliedAnnotation && key != DataSourceAnnotation {
					kept[key] = value
				}
			}
			meta["annotations"] = kept
		}
	}
	out := map[string]any{"apiVersion": version(vmi), "kind": vmi.GetKind(), "metadata": meta}
	if spec, ok := vmi.Object["spec"]; ok {
		out["spec"] = spec
	}
	return out
}

// version is the API version that an instance is written in. All versions are stored as v1.
func version(vmi *unstructured.Unstructured) string {
	disks, _, _ := unstructured.NestedFieldNoCopy(vmi.Object, "spec", "domain", "devices", "disks")
	list, _ := disks.([]any)
	for _, d := range list {
		disk, _ := d.(map[string]any)
		for _, field := range []string{"volumeName", "type", "target", "source", "cloudinit"} {
			if _, ok := disk[field]; ok {
				return "kubevirt.io/v1alpha2"
			}
		}
	}
	return vmi.GetAPIVersion()
}

// OfPullSecret reports whether a diagnostic of the front end is that the Secret of a container disk has no effect: that is so for
// the command, while a node uses it.
func OfPullSecret(d diag.Diagnostic) bool {
	return d.Severity == diag.Note && d.Code == kubevirt.CodeNoGuest && strings.HasSuffix(d.Field, ".imagePullSecret")
}
