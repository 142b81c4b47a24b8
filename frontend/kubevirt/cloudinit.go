package kubevirt

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/kubeobject"
	"github.com/vmseed/vmseed/format/netconfig"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/frontend/internal/kubedoc"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

const (
	noCloud     = "cloudInitNoCloud"
	configDrive = "cloudInitConfigDrive"
)

func isSeed(kind string) bool { return kind == noCloud || kind == configDrive }

// defaultLimit is how many bytes of inline data KubeVirt takes, after base64 is decoded: the object is sent to many
// watchers.
const defaultLimit = 2048

// dataKind is one of the documents of a cloud-init volume: where it may stand, and what KubeVirt's messages call it.
type dataKind struct {
	plain, base64, secret string
	keys                  []string // of the Secret, the first that it has counts
	sources               string   // "must have only one … set"
	name                  string   // "… exceeds"
	remedy                string   // the Go name of the field for Secrets
}

var (
	userData = dataKind{plain: "userData", base64: "userDataBase64", secret: "secretRef", keys: []string{"userdata", "userData"},
		sources: "userdatasource", name: "userdata", remedy: "UserDataSecretRef"}
	networkData = dataKind{plain: "networkData", base64: "networkDataBase64", secret: "networkDataSecretRef",
		keys: []string{"networkdata", "networkData"}, sources: "networkdata source", name: "networkdata", remedy: "NetworkDataSecretRef"}
	vendorData = dataKind{plain: "vendorData", base64: "vendorDataBase64", secret: "vendorDataSecretRef",
		keys: []string{"vendordata", "vendorData"}, sources: "vendordata source", name: "vendordata", remedy: "VendorDataSecretRef"}
)

var cloudInitFields = kubedoc.Table{"userData": used, "userDataBase64": used, "secretRef": used, "networkData": used,
	"networkDataBase64": used, "networkDataSecretRef": used, "vendorData": used, "vendorDataBase64": used, "vendorDataSecretRef": used,
	"metaData": used, "metaDataSecretRef": used, "userDataSecretRef": used}

// cloudInit reads a cloud-init volume. The medium is vmseed's own, so of its disk nothing is used.
func (r *reader) cloudInit(v volume, d disk) {
	if d.value.Exists() {
		r.disk(d)
		r.note(d.value, CodeSeedDisk, "the seed is a disk behind those of the machine, whatever this entry says")
	}
	if v.path != r.seed.path {
		v.src.Errorf(&r.list, CodeSecondSeed, "keep one of them",
			"the machine has two cloud-init volumes, %q and %q: KubeVirt fills the first and starts the machine with an empty second one", r.seed.name, v.name)
		r.list[len(r.list)-1] = r.list[len(r.list)-1].With(r.seed.value.Range(), "the first one is here")
		v.src.Consume()
		return
	}
	r.m.DataSource = map[string]string{noCloud: "nocloud", configDrive: "configdrive"}[v.kind]
	r.at(v.src.Range(), "dataSource")
	r.sort(v.src, cloudInitFields)
	user := r.data(v, userData)
	// Go programs and all prose call the field so, but it has another name in documents.
	if wrong := v.src.Get("userDataSecretRef"); wrong.Exists() {
		wrong.Errorf(&r.list, tree.CodeUnknownField, `write "secretRef: {name: …}"`, "there is no field %q here", "userDataSecretRef")
		wrong.Consume()
		user.stated = true
	}
	net := r.data(v, networkData)
	vendor := r.data(v, vendorData)
	if !user.stated && !net.stated {
		r.refuse(v.src, CodeSources, "write userData", "%s must have at least one userdatasource or one networkdatasource set.", v.path+"."+v.kind)
	} else if (user.ok || net.ok) && user.layer.Data.Len() == 0 && net.layer.Data.Len() == 0 {
		r.refuse(user.or(net).place, CodeEmptyData, "", "userDataBase64, userData, networkDataBase64 or networkData is required for a cloud-init data source: %s is empty",
			user.or(net).layer.Name)
	}
	if user.layer.Data.Len() > 0 {
		r.m.UserData.Layers = []machine.Layer{user.layer}
		r.butane(user.place, user.layer.Data.Reveal())
		r.at(user.place.Range(), "userData.layers[0]")
	}
	if vendor.layer.Data.Len() > 0 {
		r.m.VendorData = []machine.Layer{vendor.layer}
		r.at(vendor.place.Range(), "vendorData[0]")
	}
	if net.layer.Data.Len() > 0 {
		r.m.Network.Document = net.layer
		r.at(net.place.Range(), "network.document")
		r.networkForm(v, net)
	}
	r.metaData(v)
}

// datum is what was found of a dataKind.
type datum struct {
	layer machine.Layer
	place tree.Value
	// stated says that there is a source, ok that it could be read.
	stated, ok bool
}

func (d datum) or(other datum) datum {
	if d.ok {
		return d
	}
	return other
}

// data reads one of the documents of a cloud-init volume.
func (r *reader) data(v volume, k dataKind) datum {
	var out datum
	path := v.path + "." + v.kind
	inline, encoded, ref := v.src.Get(k.plain), v.src.Get(k.base64), v.src.Get(k.secret)
	text, textOK := r.text(inline)
	code, codeOK := r.text(encoded)
	var name tree.Value
	if ref.Want(&r.list, tree.Map) {
		ref.Only(&r.list, "name")
		name = ref.Get("name")
	}
	secretName, nameOK := r.text(name)
	sources := 0
	for _, s := range []string{text, code, secretName} {
		if s != "" {
			sources++
		}
	}
	out.stated = sources > 0 || !textOK || !codeOK || !nameOK
	if sources > 1 {
		r.refuse(v.src, CodeSources, "keep one of "+strings.Join([]string{k.plain, k.base64, k.secret}, ", "), "%s must have only one %s set.", path, k.sources)
		return out
	}
	what := fmt.Sprintf("volume %s, ", v.name)
	switch {
	case text != "":
		out.layer = machine.Layer{Name: what + k.plain, Data: secret.New(text), Origin: inline.Origin(what + k.plain)}
		out.place, out.ok = inline, true
	case code != "":
		out.layer, out.ok = r.layerBase64(encoded, fmt.Sprintf("%s.%s.%s.%s", path, k.base64, v.kind, k.base64), what+k.base64)
		out.place = encoded
	case secretName != "":
		out.layer, out.ok = r.layerSecret(name, secretName, "no cloud-init data-source found at volume: "+v.name, k.keys...)
		out.place = name
		return out // Secrets may be of any size
	}
	if n := out.layer.Data.Len(); n > r.limit() {
		r.refuse(out.place, CodeTooLarge, fmt.Sprintf("it has %d bytes: put it under the key %s of a Secret and name that in %s, or raise the limit with --userdata-limit", n, k.keys[0], k.secret),
			"%s %s exceeds %d byte limit. Should use %s for larger data.", path, k.name, r.limit(), k.remedy)
	}
	return out
}

// limit is how many bytes of inline data are taken.
func (r *reader) limit() int {
	if r.options.UserDataLimit > 0 {
		return r.options.UserDataLimit
	}
	return defaultLimit
}

// layerBase64 reads a text in base64 as a layer with a name such as "volume cloudinitdisk, userDataBase64". field is what
// KubeVirt's message calls the field.
func (r *reader) layerBase64(v tree.Value, field, name string) (machine.Layer, bool) {
	text, ok := r.text(v)
	if !ok {
		return machine.Layer{}, false
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		remedy := "encode it with base64, or write plain text into the field of the same name without Base64"
		for _, other := range []struct {
			encoding *base64.Encoding
			remedy   string
		}{
			{base64.RawStdEncoding, "it lacks the = at its end that make its length a multiple of four"},
			{base64.URLEncoding, "it is in the alphabet of URLs: write + for - and / for _"},
			{base64.RawURLEncoding, "it is in the alphabet of URLs: write + for - and / for _, and = at its end until its length is a multiple of four"},
		} {
			if _, err := other.encoding.DecodeString(text); err == nil {
				remedy = other.remedy
				break
			}
		}
		if _, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), "")); err == nil {
			remedy = "there are blanks in it: write it on one line, or behind | instead of >"
		}
		r.refuse(v, CodeBase64, remedy, "%s is not a valid base64 value.", field)
		return machine.Layer{}, false
	}
	return machine.Layer{Name: name, Data: secret.FromBytes(data), Origin: diag.Origin{Whole: v.Range(), What: name}}, true
}

// layerSecret reads the value under the first of some keys that a Secret has. trouble is what KubeVirt says when there is
// none; it may be empty.
func (r *reader) layerSecret(v tree.Value, name, trouble string, keys ...string) (machine.Layer, bool) {
	o, ok := r.resolve(v, kubeobject.Secret, name, false)
	if !ok {
		return machine.Layer{}, false
	}
	for _, key := range keys {
		if item, ok := o.Item(key); ok {
			return machine.Layer{Name: item.Origin.What, Data: item.Value, Origin: item.Origin}, true
		}
	}
	r.missingKey(v, o, trouble, keys...)
	return machine.Layer{}, false
}

// missingKey reports that a Secret has none of the keys that KubeVirt reads. What the Secret calls its keys is the author's
// to change: a definition cannot name another one.
func (r *reader) missingKey(v tree.Value, o kubeobject.Object, trouble string, keys ...string) {
	summary := fmt.Sprintf("%s has neither key %s", o.Ref, strings.Join(keys, " nor "))
	if trouble != "" {
		summary = trouble + ": " + summary
	}
	have := kubedoc.Keys(o)
	remedy := fmt.Sprintf("give it the key %q", keys[0])
	if meant, ok := tree.Closest(keys[0], have); ok {
		remedy = fmt.Sprintf("rename its key %q to %q", meant, keys[0])
	} else if len(have) > 0 {
		remedy += "; it has " + strings.Join(have, ", ")
	}
	d := diag.Diagnostic{Code: CodeMissingKey, Severity: diag.Error, Range: v.Range(), Field: v.Path(), Summary: summary, Remedy: remedy}
	if place := o.Tree.Range(); !place.IsZero() {
		d = d.With(place, "the Secret is here")
	}
	r.list.Add(d)
}

// networkForm warns about a network document that KubeVirt copies to where cloud-init reads another form.
func (r *reader) networkForm(v volume, net datum) {
	form := netconfig.Detect([]byte(net.layer.Data.Reveal()))
	switch {
	case v.kind == configDrive && (form == netconfig.V1 || form == netconfig.V2 || form == netconfig.ENI):
		net.place.Warnf(&r.list, CodeNetworkForm, "write OpenStack's network_data.json, or use cloudInitNoCloud",
			"this is %s, which KubeVirt copies into the config drive as it is and cloud-init does not read there; vmseed converts it", form)
	case v.kind == noCloud && form == netconfig.OpenStack:
		net.place.Warnf(&r.list, CodeNetworkForm, "write a network-config of version 1 or 2, or use cloudInitConfigDrive",
			"this is OpenStack's network_data.json, which cloud-init does not read from NoCloud")
	}
}

// Limits of the meta-data that authors may add (KubeVirt enhancement 100).
const (
	maxMetaKeys  = 16
	maxMetaValue = 256
)

// reserved are the members of the meta-data that KubeVirt writes itself.
var reserved = map[string][]string{
	noCloud:     {"instance-type", "instance-id", "local-hostname", "public-keys"},
	configDrive: {"instance_type", "instance_id", "local_hostname", "hostname", "uuid", "devices", "public_keys"},
}

// added are the members that vmseed writes beside those of KubeVirt.
var added = map[string][]string{
	noCloud:     {"instance_type", "public_keys", "devices"},
	configDrive: {"instance-id", "local-hostname", "public-keys"},
}

// metaData reads the members that the author adds to the meta-data, inline or in a Secret. They make one layer.
func (r *reader) metaData(v volume) {
	inline, ref := v.src.Get("metaData"), v.src.Get("metaDataSecretRef")
	members := map[string]string{}
	place := inline
	name := ""
	put := func(at tree.Value, key, value string) {
		switch _, twice := members[key]; {
		case slices.Contains(reserved[v.kind], key):
			r.refuse(at, CodeMetaData, "choose another key", "custom metadata key '%s' conflicts with reserved field", key)
		case twice:
			at.Errorf(&r.list, CodeMetaData, "keep one of the two", "the key %q stands in metaData and in the Secret", key)
		case len(value) > maxMetaValue:
			at.Errorf(&r.list, CodeMetaData, "put it into user-data", "the value of the key %q has %d bytes; custom meta-data takes %d", key, len(value), maxMetaValue)
		case slices.Contains(added[v.kind], key):
			at.Warnf(&r.list, CodeMetaData, "choose another key", "vmseed writes the member %q itself, beside those of KubeVirt; this value takes its place", key)
		}
		members[key] = value
	}
	if inline.Want(&r.list, tree.Map) {
		name = fmt.Sprintf("volume %s, metaData", v.name)
		for _, e := range inline.Entries() {
			put(e.Value, e.Key, e.Value.Str(&r.list))
		}
	}
	if ref.Want(&r.list, tree.Map) {
		ref.Only(&r.list, "name")
		at := ref.Get("name")
		if text := r.required(at, v.path+"."+v.kind+".metaDataSecretRef.name"); text != "" {
			if o, ok := r.resolve(at, kubeobject.Secret, text, false); ok {
				if name == "" {
					name, place = o.Ref.String(), at
				}
				for _, item := range o.Data {
					put(at, item.Key, item.Value.Reveal())
				}
			}
		}
	}
	if len(members) == 0 {
		return
	}
	if len(members) > maxMetaKeys {
		place.Errorf(&r.list, CodeMetaData, "put the others into user-data", "there are %d members of custom meta-data; KubeVirt takes %d", len(members), maxMetaKeys)
	}
	data, err := json.Marshal(members)
	if err != nil {
		place.Errorf(&r.list, CodeMetaData, "", "the meta-data cannot be written as JSON (keys %s)", strings.Join(slices.Sorted(maps.Keys(members)), ", "))
		return
	}
	r.m.MetaData = []machine.Layer{{Name: name, Data: secret.FromBytes(data), Origin: diag.Origin{Whole: place.Range(), What: name}}}
	r.at(place.Range(), "metaData[0]")
}
