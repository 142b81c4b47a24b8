package kubevirt_test

import (
	"strings"
	"testing"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/frontend/frontendtest"
	"github.com/vmseed/vmseed/frontend/kubevirt"
	"github.com/vmseed/vmseed/machine"
)

// TestStated holds that nothing is said about too little memory, or about an instance type that is not there, to a user who
// gives the machine what it needs.
func TestStated(t *testing.T) {
	const head = "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: a}\nspec:\n  runStrategy: Always\n"
	for spec, fields := range map[string][]machine.Field{
		"  template: {spec: {domain: {memory: {guest: 64M}, devices: {}}}}\n":          {"hardware.memory"},
		"  instancetype: {name: small}\n  template: {spec: {domain: {devices: {}}}}\n": {"hardware.memory", "hardware.cpus"},
	} {
		file := frontendtest.File{Name: "vm.yaml", Text: head + spec}
		for i := range len(fields) + 1 {
			_, l := one(t, frontend.Options{Stated: machine.NewFieldSet(fields[:i]...)}, file)
			if warns, should := l.Max() == diag.Warning, i < len(fields); warns != should {
				t.Errorf("%s with %v: %v", spec, fields[:i], l)
			}
		}
	}
}

// TestInstanceTypes holds where CPUs and memory of a machine with an instance type come from, and what is said when the
// type is not there, is there twice, or the machine says something of its own.
func TestInstanceTypes(t *testing.T) {
	const (
		clusterType = "apiVersion: instancetype.kubevirt.io/v1beta1\nkind: VirtualMachineClusterInstancetype\nmetadata: {name: small}\nspec: {cpu: {guest: 2}, memory: {guest: 2Gi}}\n"
		localType   = "apiVersion: instancetype.kubevirt.io/v1beta1\nkind: VirtualMachineInstancetype\nmetadata: {name: small}\nspec: {cpu: {guest: 3}, memory: {guest: 3Gi}}\n"
	)
	for _, c := range []struct {
		kind, domain string
		objects      string
		cpus         int
		code         diag.Code
		severity     diag.Severity
		says         string
	}{
		{"", "", clusterType + "---\n" + localType, 2, 0, 0, ""},
		{"VirtualMachineClusterInstancetype", "", clusterType + "---\n" + localType, 2, 0, 0, ""},
		{"virtualmachineinstancetypes", "", clusterType + "---\n" + localType, 3, 0, 0, ""},
		{"", "", localType, 0, kubevirt.CodeInstanceType, diag.Warning, "not in the input"},
		{"Flavor", "", clusterType, 2, kubevirt.CodeInstanceType, diag.Error, `"Flavor"`},
		{"", "memory: {guest: 1Gi}, ", clusterType, 2, kubevirt.CodeInstanceType, diag.Error, "VM field(s) spec.template.spec.domain.memory.guest conflicts with selected instance type"},
		{"", "cpu: {cores: 1}, ", clusterType, 2, kubevirt.CodeInstanceType, diag.Error, "VM field(s) spec.template.spec.domain.cpu.cores conflicts with selected instance type"},
		{"", "resources: {requests: {memory: 1Gi}}, ", clusterType, 2, kubevirt.CodeInstanceType, diag.Error, "VM field(s) spec.template.spec.domain.resources.requests.memory conflicts with selected instance type"},
		{"", "", clusterType + "---\n" + clusterType, 2, kubevirt.CodeName, diag.Error, "stands twice"},
		{"", "", strings.Replace(clusterType, "{name: small}", "{}", 1), 0, kubevirt.CodeName, diag.Error, "no name"},
		{"", "", clusterType + "---\n" + strings.ReplaceAll(clusterType, "VirtualMachineClusterInstancetype", "VirtualMachinePreference"), 2, kubevirt.CodeNoEffect, diag.Warning, "VirtualMachinePreference"},
		{"", "", strings.Replace(clusterType, "v1beta1", "v2", 1), 2, kubevirt.CodeVersion, diag.Warning, `"v2"`},
		{"", "", clusterType + "---\n" + strings.Replace(localType, "small", "other", 1), 2, kubevirt.CodeNoGuest, diag.Note, "nothing refers to VirtualMachineInstancetype default/other"},
	} {
		matcher := "{name: small}"
		if c.kind != "" {
			matcher = "{name: small, kind: " + c.kind + "}"
		}
		vm := frontendtest.File{Name: "vm.yaml", Text: "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: a}\nspec:\n  runStrategy: Always\n  instancetype: " +
			matcher + "\n  template: {spec: {domain: {" + c.domain + "devices: {}}}}\n"}
		machines, l := load(frontend.Options{}, vm, frontendtest.File{Name: "types.yaml", Text: c.objects})
		if len(machines) != 1 || machines[0].Hardware.CPUs != c.cpus || machines[0].Identity.InstanceType != "small" {
			t.Errorf("%+v: %d machines, %v", c, len(machines), l)
			continue
		}
		var found diag.List
		for _, d := range l {
			if d.Code == c.code && d.Severity == c.severity && strings.Contains(d.Summary, c.says) {
				found = append(found, d)
			}
		}
		if c.code == 0 && l.Max() > diag.Note || c.code != 0 && len(found) != 1 {
			t.Errorf("%+v: got %v", c, []diag.Diagnostic(l))
		}
	}
}
