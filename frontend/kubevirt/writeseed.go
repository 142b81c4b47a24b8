package kubevirt

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/cloudconfig"
	"github.com/vmseed/vmseed/format/kubeobject"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/internal/bounded"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// cloudInit writes the volume of the seed, unless there is none to be or the guest reads an Ignition config out of its firmware
// and nothing else.
func (w *writer) cloudInit() {
	m := w.m
	kind := noCloud
	if m.DataSource == "configdrive" {
		kind = configDrive
	}
	var src mapping
	if n := max(len(m.UserData.Layers), len(m.VendorData)); n > 1 {
		w.warn("userData.layers", "merge them first", "a volume holds one document of a kind; of up to %d the last is written", n)
	}
	if n := len(m.UserData.Layers); n > 0 {
		src = w.document(src, userData, m.UserData.Layers[n-1], true)
	}
	src = w.document(src, networkData, m.Network.Document, false)
	if n := len(m.VendorData); n > 0 {
		w.warn("vendorData", "wait for KubeVirt's feature gate CloudInitVendorData, or merge it into the user-data",
			"no KubeVirt up to 1.8 gives vendor-data to the guest")
		src = w.document(src, vendorData, m.VendorData[n-1], true)
	}
	if len(src) == 0 && (m.DataSource == "ignition" || len(m.Ignition) > 0 && len(m.SSH.AuthorizedKeys)+len(m.MetaData) == 0) {
		for _, path := range []string{"metaData", "ssh.authorizedKeys"} {
			if path == "metaData" && len(m.MetaData) > 0 || path != "metaData" && len(m.SSH.AuthorizedKeys) > 0 {
				w.warn(path, "say it in the Ignition config", "a guest with an Ignition config reads no volume of cloud-init, so this is left out")
			}
		}
		return
	}
	if len(src) == 0 && m.DataSource == machine.NoDataSource {
		return // a medium of the machine's own tells the guest all there is
	}
	if len(m.UserData.Layers) == 0 && m.Network.Document.Data.IsZero() {
		// KubeVirt's admission wants some data in the volume.
		src = append(mapping{entry("userData", cloudconfig.Header+"\n{}\n")}, src...)
	}
	if values := w.metaData(kind); len(values) > 0 {
		src = append(src, entry("metaData", values))
	}
	if keys := m.SSH.AuthorizedKeys; len(keys) > 0 {
		values := map[string]secret.Text{}
		for i, key := range keys {
			values[fmt.Sprintf("key-%03d", i)] = secret.New(key)
		}
		method := strings.TrimPrefix(kind, "cloudInit")
		w.credentials = append(w.credentials, credential("sshPublicKey", w.object("vmseed-keys", values), strings.ToLower(method[:1])+method[1:], mapping{}))
	}
	name := w.name("disk", "cloudinitdisk")
	w.disks = append(w.disks, mapping{entry("name", name), entry("disk", mapping{entry("bus", "virtio")})})
	w.volumes = append(w.volumes, mapping{entry("name", name), entry(kind, src)})
}

// document writes one of the documents of a cloud-init volume: inline where KubeVirt takes that, else in a Secret. One that
// may hold secrets is in a Secret as well, unless its author wrote it in clear text: what was rendered holds whatever the
// machine does, and has no place of its own.
func (w *writer) document(src mapping, k dataKind, x machine.Layer, secrets bool) mapping {
	data := x.Data.Reveal()
	hidden := secrets && (x.Origin.IsZero() || strings.HasPrefix(x.Origin.What, kubeobject.Secret+" "))
	if name := w.legacySecret(); name != "" && k.plain == userData.plain {
		return append(src, entry(k.secret, mapping{entry("name", name)}))
	}
	switch {
	case data == "":
		return src
	case hidden || len(data) > defaultLimit:
		name := w.object("vmseed-"+k.name, map[string]secret.Text{k.keys[0]: x.Data})
		return append(src, entry(k.secret, mapping{entry("name", name)}))
	case utf8.ValidString(data) && !strings.ContainsAny(data, "\x00\r"):
		return append(src, entry(k.plain, data))
	}
	return append(src, entry(k.base64, base64.StdEncoding.EncodeToString([]byte(data))))
}

// legacySecret is the name of the Secret that holds the user-data of a definition of the first layout.
func (w *writer) legacySecret() string {
	var unheard diag.List
	for _, d := range instanceSpec(w.legacy).At("domain", "devices", "disks").Items() {
		for _, field := range []string{"cloudinit", "cloudInit"} {
			for _, ref := range []string{"userDataSecretRef", "secretRef"} {
				v := d.At(field, "nocloud", ref)
				if v.Kind() == tree.Map {
					v = v.Get("name")
				}
				if name := v.Loose(&unheard); name != "" {
					return name
				}
			}
		}
	}
	return ""
}

// metaData returns the author's own meta-data, as far as KubeVirt takes it: texts, under keys that it does not write itself.
func (w *writer) metaData(kind string) mapping {
	values := map[string]string{}
	for i, x := range w.m.MetaData {
		at := fmt.Sprintf("metaData[%d]", i)
		docs, problems := tree.ParseYAML(x.Origin.Whole.File, []byte(x.Data.Reveal()), bounded.Limits{})
		if problems.HasErrors() || len(docs) != 1 || docs[0].Kind() != tree.Map {
			w.warn(at, "write it as a mapping", "this meta-data is no mapping, so it is left out")
			continue
		}
		for _, e := range docs[0].Entries() {
			var l diag.List
			text := e.Value.Loose(&l)
			switch {
			case text != "" && (e.Key == "local-hostname" || e.Key == "hostname"):
				w.hostname = text
			case slices.Contains(reserved[kind], e.Key):
				w.warn(at, "", "KubeVirt writes the meta-data %q itself, so the author's is left out", e.Key)
			case l.HasErrors() || e.Value.Kind() != tree.Scalar:
				w.warn(at, "put it into the user-data", "KubeVirt takes texts as meta-data, so %q is left out", e.Key)
			case len(text) > maxMetaValue:
				w.warn(at, "put it into the user-data", "KubeVirt takes %d bytes under a key of the meta-data, so %q is left out", maxMetaValue, e.Key)
			case len(values) == maxMetaKeys:
				w.warn(at, "put it into the user-data", "KubeVirt takes %d keys of meta-data, so %q is left out", maxMetaKeys, e.Key)
			default:
				values[e.Key] = text
			}
		}
	}
	if len(values) > 0 {
		w.warn("metaData", "put it into the user-data", "no KubeVirt up to 1.8 gives an author's own meta-data to the guest")
	}
	var out mapping
	for _, key := range slices.Sorted(maps.Keys(values)) {
		out = append(out, entry(key, values[key]))
	}
	return out
}

func credential(kind, name, method string, how mapping) mapping {
	return mapping{entry(kind, mapping{entry("source", mapping{entry("secret", mapping{entry("secretName", name)})}),
		entry("propagationMethod", mapping{entry(method, how)})})}
}
