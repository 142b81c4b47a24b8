package kubevirt

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/frontend/internal/kubedoc"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// The fields of the layout that came before volumes: a near copy of libvirt's domain.
var (
	legacySpec = kubedoc.Table{"domain": used, "cloudInit": used, "hostname": used, "subdomain": used, "architecture": used,
		"terminationGracePeriodSeconds": used, "nodeSelector": cluster, "affinity": cluster}

	legacyDomain = kubedoc.Table{"type": tuning, "os": used, "memory": used, "firmware": used, "devices": used,
		"cpu": lost, "clock": lost, "sysInfo": lost, "resources": cluster, "features": tuning}

	legacyDevices = kubedoc.Table{"disks": used, "interfaces": used, "emulator": tuning, "channels": tuning, "consoles": tuning,
		"serials": tuning, "graphics": tuning, "video": tuning, "ballooning": tuning}

	legacyDisk = kubedoc.Table{"type": used, "device": used, "source": used, "target": used, "serial": used, "readonly": used,
		"cloudinit": used, "cloudInit": used, "snapshot": tuning, "driver": tuning, "auth": lost}

	legacyInterface = kubedoc.Table{"type": used, "source": used, "mac": used, "model": used, "link": used, "target": tuning,
		"address": tuning, "alias": tuning, "bandwidth": lost, "boot": lost, "filterRef": cluster}
)

// legacyImages are the types of disks whose image comes out of a registry.
var legacyImages = []string{"ContainerDisk:v1alpha", "ContainerRegistryDisk:v1alpha", "RegistryDisk:v1alpha"}

// legacyDiskTypes are the other ones.
var legacyDiskTypes = []string{"file", "block", "PersistentVolumeClaim"}

// legacyLayout reads a spec of the layout from before volumes: disks hold their sources, and cloud-init hangs on a disk.
func (r *reader) legacyLayout() {
	r.note(r.spec, CodeLegacy, "this layout is older than any KubeVirt that still runs; vmseed convert --to kubevirt writes it anew")
	r.sort(r.spec, legacySpec)
	domain := r.spec.Get("domain")
	if domain.Want(&r.list, tree.Map) {
		r.sort(domain, legacyDomain)
		r.legacyMemory(domain.Get("memory"))
		r.legacyOS(domain.Get("os"))
		r.legacyFirmware(domain.Get("firmware"))
	}
	devices := domain.Get("devices")
	if devices.Want(&r.list, tree.Map) {
		r.sort(devices, legacyDevices)
	}
	r.cloudInitField(r.spec.Get("cloudInit"))
	list := devices.Get("disks")
	list.Want(&r.list, tree.List)
	for i, v := range list.Items() {
		if v.Want(&r.list, tree.Map) {
			r.sort(v, legacyDisk)
			r.legacyDisk(v, r.in("domain.devices.disks[%d]", i))
		}
	}
	r.chooseRoot()
	list = devices.Get("interfaces")
	list.Want(&r.list, tree.List)
	for _, v := range list.Items() {
		if v.Want(&r.list, tree.Map) {
			r.sort(v, legacyInterface)
			r.legacyInterface(v)
		}
	}
}

// legacyUnits are libvirt's units of memory, in bytes. KB and the like are powers of ten.
var legacyUnits = map[string]int64{"b": 1, "bytes": 1, "KB": 1e3, "k": 1 << 10, "KiB": 1 << 10, "MB": 1e6, "M": 1 << 20, "MiB": 1 << 20,
	"GB": 1e9, "G": 1 << 30, "GiB": 1 << 30, "TB": 1e12, "T": 1 << 40, "TiB": 1 << 40}

// legacyMemory reads an amount with its unit, which is KiB if none is given.
func (r *reader) legacyMemory(v tree.Value) {
	if !v.Want(&r.list, tree.Map) {
		return
	}
	v.Only(&r.list, "value", "unit")
	amount, unit := v.Get("value"), v.Get("unit")
	factor := legacyUnits["KiB"]
	if text := unit.Str(&r.list); text != "" {
		known, ok := legacyUnits[text]
		if !ok {
			unit.Errorf(&r.list, CodeLegacy, "write MB, MiB, GB or GiB", "there is no unit %q of memory", text)
			return
		}
		factor = known
	}
	if n := amount.Int(&r.list, 0, 1<<60/factor); n > 0 {
		r.setMemory(v, machine.Bytes(n*factor))
	} else if !amount.Exists() {
		v.Errorf(&r.list, CodeLegacy, "", "the memory has no value")
	}
}

// legacyArchs are libvirt's names of architectures.
var legacyArchs = map[string]string{"x86_64": "amd64", "aarch64": "arm64", "s390x": "s390x", "ppc64le": "ppc64le"}

func (r *reader) legacyOS(v tree.Value) {
	if !v.Want(&r.list, tree.Map) {
		return
	}
	r.sort(v, kubedoc.Table{"type": used, "bootOrder": tuning, "bootMenu": tuning, "smbios": tuning, "bios": tuning})
	kind := v.Get("type")
	if !kind.Want(&r.list, tree.Map) {
		return
	}
	r.sort(kind, kubedoc.Table{"os": used, "arch": used, "machine": tuning})
	if os := kind.Get("os"); os.Exists() && os.Str(&r.list) != "hvm" {
		os.Errorf(&r.list, CodeLegacy, `write "hvm"`, "the only type of machine is hvm")
	}
	arch := kind.Get("arch")
	if text := arch.Str(&r.list); text != "" {
		if r.m.Hardware.Arch = legacyArchs[text]; r.m.Hardware.Arch == "" {
			arch.Errorf(&r.list, CodeLegacy, "", "vmseed knows no architecture %q", text)
		}
		r.at(arch.Range(), "hardware.arch")
	}
}

// legacyFirmware looks at the fields; identity reads them.
func (r *reader) legacyFirmware(v tree.Value) {
	if v.Want(&r.list, tree.Map) {
		v.Only(&r.list, "uuid", "serial")
	}
}

// legacyDisk reads a disk, or the seed that takes the place of one.
func (r *reader) legacyDisk(v tree.Value, path string) {
	kind, source, target := v.Get("type"), v.Get("source"), v.Get("target")
	source.Want(&r.list, tree.Map)
	target.Want(&r.list, tree.Map)
	target.Only(&r.list, "dev", "bus")
	dev := target.Get("dev")
	d := machine.Disk{Name: dev.Str(&r.list), Serial: r.serial(v.Get("serial"), path), ReadOnly: v.Get("readonly").Bool(&r.list)}
	d.Bus = r.legacyBus(target, d.Name)
	if d.Device = v.Get("device").Str(&r.list); d.Device == "disk" {
		d.Device = ""
	} else if d.Device != "" && !slices.Contains(targets, d.Device) {
		v.Get("device").Errorf(&r.list, CodeLegacy, tree.SuggestOf("devices", d.Device, targets), "there is no device %q", d.Device)
	}
	for _, name := range []string{"cloudinit", "cloudInit"} {
		if init := v.Get(name); init.Exists() && init.Kind() != tree.Null {
			r.legacySeed(init, path+"."+name)
			if source.Exists() {
				r.note(source, CodeLegacy, "the disk is the seed, so that its own source does not count")
				source.Consume()
			}
			kind.Str(&r.list)
			return
		}
	}
	text := kind.Str(&r.list)
	switch {
	case slices.Contains(legacyImages, text):
		source.Only(&r.list, "name")
		d.Source.Image = imageReference(r.required(source.Get("name"), path+".source.name"), "")
		d.Ephemeral = true
	case text == "file" || text == "block":
		field := map[string]string{"file": "file", "block": "dev"}[text]
		source.Only(&r.list, field)
		d.Source.Path = r.required(source.Get(field), path+".source."+field)
	case text == "PersistentVolumeClaim":
		source.Only(&r.list, "name")
		r.claim(source.Get("name"), path+".source.name", &d)
	default:
		kind.Errorf(&r.list, CodeLegacy, tree.SuggestOf("types", text, slices.Concat(legacyDiskTypes, legacyImages)), "vmseed has no disks of the type %q", text)
		source.Consume()
		return
	}
	i := len(r.m.Disks)
	r.at(v.Range(), "disks[%d]", i)
	r.at(dev.Range(), "disks[%d].name", i)
	r.at(source.Range(), "disks[%d].source", i)
	if slices.ContainsFunc(r.m.Disks, func(o machine.Disk) bool { return o.Name == d.Name && d.Name != "" }) {
		dev.Errorf(&r.list, CodeLegacy, "give each its own", "two disks have the device %q", d.Name)
	}
	r.m.Disks = append(r.m.Disks, d)
}

// legacyBus reads the bus of a disk, which libvirt takes from the name of the device unless it is given.
func (r *reader) legacyBus(target tree.Value, dev string) string {
	v := target.Get("bus")
	text := v.Str(&r.list)
	switch {
	case text == "" && strings.HasPrefix(dev, "sd"):
		return "scsi"
	case text == "ide" || text == "" && strings.HasPrefix(dev, "hd"):
		return "sata"
	case text != "" && !slices.Contains(buses, text):
		v.Errorf(&r.list, CodeLegacy, tree.SuggestOf("buses", text, buses), "there is no bus %q", text)
	}
	return text
}

// cloudInitField reads spec.cloudInit of a prototype: a data source, and below its own name what is for it.
func (r *reader) cloudInitField(v tree.Value) {
	if !v.Want(&r.list, tree.Map) {
		return
	}
	for _, e := range v.Entries() {
		switch e.Key {
		case "dataSource":
			if text := e.Value.Str(&r.list); !strings.EqualFold(text, "noCloud") {
				r.noSource(e, text)
			}
		case "noCloudData":
			if e.Value.Want(&r.list, tree.Map) {
				if at := e.Value.Get("diskTarget"); at.Exists() {
					at.Str(&r.list)
					r.note(at, CodeLegacy, "vmseed finds a place for the seed itself")
				}
				r.noCloudData(e.Value, r.in("cloudInit.noCloudData"), "diskTarget")
			}
		default:
			if !r.otherSource(e) {
				r.noSource(e, e.Key)
			}
		}
	}
}

// noCloudInit refuses spec.cloudInit beside volumes, whose schema has no such field, but for sources that the engine brought.
func (r *reader) noCloudInit(v tree.Value) {
	if !v.Want(&r.list, tree.Map) {
		return
	}
	for _, e := range v.Entries() {
		if !r.otherSource(e) {
			r.noSource(e, e.Key)
		}
	}
	if len(v.Entries()) == 0 {
		v.Errorf(&r.list, CodeSource, "add a volume of the kind "+noCloud, "there are no cloud-init data here")
	}
}

// noSource reports a source of cloud-init data that nobody knows, with those that there are.
func (r *reader) noSource(e tree.Entry, name string) {
	r.list.Add(diag.Diagnostic{Code: CodeSource, Severity: diag.Error, Range: e.Span(), Field: e.Value.Path(),
		Summary: "there is no source \"" + name + "\" of cloud-init data; the sources are nocloud on a disk of the first layout, and since then the volumes " +
			noCloud + " and " + configDrive,
		Remedy: "choose one of these, or add a data source of your own: docs/how-to/add-a-data-source.md"})
	e.Value.Consume()
}

// legacySeed reads the cloud-init data of a disk.
func (r *reader) legacySeed(v tree.Value, path string) {
	if !v.Want(&r.list, tree.Map) {
		return
	}
	for _, e := range v.Entries() {
		if e.Key == "nocloud" {
			if e.Value.Want(&r.list, tree.Map) {
				r.noCloudData(e.Value, path+".nocloud")
			}
			continue
		}
		if !r.otherSource(e) {
			r.noSource(e, e.Key)
		}
	}
	if len(v.Entries()) == 0 {
		v.Errorf(&r.list, CodeSource, "give it nocloud", "the disk has no cloud-init data")
	}
}

// noCloudFields are the members of a source of the first layout.
var noCloudFields = []string{"userDataBase64", "userDataSecretRef", "secretRef", "metaDataBase64"}

// noCloudData reads user-data, out of the definition or out of a Secret, and meta-data if the author has written it himself.
func (r *reader) noCloudData(v tree.Value, path string, more ...string) {
	v.Only(&r.list, slices.Concat(noCloudFields, more)...)
	if first, taken := r.places["dataSource"]; taken {
		r.list.Add(diag.Diagnostic{Code: CodeSecondSeed, Severity: diag.Error, Range: v.Range(), Field: v.Path(),
			Summary: "the machine has two seeds for its first boot", Remedy: "keep one of the two"}.With(first, "the other one is here"))
		v.Consume()
		return
	}
	r.m.DataSource = "nocloud"
	r.at(v.Range(), "dataSource")
	var layers []machine.Layer
	sources := 0
	for _, field := range []string{"userDataBase64", "userDataSecretRef", "secretRef"} {
		src := v.Get(field)
		if !src.Exists() || src.Kind() == tree.Null {
			continue
		}
		sources++
		var layer machine.Layer
		var ok bool
		if field == "userDataBase64" {
			layer, ok = r.layerBase64(src, path+"."+field, path+"."+field)
			if n := layer.Data.Len(); n > r.limit() {
				r.refuse(src, CodeTooLarge, "put it under the key userdata of a Secret and name that in userDataSecretRef, or raise the limit with --userdata-limit",
					"%s userdata exceeds %d byte limit. Should use UserDataSecretRef for larger data.", path, r.limit())
			}
		} else {
			layer, ok = r.legacySecret(src)
		}
		if ok {
			layers = append(layers, layer)
		}
	}
	switch {
	case sources > 1:
		r.refuse(v, CodeLegacy, "keep one of them", "%s must have only one userdatasource set.", path)
	case sources == 0:
		r.refuse(v, CodeLegacy, "give it userDataBase64 or userDataSecretRef", "%s must have at least one userdatasource set.", path)
	}
	for i, layer := range layers {
		r.at(layer.Origin.Whole, "userData.layers[%d]", i)
		r.m.UserData.Layers = append(r.m.UserData.Layers, layer)
	}
	if meta := v.Get("metaDataBase64"); meta.Exists() {
		if layer, ok := r.layerBase64(meta, path+".metaDataBase64", path+".metaDataBase64"); ok {
			r.m.MetaData = append(r.m.MetaData, layer)
			r.at(layer.Origin.Whole, "metaData[0]")
		}
	}
}

// legacySecret takes user-data out of a Secret, whose reference is a name or, as since, an object with one.
func (r *reader) legacySecret(v tree.Value) (machine.Layer, bool) {
	name := v
	if v.Kind() == tree.Map {
		v.Only(&r.list, "name")
		name = v.Get("name")
	}
	text, ok := r.text(name)
	if !ok {
		return machine.Layer{}, false
	}
	layer, ok := r.layerSecret(name, text, "", userData.keys...)
	if !ok {
		return layer, false
	}
	if plain, twice := unwrap([]byte(layer.Data.Reveal())); twice {
		r.note(name, CodeLegacy, "the Secret's value is itself base64, as this layout asked for; it is decoded once more")
		layer.Data, layer.Origin = secret.FromBytes(plain), diag.Origin{Whole: layer.Origin.Whole, What: layer.Origin.What}
	}
	return layer, true
}

// heads are the beginnings of texts that are user-data: comments and scripts, MIME messages, gzip and JSON.
var heads = []string{"#", "Content-Type", "\x1f\x8b", "{"}

// unwrap decodes a text that as a whole is base64 of user-data. The first KubeVirts wanted base64 as the value of a Secret,
// later ones user-data as it is.
func unwrap(text []byte) ([]byte, bool) {
	plain, err := base64.StdEncoding.DecodeString(string(bytes.Join(bytes.Fields(text), nil)))
	if err != nil || !slices.ContainsFunc(heads, func(h string) bool { return bytes.HasPrefix(plain, []byte(h)) }) {
		return nil, false
	}
	return plain, true
}

// legacyInterface reads a network interface.
func (r *reader) legacyInterface(v tree.Value) {
	kind, source := v.Get("type"), v.Get("source")
	if text := kind.Str(&r.list); text != "network" && text != "bridge" && text != "" {
		kind.Errorf(&r.list, CodeLegacy, `write "network"`, "vmseed has no interfaces of the type %q", text)
	}
	var nic machine.NIC
	if source.Want(&r.list, tree.Map) {
		source.Only(&r.list, "network", "bridge", "dev")
		for _, field := range []string{"network", "bridge", "dev"} {
			if text := source.Get(field).Str(&r.list); text != "" {
				if text != "default" {
					nic.Network = text
				}
			}
		}
	}
	mac, model := v.Get("mac"), v.Get("model")
	if mac.Want(&r.list, tree.Map) {
		mac.Only(&r.list, "address")
		nic.MAC = r.mac(mac.Get("address"), v.Path())
	}
	if model.Want(&r.list, tree.Map) {
		model.Only(&r.list, "type")
		if nic.Model = model.Get("type").Str(&r.list); nic.Model != "" && !slices.Contains(nicModels, nic.Model) {
			model.Errorf(&r.list, CodeLegacy, tree.SuggestOf("models", nic.Model, nicModels), "there is no NIC of the model %q", nic.Model)
		}
	}
	if link := v.Get("link"); link.Want(&r.list, tree.Map) {
		link.Only(&r.list, "state")
		nic.LinkDown = link.Get("state").Str(&r.list) == "down"
	}
	i := len(r.m.Network.NICs)
	r.at(v.Range(), "network.nics[%d]", i)
	r.m.Network.NICs = append(r.m.Network.NICs, nic)
}
