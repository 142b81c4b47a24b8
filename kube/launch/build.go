package launch

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/kubeobject"
)

// defaultGrace is how many seconds a guest has to shut down when the instance does not say (KubeVirt's default).
const defaultGrace = 30

// maxSecret is how many bytes a Secret may hold (Kubernetes, core/v1).
const maxSecret = 1 << 20

// Objects are what makes an instance run: the Secret first, then the Pod, which names it.
type Objects struct {
	Secret *corev1.Secret
	Pod    *corev1.Pod
}

// Build makes the objects of an instance that a Review found fit. They belong to the instance, so that they are deleted with
// it. The same arguments give the same objects; the name of the Secret changes with the instance's resourceVersion and
// with what the cluster says, so that a Secret of that name is the right one. With an error among the diagnostics the
// objects are not fit for use.
func Build(vmi *unstructured.Unstructured, r Review, c Cluster) (Objects, diag.List) {
	var l diag.List
	if vmi.GetName() == "" || vmi.GetNamespace() == "" || vmi.GetUID() == "" {
		l.Errorf(CodeName, diag.Range{}, "", "the instance has no name, namespace or UID")
		return Objects{}, l
	}
	secret, problems := launchSecret(vmi, c)
	l = append(l, problems...)
	p := builder{vmi: vmi, review: r, list: l}
	pod := p.pod(secret.Name)
	for _, name := range c.copied() {
		p.list.Add(diag.Diagnostic{Code: CodeDataVolume, Severity: diag.Warning, Field: "spec.dataVolumeTemplates",
			Summary: fmt.Sprintf("the volume %q is made anew at each start", name), Remedy: "use a claim for what must last"})
	}
	return Objects{Secret: secret, Pod: pod}, p.list
}

// PodName returns the name of the launcher pod of an instance: its own name and five characters of its UID's hash, at most
// 63 characters, as the name becomes a host name. An instance has one launcher pod in its life.
func PodName(vmi *unstructured.Unstructured) string {
	const prefix, longest = "virt-launcher-", 63
	base := prefix + vmi.GetName()
	base = base[:min(len(base), longest-6)]
	return strings.TrimRight(base, "-.") + "-" + short(string(vmi.GetUID()))
}

// short is five characters that tell names apart.
func short(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])[:5]
}

// owner says that an object belongs to an instance.
func owner(vmi *unstructured.Unstructured) []metav1.OwnerReference {
	yes := true
	return []metav1.OwnerReference{{APIVersion: "kubevirt.io/v1", Kind: vmi.GetKind(), Name: vmi.GetName(), UID: vmi.GetUID(),
		Controller: &yes, BlockOwnerDeletion: &yes}}
}

// launchSecret makes the Secret. What an instance says may be a password or a key, so nothing of it is in the name.
func launchSecret(vmi *unstructured.Unstructured, c Cluster) (*corev1.Secret, diag.List) {
	var l diag.List
	annotations := vmi.GetAnnotations()
	placement := Placement{DataSource: annotations[DataSourceAnnotation], VirtualMachine: c.VirtualMachine}
	if annotations[IgnitionAnnotation] != "" {
		placement.FeatureGates = []string{IgnitionGate}
	}
	data := map[string][]byte{}
	size := 0
	put := func(key string, value any) {
		text, err := json.Marshal(value)
		if err != nil {
			l.Errorf(CodeTooLarge, diag.Range{}, "", "%s cannot be written as JSON", key)
		}
		data[key], size = text, size+len(text)
	}
	put(DocumentKey, document(vmi))
	put(PlacementKey, placement)
	if related := c.related(vmi.GetNamespace()); len(related) > 0 {
		put(RelatedKey, map[string]any{"apiVersion": "v1", "kind": "List", "items": related})
	}
	if size > maxSecret {
		l.Errorf(CodeTooLarge, diag.Range{}, "put user-data into Secrets that the instance names", "the instance has %d bytes; %d can be launched", size, maxSecret)
	}
	pod := PodName(vmi)
	name := pod + "-" + short(string(vmi.GetUID()), vmi.GetResourceVersion(), string(data[PlacementKey]), string(data[RelatedKey]))
	immutable := true
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: vmi.GetNamespace(), OwnerReferences: owner(vmi),
			Labels: map[string]string{RoleLabel: Role, UIDLabel: string(vmi.GetUID())}},
		Type: SecretType, Data: data, Immutable: &immutable,
	}, l
}

// builder makes a launcher pod. Troubles are collected in list.
type builder struct {
	vmi    *unstructured.Unstructured
	review Review
	list   diag.List
}

// pod makes the launcher pod.
func (b *builder) pod(secret string) *corev1.Pod {
	grace := int64(defaultGrace)
	b.decode(&grace, "terminationGracePeriodSeconds")
	grace = max(grace, 1) // with none the pod would be gone before its node has stopped the VM
	no := false
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: PodName(b.vmi), Namespace: b.vmi.GetNamespace(), Labels: b.labels(),
			Annotations: b.annotations(secret), OwnerReferences: owner(b.vmi)},
		Spec: corev1.PodSpec{
			// Who starts the guest again after it has ended is the controller, with a new instance.
			RestartPolicy:                 corev1.RestartPolicyNever,
			TerminationGracePeriodSeconds: &grace,
			AutomountServiceAccountToken:  &no,
			EnableServiceLinks:            &no,
			Volumes:                       b.volumes(secret),
			Containers:                    []corev1.Container{b.container()},
			ImagePullSecrets:              b.pullSecrets(),
			SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: yes(),
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
		},
	}
	b.scheduling(&pod.Spec)
	return pod
}

func yes() *bool { v := true; return &v }

// labels are those of the instance, so that Services and policies select its pod, and KubeVirt's own.
func (b *builder) labels() map[string]string {
	out := map[string]string{}
	for key, value := range b.vmi.GetLabels() {
		out[key] = value
	}
	out[RoleLabel], out[UIDLabel] = Role, string(b.vmi.GetUID())
	if name := b.vmi.GetName(); len(name) <= 63 {
		out[NameLabel] = name
	}
	return out
}

// handed are the beginnings of the names of annotations that mean something to the node. Others stay at the instance: they may
// hold secrets, as that for Ignition does.
var handed = []string{"k8s.v1.cni.cncf.io/", "v1.multus-cni.io/", "vmseed.dev/"}

// networksAnnotation names further networks of a pod (Network Plumbing Working Group, de-facto standard).
const networksAnnotation = "k8s.v1.cni.cncf.io/networks"

func (b *builder) annotations(secret string) map[string]string {
	out := map[string]string{}
	for key, value := range b.vmi.GetAnnotations() {
		for _, prefix := range handed {
			if strings.HasPrefix(key, prefix) {
				out[key] = value
			}
		}
	}
	if names := b.multus(); len(names) > 0 && out[networksAnnotation] == "" {
		out[networksAnnotation] = strings.Join(names, ",")
	}
	out[RuntimeAnnotation], out[InstanceAnnotation], out[SecretAnnotation] = Runtime, b.vmi.GetName(), secret
	return out
}

// multus returns the names of the networks beside that of the pod.
func (b *builder) multus() []string {
	list, _, _ := unstructured.NestedFieldNoCopy(b.vmi.Object, "spec", "networks")
	var out []string
	networks, _ := list.([]any)
	for _, n := range networks {
		network, _ := n.(map[string]any)
		if name, ok, _ := unstructured.NestedString(network, "multus", "networkName"); ok && name != "" {
			out = append(out, name)
		}
	}
	return out
}

// volumes are the launch Secret and whatever the instance refers to. Nothing is mounted anywhere: a node may read what the
// pods that are bound to it name.
func (b *builder) volumes(secret string) []corev1.Volume {
	out := []corev1.Volume{{Name: Volume, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: secret}}}}
	for _, ref := range b.review.References {
		var source corev1.VolumeSource
		switch ref.Kind {
		case kubeobject.Secret:
			source.Secret = &corev1.SecretVolumeSource{SecretName: ref.Name, Optional: yes()}
		case kubeobject.ConfigMap:
			source.ConfigMap = &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: ref.Name}, Optional: yes()}
		case kubeobject.PersistentVolumeClaim:
			source.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ClaimName: ref.Name}
		default:
			continue
		}
		out = append(out, corev1.Volume{Name: fmt.Sprintf("%s%d", SourceVolume, len(out)-1), VolumeSource: source})
	}
	return out
}

// pullSecrets are the credentials for the registries of container disks, which the node reads.
func (b *builder) pullSecrets() []corev1.LocalObjectReference {
	list, _, _ := unstructured.NestedFieldNoCopy(b.vmi.Object, "spec", "volumes")
	var out []corev1.LocalObjectReference
	volumes, _ := list.([]any)
	for _, v := range volumes {
		volume, _ := v.(map[string]any)
		if name, ok, _ := unstructured.NestedString(volume, "containerDisk", "imagePullSecret"); ok && name != "" && !slices.Contains(out, corev1.LocalObjectReference{Name: name}) {
			out = append(out, corev1.LocalObjectReference{Name: name})
		}
	}
	return out
}
