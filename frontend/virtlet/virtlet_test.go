package virtlet_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/frontend/virtlet"
	"github.com/vmseed/vmseed/internal/bounded"
	"github.com/vmseed/vmseed/machine"
)

func TestSniff(t *testing.T) {
	for _, c := range []struct {
		name, head string
		want       frontend.Match
	}{
		{"runtime", podHead, frontend.Strong},
		{"annotation", "kind: Pod\nmetadata:\n  annotations:\n    VirtletSSHKeys: x\n", frontend.Strong},
		{"quotes and comments", "# a pod\n---\n\"kind\": 'Pod' # yes\nmetadata: {}\n  \"VirtletSSHKeys\" : x\n", frontend.Strong},
		{"Windows line ends", "apiVersion: v1\r\nkind: Pod\r\n    kubernetes.io/target-runtime: virtlet.cloud\r\n", frontend.Strong},
		{"JSON", `{"kind": "Pod", "metadata": {"annotations": {"VirtletVCPUCount": "2"}}}`, frontend.Strong},
		{"JSON on lines", "{\n  \"kind\":\"Pod\",\n  \"kubernetes.io/target-runtime\":\"virtlet.cloud\"", frontend.Strong},
		{"item of a list", "  - apiVersion: v1\n    kind: Pod\n    metadata:\n      annotations:\n        VirtletSSHKeys: x\n", frontend.Strong},
		{"cut off behind the mark", podHead[:len(podHead)-5], frontend.Strong},
		{"image alone", "kind: Pod\nspec:\n  containers:\n  - image: virtlet.cloud/x\n", frontend.Weak},
		{"image in JSON", `{"kind":"Pod","spec":{"containers":[{"image":"virtlet.cloud/x"}]}}`, frontend.Weak},
		{"template of a StatefulSet", "kind: StatefulSet\nspec:\n  template:\n    metadata:\n      annotations:\n        VirtletSSHKeys: x\n", frontend.Weak},
		{"an ordinary pod", "kind: Pod\nspec:\n  containers:\n  - image: nginx\n", frontend.No},
		{"other runtime", "kind: Pod\nkubernetes.io/target-runtime: virtlet.cloudy\n", frontend.Strong},
		{"flow style", "kind: Pod\nmetadata: {name: x, annotations: {kubernetes.io/target-runtime: virtlet.cloud}}\n", frontend.Strong},
		{"flow style of one annotation", "kind: Pod\nmetadata:\n  annotations: {VirtletVCPUCount: \"2\"}\n", frontend.Strong},
		{"commented out", "kind: Pod\n# VirtletSSHKeys: x\n", frontend.No},
		{"pod in a ConfigMap", "kind: ConfigMap\ndata:\n  pod: |\n    kind: Pod\n    VirtletSSHKeys: x\n", frontend.No},
		{"KubeVirt", "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\n", frontend.No},
		{"cloud-config", "#cloud-config\nkind: Pod of whales\n", frontend.No},
		{"nothing", "", frontend.No},
	} {
		if got := (virtlet.Frontend{}).Sniff([]byte(c.head)); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}

// TestAnnotations reads good annotations. The machine is that of the plain pod with the values of want.
func TestAnnotations(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     func(*machine.Machine)
	}{
		{"none", ``, func(*machine.Machine) {}},
		{"empty ones", "VirtletCPUModel: \"\"\n    VirtletDiskDriver: \"\"\n    VirtletSSHKeys: \"\"\n    VirtletCloudInitUserData: \"\"\n    VirtletCloudInitUserDataScript: \"\"", func(*machine.Machine) {}},
		{"vCPU count below one", `VirtletVCPUCount: "-1"`, func(*machine.Machine) {}},
		{"vCPU count", `VirtletVCPUCount: "4"`, func(m *machine.Machine) { m.Hardware.CPUs = 4 }},
		{"image type", `VirtletCloudInitImageType: ConfigDrive`, func(m *machine.Machine) { m.DataSource = "configdrive" }},
		{"root size", `VirtletRootVolumeSize: 1Gi`, func(m *machine.Machine) { m.Disks[0].Size = 1 << 30 }},
		{"root size in decimals", `VirtletRootVolumeSize: 1.5Ki`, func(m *machine.Machine) { m.Disks[0].Size = 1536 }},
		{"disk driver", `VirtletDiskDriver: virtio`, func(m *machine.Machine) { m.Hardware.DiskBus = "virtio" }},
		{"UUID", `VirtletSystemUUID: 53008994-44c0-4017-ad44-9c49758083da`, func(m *machine.Machine) { m.Identity.UUID = "53008994-44c0-4017-ad44-9c49758083da" }},
		{"UUID of version 7 in capitals", `VirtletSystemUUID: "{018F4E2A-7B1C-7D3E-9F00-0123456789AB}"`, func(m *machine.Machine) { m.Identity.UUID = "018f4e2a-7b1c-7d3e-9f00-0123456789ab" }},
		{"forced DHCP", `VirtletForceDHCPNetworkConfig: "true"`, func(m *machine.Machine) { m.Network.Mode = "dhcp" }},
		{"another annotation", `example.org/a: b`, func(m *machine.Machine) { m.Annotations = map[string]string{"example.org/a": "b"} }},
		{"kubectl's copy", `kubectl.kubernetes.io/last-applied-configuration: '{"a": 1}'`, func(*machine.Machine) {}},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := podHead
			if c.in != "" {
				in += "    " + c.in + "\n"
			}
			machines, l := load([2]string{"in.yaml", in + "spec: {containers: [{image: virtlet.cloud/x}]}\n"})
			if len(machines) != 1 || l.HasErrors() {
				t.Fatalf("%d machines, %v", len(machines), l)
			}
			want := machine.Machine{Name: "p", Namespace: "default", DataSource: "nocloud",
				Identity: machine.Identity{InstanceID: "p.default", Hostname: "p"},
				Network:  machine.Network{NICs: []machine.NIC{{Name: "eth0", DHCP4: true}}},
				UserData: machine.UserData{MountScripts: true},
				Disks:    []machine.Disk{{Name: "root", Root: true, Ephemeral: true, Source: machine.DiskSource{Image: "x"}}},
				Hardware: machine.Hardware{MachineType: "pc", CPUs: 1, Memory: 1 << 30, DiskBus: "scsi"}}
			c.want(&want)
			places := regexp.MustCompile(`\t\(.*\)`)
			got := dump(machines, nil)
			if d := cmp.Diff(places.ReplaceAllString(dump([]machine.Machine{want}, nil), ""), places.ReplaceAllString(got, "")); d != "" {
				t.Errorf("machine (-want +got):\n%s", d)
			}
		})
	}
}

// TestExpand holds the expansion of references to Kubernetes' rules (documentation of EnvVar.value).
func TestExpand(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"$(A)", "a"}, {"x$(A)y$(B)", "xay"}, {"$$(A)", "$(A)"}, {"$$$(A)", "$a"}, {"$A", "$A"}, {"$", "$"}, {"$$", "$"},
		{"$(A", "$(A"}, {"$()", "$()"}, {"$(NO)", "$(NO)"}, {"$((A))", "$((A))"}, {"a$$b", "a$b"}, {"$(A)$", "a$"},
	} {
		in := podHead + "spec:\n  containers:\n  - image: virtlet.cloud/x\n    env: [{name: A, value: a}, {name: B}, {name: X, value: '" + c.in + "'}]\n"
		machines, _ := load([2]string{"in.yaml", in})
		if len(machines) != 1 || len(machines[0].Environment) != 3 {
			t.Fatalf("%s: no environment", c.in)
		}
		if got := machines[0].Environment[2].Value.Reveal(); got != c.want {
			t.Errorf("%s: got %s, want %s", c.in, got, c.want)
		}
	}
}

// TestEnvironmentOrder: envFrom first, sorted by key; a later variable takes the place of an earlier one.
func TestEnvironmentOrder(t *testing.T) {
	machines, l := load([2]string{"in.yaml", podHead + `spec:
  containers:
  - image: virtlet.cloud/x
    env: [{name: Z, value: last}, {name: A, value: "$(B)"}]
    envFrom: [{configMapRef: {name: m}}, {prefix: P_, configMapRef: {name: m}}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: m}
data: {B: b, A: a}
`})
	if l.HasErrors() || len(machines) != 1 {
		t.Fatal(l)
	}
	var got []string
	for _, v := range machines[0].Environment {
		got = append(got, v.Name+"="+v.Value.Reveal())
	}
	if d := cmp.Diff([]string{"B=b", "P_A=a", "P_B=b", "Z=last", "A=b"}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestLongHostname: a pod's name may have 253 characters, a host name 63.
func TestLongHostname(t *testing.T) {
	name := strings.Repeat("a", 62) + "-" + strings.Repeat("b", 30)
	machines, l := load([2]string{"in.yaml", strings.Replace(podHead, "name: p", "name: "+name, 1) + "spec: {containers: [{image: virtlet.cloud/x}]}\n"})
	if len(machines) != 1 || machines[0].Identity.Hostname != strings.Repeat("a", 62) || codes(l) != "4:9: warning[VS2228]\n" {
		t.Errorf("host name %q, %v", machines[0].Identity.Hostname, l)
	}
}

// TestEveryPlaceIsExact demands that the values of the richest pod name the place they come from, not just the pod.
func TestEveryPlaceIsExact(t *testing.T) {
	machines, _ := load(readFile(t, "testdata/suite/full.yaml"), readFile(t, "testdata/suite/objects.yaml"))
	general := map[string]bool{"userData.mountScripts": true}
	for _, u := range machine.Used(machines[0]) {
		if at := machines[0].Places.Find(u.Path); at == machines[0].Places[""] && !general[u.Path] {
			t.Errorf("%s has the place of the whole pod", u.Path)
		}
	}
}

// TestCodes demands an explanation for every constant of codes.go, which are numbered from the first.
func TestCodes(t *testing.T) {
	src, err := os.ReadFile("codes.go")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`(?m)^\tCode[A-Z]`).FindAll(src, -1)
	explained := map[diag.Code]bool{}
	for _, e := range virtlet.Codes() {
		if e.Title == "" || e.Text == "" {
			t.Errorf("%v has no title or text", e.Code)
		}
		explained[e.Code] = true
	}
	for i := range names {
		if !explained[virtlet.CodeNotPod+diag.Code(i)] {
			t.Errorf("%v is not explained", virtlet.CodeNotPod+diag.Code(i))
		}
	}
	if len(names) != len(explained) || len(names) > 80 {
		t.Errorf("%d constants, %d explanations, room for 80", len(names), len(explained))
	}
}

// FuzzRead holds that no pod makes the front end panic, that two readings agree, that no diagnostic shows a value of a
// Secret, and that no value of the pod is left without a reader or a diagnostic.
func FuzzRead(f *testing.F) {
	const canary = "c4n4ry-5ecret"
	const secrets = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {k: " + canary + ", k_path: /etc/" + canary + ", authorized_keys: " + canary + ", y: '[" + canary + "'}\n"
	for _, name := range []string{"../../examples/virtlet/pod.yaml", "testdata/suite/full.yaml", "testdata/suite/script.yaml"} {
		f.Add(readFile(f, name)[1])
	}
	for _, a := range []string{"VirtletCloudInitUserDataSource: secret/s", "VirtletSSHKeySource: secret/s", "VirtletFilesFromDataSource: secret/s",
		"VirtletSSHKeySource: secret/s/k", "VirtletCloudInitUserDataSource: secret/s\n    VirtletCloudInitUserDataSourceKey: k\n    VirtletCloudInitUserDataSourceEncoding: base64"} {
		f.Add(podHead + "    " + a + "\nspec: {containers: [{image: virtlet.cloud/x, envFrom: [{secretRef: {name: s}}], volumeMounts: [{name: v, mountPath: /v}]}], volumes: [{name: v, secret: {secretName: s}}]}\n")
	}
	f.Fuzz(func(t *testing.T, pod string) {
		if strings.Contains(pod, canary[:6]) {
			return
		}
		virtlet.Frontend{}.Sniff([]byte(pod))
		files := [][2]string{{"in.yaml", pod}, {"s.yaml", secrets}}
		machines, l := load(files...)
		again, l2 := load(files...)
		if dump(machines, l) != dump(again, l2) {
			t.Error("two readings differ")
		}
		if shown := fmt.Sprintf("%v %+v", l.Error(), l); strings.Contains(shown, canary) {
			t.Errorf("a diagnostic shows a secret: %s", shown)
		}
		values, broken := tree.Parse("in.yaml", []byte(pod), bounded.Defaults())
		if len(values) > 0 && !broken.HasErrors() && len(machines) == 0 && !l.HasErrors() && !strings.Contains(pod, "List") && !strings.Contains(pod, "v1") {
			t.Error("neither a machine nor an error")
		}
		for _, m := range machines {
			for _, file := range m.Files {
				if !strings.HasPrefix(file.Path, "/") || strings.Contains(file.Path, "/../") {
					t.Errorf("a file has the path %q", file.Path)
				}
			}
			names := map[string]bool{}
			for _, d := range m.Disks {
				if names[d.Name] && !l.HasErrors() {
					t.Errorf("two disks have the name %q", d.Name)
				}
				names[d.Name] = true
			}
			for _, mount := range m.Mounts {
				if mount.Disk != "" && !names[mount.Disk] {
					t.Errorf("a mount names the disk %q", mount.Disk)
				}
			}
		}
	})
}
