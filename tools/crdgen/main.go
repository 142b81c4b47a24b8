// Command crdgen writes the definitions of KubeVirt's kinds that vmseed-kube serves: kube/config/crd. It is a module of
// its own so that the generator of schemas does not become a dependency of the product.
//
// A schema is made from the Go types of kubevirt.io/api. It is then narrowed to what these types can be decoded
// from, because a single object in the store that cannot be decoded stops every client that lists its kind; and it is
// widened by the fields that only older or newer versions of the API have, because a field that no schema names is dropped.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"

	kubevirt "kubevirt.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

func main() {
	dir := flag.String("dir", "../../kube/config/crd", "the directory to write to")
	check := flag.Bool("check", false, "write nothing; fail when a file is not as it would be written")
	flag.Parse()
	if err := run(*dir, *check); err != nil {
		fmt.Fprintln(os.Stderr, "crdgen:", err)
		os.Exit(1)
	}
}

// module is the package whose types are described.
const module = "kubevirt.io/api/core/v1"

// kind is a definition to write.
type kind struct {
	plural, singular, kind string
	short                  []string
	of                     reflect.Type
	columns                []column
	// oldest is the oldest version that is served.
	versions []string
	shape    func(object schema)
}

// column is a column of kubectl get.
type column struct {
	name, kind, path string
	wide             bool
}

func kinds() []kind {
	age := column{"Age", "date", ".metadata.creationTimestamp", false}
	ready := column{"Ready", "string", ".status.conditions[?(@.type=='Ready')].status", false}
	return []kind{
		{plural: "virtualmachines", singular: "virtualmachine", kind: "VirtualMachine", short: []string{"vm", "vms"},
			of: reflect.TypeFor[kubevirt.VirtualMachine](), versions: []string{"v1", "v1alpha3", "v1alpha2"},
			columns: []column{age, {"Status", "string", ".status.printableStatus", false}, ready}, shape: machineShape},
		{plural: "virtualmachineinstances", singular: "virtualmachineinstance", kind: "VirtualMachineInstance", short: []string{"vmi", "vmis"},
			of: reflect.TypeFor[kubevirt.VirtualMachineInstance](), versions: []string{"v1", "v1alpha3", "v1alpha2"},
			columns: []column{age, {"Phase", "string", ".status.phase", false}, {"IP", "string", ".status.interfaces[0].ipAddress", false},
				{"NodeName", "string", ".status.nodeName", false}, ready,
				{"Live-Migratable", "string", ".status.conditions[?(@.type=='LiveMigratable')].status", true},
				{"Paused", "string", ".status.conditions[?(@.type=='Paused')].status", true}}, shape: instanceShape},
		{plural: "kubevirts", singular: "kubevirt", kind: "KubeVirt", short: []string{"kv", "kvs"},
			of: reflect.TypeFor[kubevirt.KubeVirt](), versions: []string{"v1", "v1alpha3"},
			columns: []column{age, {"Phase", "string", ".status.phase", false}}, shape: func(schema) {}},
	}
}

func run(dir string, check bool) error {
	generated, err := generate()
	if err != nil {
		return err
	}
	for _, k := range kinds() {
		object, ok := generated[k.plural]
		if !ok {
			return fmt.Errorf("%s has no kind with the plural %s", module, k.plural)
		}
		n := narrower{}
		n.narrow(k.kind, object, k.of, false)
		if len(n.problems) > 0 {
			return fmt.Errorf("%s: the schema and the Go type differ:\n%s", k.kind, n.text())
		}
		k.shape(object)
		text, err := yaml.Marshal(k.definition(object))
		if err != nil {
			return err
		}
		text = append([]byte("# Written by tools/crdgen from "+module+"; `make crds` writes it anew.\n"), text...)
		name := filepath.Join(dir, k.plural+".yaml")
		if !check {
			if err := os.WriteFile(name, text, 0o644); err != nil {
				return err
			}
			continue
		}
		if old, err := os.ReadFile(name); err != nil {
			return err
		} else if string(old) != string(text) {
			return fmt.Errorf("%s is not as it would be written: run make crds", name)
		}
	}
	return nil
}

// definition wraps a schema up.
func (k kind) definition(object schema) map[string]any {
	var columns []any
	for _, c := range k.columns {
		m := map[string]any{"name": c.name, "type": c.kind, "jsonPath": c.path}
		if c.wide {
			m["priority"] = 1
		}
		columns = append(columns, m)
	}
	var versions []any
	for _, v := range k.versions {
		versions = append(versions, map[string]any{"name": v, "served": true, "storage": v == "v1",
			"schema": map[string]any{"openAPIV3Schema": object}, "subresources": map[string]any{"status": map[string]any{}},
			"additionalPrinterColumns": columns})
	}
	return map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1",
		"kind":       "CustomResourceDefinition",
		"metadata": map[string]any{"name": k.plural + ".kubevirt.io",
			"labels": map[string]any{"app.kubernetes.io/managed-by": "vmseed", "app.kubernetes.io/part-of": "vmseed-kube"}},
		"spec": map[string]any{
			"group": "kubevirt.io",
			"scope": "Namespaced",
			"names": map[string]any{"plural": k.plural, "singular": k.singular, "kind": k.kind, "listKind": k.kind + "List",
				"shortNames": k.short, "categories": []string{"all"}},
			"versions":   versions,
			"conversion": map[string]any{"strategy": "None"},
		},
	}
}
