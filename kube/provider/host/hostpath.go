package host

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/qcow2"
	"github.com/vmseed/vmseed/internal/boot"
	"github.com/vmseed/vmseed/internal/hostpath"
	"github.com/vmseed/vmseed/kube/provider"
	"github.com/vmseed/vmseed/machine"
)

// Allowed is what of this host pods may name by themselves: in volumes of the kinds hostPath, flexVolume and hostDisk. Who
// may make pods is not thereby a user of their nodes, so the zero value allows nothing. Volumes that are bound to claims are
// not of this: administrators of the cluster have made them.
type Allowed = hostpath.Allowed

// judge complains of what a machine may not have of this host, and puts the files in the place of the links to them. What
// the pod's volumes are bound to is what the API server said, whatever the definition makes of it.
func (h *Host) judge(m *machine.Machine, resolver *local) diag.List {
	j := judge{Allowed: h.options.Allowed, m: m, bound: resolver.paths()}
	m.Disks, m.Media, m.Shares = slices.Clone(m.Disks), slices.Clone(m.Media), slices.Clone(m.Shares)
	for i := range m.Disks {
		at, s := fmt.Sprintf("disks[%d].source.", i), &m.Disks[i].Source
		if boot.DocumentImage(*m, s.Image).Path != "" {
			j.refuse(at+"image", "images of pods are no files of the node", "name an image")
		}
		if s.Path == "" {
			continue
		}
		s.Format = "raw"
		if !slices.Contains(j.bound, filepath.Clean(s.Path)) {
			j.file(at+"path", &s.Path)
		} else if err := rawDisk(s.Path, fs.ModeDevice); err != nil {
			j.refuse(at+"path", err.Error(), "")
		}
	}
	for i := range m.Media {
		j.file(fmt.Sprintf("media[%d].path", i), &m.Media[i].Path)
	}
	j.file("boot.kernel", &m.Boot.Kernel)
	j.file("boot.initrd", &m.Boot.Initrd)
	for i := range m.Shares {
		j.share(fmt.Sprintf("shares[%d].hostPath", i), &m.Shares[i].HostPath)
	}
	for i, d := range m.Hardware.HostDevices {
		if d.PCI != "" && !j.Gives(d.PCI) {
			j.refuse(fmt.Sprintf("hardware.hostDevices[%d]", i), "this node gives no guest the device "+d.PCI,
				"have the node's administrator allow it: vmseed-kube node --allow-host-device")
		}
	}
	return j.list
}

// judge is the judgement of one machine.
type judge struct {
	Allowed
	m *machine.Machine
	// bound are the paths of the volumes that claims of the pod's namespace are bound to.
	bound []string
	list  diag.List
}

func (j *judge) refuse(at, summary, remedy string) {
	j.list.Add(diag.Diagnostic{Code: provider.CodeHostPath, Severity: diag.Error, Range: j.m.Places.Find(at), Field: at, Summary: summary, Remedy: remedy})
}

// file judges a file or device. One that is not below an allowed path by its name is not looked for, so that nobody learns
// which files there are.
func (j *judge) file(at string, path *string) {
	if *path == "" {
		return
	}
	clean := filepath.Clean(*path)
	i := slices.IndexFunc(j.Paths, func(p string) bool { return hostpath.Below(clean, p) })
	resolved, ok, err := "", false, error(nil)
	if i >= 0 {
		resolved, ok, err = hostpath.Within(clean, j.Paths[i])
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		j.refuse(at, "there is no "+clean+" on this node", "")
	case !ok:
		j.refuse(at, "this node opens no file or device there for a pod",
			"use a claim of a local volume, or have the node's administrator allow the directory: vmseed-kube node --allow-host-path")
	default:
		if err := rawDisk(resolved, fs.ModeDevice); err != nil {
			j.refuse(at, err.Error(), "")
			return
		}
		*path = resolved
	}
}

// share judges a directory that the guest mounts: one that is allowed, or what lies in a volume of the pod's. A guest may have
// put a link into that.
func (j *judge) share(at string, path *string) {
	if *path == "" {
		return
	}
	clean := filepath.Clean(*path)
	if slices.Contains(j.Shares, clean) {
		*path = clean
		return
	}
	for _, root := range j.bound {
		if !hostpath.Below(clean, root) {
			continue
		}
		resolved, ok, err := hostpath.Within(clean, root)
		if ok {
			*path = resolved
			return
		}
		if errors.Is(err, fs.ErrNotExist) {
			j.refuse(at, "there is no such directory in the volume", "")
			return
		}
	}
	j.refuse(at, "this node shares no such directory with guests",
		"use a claim of a local volume, or have the node's administrator allow the directory: vmseed-kube node --allow-share")
}

// rawDisk says why a file is no disk: it is neither a regular file nor of the other types that are given, or a qcow2 image. A
// guest can make its disk look like one, with any file of the host for its base.
func rawDisk(path string, others fs.FileMode) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case info.Mode().Type() != 0 && info.Mode().Type() != others:
		return fmt.Errorf("%s is neither a disk nor a file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	head := make([]byte, qcow2.HeaderSize)
	if n, err := io.ReadFull(f, head); (err == nil || errors.Is(err, io.ErrUnexpectedEOF)) && qcow2.Is(head[:n]) {
		return fmt.Errorf("%s is a qcow2 image, and volumes hold raw disks: convert it with qemu-img convert -O raw", path)
	}
	return nil
}
