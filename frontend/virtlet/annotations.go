package virtlet

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/tree"
)

// The annotations that Virtlet reads.
const (
	vcpuCount         = "VirtletVCPUCount"
	cpuModel          = "VirtletCPUModel"
	libvirtCPU        = "VirtletLibvirtCPUSetting"
	diskDriver        = "VirtletDiskDriver"
	rootVolumeSize    = "VirtletRootVolumeSize"
	chown9pfs         = "VirtletChown9pfsMounts"
	systemUUID        = "VirtletSystemUUID"
	forceDHCP         = "VirtletForceDHCPNetworkConfig"
	filesSource       = "VirtletFilesFromDataSource"
	imageType         = "VirtletCloudInitImageType"
	metaData          = "VirtletCloudInitMetaData"
	userData          = "VirtletCloudInitUserData"
	userDataOverwrite = "VirtletCloudInitUserDataOverwrite"
	userDataScript    = "VirtletCloudInitUserDataScript"
	userDataSource    = "VirtletCloudInitUserDataSource"
	sourceKey         = "VirtletCloudInitUserDataSourceKey"
	sourceEncoding    = "VirtletCloudInitUserDataSourceEncoding"
	sshKeys           = "VirtletSSHKeys"
	sshKeySource      = "VirtletSSHKeySource"

	targetRuntime = "kubernetes.io/target-runtime"
	runtimeName   = "virtlet.cloud"
	imagePrefix   = runtimeName + "/"
	// lastApplied is kubectl's copy of the whole object. It says nothing new, and would keep user-data in one more place.
	lastApplied = "kubectl.kubernetes.io/last-applied-configuration"
)

var annotationNames = []string{vcpuCount, cpuModel, libvirtCPU, diskDriver, rootVolumeSize, chown9pfs, systemUUID,
	forceDHCP, filesSource, imageType, metaData, userData, userDataOverwrite, userDataScript, userDataSource, sourceKey,
	sourceEncoding, sshKeys, sshKeySource}

// networkAnnotations are read by CNI plugins.
var networkAnnotations = map[string]bool{"cni": true, "k8s.v1.cni.cncf.io/networks": true,
	"v1.multus-cni.io/default-network": true, "cni.projectcalico.org/ipAddrs": true, "cni.projectcalico.org/ipAddrsNoIpam": true}

// annotation is one of Virtlet's, with its text. It is the zero value when the pod has none of the name.
type annotation struct {
	name  string
	text  string
	value tree.Value
}

func (a annotation) exists() bool { return a.value.Exists() }

// origin says where the annotation's text stands.
func (a annotation) origin() diag.Origin { return a.value.Origin("annotation " + a.name) }

func (r *reader) annotations(v tree.Value) {
	if !v.Want(r.list, tree.Map) {
		r.runtime(annotation{})
		return
	}
	var target annotation
	for _, e := range v.Entries() {
		text := e.Value.Str(r.list)
		a := annotation{e.Key, text, e.Value}
		switch {
		case slices.Contains(annotationNames, e.Key):
			r.notes[e.Key] = a
		case e.Key == targetRuntime:
			target = a
		case e.Key == lastApplied:
		case strings.HasPrefix(strings.ToLower(e.Key), "virtlet") && !strings.Contains(e.Key, "/"):
			r.add(diag.Warning, CodeAnnotation, e, tree.Suggest(e.Key, annotationNames), "Virtlet has no annotation %s, so it is ignored", e.Key)
		default:
			if networkAnnotations[e.Key] {
				r.add(diag.Note, CodeNoGuest, e, "give the result of the network plugins with --cni-result",
					"%s is read by the network plugins of the cluster", e.Key)
			}
			if r.m.Annotations == nil {
				r.m.Annotations = map[string]string{}
			}
			r.m.Annotations[e.Key] = text
			r.at(v.Range(), "annotations")
		}
	}
	r.runtime(target)
	r.overwrite, r.chown, r.dhcp = r.flag(userDataOverwrite), r.flag(chown9pfs), r.flag(forceDHCP)
}

// runtime checks that the pod is meant for Virtlet.
func (r *reader) runtime(a annotation) {
	switch {
	case !a.exists():
		r.pod.Get("metadata").Warnf(r.list, CodeRuntime, fmt.Sprintf("add the annotation %s: %s", targetRuntime, runtimeName),
			"without the annotation %s a cluster does not give the pod to Virtlet", targetRuntime)
	case a.text != runtimeName:
		a.value.Errorf(r.list, CodeRuntime, "write "+runtimeName, "the pod asks for another runtime than Virtlet")
	}
}

// flag reads a boolean annotation. As with Virtlet, only the exact text true is true.
func (r *reader) flag(name string) bool {
	a := r.notes[name]
	switch a.text {
	case "true":
		return true
	case "", "false":
	default:
		a.value.Warnf(r.list, CodeAnnotationValue, `write "true" or "false"`, "%s counts as false: only the exact text true is true", name)
	}
	return false
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
