package vmseed_test

import (
	"context"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vmseed/vmseed"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/machine"
)

// ovirtMachine reads one machine of oVirt.
func ovirtMachine(t *testing.T, e *vmseed.Engine, text string) machine.Machine {
	t.Helper()
	machines, l := e.Load(context.Background(), []vmseed.Input{{File: "vm.xml", Data: []byte(text)}}, vmseed.LoadOptions{})
	if l.HasErrors() || len(machines) != 1 {
		t.Fatalf("%d machines, %v", len(machines), l.Err())
	}
	return machines[0]
}

// throughForm converts a machine and reads it back.
func throughForm(t *testing.T, e *vmseed.Engine, m machine.Machine, form string) (machine.Machine, diag.List) {
	t.Helper()
	text, said := e.Convert(m, form, vmseed.RenderOptions{})
	if said.HasErrors() {
		t.Fatalf("to %s: %v", form, said.Err())
	}
	machines, l := e.Load(context.Background(), []vmseed.Input{{File: "converted.yaml", Data: text}}, loadOptions())
	if l.HasErrors() || len(machines) != 1 {
		t.Fatalf("%s: %d machines, %v\n%s", form, len(machines), l.Err(), text)
	}
	return machines[0], said
}

// TestConvertName moves machines whose names Kubernetes does not take: the new name is said, and the guest stays the same.
func TestConvertName(t *testing.T) {
	e := converter()
	for name, want := range map[string]string{"WEB_1": "web-1", "cloudInitInstanceName": "cloudinitinstancename", "web": "web", "a.-b": "a--b", "_": "", "страница": ""} {
		original := ovirtMachine(t, e, "<vm><name>"+name+"</name><nics><nic><name>nic1</name></nic></nics><initialization><host_name>h</host_name></initialization></vm>")
		placed, _ := e.Place(original, machine.Facts{})
		for _, form := range []string{"native", "kubevirt"} {
			m, said := throughForm(t, e, original, form)
			if want == "" {
				want = "vm-" + placed.Identity.UUID[:8]
			}
			again, _ := e.Place(m, machine.Facts{})
			if m.Name != want || again.Identity.UUID != placed.Identity.UUID || again.Identity.InstanceID != placed.Identity.InstanceID ||
				again.Network.NICs[0].MAC != placed.Network.NICs[0].MAC {
				t.Errorf("%s to %s: %s %+v", name, form, m.Name, again.Identity)
			}
			if renamed := slices.ContainsFunc(said, func(d diag.Diagnostic) bool { return d.Code == vmseed.CodeRenamed }); renamed != (name != want) {
				t.Errorf("%s to %s: said %v", name, form, renamed)
			}
		}
	}
}

var hash = regexp.MustCompile(`\$6\$[^"\s]*`)

// TestConvertFeaturePages moves what oVirt's feature pages show, and a guest with Windows: all that the guest is told by
// documents stands in the conversion. Only the salt of a hash goes by the machine's name.
func TestConvertFeaturePages(t *testing.T) {
	e := converter()
	for name, told := range map[string]string{"cloud-init.xml": "user_data", "start-ignition.xml": "", "windows.xml": "Unattend.xml"} {
		data, err := os.ReadFile("examples/ovirt/" + name)
		if err != nil {
			t.Fatal(err)
		}
		original := ovirtMachine(t, e, string(data))
		before, l := e.Render(original, vmseed.RenderOptions{})
		if l.HasErrors() {
			t.Fatal(l.Err())
		}
		for _, form := range []string{"native", "kubevirt"} {
			m, _ := throughForm(t, e, original, form)
			after, l := e.Render(m, vmseed.RenderOptions{})
			if l.HasErrors() {
				t.Fatalf("%s: %v", form, l.Err())
			}
			if told == "" { // a layer of its own, which neither form touches
				author := original.Ignition[0].Data
				if !slices.ContainsFunc(slices.Concat(m.Ignition, m.UserData.Layers), func(x machine.Layer) bool { return x.Data.Equal(author) }) {
					t.Errorf("%s to %s: the config of the author is gone", name, form)
				}
				continue
			}
			want, got := document(files(before), told), document(files(after), told)
			if want == "" || got != want {
				t.Errorf("%s to %s: the guest is told\n%s\nand not\n%s", name, form, got, want)
			}
		}
	}
}

// TestConvertWindows warns when the answer file, which is all that a guest with Windows is told, gets lost.
func TestConvertWindows(t *testing.T) {
	data, err := os.ReadFile("examples/ovirt/windows.xml")
	if err != nil {
		t.Fatal(err)
	}
	e := converter()
	again, _ := throughForm(t, e, ovirtMachine(t, e, string(data)), "kubevirt")
	if s, l := e.Render(again, vmseed.RenderOptions{}); again.DataSource != machine.NoDataSource || len(s.Volumes) != 1 {
		t.Errorf("on KubeVirt the data source is %q, with %d volumes: %v", again.DataSource, len(s.Volumes), l)
	}
	for _, form := range []string{"cloud-init", "butane"} {
		_, l := e.Convert(ovirtMachine(t, e, string(data)), form, vmseed.RenderOptions{})
		if !slices.ContainsFunc(l, func(d diag.Diagnostic) bool {
			return d.Code == vmseed.CodeNotWritten && d.Severity == diag.Warning && strings.Contains(d.Summary, `"sysprep"`) && !d.Range.IsZero()
		}) {
			t.Errorf("%s: said %v", form, l)
		}
	}
}

// document returns the file whose path ends in a name, without the hashes in it.
func document(files map[string]string, name string) string {
	for path, text := range files {
		if strings.HasSuffix(strings.ToLower(path), strings.ToLower(name)) {
			return hash.ReplaceAllString(text, "HASH")
		}
	}
	return ""
}
