package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/vmseed/vmseed"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/kubeobject"
	"github.com/vmseed/vmseed/format/netconfig"
	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/frontend/virtlet"
	"github.com/vmseed/vmseed/hypervisor"
	"github.com/vmseed/vmseed/image"
	"github.com/vmseed/vmseed/internal/boot"
	"github.com/vmseed/vmseed/kube/podnet"
	"github.com/vmseed/vmseed/kube/provider"
	"github.com/vmseed/vmseed/machine"
)

func testPod() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "vm", UID: "3b0a", GenerateName: "vm-", OwnerReferences: []metav1.OwnerReference{{Name: "x"}},
			Annotations:   map[string]string{provider.RuntimeAnnotation: provider.Runtime, corev1.LastAppliedConfigAnnotation: "canary"},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}}},
		Spec: corev1.PodSpec{NodeName: "node", Containers: []corev1.Container{{Name: "c", Image: "virtlet.cloud/tiny",
			Env: []corev1.EnvVar{{Name: "IP", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.podIP"}}},
				{Name: "NODE", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "spec.nodeName"}}}},
			VolumeMounts: []corev1.VolumeMount{{Name: "kube-api-access-a"}, {Name: "dir", MountPath: "/dir"}}}},
			Volumes: []corev1.Volume{{Name: "kube-api-access-a"}, {Name: "vmseed-src-0"}, {Name: "dir", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}},
	}
}

func testHost(t *testing.T, client *fake.Clientset) *Host {
	t.Helper()
	h, err := New(Options{Client: client, Root: filepath.Join(t.TempDir(), "vms"), NodeIPs: []netip.Addr{netip.MustParseAddr("192.0.2.7")}})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestPodDocument leaves out what the cluster keeps in a pod for itself.
func TestPodDocument(t *testing.T) {
	pod := testPod()
	before, _ := json.Marshal(pod)
	text, err := podDocument(pod)
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"canary", "managedFields", "ownerReferences", "generateName", "kube-api-access", "vmseed-src"} {
		if strings.Contains(string(text), word) {
			t.Errorf("the document has %s: %s", word, text)
		}
	}
	if after, _ := json.Marshal(pod); string(after) != string(before) {
		t.Error("the pod was changed")
	}
}

// TestMachine reads a pod with the addresses that the downward API offers.
func TestMachine(t *testing.T) {
	client := fake.NewClientset()
	h := testHost(t, client)
	m, source, l, err := h.machine(t.Context(), h.completed(testPod(), connection{}), newLocal(client, "n", "node"))
	if err != nil || l.HasErrors() || source != "" {
		t.Fatalf("%v, %v, %q", err, l, source)
	}
	env := map[string]string{}
	for _, v := range m.Environment {
		env[v.Name] = v.Value.Reveal()
	}
	if env["IP"] != "192.168.127.2" || env["NODE"] != "node" || m.Name != "vm" || m.Namespace != "n" || m.Identity.UID != "3b0a" {
		t.Errorf("%v, %s/%s", env, m.Namespace, m.Name)
	}
	volumes, l, err := h.volumes(t.Context(), testPod(), m, newLocal(client, "n", "node"))
	if err != nil || l.HasErrors() || len(volumes) != 1 || volumes[0].Name != "dir" {
		t.Fatalf("volumes: %v, %v, %v", volumes, l, err)
	}
	if info, err := os.Stat(volumes[0].Path); err != nil || !info.IsDir() {
		t.Errorf("the directory: %v", err)
	}
	if err := h.Remove(t.Context(), provider.RefOf(testPod())); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(volumes[0].Path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory is left: %v", err)
	}
}

// TestDataSource refuses the name of a data source that there is none of.
func TestDataSource(t *testing.T) {
	client := fake.NewClientset()
	h := testHost(t, client)
	for name, ok := range map[string]bool{"configdrive": true, "nocloud-net": true, "floppy": false} {
		pod := testPod()
		pod.Annotations["vmseed.dev/datasource"] = name
		_, source, l, err := h.machine(t.Context(), h.completed(pod, connection{}), newLocal(client, "n", "node"))
		if err != nil || l.HasErrors() == ok || ok && source != name || !ok && l[0].Code != provider.CodeAnnotation {
			t.Errorf("%s: %q, %v, %v", name, source, l, err)
		}
	}
}

// TestAnnotations warns of wishes that mean nothing, and takes those that do.
func TestAnnotations(t *testing.T) {
	for key, values := range map[string][2]string{provider.FailureAnnotation: {"Keep", "keep"}, provider.TimeoutAnnotation: {"90s", "90"},
		provider.FailOnAnnotation: {"deprecated", "notice"}} {
		for i, value := range values {
			l := annotations(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{key: value}}})
			if len(l) != i || i == 1 && (l[0].Code != provider.CodeAnnotation || !strings.Contains(l[0].Field, key)) {
				t.Errorf("%s: %s: %v", key, value, l)
			}
		}
	}
}

// TestOtherNamespace keeps the objects of other namespaces from a pod.
func TestOtherNamespace(t *testing.T) {
	client := fake.NewClientset(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "s"}})
	_, err := newLocal(client, "n", "node").Resolve(t.Context(), kubeobject.Ref{Kind: kubeobject.Secret, Namespace: "other", Name: "s"})
	if !errors.Is(err, frontend.ErrNotFound) || len(client.Actions()) != 0 {
		t.Errorf("%v after %d calls", err, len(client.Actions()))
	}
}

// TestPassing sorts out what is tried again.
func TestPassing(t *testing.T) {
	bad := func(codes ...diag.Code) (l diag.List) {
		for _, c := range codes {
			l.Add(diag.Diagnostic{Code: c, Severity: diag.Error, Summary: "x"})
		}
		return l
	}
	for _, c := range []struct {
		name string
		list diag.List
		err  error
		want string
	}{
		{"a definition that is wrong", bad(virtlet.CodeContainers), nil, ""},
		{"a missing object", bad(virtlet.CodeMissingObject), nil, provider.ReasonConfigError},
		{"a missing object, and what follows", bad(virtlet.CodeContainers, virtlet.CodeMissingKey), nil, provider.ReasonConfigError},
		{"a warning about one", diag.List{{Code: virtlet.CodeMissingObject, Severity: diag.Warning}}, nil, ""},
		{"no such image", bad(image.CodeBadImage), nil, provider.ReasonImagePull},
		{"a registry that is away", nil, &image.Error{Fault: image.Unavailable, What: "away"}, provider.ReasonImagePull},
	} {
		err := passing(c.list, c.err)
		var wait *provider.WaitError
		if errors.As(err, &wait) != (c.want != "") || wait != nil && wait.Reason != c.want {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf(`the image of disk "root": %w; or give it with --image`, &image.Error{Fault: image.Unavailable, Reference: "r", What: "away"}),
			"r: away; the node's administrator can put the image into the directory of --image-dir"},
		{&image.Error{Fault: image.Unavailable, What: "away", Remedy: "name it in a file for --image-mapping"}, "away; name it in a file for --image-mapping"},
		{&image.Error{Fault: image.BadImage, What: "bad", Remedy: "choose with --arch"}, "bad"},
		{fmt.Errorf(`the image of disk "root": %w; or give it with --image`, os.ErrPermission), `the image of disk "root": permission denied`},
	} {
		if err := passing(nil, c.err); err.Error() != c.want || errors.Is(c.err, os.ErrPermission) != errors.Is(err, os.ErrPermission) {
			t.Errorf("%v became %v", c.err, err)
		}
	}
	other := errors.New("the disk is full")
	if err := passing(nil, other); err != other {
		t.Errorf("trouble of the host: %v", err)
	}
	for _, text := range []string{`Failed to get "write" lock`, `Failed to get shared "write" lock`, "Failed to get lock"} {
		var wait *provider.WaitError
		if err := locked(errors.New("QEMU says: " + text)); !errors.As(err, &wait) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestAdvised keeps the flags of the command from the users of pods.
func TestAdvised(t *testing.T) {
	l := advised(diag.List{
		{Code: 1, Severity: diag.Error, Summary: "a", Remedy: "write b; or give it with --image"},
		{Code: 2, Severity: diag.Error, Summary: "a", Remedy: "name one with --volume X=DIRECTORY"},
		{Code: 3, Severity: diag.Note, Summary: "the claim is not in the input; name it with --volume"},
		{Code: 4, Severity: diag.Warning, Summary: "a", Remedy: "write c"},
		{Code: netconfig.CodePartly, Severity: diag.Note, Summary: "some guests lose it"},
		{Code: netconfig.CodePartly, Severity: diag.Warning, Summary: "some guests lose it", Remedy: "d"},
	})
	var got []string
	for _, d := range l {
		got = append(got, d.Code.String()+" "+d.Remedy)
	}
	if text := strings.Join(got, "|"); text != "VS0001 write b|VS0002 |VS0004 write c|VS3211 d" {
		t.Errorf("got %s", text)
	}
}

// TestClaimed finds the device or file of a claim.
func TestClaimed(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, claimImage), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	block := corev1.PersistentVolumeBlock
	claim := func(name, volume string, mode *corev1.PersistentVolumeMode) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: volume, VolumeMode: mode}}
	}
	volume := func(name, claim string, source corev1.PersistentVolumeSource) *corev1.PersistentVolume {
		return &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: source,
			ClaimRef: &corev1.ObjectReference{Namespace: "n", Name: claim}}}
	}
	outside := filepath.Join(t.TempDir(), "outside.img")
	if err := os.WriteFile(outside, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	links, copies := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(links, claimImage)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(copies, claimImage), []byte("QFI\xfb\x00\x00\x00\x03"), 0o600); err != nil {
		t.Fatal(err)
	}
	client := fake.NewClientset(claim("files", "dir", nil), claim("device", "path", &block), claim("free", "", nil), claim("far", "nfs", nil), claim("empty", "nothing", nil),
		claim("stolen", "theirs", nil), claim("link", "links", nil), claim("qcow2", "copies", nil),
		volume("dir", "files", corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: dir}}),
		volume("path", "device", corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: filepath.Join(dir, claimImage)}}),
		volume("nothing", "empty", corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: filepath.Join(dir, "none")}}),
		volume("theirs", "files", corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: dir}}),
		volume("links", "link", corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: links}}),
		volume("copies", "qcow2", corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: copies}}),
		volume("nfs", "far", corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{Server: "s", Path: "/"}}))
	for _, c := range []struct{ name, want string }{
		{"files", ""}, {"device", ""}, {"free", "not bound"}, {"far", "local or hostPath"}, {"empty", "not ready"}, {"missing", "not found"},
		{"stolen", "not bound to each other"}, {"link", "leads out"}, {"qcow2", "convert it"},
	} {
		v, err := claimed(t.Context(), kubeobject.Ref{Kind: kubeobject.PersistentVolumeClaim, Namespace: "n", Name: c.name}, newLocal(client, "n", "node"))
		switch {
		case c.want == "" && (err != nil || v.Path != filepath.Join(dir, claimImage) || v.Format != "raw"):
			t.Errorf("%s: %+v, %v", c.name, v, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestNetworked has guests that cannot know their addresses of their seed ask for them.
func TestNetworked(t *testing.T) {
	h := testHost(t, fake.NewClientset())
	for source, want := range map[string]bool{"": true, "nocloud": true, "configdrive": true, "ec2": false, "openstack": false, "nocloud-net": false,
		machine.NoDataSource: false} {
		if h.networked(machine.Machine{DataSource: source}, vmseed.RenderOptions{}) != want {
			t.Errorf("the seed of a machine with the data source %q tells it of its addresses: want %v", source, want)
		}
		if source != "" && h.networked(machine.Machine{DataSource: "nocloud"}, vmseed.RenderOptions{DataSource: source}) != want {
			t.Errorf("the seed of a pod that asks for the data source %q tells it of its addresses: want %v", source, want)
		}
	}
}

// TestChangingNetwork has a guest whose networks a CNI plugin makes write their configuration at each boot.
func TestChangingNetwork(t *testing.T) {
	h := testHost(t, fake.NewClientset())
	const results = `[{"cniVersion": "1.1.0", "interfaces": [{"name": "eth0", "mac": "02:00:00:00:00:01", "sandbox": "/n"}], "ips": [{"interface": 0, "address": "192.0.2.8/24"}]}]`
	for plugged, want := range map[bool]string{true: "    when: [boot-new-instance, boot]\n", false: ""} {
		a := connection{podnet.Attachment{Results: []byte(results), Taps: []hypervisor.Tap{{NIC: "eth0"}}, Networks: []string{""}}, plugged}
		var o boot.Options
		m, l, err := h.place(machine.Machine{Namespace: "n", Name: "vm"}, a, &o)
		if err != nil || l.HasErrors() {
			t.Fatal(l, err)
		}
		s, l := h.engine.Render(m, o.Render)
		if l.HasErrors() {
			t.Fatal(l)
		}
		vendor := ""
		for _, f := range s.Volumes[0].Files {
			if f.Path == "vendor-data" {
				vendor = f.Content.Reveal()
			}
		}
		if !strings.HasSuffix(vendor, want) || (want == "") != (vendor == "") {
			t.Errorf("with networks %v the vendor-data is %q", plugged, vendor)
		}
	}
}
