package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/kubeobject"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/hypervisor"
	"github.com/vmseed/vmseed/internal/atomicfile"
	"github.com/vmseed/vmseed/internal/boot"
	"github.com/vmseed/vmseed/internal/hostpath"
	"github.com/vmseed/vmseed/kube/provider"
	"github.com/vmseed/vmseed/machine"
)

// volumesDir holds the directories that this node makes for a pod: its emptyDir volumes.
func (h *Host) volumesDir(r provider.Ref) string {
	return filepath.Join(filepath.Dir(h.options.Root), filepath.Base(h.options.Root)+"-volumes", string(r.UID))
}

// volumes finds the contents of disks that are claims, and the directories of shares that are the pod's own.
func (h *Host) volumes(ctx context.Context, pod *corev1.Pod, m machine.Machine, resolver frontend.Resolver) ([]boot.Volume, diag.List, error) {
	var out []boot.Volume
	var l diag.List
	for i, d := range m.Disks {
		if d.Source.Claim == "" || d.Source.Path != "" {
			continue
		}
		v, why := claimed(ctx, kubeobject.Ref{Kind: kubeobject.PersistentVolumeClaim, Namespace: pod.Namespace, Name: d.Source.Claim}, resolver)
		if why != nil {
			field := fmt.Sprintf("disks[%d].source.claim", i)
			l.Add(diag.Diagnostic{Code: provider.CodeClaim, Severity: diag.Error, Range: m.Places.Find(field), Field: "claim " + d.Source.Claim,
				Summary: fmt.Sprintf("the claim of disk %q cannot be used: %v", d.Name, why)})
			continue
		}
		v.Overlay = d.Ephemeral
		out = append(out, boot.Volume{Name: d.Name, Volume: v})
	}
	for i, s := range m.Shares {
		if s.HostPath != "" {
			continue
		}
		if claim := claimOf(pod, s.Name); claim != "" {
			if _, _, why := boundTo(ctx, kubeobject.Ref{Kind: kubeobject.PersistentVolumeClaim, Namespace: pod.Namespace, Name: claim}, resolver); why != nil {
				field := fmt.Sprintf("shares[%d]", i)
				l.Add(diag.Diagnostic{Code: provider.CodeClaim, Severity: diag.Error, Range: m.Places.Find(field), Field: "claim " + claim,
					Summary: fmt.Sprintf("the claim of volume %q cannot be used: %v", s.Name, why)})
			}
		}
		if !isEmptyDir(pod, s.Name) {
			continue
		}
		path := filepath.Join(h.volumesDir(provider.RefOf(pod)), s.Name)
		if err := os.MkdirAll(path, atomicfile.DirMode); err != nil {
			return nil, l, err
		}
		out = append(out, boot.Volume{Name: s.Name, Volume: hypervisor.Volume{Path: path}})
	}
	return out, l, nil
}

// claimOf returns the name of the claim that a volume of a pod is, or nothing.
func claimOf(pod *corev1.Pod, name string) string {
	for _, v := range pod.Spec.Volumes {
		switch {
		case v.Name != name:
		case v.PersistentVolumeClaim != nil:
			return v.PersistentVolumeClaim.ClaimName
		case v.Ephemeral != nil:
			return pod.Name + "-" + name // as Kubernetes names it
		}
	}
	return ""
}

// isEmptyDir reports whether a volume of a pod is a directory that lasts as long as the pod.
func isEmptyDir(pod *corev1.Pod, name string) bool {
	for _, v := range pod.Spec.Volumes {
		if v.Name == name {
			return v.EmptyDir != nil
		}
	}
	return false
}

// claimImage is the file in a claim of a file system that holds a disk, as KubeVirt calls it.
const claimImage = "disk.img"

// boundTo returns the path of the volume that a claim is bound to, and the specification of the claim.
func boundTo(ctx context.Context, ref kubeobject.Ref, resolver frontend.Resolver) (path string, spec tree.Value, err error) {
	claim, err := resolver.Resolve(ctx, ref)
	if err != nil {
		return "", spec, err
	}
	var unheard diag.List
	spec = claim.Tree.Get("spec")
	name := spec.Get("volumeName").Loose(&unheard)
	if name == "" {
		return "", spec, errors.New("it is not bound to a volume yet")
	}
	volume, err := resolver.Resolve(ctx, kubeobject.Ref{Kind: kubeobject.PersistentVolume, Name: name})
	if err != nil {
		return "", spec, err
	}
	path = volume.Tree.At("spec", "local", "path").Loose(&unheard)
	if path == "" {
		path = volume.Tree.At("spec", "hostPath", "path").Loose(&unheard)
	}
	if path == "" {
		return "", spec, fmt.Errorf("its volume %s is no local or hostPath volume, and this node mounts no others", name)
	}
	return path, spec, nil
}

// claimed returns the device or file of a claim whose volume is a path of this node.
func claimed(ctx context.Context, ref kubeobject.Ref, resolver frontend.Resolver) (hypervisor.Volume, error) {
	path, spec, err := boundTo(ctx, ref, resolver)
	if err != nil {
		return hypervisor.Volume{}, err
	}
	var unheard diag.List
	if spec.Get("volumeMode").Loose(&unheard) == string(corev1.PersistentVolumeBlock) {
		err = rawDisk(path, fs.ModeDevice)
	} else {
		// Other pods may have written to the directory: links, and device nodes.
		var ok bool
		dir := path
		if path, ok, err = hostpath.Within(filepath.Join(dir, claimImage), dir); err == nil && !ok {
			err = fmt.Errorf("%s leads out of the volume", claimImage)
		}
		if err == nil {
			err = rawDisk(path, 0)
		}
	}
	if err != nil {
		return hypervisor.Volume{}, fmt.Errorf("its volume %s is not ready on this node: %w", spec.Get("volumeName").Loose(&unheard), err)
	}
	return hypervisor.Volume{Path: path, Format: "raw"}, nil
}
