package kubevirt

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/frontend/frontendtest"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// load reads the machines of a text.
func load(t *testing.T, text string) []machine.Machine {
	t.Helper()
	machines, l := frontendtest.Load(Frontend{}, frontend.Options{}, frontendtest.File{Name: "vm.yaml", Text: text})
	if l.HasErrors() {
		t.Fatal(l.Err())
	}
	return machines
}

// TestRenew writes documents of old versions as v1: what the author wrote stays, comments and fields that vmseed does not
// know included.
func TestRenew(t *testing.T) {
	const other = "apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstance\nmetadata: {name: other}\nspec: {domain: {devices: {}, memory: {guest: 1Gi}}}\n---\n"
	const old = `# the shop's machine
apiVersion: kubevirt.io/v1alpha2
kind: VirtualMachine
metadata:
  name: web # its name
  namespace: shop
  finalizers: [example.org/keep]
spec:
  running: false
  template:
    metadata:
      annotations: {example.org/mode: "0644"}
    spec:
      affinity: {nodeAffinity: {}}
      domain:
        cpu: {cores: 2}
        resources: {requests: {memory: 1024M}}
        devices:
          disks:
          - name: rootdisk
            volumeName: root
            disk: {bus: virtio}
          - {name: seed, volumeName: seed, disk: {}}
      volumes:
      - name: root
        registryDisk: {image: "registry.example/fedora:latest"}
      - name: seed
        cloudInitNoCloud: {userData: "#cloud-config\n{}\n"}
`
	const want = `# the shop's machine
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata:
  name: web # its name
  namespace: shop
  finalizers: [example.org/keep]
spec:
  runStrategy: Halted
  template:
    metadata:
      annotations: {example.org/mode: "0644"}
    spec:
      affinity: {nodeAffinity: {}}
      domain:
        cpu: {cores: 2}
        resources: {requests: {memory: 1024M}}
        devices:
          disks:
            - name: root
              disk: {bus: virtio}
            - {name: seed, disk: {}}
      volumes:
        - name: root
          containerDisk: {image: "registry.example/fedora:latest"}
        - name: seed
          cloudInitNoCloud: {userData: "#cloud-config\n{}\n"}
`
	for _, m := range load(t, other+old) {
		if m.Name != "web" {
			continue
		}
		got, l := Frontend{}.Write(m)
		if l.HasErrors() {
			t.Fatal(l.Err())
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Error(diff)
		}
		again := load(t, string(got))[0]
		m.Document, again.Document, m.Places, again.Places = machine.Document{}, machine.Document{}, nil, nil
		if strings.Contains(cmp.Diff(m.Disks, again.Disks), "Image") || *again.Running || again.Namespace != "shop" {
			t.Errorf("read again it is another machine: %+v", again)
		}
	}
}

// TestRenewFinds renews definitions whose parts do not stand where they are used: in a List, behind aliases and merge keys,
// or in JSON.
func TestRenewFinds(t *testing.T) {
	const spec = `{affinity: {keep: me}, domain: {memory: {guest: 1Gi}, devices: {disks: [{name: a, volumeName: root, disk: {}}]}}, volumes: [{name: root, registryDisk: {image: i}}]}`
	for name, text := range map[string]string{
		"list":      "apiVersion: v1\nkind: List\nitems:\n- apiVersion: kubevirt.io/v1alpha2\n  kind: VirtualMachineInstance\n  metadata: {name: vm}\n  spec: " + spec + "\n",
		"v1alpha1":  "apiVersion: kubevirt.io/v1alpha1\nkind: VM\nmetadata: {name: vm}\nspec: " + spec + "\n",
		"json":      `{"apiVersion": "kubevirt.io/v1alpha2", "kind": "VirtualMachineInstance", "metadata": {"name": "vm"}, "spec": {"affinity": {"keep": "me"}, "domain": {"memory": {"guest": "1Gi"}, "devices": {"disks": [{"name": "a", "volumeName": "root", "disk": {}}]}}, "volumes": [{"name": "root", "registryDisk": {"image": "i"}}]}}`,
		"merge key": "apiVersion: kubevirt.io/v1alpha2\nkind: VirtualMachineInstance\nmetadata: {name: vm}\nspec:\n  affinity: {keep: me}\n  domain: {memory: {guest: 1Gi}, devices: {disks: [{disk: {}, <<: &a {name: a, volumeName: root}}]}}\n  volumes: [{name: root, <<: {registryDisk: {image: i}}}]\n",
	} {
		t.Run(name, func(t *testing.T) {
			m := load(t, text)[0]
			got, l := Frontend{}.Write(m)
			if l.HasErrors() {
				t.Fatal(l.Err())
			}
			for _, gone := range []string{"v1alpha", "volumeName", "registryDisk", "<<", "&a"} {
				if strings.Contains(string(got), gone) {
					t.Errorf("%s is left:\n%s", gone, got)
				}
			}
			if again := load(t, string(got)); !strings.Contains(string(got), "affinity") || again[0].Disks[0].Source.Image != m.Disks[0].Source.Image {
				t.Errorf("something is lost:\n%s", got)
			}
		})
	}
}

// TestRenewKeepsBytes renews definitions in which nothing but the version is old: every other byte stays.
func TestRenewKeepsBytes(t *testing.T) {
	for _, text := range []string{
		"# mine\r\napiVersion:   \"kubevirt.io/v1alpha3\"   # old\r\nkind: VirtualMachineInstance\r\nmetadata:\r\n    name:   vm\r\nspec: {domain: {memory: {guest: 1Gi}, devices: {}}}\r\n",
		"kind: VirtualMachineInstance\nmetadata: &meta {name: vm}\nspec:\n  domain:\n    memory: {guest: 1Gi}\n    devices:\n      disks:\n      - {name: a,   disk: {}}\n  volumes:\n  - name: a\n    containerDisk: {image: i}   # aligned\napiVersion: kubevirt.io/v1alpha3\n",
		`{"apiVersion":"kubevirt.io/v1alpha3","kind":"VirtualMachineInstance","metadata":{"name":"vm"},"spec":{"domain":{"memory":{"guest":"1Gi"},"devices":{}}}}` + "\n",
	} {
		got, l := Frontend{}.Write(load(t, text)[0])
		if l.HasErrors() {
			t.Fatal(l.Err())
		}
		if diff := cmp.Diff(strings.Replace(text, "v1alpha3", "v1", 1), string(got)); diff != "" {
			t.Error(diff)
		}
	}
}

// TestWriteForeign writes what only KubeVirt's limits make special.
func TestWriteForeign(t *testing.T) {
	long := "#cloud-config\n# " + strings.Repeat("x", defaultLimit) + "\n"
	m := machine.Machine{Name: "vm", Namespace: "ns", Identity: machine.Identity{UUID: "3c2a9c1e-5f0b-4d7e-9a51-0f6e2b7d8c41", InstanceID: "mine", Hostname: "vm.example.org"},
		UserData:   machine.UserData{Layers: []machine.Layer{{Data: secret.New(long)}}},
		AgentUsers: []machine.AgentUser{{Name: "ada", Password: secret.New("canary"), SSHAuthorizedKeys: []string{"ssh-ed25519 AAAA ada"}}},
		MetaData:   []machine.Layer{{Data: secret.New("{instance-id: x, local-hostname: host, color: red, list: [1]}")}},
		Hardware:   machine.Hardware{Memory: 3 << 29, SecureBoot: true, HostDevices: []machine.HostDevice{{Name: "gpu", Kind: "gpu", DeviceName: "example.org/GPU"}, {Name: "nic", Kind: "pci", PCI: "0000:01:00.0"}}},
		Media:      []machine.Media{{Name: "answers", Kind: "sysprep", Files: []machine.File{{Path: "/unattend.xml", Content: secret.New("<x/>")}}}},
	}
	text, l := Frontend{}.Write(m)
	if l.HasErrors() {
		t.Fatal(l.Err())
	}
	var said strings.Builder
	for _, d := range l {
		said.WriteString(d.Summary + "\n")
	}
	for _, want := range []string{"the instance id, so it is not mine", `"list" is left out`, `"instance-id" itself`, "no address of a device"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("nothing is said of %q:\n%s", want, said.String())
		}
	}
	if strings.Contains(said.String(), "canary") {
		t.Error("a secret is said")
	}
	again := load(t, string(text))
	if len(again) != 1 {
		t.Fatalf("%d machines\n%s", len(again), text)
	}
	got := again[0]
	if got.UserData.Layers[0].Data.Reveal() != long || got.Identity.Hostname != "host" || got.Hardware.Memory != m.Hardware.Memory ||
		!got.Hardware.SecureBoot || len(got.AgentUsers) != 1 || got.AgentUsers[0].Password.Reveal() != "canary" ||
		len(got.Media) != 1 || got.Media[0].Label != sysprepLabel || len(got.Hardware.HostDevices) != 1 {
		t.Errorf("read again it is another machine:\n%s", text)
	}
}
