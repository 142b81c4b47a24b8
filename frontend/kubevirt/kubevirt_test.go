package kubevirt_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/frontend/frontendtest"
	"github.com/vmseed/vmseed/frontend/kubevirt"
	"github.com/vmseed/vmseed/machine"
)

func TestSniff(t *testing.T) {
	for _, c := range []struct {
		name, head string
		want       frontend.Match
	}{
		{"machine", "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\n", frontend.Strong},
		{"kind first", "# VM\n---\nmetadata:\n  name: a\n'apiVersion': \"kubevirt.io/v1alpha3\" # old\n", frontend.Strong},
		{"Windows line ends", "kind: VirtualMachineInstance\r\napiVersion: kubevirt.io/v1\r\n", frontend.Strong},
		{"byte order mark", "\ufeffapiVersion: kubevirt.io/v1\r\nkind: VirtualMachine\r\n", frontend.Strong},
		{"configuration", "apiVersion: kubevirt.io/v1\nkind: KubeVirt\n", frontend.Strong},
		{"item of a list", "- apiVersion: kubevirt.io/v1\n  kind: VirtualMachine\n", frontend.Strong},
		{"JSON", "{\n \"apiVersion\" : \"kubevirt.io/v1\"", frontend.Strong},
		{"group below", "apiVersion: cdi.kubevirt.io/v1beta1\nkind: DataVolume\n", frontend.Strong},
		{"other group", "apiVersion: notkubevirt.io/v1\nkind: VirtualMachine\n", frontend.No},
		{"deeper", "kind: ConfigMap\ndata:\n  apiVersion: kubevirt.io/v1\n", frontend.No},
		{"in a text", "apiVersion: v1\ndata:\n  vm: |\n    apiVersion: kubevirt.io/v1\n", frontend.No},
		{"quoted in JSON", `{"apiVersion": "v1", "a": "{\"apiVersion\": \"kubevirt.io/v1\"}"}`, frontend.No},
		{"script", "#!/bin/sh\napiVersion: kubevirt.io/v1\n", frontend.Strong},
		{"nothing", "", frontend.No},
	} {
		if got := (kubevirt.Frontend{}).Sniff([]byte(c.head)); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}

// small is a sound VirtualMachine of a name in a namespace. more is put into the spec of its instance.
func small(namespace, name, more string) frontendtest.File {
	return frontendtest.File{Name: namespace + "-" + name + ".yaml", Text: "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: " + name +
		", namespace: " + namespace + "}\nspec:\n  runStrategy: Always\n  template:\n    spec: {domain: {memory: {guest: 1Gi}, devices: {}}" + more + "}\n"}
}

// one reads files that hold one machine, and fails the test on errors.
func one(t *testing.T, o frontend.Options, files ...frontendtest.File) (machine.Machine, diag.List) {
	t.Helper()
	machines, l := load(o, files...)
	if len(machines) != 1 || l.HasErrors() {
		t.Fatalf("%d machines, %v", len(machines), l)
	}
	return machines[0], l
}

// TestDerivedUUID holds the UUIDs of machines that state none to those that KubeVirt 1.6 gives.
func TestDerivedUUID(t *testing.T) {
	for name, want := range map[string]string{
		"testvm": "5a9fc181-957e-5c32-9e5a-2de5e9673531",
		"test":   "feec480d-31a1-59fa-9199-a330c83aa404",
		"my-vm":  "41256f5f-3759-54d0-9c60-26dff9079ab1",
	} {
		for _, f := range []frontendtest.File{small("default", name, ""), small("other", name, ""),
			{Name: "vmi.yaml", Text: strings.Replace(instance(withDomain("memory: {guest: 1Gi}")).Text, "name: a", "name: "+name, 1)}} {
			m, _ := one(t, frontend.Options{}, f)
			if m.Identity.UUID != want || m.Identity.InstanceID != want {
				t.Errorf("%s: %s and instance id %s, want %s", f.Name, m.Identity.UUID, m.Identity.InstanceID, want)
			}
		}
	}
}

func TestSharedUUID(t *testing.T) {
	machines, l := load(frontend.Options{}, small("a", "vm", ""), small("b", "vm", ""), small("b", "other", ""))
	if len(machines) != 3 || l.HasErrors() {
		t.Fatal(l)
	}
	var found diag.List
	for _, d := range l {
		if d.Code == kubevirt.CodeUUID {
			found = append(found, d)
		}
	}
	if len(found) != 1 || found[0].Severity != diag.Warning || !strings.Contains(found[0].Summary, "a/vm and b/vm") ||
		found[0].Range.File != "b-vm.yaml" || len(found[0].Related) != 1 || found[0].Related[0].Range.File != "a-vm.yaml" || found[0].Remedy == "" {
		t.Errorf("got %+v", found)
	}
}

func TestHostname(t *testing.T) {
	for _, c := range []struct{ name, more, want string }{
		{"web", "", "web"},
		{"web.example", "", "web"},
		{"web", ", hostname: www", "www"},
		{"web", ", hostname: www, subdomain: shop", "www"},
		{strings.Repeat("a", 70), "", strings.Repeat("a", 63)},
	} {
		m, _ := one(t, frontend.Options{}, small("default", c.name, c.more))
		if m.Identity.Hostname != c.want || m.Identity.Domain != "" {
			t.Errorf("%s%s: got %q in %q, want %q", c.name, c.more, m.Identity.Hostname, m.Identity.Domain, c.want)
		}
	}
}

func TestRunStrategies(t *testing.T) {
	const template = "\n  template: {spec: {domain: {memory: {guest: 1Gi}, devices: {}}}}\n"
	for spec, want := range map[string]string{
		"running: true":               "true Always",
		"running: false":              "false ",
		"runStrategy: Always":         "true Always",
		"runStrategy: RerunOnFailure": "true OnFailure",
		"runStrategy: Once":           "true Never",
		"runStrategy: Manual":         "unknown Never",
		"runStrategy: Halted":         "false ",
	} {
		m, _ := one(t, frontend.Options{}, frontendtest.File{Name: "vm.yaml",
			Text: "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: a}\nspec:\n  " + spec + template})
		running := "unknown"
		if m.Running != nil {
			running = fmt.Sprint(*m.Running)
		}
		if got := running + " " + m.RestartPolicy; got != want {
			t.Errorf("%s: got %q, want %q", spec, got, want)
		}
	}
}

// TestVersions reads the same machine in all versions of the API, in which its instance had several kinds.
func TestVersions(t *testing.T) {
	for _, head := range []string{"kubevirt.io/v1\nkind: VirtualMachineInstance", "kubevirt.io/v1alpha3\nkind: VirtualMachineInstance",
		"kubevirt.io/v1alpha2\nkind: VirtualMachineInstance", "kubevirt.io/v1alpha1\nkind: VirtualMachine", "kubevirt.io/v1alpha1\nkind: VM"} {
		volume := "name: disk"
		if strings.Contains(head, "v1alpha1") || strings.Contains(head, "v1alpha2") {
			volume = "name: d, volumeName: disk"
		}
		m, _ := one(t, frontend.Options{}, frontendtest.File{Name: "vm.yaml", Text: "apiVersion: " + head + "\nmetadata: {name: a}\nspec:\n" +
			"  domain: {resources: {requests: {memory: 1Gi}}, devices: {disks: [{" + volume + ", disk: {bus: virtio}}]}}\n" +
			"  volumes: [{name: disk, registryDisk: {image: x}}]\n"})
		if len(m.Disks) != 1 || m.Disks[0].Source.Image != "docker://x" || m.Disks[0].Bus != "virtio" || !m.Disks[0].Root || m.Hardware.Memory != 1<<30 {
			t.Errorf("%s: got %+v", head, m.Disks)
		}
	}
}

// TestResources holds which of several amounts is the guest's.
func TestResources(t *testing.T) {
	for _, c := range []struct {
		domain string
		memory machine.Bytes
		cpus   string
	}{
		{"memory: {guest: 1Gi}", 1 << 30, "0: 0 0 0"},
		{"memory: {guest: 1Gi}, resources: {requests: {memory: 2Gi}, limits: {memory: 3Gi}}", 1 << 30, "0: 0 0 0"},
		{"resources: {requests: {memory: 2Gi}, limits: {memory: 3Gi}}", 2 << 30, "0: 0 0 0"},
		{"resources: {limits: {memory: 3Gi}}", 3 << 30, "0: 0 0 0"},
		{"memory: {hugepages: {pageSize: 1Gi}}", 1 << 30, "0: 0 0 0"},
		{"memory: {guest: 1Gi}, cpu: {cores: 3}", 1 << 30, "3: 1 3 1"},
		{"memory: {guest: 1Gi}, cpu: {cores: 2, sockets: 3, threads: 2}", 1 << 30, "12: 3 2 2"},
		{"memory: {guest: 1Gi}, resources: {requests: {cpu: 1500m}}", 1 << 30, "2: 2 1 1"},
		{"memory: {guest: 1Gi}, resources: {requests: {cpu: 1}, limits: {cpu: 4}}", 1 << 30, "4: 4 1 1"},
		{"memory: {guest: 1Gi}, cpu: {cores: 3}, resources: {limits: {cpu: 4}}", 1 << 30, "3: 1 3 1"},
		{"memory: {guest: 1Gi}, cpu: {model: host-passthrough}, resources: {limits: {cpu: 4}}", 1 << 30, "4: 4 1 1"},
	} {
		m, _ := one(t, frontend.Options{}, instance(withDomain(c.domain)))
		h := m.Hardware
		if got := fmt.Sprintf("%d: %d %d %d", h.CPUs, h.Sockets, h.Cores, h.Threads); got != c.cpus || h.Memory != c.memory {
			t.Errorf("%s: got %s CPUs and %d bytes, want %s and %d", c.domain, got, h.Memory, c.cpus, c.memory)
		}
	}
}

// TestRoot holds which disk the machine boots from.
func TestRoot(t *testing.T) {
	const volumes = "  domain:\n    memory: {guest: 1Gi}\n    devices: {disks: [%s]}\n  volumes:\n" +
		"  - {name: seed, cloudInitNoCloud: {userData: x}}\n  - {name: blank, emptyDisk: {capacity: 1Gi}}\n" +
		"  - {name: image, containerDisk: {image: x}}\n  - {name: claim, persistentVolumeClaim: {claimName: x}}\n"
	for disks, want := range map[string]string{
		"": "image",
		"{name: claim, disk: {}}, {name: image, disk: {}}":               "claim",
		"{name: claim, cdrom: {}}, {name: image, disk: {}}":              "image",
		"{name: blank, disk: {}}, {name: claim, disk: {}}":               "claim",
		"{name: image, disk: {}}, {name: blank, disk: {}, bootOrder: 2}": "blank",
		"{name: image, bootOrder: 3}, {name: claim, bootOrder: 2}":       "claim",
	} {
		m, _ := one(t, frontend.Options{}, instance(fmt.Sprintf(volumes, disks)))
		roots := ""
		for _, d := range m.Disks {
			if d.Root {
				roots += d.Name
			}
		}
		if roots != want || len(m.Disks) != 3 {
			t.Errorf("%s: the root is %q of %d disks, want %q", disks, roots, len(m.Disks), want)
		}
	}
}

// TestDefaults holds what a definition gets that says next to nothing.
func TestDefaults(t *testing.T) {
	m, _ := one(t, frontend.Options{}, instance("  domain: {memory: {guest: 1Gi}, devices: {}}\n  volumes: [{name: a, containerDisk: {image: x}}]\n"))
	if n := m.Network; n.Mode != "" || len(n.NICs) != 1 || n.NICs[0].Name != "default" || n.NICs[0].Network != "" || n.NICs[0].DHCP4 {
		t.Errorf("network %+v", n)
	}
	if m.Disks[0].Bus != "sata" || m.Namespace != "default" || m.Compat != "kubevirt" || m.DataSource != "" || m.Running != nil {
		t.Errorf("got %+v", m)
	}
	m, _ = one(t, frontend.Options{}, instance("  architecture: arm64\n  domain: {memory: {guest: 1Gi}, devices: {autoattachPodInterface: false}}\n  volumes: [{name: a, containerDisk: {image: x}}]\n"))
	if m.Disks[0].Bus != "virtio" || len(m.Network.NICs) != 0 {
		t.Errorf("got %+v", m)
	}
}

// TestImages holds what images are called, so that no name of a container image is taken for a file or one of the short
// names that vmseed knows, and that KubeVirt gets its own name back.
func TestImages(t *testing.T) {
	for volume, want := range map[string]string{
		"containerDisk: {image: quay.io/containerdisks/fedora:43}":       "quay.io/containerdisks/fedora:43",
		"containerDisk: {image: kubevirt/cirros}":                        "kubevirt/cirros",
		"containerDisk: {image: \"debian:13\"}":                          "docker://debian:13",
		"containerDisk: {image: example.org/a.qcow2}":                    "docker://example.org/a.qcow2",
		"containerDisk: {image: example.org/a, path: /images/b.img}":     "example.org/a#path=/images/b.img",
		"dataVolume: {name: web}":                                        "https://example.org/web.qcow2",
		"dataVolume: {name: pulled}":                                     "quay.io/containerdisks/debian:13",
		"registryDisk: {image: kubevirt/cirros-registry-disk-demo:v0.1}": "kubevirt/cirros-registry-disk-demo:v0.1",
		"dataVolume: {name: empty}":                                      "blank",
		"dataVolume: {name: copied}":                                     "claim copied",
		"dataVolume: {name: elsewhere}":                                  "claim elsewhere",
		"ephemeral: {persistentVolumeClaim: {claimName: golden}}":        "claim golden",
		"hostDisk: {path: /images/a.img, type: Disk}":                    "/images/a.img",
		"persistentVolumeClaim: {claimName: root}":                       "claim root",
	} {
		m, _ := one(t, frontend.Options{}, frontendtest.File{Name: "vm.yaml", Text: `apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: a}
spec:
  runStrategy: Always
  dataVolumeTemplates:
  - {metadata: {name: web}, spec: {source: {http: {url: "https://example.org/web.qcow2"}}, pvc: {resources: {requests: {storage: 5Gi}}}}}
  - {metadata: {name: pulled}, spec: {source: {registry: {url: "docker://quay.io/containerdisks/debian:13"}}}}
  - {metadata: {name: empty}, spec: {source: {blank: {}}, storage: {resources: {requests: {storage: 5Gi}}}}}
  - {metadata: {name: copied}, spec: {source: {pvc: {name: x, namespace: y}}}}
  template:
    spec:
      domain: {memory: {guest: 1Gi}, devices: {}}
      volumes: [{name: v, ` + volume + "}]\n"})
		s := m.Disks[0].Source
		got := s.Image + s.Path
		if s.Claim != "" {
			got += "claim " + s.Claim
		}
		if s.Blank {
			got += "blank"
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", volume, got, want)
		}
	}
}
