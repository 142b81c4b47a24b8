package kubevirt

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/format/cloudconfig"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// disk writes a disk and the volume of its contents.
func (w *writer) disk(i int, d machine.Disk) {
	at := fmt.Sprintf("disks[%d]", i)
	name := label(d.Name)
	device := d.Device
	if device == "" {
		device = targets[0]
	}
	target := with(mapping{}, "bus", d.Bus)
	switch {
	case device == "cdrom" && d.Bus == "virtio":
		w.warn(at+".bus", "", "KubeVirt has no CD-ROM on the bus virtio; it is on sata")
		target = mapping{entry("bus", "sata")}
	case device == "floppy":
		w.warn(at+".device", "use a cdrom", "no KubeVirt since 0.50 has floppies")
		target = nil
	}
	if d.ReadOnly && device != "cdrom" {
		target = append(target, entry("readonly", true))
	}
	x := mapping{entry("name", name), entry(device, target)}
	order := d.BootOrder
	if order == 0 && d.Root && i > 0 && !w.ordered() {
		order = 1
	}
	x = with(with(with(with(x, "bootOrder", order), "serial", d.Serial), "cache", d.Cache), "tag", d.Tag)
	w.disks = append(w.disks, with(x, "shareable", d.Shareable))
	w.volumes = append(w.volumes, mapping{entry("name", name), w.contents(at, d)})
}

// ordered reports whether the machine states the order in which it tries its devices.
func (w *writer) ordered() bool {
	return slices.ContainsFunc(w.m.Disks, func(d machine.Disk) bool { return d.BootOrder > 0 }) ||
		slices.ContainsFunc(w.m.Network.NICs, func(n machine.NIC) bool { return n.BootOrder > 0 })
}

// contents writes the source of a volume.
func (w *writer) contents(at string, d machine.Disk) cloudconfig.Entry {
	s := d.Source
	claim := mapping{entry("claimName", s.Claim)}
	switch {
	case s.Image != "":
		if w.m.Document.Form != "kubevirt" {
			w.warn(at+".source.image", "put the disk into a container image, below /disk", "KubeVirt pulls %s as a container image that holds the disk", s.Image)
		}
		name, inside := splitImage(s.Image)
		return entry("containerDisk", with(mapping{entry("image", name)}, "path", inside))
	case s.Path != "":
		x := mapping{entry("path", s.Path), entry("type", "Disk")}
		return entry("hostDisk", with(x, "shared", d.Shareable))
	case s.Claim != "" && d.Ephemeral:
		return entry("ephemeral", mapping{entry("persistentVolumeClaim", claim)})
	case s.Claim != "":
		return entry("persistentVolumeClaim", claim)
	case s.Blank:
		return entry("emptyDisk", mapping{entry("capacity", size(max(d.Size, 1)))})
	}
	name := w.m.Name + "-" + label(d.Name)
	w.warn(at, "make the claim "+name, "the definition does not say what is on the disk %q; it is written as a claim", d.Name)
	return entry("persistentVolumeClaim", mapping{entry("claimName", name)})
}

// label makes a DNS label of a name.
func label(name string) string {
	out := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(name))
	return strings.Trim(out[:min(len(out), 63)], "-")
}

// media writes further media as Secrets.
func (w *writer) media() {
	for i, x := range w.m.Media {
		at := fmt.Sprintf("media[%d]", i)
		if x.Path != "" {
			w.warn(at+".path", "write it as a disk of its own", "KubeVirt has no prepared media, so %s is left out", x.Path)
			continue
		}
		values := map[string]secret.Text{}
		for _, f := range x.Files {
			key := strings.TrimPrefix(f.Path, "/")
			if strings.Contains(key, "/") {
				w.warn(at, "", "a Secret has no directories, so the file %s is called %s", f.Path, path.Base(key))
				key = path.Base(key)
			}
			values[key] = f.Content
		}
		name := label(x.Name)
		of := entry("secret", with(mapping{entry("secretName", w.object(name, values))}, "volumeLabel", x.Label))
		if x.Kind == "sysprep" {
			of = entry("sysprep", mapping{entry("secret", mapping{entry("name", w.m.Name+"-"+name)})})
		}
		bus := x.Bus
		if bus == "" || bus == "virtio" {
			bus = "sata"
		}
		w.disks = append(w.disks, with(mapping{entry("name", name), entry("cdrom", mapping{entry("bus", bus)})}, "serial", x.Serial))
		w.volumes = append(w.volumes, mapping{entry("name", name), of})
	}
}
