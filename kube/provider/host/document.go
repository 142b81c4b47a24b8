package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vmseed/vmseed"
	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/kube/launch"
	"github.com/vmseed/vmseed/kube/provider"
)

// hostProgram is QEMU's name for this host's architecture.
func hostProgram() string {
	return map[string]string{"amd64": "qemu-system-x86_64", "arm64": "qemu-system-aarch64"}[runtime.GOARCH]
}

// document returns the documents that say what the VM of a pod is: those of the launch Secret of a launcher pod, else the
// pod itself.
func (h *Host) document(ctx context.Context, pod *corev1.Pod) (launch.Document, error) {
	if !launch.Is(pod) {
		text, err := podDocument(pod)
		return launch.Document{Inputs: []vmseed.Input{{File: "pod/" + pod.Namespace + "/" + pod.Name, Data: text}},
			Options:   frontend.Options{DataSource: pod.Annotations[launch.DataSourceAnnotation]},
			Placement: launch.Placement{DataSource: pod.Annotations[launch.DataSourceAnnotation]}}, err
	}
	name := launch.SecretName(pod)
	secret, err := h.options.Client.CoreV1().Secrets(pod.Namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return launch.Document{}, waitFor(provider.ReasonConfigError, fmt.Errorf("the launch Secret %s of the VirtualMachineInstance is not there", name))
	case err != nil:
		return launch.Document{}, waitFor(provider.ReasonConfigError, fmt.Errorf("the launch Secret %s cannot be read: %w", name, err))
	}
	doc, err := launch.Read(pod, secret)
	if errors.Is(err, launch.ErrNotLaunch) {
		return doc, waitFor(provider.ReasonConfigError, err)
	}
	return doc, err
}

// clusterVolume begins the name of the volume with which the admission of service accounts mounts their token, which is no
// matter of a VM (kube-apiserver's plugin ServiceAccount).
const clusterVolume = "kube-api-access-"

// podDocument is the object of the API as the author wrote it and the node completes it: without what the cluster keeps in
// it for itself, and with the addresses that the downward API offers.
func podDocument(pod *corev1.Pod) ([]byte, error) {
	out := pod.DeepCopy()
	out.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	out.ManagedFields, out.OwnerReferences, out.Finalizers, out.GenerateName = nil, nil, nil, ""
	delete(out.Annotations, corev1.LastAppliedConfigAnnotation)
	out.Status = corev1.PodStatus{HostIP: pod.Status.HostIP, HostIPs: pod.Status.HostIPs, PodIP: pod.Status.PodIP, PodIPs: pod.Status.PodIPs}
	foreign := func(name string) bool {
		return strings.HasPrefix(name, clusterVolume) || strings.HasPrefix(name, launch.SourceVolume)
	}
	out.Spec.Volumes = slices.DeleteFunc(out.Spec.Volumes, func(v corev1.Volume) bool { return foreign(v.Name) })
	for i := range out.Spec.Containers {
		c := &out.Spec.Containers[i]
		c.VolumeMounts = slices.DeleteFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return foreign(m.Name) })
	}
	return json.Marshal(out)
}

// waitFor makes trouble one that may pass.
func waitFor(reason string, err error) error { return &provider.WaitError{Reason: reason, Err: err} }
