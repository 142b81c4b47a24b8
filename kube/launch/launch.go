// Package launch is the road of a VirtualMachineInstance to a node: it makes the launcher pod that the scheduler places and
// the launch Secret that only the node of that pod may read, and reads both back on the node. It knows no client: who calls
// it creates and fetches the objects.
package launch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/vmseed/vmseed"
	"github.com/vmseed/vmseed/frontend"
)

// Pods that become VMs carry an annotation and are bound to nodes with a label (contract of Virtlet).
const (
	// RuntimeAnnotation with the value Runtime marks a pod that is a VM.
	RuntimeAnnotation = "kubernetes.io/target-runtime"
	Runtime           = "virtlet.cloud"
	// NodeLabel with the value NodeValue marks a node that runs VMs.
	NodeLabel = "extraRuntime"
	NodeValue = "virtlet"
)

// The parts of a launcher pod.
const (
	// Container is the name of the only container.
	Container = "compute"
	// NoImage is its image when the instance has no containerDisk.
	NoImage = "vmseed.dev/none"
	// Volume is the name of the volume of the launch Secret.
	Volume = "vmseed-launch"
	// SourceVolume begins the names of the volumes of the objects that the instance refers to, which are numbered. They are
	// there so that the node authorizer lets the node read the objects.
	SourceVolume = "vmseed-src-"
	// RoleLabel with the value Role marks launcher pods, UIDLabel holds the UID of the instance and NameLabel the name of the
	// VirtualMachine or, without one, of the instance, if it fits a label. The names are KubeVirt's.
	RoleLabel = "kubevirt.io"
	Role      = "virt-launcher"
	UIDLabel  = "kubevirt.io/created-by"
	NameLabel = "vm.kubevirt.io/name"
	// InstanceAnnotation holds the name of the instance.
	InstanceAnnotation = "kubevirt.io/domain"
	// SecretAnnotation holds the name of the launch Secret.
	SecretAnnotation = "vmseed.dev/launch-secret"
	// DataSourceAnnotation, on a pod or an instance, names the data source that its guest reads.
	DataSourceAnnotation = "vmseed.dev/datasource"
)

// The conditions of a launcher pod by which its node tells how the guest is doing.
const (
	// ConditionFirstBoot is True when the guest's first boot is done, and False with a reason when it failed or runs yet.
	ConditionFirstBoot corev1.PodConditionType = "vmseed.dev/FirstBoot"
	// ConditionGuestAgent is True while the guest's agent answers. Its message is then the name of the guest's operating
	// system as os-release has it in PRETTY_NAME, or empty.
	ConditionGuestAgent corev1.PodConditionType = "vmseed.dev/GuestAgent"
)

// The keys of the launch Secret.
const (
	// DocumentKey holds the instance, as JSON, without what the cluster says about it.
	DocumentKey = "vmi.json"
	// RelatedKey holds a v1 List of the objects that the instance is read together with. It may be missing.
	RelatedKey = "related.json"
	// PlacementKey holds a Placement.
	PlacementKey = "placement.json"
)

// SecretType is the type of launch Secrets.
const SecretType corev1.SecretType = "vmseed.dev/launch"

// Placement is what the controller decided about an instance and its node must know.
type Placement struct {
	// FeatureGates are those of KubeVirt's gates that were open when the instance was launched.
	FeatureGates []string `json:"featureGates,omitempty"`
	// DataSource is the data source that the instance names in DataSourceAnnotation; empty leaves it to its spec.
	DataSource string `json:"dataSource,omitempty"`
	// VirtualMachine is the name of the instance's VirtualMachine, empty when there is none.
	VirtualMachine string `json:"virtualMachine,omitempty"`
}

// Document is an instance on its node, as the engine reads it.
type Document struct {
	// Inputs are the documents, the instance first.
	Inputs []vmseed.Input
	// Options are those to read them with.
	Options frontend.Options
	// Placement is what else the controller decided.
	Placement Placement
}

// ErrNotLaunch is wrapped by the errors of Read about a pod or Secret that the controller did not make.
var ErrNotLaunch = errors.New("not of a launcher pod")

// Is reports whether a pod is the launcher pod of an instance. Others with RuntimeAnnotation are VMs themselves.
func Is(pod *corev1.Pod) bool {
	return pod.Labels[RoleLabel] == Role && SecretName(pod) != ""
}

// SecretName returns the name of a pod's launch Secret, which is in the pod's namespace.
func SecretName(pod *corev1.Pod) string { return pod.Annotations[SecretAnnotation] }

// Read returns what a launcher pod and its Secret say about the VM to run. The error wraps ErrNotLaunch when the two do not
// belong together.
func Read(pod *corev1.Pod, secret *corev1.Secret) (Document, error) {
	if !Is(pod) || secret.Name != SecretName(pod) || secret.Namespace != pod.Namespace {
		return Document{}, fmt.Errorf("pod %s/%s and Secret %s: %w", pod.Namespace, pod.Name, secret.Name, ErrNotLaunch)
	}
	if secret.Type != SecretType || !sameOwner(pod, secret) {
		// Otherwise a Secret that anybody made could take the place of the controller's.
		return Document{}, fmt.Errorf("the Secret %s has another owner or type than the pod %s/%s expects: %w", secret.Name, pod.Namespace, pod.Name, ErrNotLaunch)
	}
	instance := secret.Data[DocumentKey]
	if len(bytes.TrimSpace(instance)) == 0 {
		return Document{}, fmt.Errorf("the Secret %s has no key %s: %w", secret.Name, DocumentKey, ErrNotLaunch)
	}
	var out Document
	if data := secret.Data[PlacementKey]; len(data) > 0 {
		if err := json.Unmarshal(data, &out.Placement); err != nil {
			return Document{}, fmt.Errorf("the key %s of the Secret %s is no placement: %w", PlacementKey, secret.Name, ErrNotLaunch)
		}
	}
	name := fmt.Sprintf("vmi/%s/%s", pod.Namespace, pod.Annotations[InstanceAnnotation])
	out.Inputs = []vmseed.Input{{File: name, Data: instance}}
	if related := secret.Data[RelatedKey]; len(related) > 0 {
		out.Inputs = append(out.Inputs, vmseed.Input{File: name + "/" + RelatedKey, Data: related})
	}
	out.Options.FeatureGates = out.Placement.FeatureGates
	out.Options.DataSource = out.Placement.DataSource
	return out, nil
}

// sameOwner reports whether pod and Secret belong to one instance.
func sameOwner(pod *corev1.Pod, secret *corev1.Secret) bool {
	for _, p := range pod.OwnerReferences {
		for _, s := range secret.OwnerReferences {
			if p.UID == s.UID && p.Kind == s.Kind && p.UID != "" {
				return true
			}
		}
	}
	return false
}
