package kubevirt_test

import (
	"strings"
	"testing"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/frontend/frontendtest"
	"github.com/vmseed/vmseed/frontend/kubevirt"
)

const gate = "ExperimentalIgnitionSupport"

// ignited is an instance with an Ignition config, whose second line stands in line 8. more is put into its spec.
func ignited(more string) frontendtest.File {
	return frontendtest.File{Name: "vmi.yaml", Text: "apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstance\nmetadata:\n  name: a\n  annotations:\n" +
		"    kubevirt.io/ignitiondata: |\n      {\n        \"ignition\": {\"version\": \"3.3.0\"}\n      }\n" +
		"spec:\n  domain: {memory: {guest: 1Gi}, devices: {}}\n" + more}
}

func configMap(namespace, gates string) frontendtest.File {
	return frontendtest.File{Name: "config.yaml", Text: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kubevirt-config, namespace: " + namespace + "}\ndata: {" + gates + "}\n"}
}

func resource(developer string) frontendtest.File {
	return frontendtest.File{Name: "kubevirt.yaml", Text: "apiVersion: kubevirt.io/v1\nkind: KubeVirt\nmetadata: {name: kubevirt, namespace: kubevirt}\n" +
		"spec: {configuration: {developerConfiguration: {" + developer + "}}}\n"}
}

func TestGate(t *testing.T) {
	with := func(f ...frontendtest.File) []frontendtest.File { return append(f, ignited("")) }
	for name, c := range map[string]struct {
		flags []string
		files []frontendtest.File
		open  bool
		// why is what the first related place says when the gate is off.
		why string
	}{
		"nothing":                   {files: with()},
		"flag":                      {flags: []string{"Other", gate}, files: with(), open: true},
		"flag of another case":      {flags: []string{strings.ToLower(gate)}, files: with()},
		"ConfigMap":                 {files: with(configMap("kubevirt", "feature-gates: "+gate)), open: true},
		"ConfigMap elsewhere":       {files: with(configMap("install", "feature-gates: \"A, "+gate+",B\"")), open: true},
		"ConfigMap with other gate": {files: with(configMap("kubevirt", "feature-gates: Other")), why: "the gate is not named here"},
		"ConfigMap with substring":  {files: with(configMap("kubevirt", "feature-gates: X"+gate)), why: "the gate is named here, but not between commas"},
		"ConfigMap without the key": {files: with(configMap("kubevirt", "featureGates: "+gate)), why: "ConfigMap kubevirt/kubevirt-config has no key feature-gates"},
		"KubeVirt":                  {files: with(resource("featureGates: [" + gate + "]")), open: true},
		"KubeVirt without it":       {files: with(resource("featureGates: [Other]")), why: "the gate is not named in this object"},
		"KubeVirt disables":         {files: with(resource("featureGates: [" + gate + "], disabledFeatureGates: [" + gate + "]")), why: "this object names the gate in disabledFeatureGates"},
		"ConfigMap before KubeVirt": {files: with(configMap("kubevirt", "feature-gates: Other"), resource("featureGates: ["+gate+"]")), why: "the gate is not named here"},
		"ConfigMap opens":           {files: with(configMap("kubevirt", "feature-gates: "+gate), resource("featureGates: [Other]")), open: true},
		"KubeVirt behind":           {files: append(with(), resource("featureGates: ["+gate+"]")), open: true},
	} {
		machines, l := load(frontend.Options{FeatureGates: c.flags}, c.files...)
		if len(machines) != 1 {
			t.Errorf("%s: %d machines, %v", name, len(machines), l)
			continue
		}
		if c.open {
			if l.HasErrors() {
				t.Errorf("%s: %v", name, l)
			}
			continue
		}
		checkOnly(t, l, kubevirt.CodeGate, diag.Pos{Line: 6, Column: 31},
			"ExperimentalIgnitionSupport feature gate is not enabled in kubevirt-config, invalid entry metadata.annotations.kubevirt.io/ignitiondata")
		for _, d := range l {
			if d.Severity != diag.Error {
				continue
			}
			if !strings.Contains(d.Remedy, "--feature-gates "+gate) {
				t.Errorf("%s: the remedy is %q", name, d.Remedy)
			}
			why := ""
			if len(d.Related) > 0 {
				why = d.Related[0].Message
			}
			if why != c.why {
				t.Errorf("%s: it says %q, not %q", name, why, c.why)
			}
		}
	}
}

// TestGateMeant has the gate misspelt in each of its places: the remedy names what stands there.
func TestGateMeant(t *testing.T) {
	for wrong, c := range map[string]struct {
		flags []string
		files []frontendtest.File
	}{
		"ExperimentalIgnitionSuport": {flags: []string{"ExperimentalIgnitionSuport"}},
		"IgnitionSupport":            {files: []frontendtest.File{resource("featureGates: [IgnitionSupport]")}},
		"ExperimentalIgnition":       {files: []frontendtest.File{configMap("kubevirt", "feature-gates: \"A, ExperimentalIgnition\"")}},
	} {
		_, l := load(frontend.Options{FeatureGates: c.flags}, append(c.files, ignited(""))...)
		if got := dump(nil, l); !strings.Contains(got, "write "+gate+" where \""+wrong+"\" stands") {
			t.Errorf("%s: %s", wrong, got)
		}
	}
}

// TestGateNote holds that the object which does not count is named.
func TestGateNote(t *testing.T) {
	_, l := load(frontend.Options{}, configMap("kubevirt", "feature-gates: "+gate), resource("featureGates: [Other]"), ignited(""))
	for _, d := range l {
		if d.Code == kubevirt.CodeGate && d.Severity == diag.Note && d.Range.File == "kubevirt.yaml" {
			return
		}
	}
	t.Error(l)
}

// TestIgnition holds where the config goes, and that places in it lead back to the definition.
func TestIgnition(t *testing.T) {
	for _, c := range []struct{ more, source, os string }{
		{"", "ignition", "coreos"},
		{"  volumes:\n  - {name: seed, cloudInitNoCloud: {userData: x}}\n", "nocloud", ""},
		{"  volumes:\n  - {name: seed, cloudInitConfigDrive: {userData: x}}\n", "configdrive", ""},
	} {
		m, _ := one(t, frontend.Options{FeatureGates: []string{gate}}, ignited(c.more))
		if m.DataSource != c.source || m.Guest.OS != c.os || len(m.Ignition) != 1 {
			t.Errorf("%q: data source %q, guest %q, %d configs", c.more, m.DataSource, m.Guest.OS, len(m.Ignition))
			continue
		}
		if text, want := m.Ignition[0].Data.Reveal(), "{\n  \"ignition\": {\"version\": \"3.3.0\"}\n}\n"; text != want {
			t.Errorf("the config is %q", text)
		}
		if at := m.Ignition[0].Origin.At(2, 3).String(); at != "vmi.yaml:8:9" {
			t.Errorf("line 2, column 3 of the config stands at %s", at)
		}
		if _, left := m.Annotations["kubevirt.io/ignitiondata"]; left {
			t.Error("the annotation stays among the author's own")
		}
	}
}

// TestIgnitionTraps holds what is said about annotations that KubeVirt does not look at.
func TestIgnitionTraps(t *testing.T) {
	const note = "kubevirt.io/ignitiondata: "
	const vm = "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata:\n  name: a\n  annotations: {%1}\nspec:\n  running: true\n" +
		"  template:\n    metadata: {annotations: {%2}}\n    spec: {domain: {memory: {guest: 1Gi}, devices: {}}}\n"
	for _, c := range []struct {
		own, template string
		severity      diag.Severity
		code          diag.Code
		says          string
	}{
		{note + "'{\"ignition\": {}}'", "", diag.Warning, kubevirt.CodeIgnition, "spec.template.metadata.annotations"},
		{"", note + "'{}'", diag.Warning, kubevirt.CodeIgnition, "the word ignition"},
		{"", note + "{ignition: {version: 3.3.0}}", diag.Error, 1210, "a bar behind the colon"},
	} {
		text := strings.NewReplacer("%1", c.own, "%2", c.template).Replace(vm)
		machines, l := load(frontend.Options{FeatureGates: []string{gate}}, frontendtest.File{Name: "vm.yaml", Text: text})
		var found diag.List
		for _, d := range l {
			if d.Severity >= c.severity && d.Code == c.code && strings.Contains(d.Error(), c.says) {
				found = append(found, d)
			}
		}
		if len(machines) != 1 || len(found) != 1 {
			t.Errorf("%s%s: %v", c.own, c.template, []diag.Diagnostic(l))
		}
	}
	// Butane is said to be that, and nothing is said about a word in it.
	_, l := load(frontend.Options{FeatureGates: []string{gate}}, frontendtest.File{Name: "vm.yaml",
		Text: strings.NewReplacer("%1", "", "%2", note+`"variant: fcos\nversion: 1.5.0\n"`).Replace(vm)})
	if got := dump(nil, l); !strings.Contains(got, "KubeVirt does not translate") || strings.Contains(got, "the word ignition") {
		t.Error(got)
	}
	for _, kind := range []string{"cloudInitNoCloud", "cloudInitConfigDrive"} {
		_, l := load(frontend.Options{}, vmiWith("  volumes: [{name: seed, "+kind+": {userData: \"variant: fcos\\nversion: 1.5.0\\n\"}}]\n"))
		if got := dump(nil, l); !strings.Contains(got, "warning[VS2422]: spec.volumes[0]."+kind+".userData: this is Butane") {
			t.Errorf("%s: %s", kind, got)
		}
	}
	// An empty annotation is none.
	m, _ := one(t, frontend.Options{}, frontendtest.File{Name: "vm.yaml", Text: strings.NewReplacer("%1", "", "%2", note+`""`).Replace(vm)})
	if len(m.Ignition) != 0 || m.DataSource != "" {
		t.Errorf("got %d configs, data source %q", len(m.Ignition), m.DataSource)
	}
}
