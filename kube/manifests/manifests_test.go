package manifests_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vmseed/vmseed/kube/launch"
	"github.com/vmseed/vmseed/kube/manifests"
	"github.com/vmseed/vmseed/kube/subresources"
)

// all returns every object of an installation, by kind and name.
func all(t *testing.T, beside bool) map[string]*unstructured.Unstructured {
	t.Helper()
	objects, err := manifests.Objects(manifests.Parts(beside)...)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*unstructured.Unstructured{}
	for _, o := range objects {
		name := o.GetKind() + "/" + o.GetName()
		if n := o.GetNamespace(); n != "" {
			name = o.GetKind() + "/" + n + "/" + o.GetName()
		}
		if out[name] != nil {
			t.Errorf("there are two of %s", name)
		}
		out[name] = o
	}
	return out
}

// TestObjects holds what every object has, and that kubectl apply can keep its copy of each.
func TestObjects(t *testing.T) {
	for name, o := range all(t, false) {
		if o.GetLabels()[manifests.OwnerLabel] != manifests.Owner {
			t.Errorf("%s does not say whose it is", name)
		}
		text, err := json.Marshal(o.Object)
		if err != nil {
			t.Fatal(err)
		}
		const annotations = 256 << 10 // of an object, all together (k8s.io/apimachinery, TotalAnnotationSizeLimitB)
		if len(text) > annotations*3/4 {
			t.Errorf("%s has %d bytes; kubectl apply keeps a copy in an annotation, of which all have %d", name, len(text), annotations)
		}
	}
	for name := range all(t, true) {
		if strings.Contains(name, "kubevirt") || strings.HasPrefix(name, "CustomResourceDefinition") {
			t.Errorf("beside a KubeVirt there is %s", name)
		}
	}
}

// TestNames holds the names that programs and objects share.
func TestNames(t *testing.T) {
	objects := all(t, false)
	for _, name := range []string{"Service/kubevirt/" + subresources.DefaultService, "Deployment/kubevirt/vmseed-controller",
		"CustomResourceDefinition/virtualmachines.kubevirt.io", "CustomResourceDefinition/virtualmachineinstances.kubevirt.io"} {
		if objects[name] == nil {
			t.Errorf("there is no %s", name)
		}
	}
	for _, version := range subresources.Versions() {
		o := objects["APIService/"+version+"."+subresources.Group]
		if o == nil {
			t.Fatalf("there is no APIService of %s", version)
		}
		if service, _, _ := unstructured.NestedString(o.Object, "spec", "service", "name"); service != subresources.DefaultService {
			t.Errorf("the APIService of %s leads to %s", version, service)
		}
		if _, ok, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", "caBundle"); ok {
			t.Error("a caBundle that is applied takes the controller's away")
		}
	}
	hook, _, _ := unstructured.NestedSlice(objects["MutatingWebhookConfiguration/vmseed-identity"].Object, "webhooks")
	for _, h := range hook {
		webhook, _ := h.(map[string]any)
		if path, _, _ := unstructured.NestedString(webhook, "clientConfig", "service", "path"); path != subresources.IdentityPath || webhook["failurePolicy"] != "Ignore" {
			t.Errorf("the webhook is %v", webhook)
		}
	}
	text := ""
	for _, o := range objects {
		data, err := json.Marshal(o.Object)
		if err != nil {
			t.Fatal(err)
		}
		text += string(data)
	}
	for _, name := range []string{launch.SecretAnnotation, launch.RuntimeAnnotation, launch.SourceVolume, launch.NodeLabel, launch.Role, launch.IgnitionAnnotation,
		launch.IgnitionGate, string(launch.SecretType), subresources.DefaultSecret} {
		if !strings.Contains(text, name) {
			t.Errorf("no object has %q", name)
		}
	}
}

// TestRights reads the access rules for what nobody of vmseed's may have.
func TestRights(t *testing.T) {
	read := []string{"get", "list", "watch", "*"}
	for name, o := range all(t, false) {
		if o.GetKind() != "ClusterRole" {
			continue
		}
		rules, _, _ := unstructured.NestedSlice(o.Object, "rules")
		if len(rules) == 0 {
			t.Errorf("%s gives nothing", name)
		}
		for _, r := range rules {
			rule, _ := r.(map[string]any)
			groups, resources, verbs := list(rule, "apiGroups"), list(rule, "resources"), list(rule, "verbs")
			if slices.Contains(groups, "*") || slices.Contains(resources, "*") || slices.Contains(verbs, "*") {
				t.Errorf("%s has a rule for everything: %v", name, rule)
			}
			if slices.ContainsFunc(resources, func(r string) bool { return r == "secrets" || r == "configmaps" }) &&
				slices.ContainsFunc(verbs, func(v string) bool { return slices.Contains(read, v) }) {
				t.Errorf("%s reads Secrets or ConfigMaps of users: %v", name, rule)
			}
			for _, v := range []string{"impersonate", "escalate", "bind"} {
				if slices.Contains(verbs, v) {
					t.Errorf("%s may %s", name, v)
				}
			}
		}
	}
}

func list(rule map[string]any, field string) []string {
	out, _, _ := unstructured.NestedStringSlice(rule, field)
	return out
}

// TestParse reads streams with documents that are no objects.
func TestParse(t *testing.T) {
	objects, err := manifests.Parse([]byte("# a comment\n---\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\n"))
	if err != nil || len(objects) != 1 || objects[0].GetName() != "a" {
		t.Errorf("%v, %v", objects, err)
	}
	for _, text := range []string{"apiVersion: v1\nkind: ConfigMap\n", "a: [", "- a\n"} {
		if objects, err := manifests.Parse([]byte(text)); err == nil {
			t.Errorf("%q became %v", text, objects)
		}
	}
	if _, err := manifests.Objects("elsewhere"); err == nil {
		t.Error("a part that does not exist has objects")
	}
}
