package vmseed_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed"
	datasources "github.com/vmseed/vmseed/datasource/all"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/frontend"
	frontends "github.com/vmseed/vmseed/frontend/all"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

func loadOptions() vmseed.LoadOptions {
	return vmseed.LoadOptions{Options: frontend.Options{FeatureGates: []string{"ExperimentalIgnitionSupport"}}}
}

func converter() *vmseed.Engine {
	return &vmseed.Engine{Frontends: frontends.Frontends(), DataSources: datasources.DataSources(), Writers: frontends.Writers()}
}

// example is a machine of the examples, with the files of objects that its definition refers to.
type example struct {
	machine.Machine
	objects []vmseed.Input
}

// examples loads every machine of the examples.
func examples(t *testing.T, e *vmseed.Engine) map[string]example {
	t.Helper()
	out := map[string]example{}
	load := func(name string, inputs ...vmseed.Input) {
		machines, l := e.Load(context.Background(), inputs, loadOptions())
		if l.HasErrors() {
			t.Fatalf("%s: %v", name, l.Err())
		}
		for _, m := range machines {
			// The pod of Virtlet's documentation has placeholders for keys, which not every form takes.
			m.SSH.AuthorizedKeys = slices.DeleteFunc(m.SSH.AuthorizedKeys, func(key string) bool { return strings.Contains(key, "AAAA...") })
			out[name+" "+m.Name] = example{m, inputs[1:]}
		}
	}
	read := func(role frontend.Role, path string) vmseed.Input {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return vmseed.Input{File: path, Role: role, Data: data}
	}
	const virtlet, plain = "examples/virtlet/", "examples/plain/"
	load("virtlet pod", read("", virtlet+"pod.yaml"), read("", virtlet+"objects.yaml"))
	load("virtlet extended", read("", virtlet+"extended-pod.yaml"), read("", virtlet+"extended-objects.yaml"), read("", virtlet+"extended-keys.yaml"))
	load("plain", read(frontend.UserData, plain+"user-data"), read(frontend.MetaData, plain+"meta-data"), read(frontend.NetworkConfig, plain+"network-config"))
	const kubevirt = "examples/kubevirt/"
	load("kubevirt ignition", read("", kubevirt+"myvm1-mended.yml"))
	load("kubevirt inline", read("", kubevirt+"testvm-inline.yaml"))
	load("kubevirt secret", read("", kubevirt+"testvm-secret.yaml"), read("", kubevirt+"my-vm-userdata.yaml"))
	load("kubevirt extended", read("", kubevirt+"extended-vm.yaml"), read("", kubevirt+"extended-objects.yaml"))
	const ovirt = "examples/ovirt/"
	for _, name := range []string{"vm.xml", "vm.json", "web.ovf"} {
		load("ovirt "+name, read("", ovirt+name))
	}
	for _, pattern := range []string{"examples/native/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, err)
		}
		for _, file := range files {
			load(filepath.Base(file), read("", file))
		}
	}
	return out
}

// files are what a guest reads, by path.
func files(s seed.Seed) map[string]string {
	out := map[string]string{}
	for _, v := range s.Volumes {
		for _, f := range v.Files {
			out[v.Name+":"+f.Path] = f.Content.Reveal()
		}
	}
	for _, f := range s.Firmware.FwCfg {
		out[f.Name] = f.Content.Reveal()
	}
	return out
}

// TestConvert writes every example in every form that vmseed reads, and reads it back: the guest of the conversion reads
// what the guest of the original does.
func TestConvert(t *testing.T) {
	e := converter()
	for name, x := range examples(t, e) {
		m := x.Machine
		original, l := e.Render(m, vmseed.RenderOptions{})
		if l.HasErrors() {
			t.Fatal(name, l.Err())
		}
		for _, form := range e.Forms() {
			t.Run(name+" to "+form, func(t *testing.T) {
				text, l := e.Convert(m, form, vmseed.RenderOptions{})
				if l.HasErrors() {
					t.Fatal(l.Err())
				}
				if form == "butane" {
					fixedPoint(t, e, form, text)
					return
				}
				again := reread(t, e, form, x, text)
				if again == nil {
					return
				}
				want, got := files(original), files(*again)
				if form == "cloud-init" {
					// The rest of the seed is said in documents beside this one.
					want, got = map[string]string{"user-data": string(text)}, map[string]string{"user-data": user(got)}
				}
				if form == "kubevirt" && m.Document.Form != form {
					s, l := e.Render(onAnotherBoard(m), vmseed.RenderOptions{})
					if l.HasErrors() {
						t.Fatal(l.Err())
					}
					want = files(s)
				}
				if form == "kubevirt" {
					compareMetaData(t, want, got)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("the guest reads something else (- original, + converted):\n%s\n%s", diff, text)
				}
			})
		}
	}
}

// onAnotherBoard is a machine whose guest makes its own file systems and knows no PCI addresses.
func onAnotherBoard(m machine.Machine) machine.Machine {
	m.UserData.MountScripts = false
	m.Disks = slices.Clone(m.Disks)
	for i, d := range m.Disks {
		if kind := d.Source.Filesystem; kind != "" {
			m.Disks[i].Source.Filesystem = ""
			m.Storage.Disks = append(slices.Clone(m.Storage.Disks), machine.DiskLayout{Disk: d.Name, Table: "gpt", Partitions: []machine.Partition{{Number: 1}}})
			m.Storage.Filesystems = append(slices.Clone(m.Storage.Filesystems), machine.Filesystem{Disk: d.Name, Partition: 1, Type: kind})
		}
	}
	return m
}

// compareMetaData compares the host name and the keys of two meta-data documents and takes them out of the files. KubeVirt
// has its own form of meta-data, and derives the instance id from the UUID.
func compareMetaData(t *testing.T, want, got map[string]string) {
	t.Helper()
	facts := func(files map[string]string) []string {
		var out []string
		for _, path := range []string{":meta-data", ":openstack/latest/meta_data.json"} {
			text, ok := files[path]
			if !ok {
				continue
			}
			delete(files, path)
			var doc map[string]any
			if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
				t.Fatal(err)
			}
			host, _, _ := strings.Cut(fmt.Sprint(doc["local-hostname"]), ".")
			if doc["local-hostname"] == nil {
				host, _, _ = strings.Cut(fmt.Sprint(doc["hostname"]), ".")
			}
			out = append(out, host)
			switch keys := doc["public-keys"].(type) {
			case []any:
				for _, k := range keys {
					out = append(out, fmt.Sprint(k))
				}
			case map[string]any:
				for i := range len(keys) {
					out = append(out, fmt.Sprint(keys[strconv.Itoa(i)]))
				}
			}
		}
		return out
	}
	if diff := cmp.Diff(facts(want), facts(got)); diff != "" {
		t.Errorf("host name or keys differ (- original, + converted):\n%s", diff)
	}
}

// fixedPoint reads a definition in a form and writes it again.
func fixedPoint(t *testing.T, e *vmseed.Engine, form string, text []byte) {
	t.Helper()
	machines, l := e.Load(context.Background(), []vmseed.Input{{File: "converted", Data: text}}, vmseed.LoadOptions{})
	if l.HasErrors() || len(machines) != 1 {
		t.Fatalf("%d machines: %v\n%s", len(machines), l.Err(), text)
	}
	again, l := e.Convert(machines[0], form, vmseed.RenderOptions{})
	if l.HasErrors() {
		t.Fatal(l.Err())
	}
	if diff := cmp.Diff(string(text), string(again)); diff != "" {
		t.Errorf("read and written again it is another one:\n%s", diff)
	}
}

func user(files map[string]string) string {
	for _, path := range []string{":user-data", ":openstack/latest/user_data"} {
		if text, ok := files[path]; ok {
			return text
		}
	}
	return ""
}

// reread loads and renders what Convert wrote. It returns nil for forms that are written only.
func reread(t *testing.T, e *vmseed.Engine, form string, x example, text []byte) *seed.Seed {
	t.Helper()
	in := vmseed.Input{File: "converted", Data: text}
	switch {
	case form == "cloud-init":
		in.Role = frontend.UserData
	case !slices.Contains(vmseed.Names(e.Frontends), form):
		return nil
	}
	inputs := []vmseed.Input{in}
	if form == x.Document.Form {
		// The definition refers to the same objects as before.
		inputs = append(inputs, x.objects...)
	}
	machines, l := e.Load(context.Background(), inputs, loadOptions())
	if l.HasErrors() || len(machines) != 1 {
		t.Fatalf("%d machines: %v\n%s", len(machines), l.Err(), text)
	}
	source := x.DataSource
	if form == "cloud-init" {
		source = "nocloud"
	}
	s, l := e.Render(machines[0], vmseed.RenderOptions{DataSource: source})
	if l.HasErrors() {
		t.Fatal(l.Err())
	}
	return &s
}

// TestConvertOfTheGuestAgent converts what no form of a guest can say, beside the hardware, which none is asked to.
func TestConvertOfTheGuestAgent(t *testing.T) {
	m := machine.Machine{Name: "vm", AgentUsers: []machine.AgentUser{{Name: "ada", Password: secret.New("canary")}}, Hardware: machine.Hardware{Memory: 1 << 30, CPUs: 2}}
	for _, form := range []string{"cloud-init", "butane"} {
		_, l := converter().Convert(m, form, vmseed.RenderOptions{})
		said := ""
		for _, d := range l {
			said += d.Error() + "\n"
		}
		if !strings.Contains(said, "agentUsers[0].password") || strings.Count(said, "hardware") != 1 || strings.Contains(said, "canary") || l.HasErrors() {
			t.Errorf("%s says:\n%s", form, said)
		}
	}
}

func TestConvertToAnUnknownForm(t *testing.T) {
	_, l := converter().Convert(machine.Machine{Name: "vm"}, "ovf", vmseed.RenderOptions{})
	if err := l.Err(); err == nil || !strings.Contains(err.Error(), "native, ") {
		t.Errorf("an unknown form gives %v", err)
	}
}

// TestConvertOfServedMachines converts machines whose guests fetch their seeds: the domain has the SMBIOS strings of the
// seed, and no CD-ROM.
func TestConvertOfServedMachines(t *testing.T) {
	e := converter()
	all := func(l diag.List) string {
		said := ""
		for _, d := range l {
			said += d.Error() + "\n"
		}
		return said
	}
	for source, want := range map[string]string{
		"ec2":         `<uuid>ec2`,
		"openstack":   `<entry name="product">OpenStack Nova</entry>`,
		"nocloud-net": `<entry name="serial">ds=nocloud;dsmode=net;s=http://169.254.169.254/`,
	} {
		m := machine.Machine{Name: "vm", DataSource: source}
		text, l := e.Convert(m, "libvirt", vmseed.RenderOptions{})
		said := all(l)
		if l.HasErrors() || !strings.Contains(string(text), want) || !strings.Contains(string(text), `<smbios mode="sysinfo"/>`) ||
			strings.Contains(string(text), "cdrom") || !strings.Contains(said, "vmseed metadata") {
			t.Errorf("%s: %s\n%s", source, said, text)
		}
	}
	m := machine.Machine{Name: "vm", DataSource: "ec2", Identity: machine.Identity{Serial: "mine"}}
	if _, l := e.Convert(m, "libvirt", vmseed.RenderOptions{}); !strings.Contains(all(l), "SMBIOS string") {
		t.Errorf("a serial number is replaced in silence: %v", l)
	}
}
