// Package manifests reads what an installation on Kubernetes consists of, changes what installations differ in, and
// applies it. The objects themselves are YAML, in kube/config; the Helm chart and kubectl read the same files.
package manifests

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/vmseed/vmseed/kube/config"
)

// Part is a directory of kube/config: objects that belong together and can be left out together.
type Part string

// The parts of an installation, in the order in which they are applied.
const (
	CRD        Part = "crd"        // virtualmachines, virtualmachineinstances, kubevirts
	RBAC       Part = "rbac"       // namespace, service account, and who may do what
	Policy     Part = "policy"     // admission policies over machines and launcher pods
	Node       Part = "node"       // how a host becomes a node
	Virtlet    Part = "virtlet"    // the policy by which nodes can read what Virtlet's annotations name (Kubernetes 1.36 and newer)
	APIService Part = "apiservice" // subresources.kubevirt.io
	Manager    Part = "manager"    // the controller
)

// Parts returns the parts of an installation. Beside a KubeVirt, which has machines, controllers and subresources of its
// own, only pods become VMs, so that only Node and Virtlet are left.
func Parts(besideKubeVirt bool) []Part {
	if besideKubeVirt {
		return []Part{Node, Virtlet}
	}
	return []Part{CRD, RBAC, Policy, Node, Virtlet, APIService, Manager}
}

// Objects returns the objects of some parts as they are in kube/config, in the order in which they are applied.
func Objects(parts ...Part) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	for _, part := range parts {
		objects, err := read(string(part))
		if err != nil {
			return nil, err
		}
		all = append(all, objects...)
	}
	return all, nil
}

// kustomization is what the files called kustomization.yaml may say here. Further fields are for kubectl alone and
// would make its objects others than those of this package.
type kustomization struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Resources  []string `json:"resources"`
}

// read returns the objects that a kustomization lists, with those of the directories that it names.
func read(dir string) ([]*unstructured.Unstructured, error) {
	text, err := fs.ReadFile(config.Files, path.Join(dir, "kustomization.yaml"))
	if err != nil {
		return nil, err
	}
	var k kustomization
	if err := yaml.UnmarshalStrict(text, &k); err != nil {
		return nil, fmt.Errorf("%s/kustomization.yaml: %w", dir, err)
	}
	var all []*unstructured.Unstructured
	for _, name := range k.Resources {
		name = path.Join(dir, name)
		var objects []*unstructured.Unstructured
		if strings.HasSuffix(name, ".yaml") {
			if text, err = fs.ReadFile(config.Files, name); err == nil {
				objects, err = Parse(text)
			}
		} else {
			objects, err = read(name)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, objects...)
	}
	return all, nil
}

// Parse reads the objects of a YAML stream. Documents that hold nothing are passed over.
func Parse(text []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		o := &unstructured.Unstructured{}
		switch err := decoder.Decode(&o.Object); {
		case errors.Is(err, io.EOF):
			return objects, nil
		case err != nil:
			return nil, err
		case len(o.Object) == 0:
			continue
		case o.GetKind() == "" || o.GetAPIVersion() == "" || o.GetName() == "":
			return nil, fmt.Errorf("document %d has no apiVersion, kind or name", len(objects)+1)
		}
		objects = append(objects, o)
	}
}

// CRDs returns the definitions of the kinds of KubeVirt that vmseed serves, in the form that envtest's CRDInstallOptions takes.
func CRDs() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	objects, err := Objects(CRD)
	if err != nil {
		return nil, err
	}
	crds := make([]*apiextensionsv1.CustomResourceDefinition, len(objects))
	for i, o := range objects {
		crds[i] = &apiextensionsv1.CustomResourceDefinition{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, crds[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", o.GetName(), err)
		}
	}
	return crds, nil
}
