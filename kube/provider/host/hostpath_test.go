package host

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/kube/launch"
	"github.com/vmseed/vmseed/kube/provider"
	"github.com/vmseed/vmseed/machine"
)

// hostTree makes a directory with files that definitions ask for, and a file outside of it.
func hostTree(t *testing.T) (dir, outside string) {
	t.Helper()
	dir, outside = t.TempDir(), filepath.Join(t.TempDir(), "outside.img")
	for path, text := range map[string]string{filepath.Join(dir, "raw.img"): "raw", filepath.Join(dir, "copy.img"): "QFI\xfb....", outside: "raw"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"in": "raw.img", "out": outside, "up": filepath.Dir(outside)} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir, outside
}

// refused reports whether exactly these fields are refused.
func refused(l diag.List, fields ...string) bool {
	var got []string
	for _, d := range l {
		if d.Code == provider.CodeHostPath && d.Severity == diag.Error {
			got = append(got, d.Field)
		}
	}
	return slices.Equal(got, fields)
}

// TestHostPaths asks for every thing of the host that a machine can name, of a node that allows nothing and of one that
// allows some.
func TestHostPaths(t *testing.T) {
	dir, outside := hostTree(t)
	disk := func(path string) func(*machine.Machine) {
		return func(m *machine.Machine) {
			m.Disks = []machine.Disk{{Name: "d", Source: machine.DiskSource{Path: path, Format: "qcow2"}}}
		}
	}
	share := func(path string) func(*machine.Machine) {
		return func(m *machine.Machine) { m.Shares = []machine.Share{{Name: "s", HostPath: path}} }
	}
	device := func(pci string) func(*machine.Machine) {
		return func(m *machine.Machine) { m.Hardware.HostDevices = []machine.HostDevice{{PCI: pci}} }
	}
	const path, sharePath = "disks[0].source.path", "shares[0].hostPath"
	allowed := Allowed{Paths: []string{dir, "/dev"}, Shares: []string{dir}, Devices: []string{"65:00.A"}}
	for _, c := range []struct {
		name    string
		ask     func(*machine.Machine)
		field   string
		allowed bool
		say     string
	}{
		{"a disk", disk(dir + "/raw.img"), path, true, ""},
		{"a link to one", disk(dir + "/in"), path, true, ""},
		{"a link out", disk(dir + "/out"), path, false, "--allow-host-path"},
		{"another file", disk(outside), path, false, "--allow-host-path"},
		{"a way out", disk(dir + "/../" + filepath.Base(filepath.Dir(outside)) + "/outside.img"), path, false, "--allow-host-path"},
		{"no absolute path", disk("raw.img"), path, false, "--allow-host-path"},
		{"a qcow2 image", disk(dir + "/copy.img"), path, false, "convert it"},
		{"a directory", disk(dir + "/sub"), path, false, "neither"},
		{"a character device", disk("/dev/null"), path, false, "neither"},
		{"no file", disk(dir + "/none"), path, false, "there is no"},
		{"a share", share(dir), sharePath, true, ""},
		{"a share below one", share(dir + "/sub"), sharePath, false, "--allow-share"},
		{"the whole host", share("/"), sharePath, false, "--allow-share"},
		{"a kernel", func(m *machine.Machine) { m.Boot.Kernel = dir + "/raw.img" }, "boot.kernel", true, ""},
		{"an initrd", func(m *machine.Machine) { m.Boot.Initrd = outside }, "boot.initrd", false, "--allow-host-path"},
		{"a CD", func(m *machine.Machine) { m.Media = []machine.Media{{Path: outside}} }, "media[0].path", false, "--allow-host-path"},
		{"a device", device("0000:65:00.a"), "hardware.hostDevices[0]", true, ""},
		{"another device", device("0000:65:00.1"), "hardware.hostDevices[0]", false, "--allow-host-device"},
		{"a file for an image", func(m *machine.Machine) {
			m.Disks = []machine.Disk{{Name: "d", Source: machine.DiskSource{Image: outside}}}
		}, "disks[0].source.image", false, "image"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, none := testHost(t, fake.NewClientset()), newLocal(nil, "n", "node")
			var m machine.Machine
			c.ask(&m)
			if l := h.judge(&m, none); !refused(l, c.field) {
				t.Errorf("a node that allows nothing says %v", l)
			}
			h.options.Allowed = allowed
			m = machine.Machine{}
			c.ask(&m)
			l := h.judge(&m, none)
			switch {
			case c.allowed && (len(l) > 0 || len(m.Disks) > 0 && (m.Disks[0].Source.Path != dir+"/raw.img" || m.Disks[0].Source.Format != "raw")):
				t.Errorf("%v, %+v", l, m.Disks)
			case !c.allowed && (!refused(l, c.field) || !strings.Contains(l[0].Summary+l[0].Remedy, c.say)):
				t.Errorf("%v", l)
			}
			if told := advised(l); len(told) != len(l) || len(l) > 0 && told[0].Remedy != l[0].Remedy {
				t.Errorf("users are told %v", told)
			}
		})
	}
}

// bound is a volume of the node "node" with the claim in the namespace n that it is bound to.
func bound(name, path string, mode corev1.PersistentVolumeMode) (*corev1.PersistentVolume, *corev1.PersistentVolumeClaim) {
	return &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{VolumeMode: &mode,
			PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: path}},
			ClaimRef:               &corev1.ObjectReference{Namespace: "n", Name: name, UID: "u"},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{"node"}}}}}}}}},
		&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name, UID: "u"},
			Spec: corev1.PersistentVolumeClaimSpec{VolumeMode: &mode, VolumeName: name}}
}

// TestVolumesOfPods has pods name paths of the node by all the volumes that they can have. What is bound to a claim of
// theirs needs no permission, and what is bound to another's is none of theirs.
func TestVolumesOfPods(t *testing.T) {
	dir, _ := hostTree(t)
	claimed := func(name string) corev1.VolumeSource {
		return corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}
	}
	for _, c := range []struct {
		name    string
		source  corev1.VolumeSource
		block   bool
		sub     string
		change  func(*corev1.PersistentVolume)
		refused string
	}{
		{name: "a directory", source: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: dir}}, refused: "shares[0].hostPath"},
		{name: "a raw device", source: corev1.VolumeSource{FlexVolume: &corev1.FlexVolumeSource{Driver: "virtlet/flexvolume_driver",
			Options: map[string]string{"type": "raw", "path": "/dev/null", "part": "0"}}}, refused: "disks[1].source.path"},
		{name: "a claim", source: claimed("files")},
		{name: "a part of a claim", source: claimed("files"), sub: "sub"},
		{name: "a link in a claim", source: claimed("files"), sub: "up", refused: "shares[0].hostPath"},
		{name: "a claim that nobody made", source: claimed("none"), refused: "+"},
		{name: "a claim of a device", source: claimed("device"), block: true},
		{name: "a volume of another namespace", source: claimed("device"), block: true,
			change: func(v *corev1.PersistentVolume) { v.Spec.ClaimRef.Namespace = "other" }, refused: "-"},
		{name: "a volume of a former claim", source: claimed("device"), block: true,
			change: func(v *corev1.PersistentVolume) { v.Spec.ClaimRef.UID = "former" }, refused: "-"},
		{name: "a volume that nobody has", source: claimed("device"), block: true,
			change: func(v *corev1.PersistentVolume) { v.Spec.ClaimRef = nil }, refused: "-"},
		{name: "a volume of another node", source: claimed("device"), block: true, change: func(v *corev1.PersistentVolume) {
			v.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0].Values[0] = "other"
		}, refused: "-"},
	} {
		t.Run(c.name, func(t *testing.T) {
			fs, fsClaim := bound("files", dir, corev1.PersistentVolumeFilesystem)
			device, deviceClaim := bound("device", filepath.Join(dir, "raw.img"), corev1.PersistentVolumeBlock)
			if c.change != nil {
				c.change(device)
			}
			client := fake.NewClientset(fs, fsClaim, device, deviceClaim,
				&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node", Labels: map[string]string{corev1.LabelHostname: "node"}}})
			h, pod := testHost(t, client), testPod()
			pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: c.source}}
			pod.Spec.Containers[0].VolumeMounts = nil
			switch {
			case c.block:
				pod.Spec.Containers[0].VolumeDevices = []corev1.VolumeDevice{{Name: "v", DevicePath: "/dev/v"}}
			case c.source.FlexVolume == nil:
				pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/v", SubPath: c.sub}}
			}
			resolver := newLocal(client, "n", "node")
			m, _, l, err := h.machine(t.Context(), h.completed(pod, connection{}), resolver)
			if err != nil {
				t.Fatal(err)
			}
			if c.refused == "-" { // the claim is not followed to the volume, and nothing else finds it either
				_, problems, err := h.volumes(t.Context(), pod, m, resolver)
				if err != nil || l.HasErrors() || !problems.HasErrors() || m.Disks[1].Source.Path != "" {
					t.Errorf("%v, %v, %v, %+v", l, problems, err, m.Disks)
				}
				return
			}
			if c.refused == "+" { // what is missing is said of a directory too
				_, problems, err := h.volumes(t.Context(), pod, m, resolver)
				var wait *provider.WaitError
				if err != nil || !errors.As(passing(problems, nil), &wait) || !strings.Contains(wait.Error(), "not found") {
					t.Errorf("%v, %v", problems, err)
				}
				return
			}
			if c.refused == "" && l.HasErrors() || c.refused != "" && !refused(l, c.refused) {
				t.Errorf("%v", l)
			}
		})
	}
}

// TestForgedLaunch has the user of a namespace make a launcher pod and a launch Secret: what they can ask for is what a pod
// of theirs can, in the form of an instance.
func TestForgedLaunch(t *testing.T) {
	dir, _ := hostTree(t)
	for _, c := range []struct{ name, document, related, want string }{
		{"a file of the node", `{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstance","metadata":{"name":"a","namespace":"n"},"spec":{"domain":{"devices":{"disks":[{"name":"d","disk":{}}]},"resources":{"requests":{"memory":"64Mi"}}},` +
			`"volumes":[{"name":"d","hostDisk":{"path":"` + dir + `/raw.img","type":"Disk"}}]}}`, "", "VS8004"},
		{"a volume of their own making", `{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstance","metadata":{"name":"a","namespace":"n"},"spec":{"domain":{"devices":{"filesystems":[{"name":"d","virtiofs":{}}]},"resources":{"requests":{"memory":"64Mi"}}},` +
			`"volumes":[{"name":"d","persistentVolumeClaim":{"claimName":"c"}}]}}`,
			`{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"c","namespace":"n"},"spec":{"volumeName":"p"}},` +
				`{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"p"},"spec":{"hostPath":{"path":"/etc"}}}]}`, "-"},
		{"another form", `{"apiVersion":"vmseed.dev/v1alpha1","kind":"Machine","metadata":{"name":"a","namespace":"n"},"spec":{"boot":{"kernel":"/etc/passwd"}}}`, "", "none of the forms"},
	} {
		t.Run(c.name, func(t *testing.T) {
			owner := []metav1.OwnerReference{{Kind: "VirtualMachineInstance", Name: "a", UID: "u"}}
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "forged", OwnerReferences: owner}, Type: launch.SecretType,
				Data: map[string][]byte{launch.DocumentKey: []byte(c.document), launch.PlacementKey: []byte(`{"featureGates":["HostDisk","ExperimentalVirtiofsSupport","EnableVirtioFsStorageVolumes"]}`)}}
			if c.related != "" {
				secret.Data[launch.RelatedKey] = []byte(c.related)
			}
			client := fake.NewClientset(secret)
			h, pod := testHost(t, client), testPod()
			pod.OwnerReferences = owner
			pod.Labels = map[string]string{launch.RoleLabel: launch.Role}
			pod.Annotations[launch.SecretAnnotation] = "forged"
			m, _, l, err := h.machine(t.Context(), pod, newLocal(client, "n", "node"))
			text := ""
			for _, d := range l {
				text += d.Error() + "\n"
			}
			if c.want == "-" { // such a volume is not believed in
				if err != nil || l.HasErrors() || len(m.Shares) != 1 || m.Shares[0].HostPath != "" {
					t.Errorf("%v, %s, %+v", err, text, m.Shares)
				}
				return
			}
			if err != nil || !l.HasErrors() || !strings.Contains(text, c.want) {
				t.Errorf("%v, %s", err, text)
			}
		})
	}
}
