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
	name := w.name("disk", d.Name)
	device, target := w.target(at, d)
	x := mapping{entry("name", name), entry(device, target)}
	order := w.boot(at, d.BootOrder)
	if order == 0 && d.Root {
		order = w.rootOrder(i, d)
	}
	cache := d.Cache
	if cache != "" && !slices.Contains(caches, cache) {
		w.warn(at+".cache", "choose "+strings.Join(caches, ", "), "KubeVirt has no mode %s of the cache, so it is left out", cache)
		cache = ""
	}
	w.ownAddress(at+".pciAddress", d.PCI != "")
	w.ownAddress(at+".unit", d.Unit != 0)
	x = with(with(with(with(x, "bootOrder", order), "serial", w.serial(at+".serial", d.Serial)), "cache", cache), "tag", d.Tag)
	w.disks = append(w.disks, with(x, "shareable", d.Shareable))
	w.volumes = append(w.volumes, mapping{entry("name", name), w.contents(at, name, d)})
}

// target writes how the guest sees a disk, as far as KubeVirt can show it so.
func (w *writer) target(at string, d machine.Disk) (string, mapping) {
	device, bus := d.Device, d.Bus
	if device == "" {
		device = targets[0]
	}
	if device == "lun" && (d.Source.Image != "" || d.Source.Path != "" || d.Source.Blank) {
		w.warn(at+".device", "put the contents into a claim", "KubeVirt shows only claims as a lun; it is a disk")
		device = targets[0]
	}
	switch {
	case device == "cdrom" && bus == "virtio":
		w.warn(at+".bus", "", "KubeVirt has no CD-ROM on the bus virtio; it is on sata")
		bus = "sata"
	case device == "floppy":
		w.warn(at+".device", "use a cdrom", "no KubeVirt since 0.50 has floppies")
		bus = ""
	case device == "disk" && d.ReadOnly && (bus == "" || bus == "sata"):
		w.warn(at+".bus", "find it by its serial number", "KubeVirt has no read-only disks on the bus sata; it is on virtio")
		bus = "virtio"
	}
	target := with(mapping{}, "bus", bus)
	if d.ReadOnly && device != "cdrom" {
		target = append(target, entry("readonly", true))
	}
	return device, target
}

// rootOrder is the place in the boot order of the disk that the machine boots from, or 0 where KubeVirt tries it first
// anyway.
func (w *writer) rootOrder(i int, d machine.Disk) int {
	if slices.ContainsFunc(w.m.Disks, func(d machine.Disk) bool { return d.BootOrder > 0 }) {
		return 0
	}
	order := 1
	for _, n := range w.m.Network.NICs {
		order = max(order, n.BootOrder+1)
	}
	if order == 1 && i == 0 && !d.Source.Blank && d.Device != "cdrom" && d.Device != "floppy" {
		return 0
	}
	return w.boot(fmt.Sprintf("disks[%d]", i), order)
}

// contents writes the source of a volume.
func (w *writer) contents(at, name string, d machine.Disk) cloudconfig.Entry {
	s := d.Source
	own := w.m.Document.Form == "kubevirt"
	claim := mapping{entry("claimName", s.Claim)}
	if d.Size > 0 && !s.Blank && !own && !remote(s.Image) {
		w.warn(at+".size", "make what it holds that large", "KubeVirt grows no disk, so %q is as large as what it holds", d.Name)
	}
	switch {
	case remote(s.Image):
		return w.dataVolume(at, name, d, mapping{entry("http", mapping{entry("url", s.Image)})})
	case s.Image != "":
		if !own {
			w.warn(at+".source.image", "put the disk into a container image, below /disk", "KubeVirt pulls %s as a container image that holds the disk", s.Image)
		}
		w.ephemeral(at, d, "a DataVolume")
		image, inside := splitImage(s.Image)
		return entry("containerDisk", with(mapping{entry("image", image)}, "path", inside))
	case s.Path != "":
		w.hostDisk(at, d)
		x := mapping{entry("path", s.Path), entry("type", "Disk")}
		return entry("hostDisk", with(x, "shared", d.Shareable))
	case s.Claim != "" && d.Ephemeral:
		return entry("ephemeral", mapping{entry("persistentVolumeClaim", claim)})
	case s.Claim != "":
		return entry("persistentVolumeClaim", claim)
	case s.Blank && !own && (!d.Ephemeral || slices.ContainsFunc(w.m.Disks, func(x machine.Disk) bool { return remote(x.Source.Image) })):
		// Beside a remote image it is kept as well: a guest that keeps its system would not make its file systems again.
		return w.dataVolume(at, name, d, mapping{entry("blank", mapping{})})
	case s.Blank:
		capacity := d.Size
		if capacity <= 0 {
			w.warn(at+".size", "state the size", "an empty disk of KubeVirt needs its size; 1Gi is written")
			capacity = 1 << 30
		}
		return entry("emptyDisk", mapping{entry("capacity", size(capacity))})
	}
	made := w.m.Name + "-" + name
	w.warn(at, "make the claim "+made, "the definition does not say what is on the disk %q; it is written as a claim", d.Name)
	return entry("persistentVolumeClaim", mapping{entry("claimName", made)})
}

// remote reports whether an image is a file of a server, and not a container image.
func remote(image string) bool {
	return strings.HasPrefix(image, "http://") || strings.HasPrefix(image, "https://")
}

// imageSize is the size of a disk with an image of which nothing says how large it is.
const imageSize machine.Bytes = 10 << 30

// dataVolume writes a template of a volume that the cluster makes and fills for the machine.
func (w *writer) dataVolume(at, name string, d machine.Disk, source mapping) cloudconfig.Entry {
	capacity := d.Size
	if capacity <= 0 {
		capacity = imageSize
		if d.Source.Blank {
			capacity = 1 << 30
		}
		w.warn(at+".size", "state the size", "a DataVolume needs its size; %s is written for the disk %q", size(capacity), d.Name)
	}
	w.warn(at+".source", "see that the cluster has CDI", "the disk %q is a DataVolume, which the Containerized Data Importer fills", d.Name)
	made := w.free("volume", w.m.Name+"-"+name, 253)
	w.templates = append(w.templates, mapping{entry("metadata", mapping{entry("name", made)}),
		entry("spec", mapping{entry("source", source), entry("storage", mapping{entry("resources", mapping{entry("requests", mapping{entry("storage", size(capacity))})})})})})
	return entry("dataVolume", mapping{entry("name", made)})
}

// ephemeral warns about contents that KubeVirt forgets, but should not.
func (w *writer) ephemeral(at string, d machine.Disk, remedy string) {
	if !d.Ephemeral && w.m.Document.Form != "kubevirt" {
		w.warn(at+".ephemeral", "use "+remedy+" to keep it", "KubeVirt forgets what the guest writes to the disk %q whenever the machine stops", d.Name)
	}
}

// hostDisk warns about files of the host that KubeVirt would not take, or not as the machine has them.
func (w *writer) hostDisk(at string, d machine.Disk) {
	s := d.Source
	w.warn(at+".source.path", "put the contents into a claim", "KubeVirt takes %s from the node, unless its feature gate HostDisk is closed", s.Path)
	if d.Ephemeral {
		w.warn(at+".ephemeral", "", "KubeVirt writes into %s itself, so that it keeps what the guest writes", s.Path)
	}
	if strings.HasPrefix(s.Path, "/dev/") {
		w.warn(at+".source.path", "make a claim of the device", "KubeVirt takes files from the node, but no device such as %s", s.Path)
	}
	if s.Format == "qcow2" || s.Format == "" && strings.HasSuffix(s.Path, ".qcow2") {
		w.warn(at+".source.format", "convert it: qemu-img convert -O raw", "KubeVirt takes %s for a raw image, but it is qcow2", s.Path)
	}
}

// media writes further media as Secrets.
func (w *writer) media() {
	for i, x := range w.m.Media {
		at := fmt.Sprintf("media[%d]", i)
		if x.Path != "" {
			w.warn(at+".path", "write it as a disk of its own", "KubeVirt has no prepared media, so %s is left out", x.Path)
			continue
		}
		if x.Format != "" && x.Format != "iso" {
			w.warn(at+".format", "", "KubeVirt brings files on CDs only, so %s becomes one", x.Name)
		}
		values := w.files(at, x)
		name := w.name("disk", x.Name)
		made := w.object("vmseed-"+name, values)
		of := entry("secret", with(mapping{entry("secretName", made)}, "volumeLabel", x.Label))
		if x.Kind == "sysprep" {
			of = entry("sysprep", mapping{entry("secret", mapping{entry("name", made)})})
			if x.Label != "" && x.Label != sysprepLabel {
				w.warn(at+".label", "", "KubeVirt labels an answer file %s, not %s", sysprepLabel, x.Label)
			}
		}
		bus := x.Bus
		if bus == "" || bus == "virtio" {
			bus = "sata"
		}
		w.disks = append(w.disks, with(mapping{entry("name", name), entry("cdrom", mapping{entry("bus", bus)})}, "serial", w.serial(at+".serial", x.Serial)))
		w.volumes = append(w.volumes, mapping{entry("name", name), of})
	}
}

// files are those of a medium by the keys of a Secret, which has no directories.
func (w *writer) files(at string, x machine.Media) map[string]secret.Text {
	values := map[string]secret.Text{}
	for i, f := range x.Files {
		key := path.Base(f.Path)
		key = strings.Map(func(r rune) rune {
			if secretKey.MatchString(string(r)) {
				return r
			}
			return '_'
		}, key)
		stem := key
		for n := 2; !values[key].IsZero(); n++ {
			key = fmt.Sprintf("%s.%d", stem, n)
		}
		if key != strings.TrimPrefix(f.Path, "/") {
			w.warn(fmt.Sprintf("%s.files[%d].path", at, i), "", "a Secret has no directories and few signs in its keys, so the file %s is called %s", f.Path, key)
		}
		values[key] = f.Content
	}
	return values
}
