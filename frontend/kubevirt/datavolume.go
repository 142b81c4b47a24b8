package kubevirt

import (
	"strings"

	"github.com/vmseed/vmseed/format/kubeobject"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/machine"
)

// dataVolumeTemplates reads the volumes that the cluster makes for the machine.
func (r *reader) dataVolumeTemplates(v tree.Value) {
	v.Want(&r.list, tree.List)
	for _, item := range v.Items() {
		if !item.Want(&r.list, tree.Map) {
			continue
		}
		item.Only(&r.list, "apiVersion", "kind", "metadata", "spec", "status")
		name := item.At("metadata", "name")
		text := name.Str(&r.list)
		if !kubeobject.ValidName(text) {
			name.Errorf(&r.list, CodeVolume, "give it metadata.name", "the volume has no name that an object can have")
			item.Consume()
			continue
		}
		if r.templates == nil {
			r.templates = map[string]tree.Value{}
		}
		r.templates[text] = item
		r.note(item, CodeDataVolume, "the cluster makes the volume %q and fills it", text)
		item.Consume()
	}
}

// fromTemplate fills the source of a disk as the cluster would fill the volume: from a server of images, if it does.
func (r *reader) fromTemplate(item tree.Value, name string, d *machine.Disk) {
	spec := item.Get("spec")
	for _, storage := range []string{"storage", "pvc"} {
		if q, ok := r.quantity(spec.At(storage, "resources", "requests", "storage")); ok {
			d.Size = machine.Bytes(q.Times(1))
			r.at(spec.At(storage, "resources", "requests", "storage").Range(), "disks[%d].size", len(r.m.Disks))
		}
	}
	source := spec.Get("source")
	url, registry := source.At("http", "url"), source.At("registry", "url")
	switch {
	case url.Exists():
		d.Source.Image = url.Str(&r.list)
		r.at(url.Range(), "disks[%d].source", len(r.m.Disks))
	case registry.Exists():
		d.Source.Image = imageReference(strings.TrimPrefix(registry.Str(&r.list), imageScheme), "")
		r.at(registry.Range(), "disks[%d].source", len(r.m.Disks))
	case source.Get("blank").Exists():
		d.Source.Blank = true
	default:
		d.Source.Claim = name
	}
}
