package kubevirt

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/kubeobject"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/machine"
)

// volume is an entry of spec.volumes.
type volume struct {
	name  string
	kind  string     // the field that holds its source, such as containerDisk
	path  string     // as KubeVirt's messages write it: spec.volumes[0]
	value tree.Value // the entry
	src   tree.Value // what stands below kind
}

// disk is an entry of spec.domain.devices.disks.
type disk struct {
	name   string
	volume string // the name of its volume, which is the same since v1alpha3
	device string // disk, cdrom, lun or floppy
	path   string // as KubeVirt's messages write it: spec.domain.devices.disks[0]
	value  tree.Value
	target tree.Value // what stands below device
}

// volumeKind says what becomes of the volumes of a kind.
type volumeKind struct {
	// read reads a volume with the entry of the disk that names it; its value is absent when there is none.
	read func(r *reader, v volume, d disk)
	// share says that a filesystem may name it.
	share bool
}

// volumeKinds are the sources of volumes.
func volumeKinds() map[string]volumeKind {
	contents := func(fill func(*reader, volume, *machine.Disk)) volumeKind {
		return volumeKind{read: func(r *reader, v volume, d disk) { r.blockVolume(v, d, fill) }}
	}
	medium := volumeKind{read: func(r *reader, v volume, d disk) { r.mediaVolume(v.kind, v.value, d.value) }}
	seed := volumeKind{read: (*reader).cloudInit}
	claim := contents((*reader).claimVolume)
	claim.share = true
	data := contents((*reader).dataVolume)
	data.share = true
	return map[string]volumeKind{
		"containerDisk":         contents((*reader).containerDisk),
		"registryDisk":          contents((*reader).containerDisk),
		"persistentVolumeClaim": claim,
		"dataVolume":            data,
		"ephemeral":             contents((*reader).ephemeral),
		"emptyDisk":             contents((*reader).emptyDisk),
		"hostDisk":              contents((*reader).hostDisk),
		"cloudInitNoCloud":      seed,
		"cloudInitConfigDrive":  seed,
		"sysprep":               medium,
		"secret":                medium,
		"configMap":             medium,
		"serviceAccount":        medium,
		"downwardAPI":           medium,
		"downwardMetrics":       {read: (*reader).noVolume},
		"memoryDump":            {read: (*reader).noVolume},
		"containerPath":         {read: (*reader).noVolume},
	}
}

// noVolumes are the kinds that are left out.
var noVolumes = []string{"downwardMetrics", "memoryDump", "containerPath"}

// findVolumes reads names and kinds of the volumes.
func (r *reader) findVolumes() {
	kinds := volumeKinds()
	known := slices.Sorted(maps.Keys(kinds))
	list := r.spec.Get("volumes")
	list.Want(&r.list, tree.List)
	for i, v := range list.Items() {
		if !v.Want(&r.list, tree.Map) {
			continue
		}
		vol := volume{value: v, path: r.in("volumes[%d]", i), name: v.Get("name").Str(&r.list)}
		sources := 0
		for _, e := range v.Entries() {
			switch {
			case e.Key == "name" || e.Value.Kind() == tree.Null:
				continue
			case kinds[e.Key].read == nil:
				sources++
				r.list.Add(diag.Diagnostic{Code: tree.CodeUnknownField, Severity: diag.Error, Range: e.Span(), Field: e.Value.Path(),
					Summary: fmt.Sprintf("there is no kind of volume %q", e.Key), Remedy: suggestKind(e.Key, known)})
			case sources == 0 && e.Value.Want(&r.list, tree.Map):
				vol.kind, vol.src = e.Key, e.Value
				sources++
				continue
			default:
				sources++
			}
			e.Value.Consume()
		}
		if vol.kind == "" {
			r.unread = append(r.unread, vol.name)
		}
		if sources != 1 {
			r.refuse(v, CodeVolume, "", "%s must have exactly one source type set", vol.path)
		}
		if !r.checkName(vol) || vol.kind == "" {
			v.Consume()
			continue
		}
		r.volumes = append(r.volumes, vol)
		if r.seed.kind == "" && isSeed(vol.kind) {
			r.seed = vol
		}
	}
}

// suggestKind says what a word that is no kind of volume was probably meant to be.
func suggestKind(word string, known []string) string {
	if _, ok := tree.Closest(word, known); !ok && strings.HasPrefix(strings.ToLower(word), "cloudinit") {
		return "the sources of cloud-init data are " + noCloud + " and " + configDrive
	}
	return tree.SuggestOf("kinds of volumes", word, known)
}

// checkName reports a name that a volume cannot have, and whether it is that of no other.
func (r *reader) checkName(vol volume) bool {
	name := vol.value.Get("name")
	if wrong := dnsLabel(vol.name); wrong != "" {
		name.Errorf(&r.list, CodeVolume, "", "%q cannot be the name of a volume: %s", vol.name, wrong)
	}
	for _, other := range r.volumes {
		if other.name == vol.name {
			r.refuse(name, CodeVolume, "rename one of them", "%s and %s must not have the same Name.", vol.path, other.path)
			r.list[len(r.list)-1] = r.list[len(r.list)-1].With(other.value.Range(), "the other one is here")
			return false
		}
	}
	return true
}

// hasVolume reports whether there is a volume of a kind, such as cloudInitNoCloud.
func (r *reader) hasVolume(kind string) bool {
	return slices.ContainsFunc(r.volumes, func(v volume) bool { return v.kind == kind })
}

// readVolumes reads the volumes: those that disks name in the order of the disks, then the others, which KubeVirt gives a
// disk of its own.
func (r *reader) readVolumes() {
	kinds := volumeKinds()
	taken := r.shares()
	for _, d := range r.disks {
		i := slices.IndexFunc(r.volumes, func(v volume) bool { return v.name == d.volume })
		if i < 0 {
			r.noSuchVolume(d)
			continue
		}
		v := r.volumes[i]
		if taken[v.name] {
			d.value.Errorf(&r.list, CodeDisk, "give it a volume of its own", "volume %q is attached already", v.name)
			d.value.Consume()
			continue
		}
		taken[v.name] = true
		if d.device == "lun" && v.kind != "persistentVolumeClaim" && v.kind != "dataVolume" {
			r.refuse(d.target, CodeDisk, "choose disk", "%s can only be mapped to a DataVolume or PersistentVolumeClaim volume.", d.path+".lun")
		}
		kinds[v.kind].read(r, v, d)
	}
	for _, v := range r.volumes {
		if taken[v.name] {
			continue
		}
		taken[v.name] = true
		if !isSeed(v.kind) && !slices.Contains(noVolumes, v.kind) {
			r.note(v.value.Get("name"), CodeDisk, "no disk names the volume %q, so it becomes one of the default bus", v.name)
		}
		kinds[v.kind].read(r, v, disk{name: v.name, volume: v.name, device: targets[0], path: v.path})
	}
}

// noSuchVolume reports a disk that names no volume. KubeVirt takes an empty drive, if a feature gate is on.
func (r *reader) noSuchVolume(d disk) {
	if slices.Contains(r.unread, d.volume) {
		d.value.Consume() // its volume is an error already
		return
	}
	if d.device == "cdrom" {
		r.refuse(d.value.Get("name"), CodeDisk, "give it a volume", "DeclarativeHotplugVolumes feature gate not enabled, cannot define an empty CD-ROM disk")
		d.value.Consume()
		return
	}
	var names []string
	for _, v := range r.volumes {
		names = append(names, v.name)
	}
	names = append(names, r.unread...)
	name := d.value.Get("name")
	if d.volume != d.name {
		name = d.value.Get("volumeName")
	}
	r.refuse(name, CodeDisk, tree.SuggestOf("volumes", d.volume, names), "%s '%s' not found.", d.path+".Name", d.volume)
	d.value.Consume()
}

// shares reads spec.domain.devices.filesystems, directories that the guest mounts, and returns the volumes that they took.
func (r *reader) shares() map[string]bool {
	taken := map[string]bool{}
	list := r.spec.At("domain", "devices", "filesystems")
	list.Want(&r.list, tree.List)
	kinds := volumeKinds()
	for _, v := range list.Items() {
		if !v.Want(&r.list, tree.Map) {
			continue
		}
		v.Only(&r.list, "name", "virtiofs")
		r.empty(v.Get("virtiofs"))
		name := v.Get("name")
		text := name.Str(&r.list)
		i := slices.IndexFunc(r.volumes, func(vol volume) bool { return vol.name == text })
		if i < 0 {
			name.Errorf(&r.list, CodeDisk, "", "there is no volume %q", text)
			continue
		}
		vol := r.volumes[i]
		if vol.kind == "containerPath" {
			continue // which is a warning of its own
		}
		if !kinds[vol.kind].share {
			name.Errorf(&r.list, CodeDisk, "name it under disks", "vmseed gives a %s to the guest as a disk, not as a directory", vol.kind)
			continue
		}
		taken[text] = true
		var d machine.Disk
		if vol.kind == "dataVolume" {
			r.dataVolume(vol, &d)
		} else {
			r.claimVolume(vol, &d)
		}
		r.at(v.Range(), "shares[%d]", len(r.m.Shares))
		r.m.Shares = append(r.m.Shares, machine.Share{Name: text, Tag: text, Driver: "virtiofs", HostPath: d.Source.Path, ReadOnly: d.ReadOnly})
	}
	return taken
}

// blockVolume makes a disk of the machine.
func (r *reader) blockVolume(v volume, d disk, fill func(*reader, volume, *machine.Disk)) {
	place := v.value.Range()
	if d.value.Exists() {
		place = d.value.Range()
	}
	out := r.disk(d)
	r.diskPlaces(d, place)
	r.at(v.src.Range(), "disks[%d].source", len(r.m.Disks))
	r.at(v.src.Range(), "disks[%d].ephemeral", len(r.m.Disks))
	fill(r, v, &out)
	r.m.Disks = append(r.m.Disks, out)
}

// noVolume reads a volume that has no use here.
func (r *reader) noVolume(v volume, d disk) {
	r.warn(tree.Entry{Place: v.value.Range(), Value: v.value}, CodeNoEffect, "remove it", "vmseed has no %s volumes", v.kind)
	v.src.Consume()
	d.value.Consume()
}

// required reads a text that must not be empty.
func (r *reader) required(v tree.Value, path string) string {
	text := v.Str(&r.list)
	if text == "" {
		r.refuse(v, CodeVolume, "", "%s is a required field", path)
	}
	return text
}

func (r *reader) containerDisk(v volume, d *machine.Disk) {
	v.src.Only(&r.list, "image", "path", "imagePullSecret", "imagePullPolicy")
	at, inside := v.src.Get("image"), v.src.Get("path")
	image := r.required(at, v.path+"."+v.kind+".image")
	if strings.Contains(image, "#") {
		at.Errorf(&r.list, CodeVolume, "name the disk in the field path", "no container image has a # in its name")
	}
	d.Source.Image = imageReference(image, r.imagePath(inside, v.path+"."+v.kind))
	d.Ephemeral = true
	for _, field := range []string{"imagePullSecret", "imagePullPolicy"} {
		if x := v.src.Get(field); x.Exists() {
			r.note(x, CodeNoGuest, "%s concerns the cluster: vmseed pulls with the credentials of its user", field)
			x.Consume()
		}
	}
}

// imagePath reads the path of a disk in its container image.
func (r *reader) imagePath(v tree.Value, field string) string {
	text := v.Str(&r.list)
	switch {
	case text == "":
	case text == "/":
		r.refuse(v, CodeVolume, "", "%s must not point to root", field)
	case path.Join("/", text) != strings.TrimSuffix(text, "/"):
		r.refuse(v, CodeVolume, "", "%s must be an absolute path to a file without relative components", field)
	}
	return text
}

func (r *reader) claimVolume(v volume, d *machine.Disk) {
	v.src.Only(&r.list, "claimName", "readOnly", "hotpluggable")
	if hot := v.src.Get("hotpluggable"); hot.Exists() {
		r.note(hot, CodeNoGuest, "a disk that can be unplugged is attached as any other")
		hot.Consume()
	}
	r.claim(v.src.Get("claimName"), v.path+"."+v.kind+".claimName", d)
	if v.src.Get("readOnly").Bool(&r.list) {
		d.ReadOnly = true
		r.at(v.src.Get("readOnly").Range(), "disks[%d].readOnly", len(r.m.Disks))
	}
}

// claim names a claim as the source of a disk, with its size if the input has it.
func (r *reader) claim(name tree.Value, path string, d *machine.Disk) {
	d.Source.Claim = r.required(name, path)
	if !kubeobject.ValidName(d.Source.Claim) {
		if d.Source.Claim != "" {
			name.Errorf(&r.list, CodeVolume, "", "the name of a claim should stand here")
		}
		return
	}
	o, err := r.resolver.Resolve(r.ctx, kubeobject.Ref{Kind: kubeobject.PersistentVolumeClaim, Namespace: r.namespace, Name: d.Source.Claim})
	if err != nil {
		r.note(name, CodeMissingObject, "the claim %q is not in the input; to run the machine, name its file or device with --volume", d.Source.Claim)
		return
	}
	if q, ok := r.quantity(o.Tree.At("spec", "resources", "requests", "storage")); ok {
		d.Size = machine.Bytes(q.Times(1))
		r.at(name.Range(), "disks[%d].size", len(r.m.Disks))
	}
}

func (r *reader) dataVolume(v volume, d *machine.Disk) {
	v.src.Only(&r.list, "name", "hotpluggable")
	if hot := v.src.Get("hotpluggable"); hot.Exists() {
		r.note(hot, CodeNoGuest, "a disk that can be unplugged is attached as any other")
		hot.Consume()
	}
	name := v.src.Get("name")
	text := name.Str(&r.list)
	if text == "" {
		r.refuse(name, CodeVolume, "", "DataVolume 'name' must be set")
		return
	}
	template, ok := r.templates[text]
	if !ok {
		template, ok = r.inventory.find(kubeobject.Ref{Kind: kindDataVolume, Namespace: r.namespace, Name: text})
	}
	if ok {
		r.fromTemplate(template, text, d)
		return
	}
	r.claim(name, v.path+"."+v.kind+".name", d)
}

func (r *reader) ephemeral(v volume, d *machine.Disk) {
	v.src.Only(&r.list, "persistentVolumeClaim")
	inner := v.src.Get("persistentVolumeClaim")
	if !inner.Exists() {
		r.refuse(inner, CodeVolume, "", "%s is a required field", v.path+".ephemeral.persistentVolumeClaim")
	}
	inner.Want(&r.list, tree.Map)
	inner.Only(&r.list, "claimName", "readOnly")
	if ro := inner.Get("readOnly"); ro.Exists() {
		ro.Bool(&r.list)
		r.note(ro, CodeNoGuest, "what the guest writes goes beside the claim anyway")
	}
	r.claim(inner.Get("claimName"), v.path+".ephemeral.persistentVolumeClaim.claimName", d)
	d.Ephemeral = true
}

func (r *reader) emptyDisk(v volume, d *machine.Disk) {
	v.src.Only(&r.list, "capacity")
	capacity := v.src.Get("capacity")
	q, ok := r.quantity(capacity)
	switch {
	case q.Sign() > 0:
		d.Size = machine.Bytes(q.Times(1))
	case ok || !capacity.Exists() || capacity.Kind() == tree.Null:
		capacity.Errorf(&r.list, CodeVolume, "write a size such as 2Gi", "an empty disk needs its capacity")
	}
	d.Source.Blank, d.Ephemeral = true, true
	r.at(capacity.Range(), "disks[%d].size", len(r.m.Disks))
}

func (r *reader) hostDisk(v volume, d *machine.Disk) {
	v.src.Only(&r.list, "path", "type", "capacity", "shared")
	path, kind, capacity := v.src.Get("path"), v.src.Get("type"), v.src.Get("capacity")
	if d.Source.Path = path.Str(&r.list); d.Source.Path == "" {
		r.refuse(path, CodeVolume, "", "%s is required for hostDisk volume", v.path+".hostDisk.path")
	}
	text := kind.Str(&r.list)
	q, sized := r.quantity(capacity)
	switch {
	case text != "Disk" && text != "DiskOrCreate":
		r.refuse(kind, CodeVolume, "", "%s has invalid value '%s', allowed are 'DiskOrCreate' or 'Disk'", v.path+".hostDisk.type", text)
	case text == "Disk" && q.Sign() > 0:
		r.refuse(capacity, CodeVolume, "", "%s is allowed to pass only with %s equal to 'DiskOrCreate'", v.path+".hostDisk.capacity", v.path+".hostDisk.type")
	case text == "DiskOrCreate":
		kind.Warnf(&r.list, CodeNoEffect, "create the file before", "vmseed makes no files at places that the definition names: the disk must be there")
	}
	if sized {
		d.Size = machine.Bytes(q.Times(1))
		r.at(capacity.Range(), "disks[%d].size", len(r.m.Disks))
	}
	if shared := v.src.Get("shared"); shared.Bool(&r.list) {
		d.Shareable = true
		r.at(shared.Range(), "disks[%d].shareable", len(r.m.Disks))
	}
}

// chooseRoot marks the disk that the machine boots from: the first in boot order, else the first that can hold a system.
func (r *reader) chooseRoot() {
	best, rank := -1, [2]int{}
	for i, d := range r.m.Disks {
		own := [2]int{1 << 30, i}
		switch {
		case d.BootOrder > 0:
			own[0] = d.BootOrder
		case d.Source.Blank:
			continue
		case d.Device == "cdrom" || d.Device == "floppy":
			own[0]++
		}
		if best < 0 || slices.Compare(own[:], rank[:]) < 0 {
			best, rank = i, own
		}
	}
	if best >= 0 {
		r.m.Disks[best].Root = true
	}
}
