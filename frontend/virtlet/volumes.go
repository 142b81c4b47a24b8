package virtlet

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/kubeobject"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/frontend/internal/kubedoc"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// flexDriver is the name of Virtlet's own volume driver.
const flexDriver = "virtlet/flexvolume_driver"

// volumeKinds are the sources of Kubernetes' volumes.
var volumeKinds = []string{"awsElasticBlockStore", "azureDisk", "azureFile", "cephfs", "cinder", "configMap", "csi",
	"downwardAPI", "emptyDir", "ephemeral", "fc", "flexVolume", "flocker", "gcePersistentDisk", "gitRepo", "glusterfs",
	"hostPath", "image", "iscsi", "nfs", "persistentVolumeClaim", "photonPersistentDisk", "portworxVolume", "projected",
	"quobyte", "rbd", "scaleIO", "secret", "storageos", "vsphereVolume"}

// volume is a volume of the pod.
type volume struct {
	name  string
	place diag.Range // of the whole
	kind  string
	src   tree.Value // what stands below the kind
	files []entry
	// disk is whether the volume became one of the machine's disks, and partition the one to mount.
	disk      bool
	partition int
	readOnly  bool
	used      int // how many mounts and devices there are
}

// findVolumes reads the pod's volumes and the files in them.
func (r *reader) findVolumes(spec tree.Value) {
	list := spec.Get("volumes")
	list.Want(r.list, tree.List)
	for _, v := range list.Items() {
		if !v.Want(r.list, tree.Map) {
			continue
		}
		vol := volume{name: v.Get("name").Str(r.list), place: v.Range()}
		for _, e := range v.Entries() {
			switch {
			case e.Key == "name":
			case !slices.Contains(volumeKinds, e.Key):
				r.add(diag.Error, tree.CodeUnknownField, e, tree.Suggest(e.Key, volumeKinds), "there is no kind of volume %q", e.Key)
				e.Value.Consume()
			case vol.kind != "":
				r.add(diag.Error, CodeVolume, e, "make two volumes of it", "the volume has two sources, %s and %s", vol.kind, e.Key)
				e.Value.Consume()
			default:
				vol.kind, vol.src = e.Key, e.Value
				if e.Value.Kind() != tree.Null {
					e.Value.Want(r.list, tree.Map)
				}
			}
		}
		switch {
		case vol.name == "":
			v.Errorf(r.list, CodeVolume, "", "the volume has no name")
		case r.volumes[vol.name] != nil:
			v.Errorf(r.list, CodeVolume, "rename one of them", "two volumes have the name %q", vol.name)
		case vol.kind == "":
			v.Errorf(r.list, CodeVolume, "", "volume %q has no source", vol.name)
			r.volumes[vol.name] = &vol
		default:
			r.volumes[vol.name] = &vol
			if read := fileVolumes[vol.kind]; read != nil {
				vol.files = read(r, vol.src)
			}
			continue
		}
		vol.src.Consume()
	}
}

// lookup finds the volume that a mount or device names.
func (r *reader) lookup(v tree.Value) *volume {
	name := v.Get("name")
	text := name.Str(r.list)
	vol := r.volumes[text]
	switch {
	case vol != nil:
		vol.used++
		if vol.kind == "" {
			return nil // reported where it stands
		}
	case name.Exists():
		name.Errorf(r.list, CodeMount, tree.Suggest(text, sortedKeys(r.volumes)), "the pod has no volume %q", text)
	default:
		name.Errorf(r.list, CodeMount, "", "the name of a volume is missing here")
	}
	return vol
}

// devices makes disks of the claims that the container uses as block devices, in its order. The one at / is the root
// disk.
func (r *reader) devices() {
	list := r.container.Get("volumeDevices")
	list.Want(r.list, tree.List)
	seen := map[string]tree.Value{}
	for _, v := range list.Items() {
		v.Want(r.list, tree.Map)
		v.Only(r.list, "name", "devicePath")
		vol := r.lookup(v)
		target := v.Get("devicePath")
		p, ok := r.targetPath(target, seen)
		if vol == nil || !ok {
			continue
		}
		if vol.kind != "persistentVolumeClaim" && vol.kind != "ephemeral" {
			v.Errorf(r.list, CodeMount, "use a persistentVolumeClaim", "a %s volume is no block device", vol.kind)
			continue
		}
		if vol.disk {
			v.Errorf(r.list, CodeMount, "use a claim of its own for each", "volume %q is a block device of the guest already", vol.name)
			continue
		}
		vol.disk = true
		disk := machine.Disk{Name: vol.name}
		r.claim(vol, &disk, true)
		if p == "/" {
			r.persistentRoot(disk, target)
			continue
		}
		r.at(vol.place, "disks[%d]", len(r.m.Disks))
		r.m.Disks = append(r.m.Disks, disk)
		r.at(target.Range(), "deviceLinks[%d]", len(r.m.DeviceLinks))
		r.m.DeviceLinks = append(r.m.DeviceLinks, machine.DeviceLink{Path: p, Disk: disk.Name})
	}
}

// targetPath reads the path that a mount or device gets in the guest. No two may have the same.
func (r *reader) targetPath(target tree.Value, seen map[string]tree.Value) (string, bool) {
	text, ok := r.text(target)
	if !ok {
		return "", false
	}
	p, ok := cleanPath(text)
	if !ok {
		target.Errorf(r.list, CodeMount, "", "an absolute path without .. should stand here")
		return "", false
	}
	if other, ok := seen[p]; ok {
		r.list.Add(diag.Diagnostic{Code: CodeMount, Severity: diag.Error, Range: target.Range(), Field: target.Path(),
			Summary: "two volumes have the path " + p, Remedy: "give each its own"}.With(other.Range(), "the other one is here"))
		return "", false
	}
	seen[p] = target
	return p, true
}

// persistentRoot takes a claim for the root disk in place of one made of the image.
func (r *reader) persistentRoot(disk machine.Disk, v tree.Value) {
	image := ""
	place := r.pod.Range()
	if len(r.m.Disks) > 0 && r.m.Disks[0].Root {
		image, place = r.m.Disks[0].Source.Image, r.places["disks[0]"]
		r.m.Disks = r.m.Disks[1:]
	}
	delete(r.places, "disks[0].size")
	disk.Root = true
	r.m.Disks = slices.Insert(r.m.Disks, 0, disk)
	r.reindexDisks(v)
	r.m.Network.Mode = "dhcp"
	r.at(v.Range(), "network.mode")
	if image != "" {
		r.list.Add(diag.Diagnostic{Code: CodePersistentRoot, Severity: diag.Warning, Range: place, Field: "spec.containers[0].image",
			Summary: fmt.Sprintf("the guest boots from volume %q; the image is not written onto it", disk.Name),
			Remedy:  "put a bootable system onto the volume before"})
	}
	if a := r.notes[rootVolumeSize]; a.exists() {
		a.value.Warnf(r.list, CodePersistentRoot, "remove it", "%s has no effect on a root disk that is a claim", a.name)
	}
}

// reindexDisks records the places of the disks anew when the root disk was put before others.
func (r *reader) reindexDisks(root tree.Value) {
	for i, d := range r.m.Disks {
		place := root.Range()
		if i > 0 {
			place = r.volumes[d.Name].place
		}
		r.at(place, "disks[%d]", i)
	}
}

// claim fills the source of a disk or the path of a share from a PersistentVolumeClaim and the volume it is bound to, as
// far as the input has them. It returns the volume's directory on the host, if that is known.
func (r *reader) claim(vol *volume, disk *machine.Disk, block bool) (hostPath string) {
	if vol.kind == "ephemeral" {
		vol.src.Only(r.list, "volumeClaimTemplate")
		template := vol.src.Get("volumeClaimTemplate")
		template.Want(r.list, tree.Map)
		template.Only(r.list, "metadata", "spec")
		template.Get("metadata").Consume()
		disk.Source.Claim = r.m.Name + "-" + vol.name // as Kubernetes names it
		spec := template.Get("spec")
		r.fields(spec, claimFields)
		return r.claimSpec(spec, spec.Get("volumeMode"), disk, block)
	}
	vol.src.Only(r.list, "claimName", "readOnly")
	name := vol.src.Get("claimName")
	disk.ReadOnly = vol.src.Get("readOnly").Bool(r.list)
	disk.Source.Claim = name.Str(r.list)
	o, ok := r.find(name, disk.Source.Claim)
	if !ok {
		return ""
	}
	return r.claimSpec(o.Tree.Get("spec"), name, disk, block)
}

var claimFields = kubedoc.Table{"volumeMode": used, "resources": used, "volumeName": used, "accessModes": quiet,
	"selector": quiet, "storageClassName": quiet, "dataSource": lost, "dataSourceRef": lost, "volumeAttributesClassName": quiet}

// claimSpec reads the specification of a claim. A mode that does not fit is reported at v.
func (r *reader) claimSpec(spec, v tree.Value, disk *machine.Disk, block bool) (hostPath string) {
	spec.Want(r.list, tree.Map)
	mode := spec.Get("volumeMode").Str(r.list)
	switch {
	case mode != "" && mode != "Block" && mode != "Filesystem":
		spec.Get("volumeMode").Errorf(r.list, CodeVolume, "", "volumeMode is Block or Filesystem")
	case block && mode != "Block":
		v.Errorf(r.list, CodeVolume, "give the claim volumeMode: Block, or mount it with volumeMounts", "the claim is a file system, not a block device")
	case !block && mode == "Block":
		v.Errorf(r.list, CodeVolume, "attach it with volumeDevices", "the claim is a block device and cannot be mounted")
	}
	resources := spec.Get("resources")
	resources.Want(r.list, tree.Map)
	resources.Only(r.list, "requests", "limits")
	resources.Get("limits").Consume()
	requests := resources.Get("requests")
	requests.Want(r.list, tree.Map)
	requests.Only(r.list, "storage")
	if q, ok := r.quantity(requests.Get("storage")); ok {
		disk.Size = machine.Bytes(q.Times(1))
	}
	if name := spec.Get("volumeName").Str(r.list); name != "" {
		return r.persistentVolume(name, disk, block)
	}
	return ""
}

// find looks for a claim. A claim that is not in the input is left to whoever runs the machine.
func (r *reader) find(v tree.Value, name string) (kubeobject.Object, bool) {
	if !kubeobject.ValidName(name) {
		v.Errorf(r.list, CodeVolume, "", "the name of a claim should stand here")
		return kubeobject.Object{}, false
	}
	o, err := r.resolver.Resolve(r.ctx, kubeobject.Ref{Kind: kubeobject.PersistentVolumeClaim, Namespace: r.m.Namespace, Name: name})
	switch {
	case err == nil:
		return o, true
	case errors.Is(err, frontend.ErrNotFound):
		r.note(v, CodeMissingObject, "the claim %q is not in the input; to run the machine, name its file or device with --volume", name)
	default:
		v.Errorf(r.list, CodeMissingObject, "", "the claim %q cannot be read: %v", name, err)
	}
	return kubeobject.Object{}, false
}

// persistentVolume follows a claim to a volume that is a path of the host.
func (r *reader) persistentVolume(name string, disk *machine.Disk, block bool) string {
	o, err := r.resolver.Resolve(r.ctx, kubeobject.Ref{Kind: kubeobject.PersistentVolume, Name: name})
	if err != nil {
		return "" // the claim itself stays named
	}
	var unheard diag.List
	spec := o.Tree.Get("spec")
	p := spec.At("local", "path").Loose(&unheard)
	if p == "" {
		p = spec.At("hostPath", "path").Loose(&unheard)
	}
	if p != "" && block {
		disk.Source = machine.DiskSource{Path: p, Format: "raw"}
	}
	return p
}

// flexDisks makes disks of all volumes of Virtlet's driver, mounted or not, in the order of their names.
func (r *reader) flexDisks() {
	for _, name := range sortedKeys(r.volumes) {
		vol := r.volumes[name]
		if vol.kind != "flexVolume" {
			continue
		}
		driver := vol.src.Get("driver")
		if driver.Str(r.list) != flexDriver {
			continue // a directory of the node, as any other volume
		}
		vol.src.Only(r.list, "driver", "fsType", "secretRef", "readOnly", "options")
		for _, field := range []string{"fsType", "secretRef"} {
			if v := vol.src.Get(field); v.Exists() {
				v.Warnf(r.list, CodeFlexVolume, "remove it", "Virtlet's driver does not use %s", field)
				v.Consume()
			}
		}
		vol.readOnly = vol.src.Get("readOnly").Bool(r.list)
		vol.disk, vol.partition = true, 1
		disk := machine.Disk{Name: name, ReadOnly: vol.readOnly}
		r.flexOptions(vol, &disk)
		i := len(r.m.Disks)
		r.at(vol.place, "disks[%d]", i)
		r.at(vol.src.Get("options").Range(), "disks[%d].source", i)
		r.m.Disks = append(r.m.Disks, disk)
	}
}

// flexTypes are the types of Virtlet's driver with their options.
var flexTypes = map[string][]string{
	"qcow2": {"type", "capacity", "part"},
	"raw":   {"type", "path", "part"},
	"ceph":  {"type", "monitor", "pool", "volume", "user", "secret", "protocol", "part"},
}

func (r *reader) flexOptions(vol *volume, disk *machine.Disk) {
	options := vol.src.Get("options")
	if !options.Exists() {
		options.Errorf(r.list, CodeFlexVolume, "", "volume %q has no options", vol.name)
		return
	}
	options.Want(r.list, tree.Map)
	kind := options.Get("type")
	known := flexTypes[kind.Str(r.list)]
	if known == nil {
		kind.Errorf(r.list, CodeFlexVolume, "", "the type should be qcow2, raw or ceph")
		options.Consume()
		return
	}
	options.Only(r.list, known...)
	r.partition(vol, options.Get("part"))
	switch kind.Str(new(diag.List)) {
	case "qcow2":
		disk.Ephemeral = true
		disk.Source = machine.DiskSource{Blank: true, Filesystem: "ext4"}
		disk.Size = r.capacity(options.Get("capacity"))
	case "raw":
		v := options.Get("path")
		p, ok := cleanPath(v.Str(r.list))
		if !ok || !strings.HasPrefix(p, "/dev/") {
			v.Errorf(r.list, CodeFlexVolume, "", "the path of a device below /dev/ should stand here")
		}
		disk.Source = machine.DiskSource{Path: p, Format: "raw"}
	case "ceph":
		disk.Source.Ceph = r.ceph(options)
	}
}

func (r *reader) partition(vol *volume, v tree.Value) {
	if !v.Exists() {
		return
	}
	n, err := strconv.Atoi(v.Str(r.list))
	switch {
	case v.Kind() != tree.Scalar:
	case err != nil:
		v.Errorf(r.list, CodeFlexVolume, `write it as "1", or "0" for the whole disk`, "part should be the number of a partition")
	case n > 128:
		v.Errorf(r.list, CodeFlexVolume, "", "part should be at most 128")
	case n >= 0:
		vol.partition = n
	default:
		v.Warnf(r.list, CodeFlexVolume, `write "0" for the whole disk`, "a negative part counts as 1")
	}
}

// capacityForm and units are libvirt's (format of storage volume XML, element capacity).
var (
	capacityForm = regexp.MustCompile(`^([0-9]{1,19}) *([A-Za-z]*)$`)
	units        = map[string]float64{"B": 1, "byte": 1, "bytes": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "PB": 1e15, "EB": 1e18,
		"K": 1 << 10, "KiB": 1 << 10, "M": 1 << 20, "MiB": 1 << 20, "G": 1 << 30, "GiB": 1 << 30, "T": 1 << 40, "TiB": 1 << 40,
		"P": 1 << 50, "PiB": 1 << 50, "E": 1 << 60, "EiB": 1 << 60, "": 1e6}
)

const sector = 512

// capacity reads the size of a new disk: 1024 MB without one, and MB without a unit. A part of a sector counts as one.
func (r *reader) capacity(v tree.Value) machine.Bytes {
	if !v.Exists() {
		return 1024e6
	}
	text, ok := r.text(v)
	if !ok {
		return 0
	}
	if m := capacityForm.FindStringSubmatch(text); m != nil {
		n, err := strconv.ParseUint(m[1], 10, 64)
		unit := units[m[2]]
		if size := float64(n) * unit; err == nil && unit > 0 && n > 0 && size < 1<<62 {
			return machine.Bytes((n*uint64(unit) + sector - 1) / sector * sector)
		}
	}
	v.Errorf(r.list, CodeFlexVolume, "write a size such as 2048MiB", "capacity should be a size with one of libvirt's units")
	return 0
}

func (r *reader) ceph(options tree.Value) machine.Ceph {
	options.Get("protocol").Consume()
	text := func(name string) string {
		v := options.Get(name)
		s := v.Str(r.list)
		if !v.Exists() {
			v.Errorf(r.list, CodeFlexVolume, "", "the option %s is missing", name)
		}
		return s
	}
	c := machine.Ceph{Pool: text("pool"), Volume: text("volume"), User: text("user"), Secret: secret.New(text("secret"))}
	monitor := text("monitor")
	host, port, _ := strings.Cut(monitor, ":")
	if n, err := strconv.Atoi(port); monitor != "" && (host == "" || err != nil || n < 1 || n > 65535) {
		options.Get("monitor").Errorf(r.list, CodeFlexVolume, "", "monitor should be host:port")
	}
	if monitor != "" {
		c.Monitors = []string{monitor}
	}
	return c
}
