package kubevirt_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/frontend/frontendtest"
	"github.com/vmseed/vmseed/frontend/kubevirt"
)

// TestBadObjects holds what is said about documents that make no machine, or one without a name. The mark says where.
func TestBadObjects(t *testing.T) {
	const spec = "\nspec: {domain: {memory: {guest: 1Gi}, devices: {}}}\n"
	for _, c := range []struct {
		text     string
		code     diag.Code
		says     string
		machines int
	}{
		{"§just a text\n", kubevirt.CodeNotVM, "should stand here", 0},
		{"§- a\n- b\n", kubevirt.CodeNotVM, "should stand here", 0},
		{"apiVersion: kubevirt.io/v1\nkind: §VirtualMachin\nmetadata: {name: a}" + spec, kubevirt.CodeNotVM, `did you mean "VirtualMachine"?`, 0},
		{"apiVersion: kubevirt.io/v1\nkind: §VirtualMachineInstanceReplicaSet\nmetadata: {name: a}" + spec, kubevirt.CodeNotVM, "give the machine that it makes", 0},
		{"apiVersion: pool.kubevirt.io/v1beta1\nkind: §VirtualMachinePool\nmetadata: {name: a}\nspec: {}\n", kubevirt.CodeNotVM, "give the machine that it makes", 0},
		{"apiVersion: kubevirt.io/v1\nkind: §VirtualMachineInstancePreset\nmetadata: {name: a}" + spec, kubevirt.CodeNotVM, "applies no presets", 0},
		{"§kind: VirtualMachineInstance\nmetadata: {name: a}" + spec, kubevirt.CodeNotVM, `add "apiVersion: kubevirt.io/v1"`, 0},
		{"apiVersion: §v1\nkind: VirtualMachineInstance\nmetadata: {name: a}" + spec, kubevirt.CodeNotVM, "kubevirt.io", 0},
		{"apiVersion: §kubevirt.io/v2\nkind: VirtualMachineInstance\nmetadata: {name: a}" + spec, kubevirt.CodeVersion, `no API version "v2"`, 0},
		{"§apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: a}\n", kubevirt.CodeNotVM, "missing virtual machine template;", 0},
		{"§apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstance\nmetadata: {name: a}\n", kubevirt.CodeNotVM, "has no spec", 1},
		{"apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: a}\nspec: {running: true, template: §{metadata: {}}}\n", kubevirt.CodeNotVM, "has no spec", 1},
		{"apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstance\nmetadata: {name: a}\nspec: §{}\n", kubevirt.CodeNotVM, "no domain", 1},
		{"apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstance\nmetadata: §{}" + spec, kubevirt.CodeName, "has no name", 1},
		{"apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstance\nmetadata: {generateName: §a-}" + spec, kubevirt.CodeName, "completes generateName", 1},
		{"apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstance\nmetadata: {name: §A}" + spec, kubevirt.CodeName, "cannot be the name", 1},
		{"apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstance\nmetadata: {name: a, namespace: §a.b}" + spec, kubevirt.CodeName, "cannot be a namespace", 1},
		{"apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstance\nmetadata: {name: a}\nspec: {domain: {memory: {guest: 1Gi}, firmware: {uuid: §x}, devices: {}}}\n", kubevirt.CodeUUID, "should be a UUID", 1},
		{"apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstance\nmetadata: {name: a}\nspec: {domain: {memory: {guest: §1GiB}, devices: {}}}\n", kubevirt.CodeQuantity, "not a quantity", 1},
		{"apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstance\nmetadata: {name: a}\nspec: {architecture: §x86_64, domain: {memory: {guest: 1Gi}, devices: {}}}\n", kubevirt.CodeFirmware, "no architecture", 1},
		{"apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstance\nmetadata: {name: a}\nspec: {domain: {memory: {guest: 1Gi}, cpu: §{cores: 4096, sockets: 2}, devices: {}}}\n", kubevirt.CodeCPU, "at most 4096", 1},
	} {
		head, tail, _ := strings.Cut(c.text, mark)
		machines, l := load(frontend.Options{}, frontendtest.File{Name: "vm.yaml", Text: head + tail})
		var found diag.List
		for _, d := range l {
			if d.Severity == diag.Error {
				found = append(found, d)
			}
		}
		if len(found) != 1 || found[0].Code != c.code || !strings.Contains(found[0].Error(), c.says) {
			t.Errorf("%s: got %v", c.text, []diag.Diagnostic(found))
			continue
		}
		if want := diag.Index(head+tail, len(head)); found[0].Range.Start != want {
			t.Errorf("%s: it stands at %v, not %v: %s", c.text, found[0].Range.Start, want, found[0].Error())
		}
		if len(machines) != c.machines {
			t.Errorf("%s: %d machines", c.text, len(machines))
		}
	}
}

// TestSeveralDocuments reads machines out of a stream, a List and JSON, each with the places of its own text.
func TestSeveralDocuments(t *testing.T) {
	const vmi = `{"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "metadata": {"name": "%"},
  "spec": {"domain": {"memory": {"guest": "1Gi"}, "devices": {}}}}
`
	a, b := strings.Replace(vmi, "%", "a", 1), strings.Replace(vmi, "%", "b", 1)
	for name, text := range map[string]string{
		"stream": "--- \n" + a + "---\n" + b,
		"list":   "apiVersion: v1\nkind: List\nitems:\n- " + a + "- " + b,
		"JSON":   `{"apiVersion": "v1", "kind": "List", "items": [` + a + "," + b + "]}",
	} {
		machines, l := load(frontend.Options{}, frontendtest.File{Name: "in", Text: text})
		if l.HasErrors() || len(machines) != 2 || machines[0].Name != "a" || machines[1].Name != "b" {
			t.Errorf("%s: %d machines, %v", name, len(machines), l)
			continue
		}
		for _, m := range machines {
			at := m.Places.Find("name").Start
			line := strings.Split(text, "\n")[at.Line-1]
			if got := strings.Trim(line[at.Column-1:at.Column+2], `"`); got != m.Name {
				t.Errorf("%s: the name of %s stands at %v", name, m.Name, at)
			}
		}
	}
}

// TestOwnedInstance passes over the instance that a cluster made of a machine of the same input, and no other.
func TestOwnedInstance(t *testing.T) {
	const (
		vm       = "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: a, namespace: shop}\nspec: {runStrategy: Always, template: {spec: {domain: {memory: {guest: 1Gi}, devices: {}}}}}\n"
		instance = "apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstance\nmetadata: {name: a, namespace: shop, ownerReferences: [{kind: VirtualMachine, name: a}]}\n" +
			"spec: {domain: {memory: {guest: 2Gi}, devices: {}}}\n"
	)
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"both", vm + "---\n" + instance, []string{"shop/a 1024"}},
		{"instance first", instance + "---\n" + vm, []string{"shop/a 1024"}},
		{"instance alone", instance, []string{"shop/a 2048"}},
		{"of another machine", vm + "---\n" + strings.ReplaceAll(instance, "name: a", "name: b"), []string{"shop/a 1024", "shop/b 2048"}},
		{"of another namespace", strings.Replace(vm, ", namespace: shop", "", 1) + "---\n" + instance, []string{"default/a 1024", "shop/a 2048"}},
		{"of a replica set", vm + "---\n" + strings.Replace(instance, "{kind: VirtualMachine,", "{kind: VirtualMachineInstanceReplicaSet,", 1), []string{"shop/a 1024", "shop/a 2048"}},
		{"moved to another node", vm + "---\napiVersion: kubevirt.io/v1\nkind: VirtualMachineInstanceMigration\nmetadata: {name: m}\nspec: {vmiName: a}\n", []string{"shop/a 1024"}},
	} {
		machines, l := load(frontend.Options{}, frontendtest.File{Name: "in.yaml", Text: tt.text})
		var got []string
		for _, m := range machines {
			got = append(got, fmt.Sprintf("%s/%s %d", m.Namespace, m.Name, m.Hardware.Memory>>20))
		}
		if !slices.Equal(got, tt.want) || l.HasErrors() {
			t.Errorf("%s: got %q, want %q; %v", tt.name, got, tt.want, l)
		}
	}
}
