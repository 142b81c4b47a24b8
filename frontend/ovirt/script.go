package ovirt

import (
	"encoding/base64"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/cloudconfig"
	"github.com/vmseed/vmseed/format/cloudconfig/lint"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// header is the first line of a cloud-config. Custom scripts go without it, because an engine writes it itself.
const header = "#cloud-config\n"

// script hands a custom script on: as a config of Ignition, or as a document of user-data of the kind that it says it is. A
// text that says nothing is a fragment of a cloud-config.
func (r *reader) script(v tree.Value) {
	text := r.verbatim(v)
	if strings.TrimSpace(text) == "" {
		return
	}
	layer := machine.Layer{Name: "custom_script", Data: secret.New(text), Origin: v.Origin("custom_script")}
	if r.kind == Ignition {
		r.m.Ignition = append(r.m.Ignition, layer)
		r.at(v.Range(), "ignition[%d]", len(r.m.Ignition)-1)
		return
	}
	r.userData(v, layer)
}

func (r *reader) userData(v tree.Value, layer machine.Layer) {
	text := layer.Data.Reveal()
	switch kind := cloudconfig.Recognise([]byte(text)); kind {
	case cloudconfig.Base64:
		// XML and JSON hold no binary data, so compressed user-data comes this way.
		data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
		if err != nil {
			return
		}
		layer.Data, layer.Origin.Lines = secret.FromBytes(data), nil
		r.note(v, CodeScript, "the base64 text is decoded: in it is %s", cloudconfig.Recognise(data).Describe())
	case cloudconfig.Unknown:
		var ok bool
		if layer, ok = r.fragment(v, layer); !ok {
			return
		}
	}
	r.m.UserData.Layers = append(r.m.UserData.Layers, layer)
	r.at(v.Range(), "userData.layers[%d]", len(r.m.UserData.Layers)-1)
}

// fragment gives a text without a header that of a cloud-config, if it is a mapping.
func (r *reader) fragment(v tree.Value, layer machine.Layer) (machine.Layer, bool) {
	text := header + layer.Data.Reveal()
	origin := layer.Origin
	if origin.Lines != nil {
		origin.Lines = slices.Insert(slices.Clone(origin.Lines), 0, origin.At(1, 1).Start)
	}
	doc, l := cloudconfig.Parse(origin, []byte(text))
	if doc == nil || l.HasErrors() {
		r.list = append(r.list, l...)
		if !l.HasErrors() {
			r.fail(v, CodeScript, scriptRemedy, "this is neither a cloud-config nor anything else that cloud-init knows")
		}
		return layer, false
	}
	if len(doc.Keys()) == 0 && !doc.IsEmpty() {
		r.fail(v, CodeScript, scriptRemedy, "this is neither a cloud-config nor anything else that cloud-init knows")
		return layer, false
	}
	layer.Data, layer.Origin = secret.New(text), origin
	return layer, true
}

const scriptRemedy = "write YAML with keys of cloud-init, or begin a script with #! and its interpreter"

// files reads the files of the deprecated form. Content that is a cloud-config is what it became in 3.4, a custom script: an
// engine passes over the path then.
func (r *reader) files(old legacy) {
	taken := map[string]bool{}
	for _, v := range old.files {
		if !r.isMap(v) {
			continue
		}
		r.only(v, "content", "name", "type")
		content, kind := v.Get("content"), r.word(v.Get("type"), "plaintext", "plain", "text", "base64")
		text := secret.New(r.verbatim(content))
		if kind == "base64" {
			text = secret.FromBytes(content.Base64(&r.list))
		}
		if r.kind == CloudInit && isCloudConfig(text.Reveal()) {
			layer := machine.Layer{Name: "file " + r.text(v.Get("name")), Data: text, Origin: content.Origin(fmt.Sprintf("content of file %s", r.text(v.Get("name"))))}
			if kind == "base64" {
				layer.Origin.Lines = nil
			}
			r.note(v.Get("name"), CodeFile, "the content is a cloud-config, so it is carried out and no such file is written, as by every engine since 3.4")
			r.userData(content, layer)
			continue
		}
		name := v.Get("name")
		clean := r.text(name)
		if clean == "" || !path.IsAbs(clean) || path.Clean(clean) != clean || clean == "/" {
			at := name
			if !name.Exists() {
				at = v
			}
			r.fail(at, CodeFile, "write the path with a slash at its beginning", "the name of a file is an absolute path without . and ..")
			continue
		}
		i := len(r.m.Files)
		if taken[clean] {
			r.fail(name, CodeTwice, "keep one of them", "two files have the same path")
			continue
		}
		taken[clean] = true
		r.m.Files = append(r.m.Files, machine.File{Path: clean, Content: text})
		r.at(v.Range(), "files[%d]", i)
		r.at(name.Range(), "files[%d].path", i)
		r.at(content.Range(), "files[%d].content", i)
	}
}

// isCloudConfig reports whether a text is a cloud-config: it says so, or is a mapping of which cloud-init knows every key.
// Other files are YAML as well, such as those of netplan.
func isCloudConfig(text string) bool {
	switch cloudconfig.Recognise([]byte(text)) {
	case cloudconfig.CloudConfig:
		return true
	case cloudconfig.Unknown:
	default:
		return false
	}
	doc, l := cloudconfig.Parse(diag.Origin{}, []byte(header+text))
	if doc == nil || l.HasErrors() || len(doc.Keys()) == 0 {
		return false
	}
	return !slices.ContainsFunc(lint.Document(doc, lint.Guest{}), func(d diag.Diagnostic) bool { return d.Code == lint.CodeUnknownKey })
}
