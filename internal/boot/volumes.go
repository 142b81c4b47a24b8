package boot

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/hypervisor"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/seed"
)

// volumes resolves the contents of the machine's disks and the directories of its shares that the options name.
func (p *Prepared) volumes(m machine.Machine, o Options, l *diag.List) error {
	p.VM.Machine.Shares = slices.Clone(m.Shares)
	var have []string
	for _, d := range m.Disks {
		have = append(have, d.Name)
		if d.Root && o.Image != "" {
			path, err := filepath.Abs(o.Image)
			if err != nil {
				return err
			}
			p.VM.Volumes[d.Name] = hypervisor.Volume{Path: path, Overlay: true}
		}
	}
	for _, v := range o.Volumes {
		given := v.Name + "=" + v.Path
		path, err := filepath.Abs(v.Path)
		if err != nil {
			return err
		}
		v.Path = path
		if i := slices.IndexFunc(m.Shares, func(s machine.Share) bool { return s.Name == v.Name }); i >= 0 {
			if info, err := os.Stat(path); err != nil || !info.IsDir() {
				return optionf("--volume %s: a share is a directory, and this is none", given)
			}
			p.VM.Machine.Shares[i].HostPath = path
			continue
		}
		if !slices.Contains(have, v.Name) {
			for _, s := range m.Shares {
				have = append(have, s.Name)
			}
			return optionf("--volume: the machine has no disk or share %q; it has %s", v.Name, strings.Join(have, ", "))
		}
		p.VM.Volumes[v.Name] = v.Volume
		if err := partitioned(m, v, l); err != nil {
			return err
		}
	}
	return nil
}

// partitioned complains when a partition of a disk is mounted and the disk has none.
func partitioned(m machine.Machine, v Volume, l *diag.List) error {
	i := slices.IndexFunc(m.Mounts, func(x machine.Mount) bool { return x.Disk == v.Name && x.Partition > 0 })
	if i < 0 || v.Create {
		return nil
	}
	file, err := os.Open(v.Path)
	if err != nil {
		return err
	}
	defer file.Close()
	head := make([]byte, 512)
	if _, err := io.ReadFull(file, head); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return err
	}
	qcow := bytes.HasPrefix(head, []byte("QFI\xfb"))
	if !qcow && (head[510] != 0x55 || head[511] != 0xaa) {
		at := fmt.Sprintf("mounts[%d]", i)
		l.Add(diag.Diagnostic{Code: CodeNoPartition, Severity: diag.Error, Range: m.Places.Find(at), Field: at,
			Summary: fmt.Sprintf("partition %d of disk %q is mounted, but %s has no partition table", m.Mounts[i].Partition, v.Name, v.Path),
			Remedy:  `set the volume's option part to "0" for a file system without one, or partition the file`})
	}
	return nil
}

// Check says what of a VM cannot be as asked.
func (l *Launcher) Check(vm hypervisor.VM) diag.List {
	h, list := l.Engine.Hypervisors[0], unshared(vm.Machine)
	if c, ok := h.(hypervisor.Checker); ok && !list.HasErrors() {
		list = append(list, c.Check(vm)...)
	}
	if list.HasErrors() {
		return list
	}
	return append(list, l.Engine.CheckHardware(h, left(vm))...)
}

// unshared complains of shares whose directory is not on this host.
func unshared(m machine.Machine) (l diag.List) {
	for i, s := range m.Shares {
		if info, err := os.Stat(s.HostPath); err == nil && info.IsDir() {
			continue
		}
		at, what := fmt.Sprintf("shares[%d]", i), s.HostPath+" is no directory on this host"
		if s.HostPath == "" {
			what = "no directory of this host is named for it"
		}
		l.Add(diag.Diagnostic{Code: CodeNoShare, Severity: diag.Error, Range: m.Places.Find(at), Field: at,
			Summary: fmt.Sprintf("share %q: %s", s.Name, what), Remedy: fmt.Sprintf("give one with --volume %s=DIRECTORY", s.Name)})
	}
	return l
}

// left is the machine that remains for the hypervisor to build. Where the options name the contents of a disk, it does not
// matter that the document has them elsewhere; what vmseed makes in the VM's directory goes away with the VM; and the
// rest is for the launcher's user: whether the machine runs, its share of the processors, how long it may take to stop, and
// how messages call it.
func left(vm hypervisor.VM) machine.Machine {
	m := vm.Machine
	m.Running, m.RestartPolicy, m.StopGrace, m.Guest.OS, m.Guest.Release = nil, "", 0, "", ""
	m.Hardware.CPUShares, m.Hardware.CPUQuota, m.Hardware.CPUPeriod = 0, 0, 0
	m.Shares = slices.Clone(m.Shares)
	for i := range m.Shares {
		m.Shares[i].Name = ""
	}
	m.Disks = slices.Clone(m.Disks)
	for i, d := range m.Disks {
		v, given := vm.Volumes[d.Name]
		if given {
			m.Disks[i].Source = machine.DiskSource{}
		}
		if given && v.Overlay || !given && d.Source.Blank {
			m.Disks[i].Ephemeral = false
		}
	}
	// What is attached with the seed is there. A prepared seed has no other media with it.
	m.Media = slices.DeleteFunc(slices.Clone(m.Media), func(x machine.Media) bool {
		return slices.ContainsFunc(vm.Attachments, func(a seed.Attachment) bool {
			return a.Kind == seed.Drive && a.Label == x.Label && a.Serial == x.Serial
		})
	})
	return m
}
