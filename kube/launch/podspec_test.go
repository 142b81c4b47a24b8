package launch_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/kube/launch"
)

// small is the smallest instance, with fields put below spec.
func small(t *testing.T, fields string) *unstructured.Unstructured {
	return stored(object(t, "kind: VirtualMachineInstance\nmetadata: {name: small}\nspec:\n  domain: {memory: {guest: 64Mi}, devices: {}}\n"+fields))
}

// TestRefusal holds the words of KubeVirt's admission, which clients and scripts know.
func TestRefusal(t *testing.T) {
	ignition := `metadata: {name: small, annotations: {kubevirt.io/ignitiondata: '{"ignition": {"version": "3.4.0"}}'}}`
	gated := func() *unstructured.Unstructured {
		return stored(object(t, "kind: VirtualMachineInstance\n"+ignition+"\nspec: {domain: {memory: {guest: 64Mi}, devices: {}}}\n"))
	}
	const closed = "ExperimentalIgnitionSupport feature gate is not enabled in kubevirt-config, invalid entry metadata.annotations.kubevirt.io/ignitiondata"
	for _, c := range []struct {
		name    string
		vmi     *unstructured.Unstructured
		cluster launch.Cluster
		want    string
		closed  bool
	}{
		{"no configuration", gated(), launch.Cluster{}, closed, true},
		{"ConfigMap without the gate", gated(), launch.Cluster{ConfigMap: map[string]string{"feature-gates": "LiveMigration"}}, closed, true},
		{"ConfigMap with the gate", gated(), launch.Cluster{ConfigMap: map[string]string{"feature-gates": open}}, "", false},
		{"KubeVirt object", gated(), launch.Cluster{Configured: true, Enabled: []string{open}}, "", false},
		{"KubeVirt object that closes it", gated(), launch.Cluster{Configured: true, Enabled: []string{open}, Disabled: []string{open}}, closed, true},
		{"the ConfigMap counts", gated(), launch.Cluster{Configured: true, Enabled: []string{open}, ConfigMap: map[string]string{}}, closed, true},
		{"no memory", stored(object(t, "kind: VirtualMachineInstance\nmetadata: {name: small}\nspec: {domain: {devices: {}}}\n")), launch.Cluster{},
			"no memory requested, at least one of 'spec.domain.memory.guest', 'spec.domain.memory.hugepages.pageSize' or 'spec.domain.resources.requests.memory' must be set", false},
		{"two sources of user-data", small(t, "  volumes: [{name: a, cloudInitNoCloud: {userData: x, userDataBase64: eA==}}]\n"), launch.Cluster{},
			"spec.volumes[0].cloudInitNoCloud must have only one userdatasource set.", false},
		{"too much", small(t, "  volumes: [{name: a, cloudInitNoCloud: {userData: "+strings.Repeat("x", 2049)+"}}]\n"), launch.Cluster{},
			"spec.volumes[0].cloudInitNoCloud userdata exceeds 2048 byte limit. Should use UserDataSecretRef for larger data.", false},
		{"a Secret that may be missing", small(t, "  volumes: [{name: a, cloudInitNoCloud: {secretRef: {name: s}}}]\n"), launch.Cluster{}, "", false},
		{"disks of another type", stored(object(t, "kind: VirtualMachineInstance\nmetadata: {name: small}\nspec: {domain: {memory: {guest: 1Gi}, devices: {disks: not-a-list}}}\n")),
			launch.Cluster{}, "spec.domain.devices.disks: a list should stand here, not a single value", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := launch.Check(context.Background(), c.vmi, c.cluster)
			if d := cmp.Diff(c.want, r.Refusal()); d != "" || r.Closed() != c.closed {
				t.Errorf("closed %v, refusal (-want +got):\n%s", r.Closed(), d)
			}
			for _, d := range r.Problems {
				if !d.Range.IsZero() {
					t.Errorf("a place in a document that nobody edits: %v", d)
				}
			}
		})
	}
}

func TestScheduling(t *testing.T) {
	vmi := small(t, `
  nodeSelector: {disk: fast}
  architecture: arm64
  priorityClassName: high
  terminationGracePeriodSeconds: 7
  tolerations: [{key: dedicated, operator: Exists}]
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
        - matchExpressions: [{key: zone, operator: In, values: [a]}]
        - matchFields: [{key: metadata.name, operator: In, values: [n1]}]
  networks: [{name: default, pod: {}}, {name: second, multus: {networkName: storage}}]
  readinessProbe: {tcpSocket: {port: 22}, periodSeconds: 5}
  livenessProbe: {guestAgentPing: {}}
`)
	interfaces := []any{map[string]any{"name": "default", "bridge": map[string]any{}}, map[string]any{"name": "second", "bridge": map[string]any{}}}
	if err := unstructured.SetNestedSlice(vmi.Object, interfaces, "spec", "domain", "devices", "interfaces"); err != nil {
		t.Fatal(err)
	}
	o := build(t, vmi, launch.Cluster{})
	spec := o.Pod.Spec
	var terms [][]string
	for _, term := range spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		var keys []string
		for _, e := range term.MatchExpressions {
			keys = append(keys, e.Key+"="+strings.Join(e.Values, ","))
		}
		terms = append(terms, keys)
	}
	if d := cmp.Diff([][]string{{"zone=a", "extraRuntime=virtlet"}, {"extraRuntime=virtlet"}}, terms); d != "" {
		t.Errorf("every alternative should ask for a node that runs VMs (-want +got):\n%s", d)
	}
	if d := cmp.Diff(map[string]string{"disk": "fast", "kubernetes.io/arch": "arm64"}, spec.NodeSelector); d != "" {
		t.Errorf("node selector (-want +got):\n%s", d)
	}
	want := []corev1.Toleration{{Key: "dedicated", Operator: "Exists"}, {Key: "node.kubernetes.io/not-ready", Operator: "Exists", Effect: "NoExecute"},
		{Key: "node.kubernetes.io/unreachable", Operator: "Exists", Effect: "NoExecute"}}
	if d := cmp.Diff(want, spec.Tolerations); d != "" {
		t.Errorf("tolerations without a time limit (-want +got):\n%s", d)
	}
	if spec.PriorityClassName != "high" || *spec.TerminationGracePeriodSeconds != 7 || spec.RestartPolicy != corev1.RestartPolicyNever || *spec.AutomountServiceAccountToken {
		t.Errorf("pod: %+v", spec)
	}
	if got := o.Pod.Annotations["k8s.v1.cni.cncf.io/networks"]; got != "storage" {
		t.Errorf("further networks: %q", got)
	}
	c := spec.Containers[0]
	if c.ReadinessProbe.TCPSocket == nil || c.ReadinessProbe.PeriodSeconds != 5 || c.LivenessProbe.Exec == nil || c.Image != launch.NoImage {
		t.Errorf("container: %+v", c)
	}
}

func TestResources(t *testing.T) {
	for _, c := range []struct{ name, domain, requests, limits string }{
		{"memory of the guest", "{memory: {guest: 1Gi}, devices: {}}", "cpu=100m memory=1214Mi", ""},
		{"what the cluster is asked for", "{cpu: {cores: 4}, resources: {requests: {memory: 512Mi, cpu: 1500m}, limits: {memory: 1Gi, cpu: '2'}}, devices: {}}",
			"cpu=1500m memory=725Mi", "cpu=2 memory=1237Mi"},
		{"a limit of CPUs alone", "{memory: {guest: 512Mi}, resources: {limits: {cpu: '3'}}, devices: {}}", "memory=717Mi", "cpu=3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			vmi := stored(object(t, "kind: VirtualMachineInstance\nmetadata: {name: small}\nspec: {domain: "+c.domain+"}\n"))
			r := build(t, vmi, launch.Cluster{}).Pod.Spec.Containers[0].Resources
			if got := list(r.Requests); got != c.requests {
				t.Errorf("requests %s, want %s", got, c.requests)
			}
			if got := list(r.Limits); got != c.limits {
				t.Errorf("limits %s, want %s", got, c.limits)
			}
		})
	}
}

func list(l corev1.ResourceList) string {
	var out []string
	for _, name := range []corev1.ResourceName{"cpu", "memory"} {
		if q, ok := l[name]; ok {
			out = append(out, string(name)+"="+q.String())
		}
	}
	return strings.Join(out, " ")
}

// TestBuildErrors names the fields that have another form than in a pod.
func TestBuildErrors(t *testing.T) {
	vmi := small(t, "  affinity: {nodeAffinity: 7}\n  readinessProbe: {periodSeconds: 1}\n")
	_, l := launch.Build(vmi, launch.Check(context.Background(), vmi, launch.Cluster{}), launch.Cluster{})
	var fields []string
	for _, d := range l {
		if d.Code == launch.CodeScheduling && d.Severity == diag.Error {
			fields = append(fields, d.Field)
		}
	}
	if d := cmp.Diff([]string{"spec.readinessProbe", "spec.affinity"}, fields); d != "" {
		t.Errorf("fields (-want +got):\n%s", d)
	}
	vmi = small(t, "")
	vmi.SetUID("")
	if _, l := launch.Build(vmi, launch.Review{}, launch.Cluster{}); len(l) != 1 || l[0].Code != launch.CodeName {
		t.Errorf("an instance without UID: %v", l)
	}
	vmi = small(t, "")
	vmi.SetAnnotations(map[string]string{"note": strings.Repeat("x", 1<<20)})
	if _, l := launch.Build(vmi, launch.Review{}, launch.Cluster{}); len(l) != 1 || l[0].Code != launch.CodeTooLarge {
		t.Errorf("an instance of more than a MiB: %v", l)
	}
}

// TestDataVolumes demands that volumes which only the VirtualMachine describes reach the node, with a warning about what is lost.
func TestDataVolumes(t *testing.T) {
	vmi := small(t, "  volumes: [{name: root, dataVolume: {name: disk}}]\n")
	template := object(t, "metadata: {name: disk}\nspec: {source: {registry: {url: docker://registry.example/debian}}, storage: {resources: {requests: {storage: 3Gi}}}}\n")
	c := launch.Cluster{DataVolumes: []any{template.Object}, VirtualMachine: "small"}
	r := launch.Check(context.Background(), vmi, c)
	o, l := launch.Build(vmi, r, c)
	if len(l) != 1 || l[0].Code != launch.CodeDataVolume || l[0].Severity != diag.Warning {
		t.Errorf("diagnostics: %v", l)
	}
	if got := o.Pod.Spec.Containers[0].Image; got != "registry.example/debian" {
		t.Errorf("image %q", got)
	}
	doc, err := launch.Read(o.Pod, o.Secret)
	if err != nil || len(doc.Inputs) != 2 || doc.Placement.VirtualMachine != "small" {
		t.Errorf("on the node: %+v, %v", doc.Placement, err)
	}
	for _, v := range o.Pod.Spec.Volumes {
		if v.PersistentVolumeClaim != nil {
			t.Error("a volume that vmseed fills needs no claim")
		}
	}
}

// TestPullSecrets names each Secret for the registries of container disks once, and does not say that it is no matter.
func TestPullSecrets(t *testing.T) {
	vmi := stored(object(t, `
kind: VirtualMachineInstance
metadata: {name: pulled}
spec:
  domain: {memory: {guest: 1Gi}, devices: {}}
  volumes:
  - {name: root, containerDisk: {image: "registry.example/a", imagePullSecret: one}}
  - {name: data, containerDisk: {image: "registry.example/b", imagePullSecret: one}}
  - {name: more, containerDisk: {image: "registry.example/c", imagePullSecret: two}}
`))
	review := launch.Check(t.Context(), vmi, launch.Cluster{})
	for _, d := range review.Problems {
		if strings.Contains(d.Field, "imagePullSecret") {
			t.Errorf("told: %v", d)
		}
	}
	o, l := launch.Build(vmi, review, launch.Cluster{})
	if want := []corev1.LocalObjectReference{{Name: "one"}, {Name: "two"}}; !slices.Equal(o.Pod.Spec.ImagePullSecrets, want) {
		t.Errorf("%v, %v", o.Pod.Spec.ImagePullSecrets, l)
	}
}

func TestPodName(t *testing.T) {
	vmi := small(t, "")
	vmi.SetName(strings.Repeat("a", 200))
	name := launch.PodName(vmi)
	vmi.SetUID("6d307ca9-b3ef-428c-8861-06e72d69f223")
	if len(name) != 63 || name == launch.PodName(vmi) {
		t.Errorf("names %q and %q", name, launch.PodName(vmi))
	}
	vmi.SetName(strings.Repeat("a", 42) + ".b")
	if name := launch.PodName(vmi); strings.Contains(name, ".-") {
		t.Errorf("name %q", name)
	}
}
