package kubevirt

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/kubeobject"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/frontend/internal/kubedoc"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// The labels of volumes of files. Those of seeds are known to guest agents in small letters and in capitals.
const (
	filesLabel       = "cfgdata"
	sysprepLabel     = "unattendCD"
	noCloudLabel     = "cidata"
	configDriveLabel = "config-2"
	maxLabel         = 32
)

// medium is a volume of files that is on its way to become one of the machine.
type medium struct {
	volume, src tree.Value
	// disk is the entry of the disk that names the volume, or absent.
	disk  tree.Value
	label tree.Value
	media machine.Media
	// origins say where the contents of the files stand, in the order of the files.
	origins []diag.Origin
}

// add adds a file.
func (x *medium) add(name string, content secret.Text, origin diag.Origin) {
	x.media.Files = append(x.media.Files, machine.File{Path: "/" + name, Content: content})
	x.origins = append(x.origins, origin)
}

// addData adds the values of a Secret or ConfigMap, each as the file of its key.
func (x *medium) addData(o kubeobject.Object) {
	for _, item := range o.Data {
		x.add(item.Key, item.Value, item.Origin)
	}
}

// mediaReaders read what stands below the kind of a volume of files. They return false when there is no medium.
var mediaReaders = map[string]func(*reader, *medium) bool{
	"secret": func(r *reader, x *medium) bool {
		x.src.Only(&r.list, "secretName", "optional", "volumeLabel")
		return r.objectMedium(x, kubeobject.Secret, "secretName")
	},
	"configMap": func(r *reader, x *medium) bool {
		x.src.Only(&r.list, "name", "optional", "volumeLabel")
		return r.objectMedium(x, kubeobject.ConfigMap, "name")
	},
	"sysprep":        (*reader).sysprep,
	"serviceAccount": (*reader).serviceAccount,
	"downwardAPI":    (*reader).downwardAPI,
}

// mediaVolume reads a volume that becomes a medium of its own: a secret, configMap, sysprep, serviceAccount or downwardAPI.
// entry is that of the disk that names it, or absent.
func (r *reader) mediaVolume(kind string, volume, entry tree.Value) {
	name := volume.Get("name").Loose(new(diag.List))
	x := medium{volume: volume, src: volume.Get(kind), disk: entry, media: machine.Media{Name: name, Kind: kind, Label: filesLabel}}
	x.label = x.src.Get("volumeLabel")
	d := disk{device: targets[0], path: r.in("volumes")}
	if i := slices.IndexFunc(r.disks, func(d disk) bool { return d.value.Path() == entry.Path() }); i >= 0 {
		d = r.disks[i]
	}
	x.media.Bus = r.bus(d)
	x.media.Serial = r.serial(d.value.Get("serial"), d.path)
	r.noUse(d.value, "cache", "tag", "bootOrder", "shareable")
	r.noUse(d.target, "readonly", "pciAddress")
	if !mediaReaders[kind](r, &x) || !r.readLabel(&x) {
		return
	}
	i := len(r.m.Media)
	r.at(volume.Range(), "media[%d]", i)
	r.at(d.value.Get("serial").Range(), "media[%d].serial", i)
	r.at(x.label.Range(), "media[%d].label", i)
	for j, o := range x.origins {
		r.at(o.Whole, "media[%d].files[%d]", i, j)
	}
	r.m.Media = append(r.m.Media, x.media)
}

// noUse notes what means nothing for a disk of files.
func (r *reader) noUse(v tree.Value, fields ...string) {
	for _, field := range fields {
		if x := v.Get(field); x.Exists() && x.Kind() != tree.Null {
			r.note(x, CodeTuning, "%s means nothing for a disk of files, which is read-only and holds no system", field)
			x.Consume()
		}
	}
}

// readLabel reads the label. It returns false when the volume is no medium beside the seed: because it is broken, or is the
// seed itself.
func (r *reader) readLabel(x *medium) bool {
	text := x.label.Str(&r.list)
	if text == "" {
		return true
	}
	if len(text) > maxLabel || strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c > '~' }) {
		x.label.Errorf(&r.list, CodeMedium, "shorten it, and use plain letters", "a volume label has at most %d printable ASCII characters", maxLabel)
		return false
	}
	x.media.Label = text
	isNoCloud := text == noCloudLabel || text == strings.ToUpper(noCloudLabel)
	if !isNoCloud && text != configDriveLabel && text != strings.ToUpper(configDriveLabel) {
		return true
	}
	if i := slices.IndexFunc(r.volumes, func(v volume) bool { return isSeed(v.kind) }); i >= 0 {
		other := r.volumes[i]
		r.list.Add(diag.Diagnostic{Code: CodeTwoSeeds, Severity: diag.Error, Range: x.label.Range(), Field: x.label.Path(),
			Summary: "the label makes this volume a seed for the guest's first boot, and so is the volume \"" + other.name + "\"",
			Remedy:  "keep one of the two, or choose another label"}.With(other.value.Range(), "the other seed is here"))
		return false
	}
	if !isNoCloud {
		x.label.Errorf(&r.list, CodeTwoSeeds, "use a volume of the kind cloudInitConfigDrive, or choose another label",
			"no guest agent reads a config drive without directories, and it would stand beside the seed")
		return false
	}
	r.preparedSeed(x)
	return false
}

// preparedSeed takes the files of a volume labelled cidata for what they are: all of a seed of NoCloud.
func (r *reader) preparedSeed(x *medium) {
	if first, taken := r.places["dataSource"]; taken {
		r.list.Add(diag.Diagnostic{Code: CodeTwoSeeds, Severity: diag.Error, Range: x.label.Range(), Field: x.label.Path(),
			Summary: "two volumes have the label of a seed for the guest's first boot", Remedy: "keep one of the two, or choose another label"}.
			With(first, "the other one is here"))
		return
	}
	if x.disk.Exists() {
		r.note(x.disk, CodeSeedDisk, "the seed is a disk behind those of the machine, whatever this entry says")
	}
	m := r.m
	m.DataSource = "nocloud"
	r.at(x.label.Range(), "dataSource")
	layers := map[string]*[]machine.Layer{"user-data": &m.UserData.Layers, "meta-data": &m.MetaData, "vendor-data": &m.VendorData}
	for i, f := range x.media.Files {
		name := f.Path[1:]
		layer := machine.Layer{Name: "volume " + x.media.Name + ", " + name, Data: f.Content, Origin: x.origins[i]}
		switch {
		case layers[name] != nil:
			*layers[name] = append(*layers[name], layer)
		case name == "network-config":
			m.Network.Document = layer
		default:
			r.list.Warnf(CodeMedium, x.origins[i].Whole, "put it into a volume of its own, with another label",
				"cloud-init looks for user-data, meta-data, vendor-data and network-config; the file %q is left out", name)
		}
	}
}

// objectMedium takes the files of a Secret or ConfigMap.
func (r *reader) objectMedium(x *medium, kind, field string) bool {
	name, optional := x.src.Get(field), x.src.Get("optional").Bool(&r.list)
	text, ok := r.text(name)
	if !ok {
		return false
	}
	if text == "" {
		r.refuse(name, CodeMedium, "name the "+kind, "%s.%s.%s is a required field", r.inSpec(x.volume), x.media.Kind, field)
		return false
	}
	o, ok := r.resolve(name, kind, text, optional)
	if ok && len(o.Data) == 0 {
		name.Warnf(&r.list, CodeMedium, "put a key into it", "%s is empty, and so is the disk", o.Ref)
	}
	x.addData(o)
	return ok
}

// inSpec returns the path of an entry below the spec as KubeVirt's messages write it.
func (r *reader) inSpec(v tree.Value) string {
	return r.prefix + strings.TrimPrefix(v.Path(), r.spec.Path())
}

// sysprep reads a volume with the answer file of Windows' setup. Its Secret comes before its ConfigMap.
func (r *reader) sysprep(x *medium) bool {
	x.src.Only(&r.list, "configMap", "secret")
	x.media.Label = sysprepLabel
	from, kind := x.src.Get("secret"), kubeobject.Secret
	other := x.src.Get("configMap")
	switch {
	case from.Kind() == tree.Map && other.Kind() == tree.Map:
		other.Warnf(&r.list, CodeSysprep, "remove one of the two", "the Secret takes the place of the ConfigMap")
		other.Consume()
	case other.Kind() == tree.Map:
		from, kind = other, kubeobject.ConfigMap
	case from.Kind() != tree.Map:
		x.src.Errorf(&r.list, CodeSysprep, "name a ConfigMap or a Secret with the answer file", "the sysprep volume has no source")
		x.src.Consume()
		return false
	}
	from.Only(&r.list, "name")
	name := from.Get("name")
	o, ok := r.resolve(name, kind, name.Str(&r.list), false)
	if !ok {
		return false
	}
	x.addData(o)
	if !slices.ContainsFunc(o.Data, func(it kubeobject.Item) bool {
		key := strings.ToLower(it.Key)
		return key == "autounattend.xml" || key == "unattend.xml"
	}) {
		r.refuse(name, CodeSysprep, "give "+o.Ref.String()+" a key autounattend.xml",
			"Sysprep drive should contain autounattend.xml or unattend.xml but neither were found.")
		return false
	}
	return true
}

// accountAnnotation names the service account that a Secret with a token is for.
const accountAnnotation = "kubernetes.io/service-account.name"

// serviceAccount takes the token of a service account out of a Secret that a cluster has filled. No other token can be had
// without a cluster.
func (r *reader) serviceAccount(x *medium) bool {
	x.src.Only(&r.list, "serviceAccountName")
	first := slices.IndexFunc(r.volumes, func(v volume) bool { return v.kind == "serviceAccount" })
	if first >= 0 && r.volumes[first].value.Path() != x.volume.Path() {
		r.refuse(x.volume, CodeMedium, "remove one of them", "%s.volumes must have max one serviceAccount volume set", r.prefix)
	}
	name := x.src.Get("serviceAccountName")
	text, ok := r.text(name)
	switch {
	case !ok:
		return false
	case text == "":
		r.refuse(name, CodeMedium, "name the service account", "%s.serviceAccount.serviceAccountName is a required field", r.inSpec(x.volume))
		return false
	case !kubeobject.ValidName(text):
		name.Errorf(&r.list, CodeMedium, "", "%q cannot be the name of a service account", text)
		return false
	}
	for _, candidate := range []string{text, text + "-token"} {
		o, err := r.resolver.Resolve(r.ctx, kubeobject.Ref{Kind: kubeobject.Secret, Namespace: r.namespace, Name: candidate})
		if err == nil && o.Tree.At("metadata", "annotations", accountAnnotation).Loose(new(diag.List)) == text {
			x.addData(o)
			return true
		}
	}
	name.Warnf(&r.list, CodeMedium, "add a Secret "+text+"-token of the type kubernetes.io/service-account-token, as a cluster filled it",
		"only a cluster can issue a token for the service account %q, so the disk is left out", text)
	return false
}

// resourceForm matches the amounts that the downward API knows.
var resourceForm = regexp.MustCompile(`^(limits|requests)\.(cpu|memory|ephemeral-storage|hugepages-[0-9]+[KMG]i)$`)

// downwardAPI makes files of what the definition says about itself.
func (r *reader) downwardAPI(x *medium) bool {
	x.src.Only(&r.list, "fields", "volumeLabel")
	fields := x.src.Get("fields")
	fields.Want(&r.list, tree.List)
	for _, f := range fields.Items() {
		if !f.Want(&r.list, tree.Map) {
			continue
		}
		f.Only(&r.list, "path", "mode", "fieldRef", "resourceFieldRef")
		if mode := f.Get("mode"); mode.Exists() {
			r.note(mode, CodeTuning, "the files of the disk have the mode 0644, and their owner is root")
			mode.Consume()
		}
		name := f.Get("path")
		target := name.Str(&r.list)
		clean := path.Clean("/" + target)[1:]
		if target == "" || strings.HasPrefix(target, "/") || slices.Contains(strings.Split(target, "/"), "..") || clean == "" {
			name.Errorf(&r.list, CodeDownward, "", "the path of a file on the disk is relative and has no ..")
			f.Consume()
			continue
		}
		if text, ok := r.downwardField(f, clean); ok {
			if slices.ContainsFunc(x.media.Files, func(have machine.File) bool { return have.Path == "/"+clean }) {
				name.Errorf(&r.list, CodeDownward, "give each its own path", "two fields have the path %q", clean)
				continue
			}
			x.add(clean, secret.New(text), diag.Origin{Whole: f.Range()})
		}
	}
	return true
}

// downwardField returns the value of a field of the pod for the file target, as far as the machine's definition says it.
func (r *reader) downwardField(f tree.Value, target string) (string, bool) {
	ref, resource := f.Get("fieldRef"), f.Get("resourceFieldRef")
	if resource.Want(&r.list, tree.Map) {
		resource.Only(&r.list, "containerName", "resource", "divisor")
		at := resource.Get("resource")
		name := at.Str(&r.list)
		resource.Consume()
		if !resourceForm.MatchString(name) {
			at.Errorf(&r.list, CodeDownward, "", "limits or requests of cpu, memory, hugepages or ephemeral-storage should be named here")
			return "", false
		}
		f.Warnf(&r.list, CodeDownward, "write the number into user-data",
			"%s of KubeVirt's pod has nothing to do with the machine's, so the file %q is left out", name, target)
		return "", false
	}
	if !ref.Want(&r.list, tree.Map) {
		if !ref.Exists() {
			f.Errorf(&r.list, CodeDownward, "give it fieldRef.fieldPath", "the file has no field")
		}
		return "", false
	}
	ref.Only(&r.list, "apiVersion", "fieldPath")
	if version := ref.Get("apiVersion"); version.Exists() && version.Str(&r.list) != "v1" {
		version.Errorf(&r.list, CodeDownward, `write "v1"`, "fields are those of the API version v1")
	}
	at := ref.Get("fieldPath")
	text := at.Str(&r.list)
	if value, ok := kubedoc.MetaField(r.meta, text); ok {
		return value, true
	}
	switch text {
	case "metadata.name":
		r.note(at, CodeDownward, "KubeVirt gives the name of its pod here, vmseed that of the machine")
		return r.m.Name, true
	case "metadata.namespace":
		return r.namespace, true
	case "metadata.uid":
		if r.m.Identity.UID == "" {
			f.Warnf(&r.list, CodeDownward, "give the machine metadata.uid", "the machine has no UID yet, so the file %q is left out", target)
			return "", false
		}
		r.note(at, CodeDownward, "KubeVirt gives the UID of its pod here, vmseed that of the machine")
		return r.m.Identity.UID, true
	}
	at.Errorf(&r.list, CodeDownward, "the fields are metadata.name, namespace, uid, labels and annotations",
		"a volume cannot hold this field")
	return "", false
}
