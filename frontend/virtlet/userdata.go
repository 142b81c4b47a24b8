package virtlet

import (
	"encoding/base64"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/cloudconfig"
	"github.com/vmseed/vmseed/format/kubeobject"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/frontend/internal/kubedoc"
	"github.com/vmseed/vmseed/internal/bounded"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// mountScriptMark stands in a script for the commands that link and mount the disks.
const mountScriptMark = "@virtlet-mount-script@"

// metaData makes a layer of the meta-data annotation. Its keys replace generated ones whole.
func (r *reader) metaData() {
	a := r.notes[metaData]
	if strings.TrimSpace(a.text) == "" {
		return
	}
	docs, found := tree.ParseYAML("", []byte(a.text), bounded.Limits{})
	if len(docs) > 1 {
		docs[1].Errorf(&found, CodeNotMapping, "", "%s holds more than one document", a.name)
	}
	if len(docs) > 0 && docs[0].Kind() != tree.Map {
		docs[0].Errorf(&found, CodeNotMapping, "write keys and values", "%s should hold a mapping, not %s", a.name, docs[0].Kind())
	}
	*r.list = append(*r.list, a.origin().Carry(found)...)
	r.m.MetaData = []machine.Layer{{Name: "annotation " + a.name, Data: secret.New(a.text), Origin: a.origin()}}
	r.at(a.value.Range(), "metaData[0]")
}

// userData makes the layers of user-data: each key of the source object, then the annotation on top. A script takes the
// place of them all, but not of what the pod mounts: that goes along as a part of its own.
func (r *reader) userData() {
	ud := &r.m.UserData
	ud.MountScripts = true
	var object *kubeobject.Object
	if from := r.notes[userDataSource]; from.text != "" {
		if o, _, ok := r.source(from, false); ok {
			object = &o
		}
	}
	if script, ok := r.script(object); ok {
		ud.Layers, ud.MountScriptMark = []machine.Layer{script}, mountScriptMark
		return
	}
	if object != nil {
		for _, item := range object.Data {
			if layer, ok := r.sourceLayer(item); ok {
				r.at(item.Origin.Whole, "userData.layers[%d]", len(ud.Layers))
				ud.Layers = append(ud.Layers, layer)
			}
		}
	}
	inline := r.notes[userData]
	if strings.TrimSpace(inline.text) == "" {
		if inline.exists() && r.overwrite && object != nil {
			inline.value.Warnf(r.list, CodeReplaced, "remove the annotation", "%s is empty, so it replaces nothing", userData)
		}
		return
	}
	_, found := cloudconfig.Parse(inline.origin(), []byte(inline.text))
	for i := range found {
		if found[i].Code == cloudconfig.CodeKind {
			found[i].Remedy = "put a script into " + userDataScript
		}
	}
	*r.list = append(*r.list, found...)
	layer := machine.Layer{Name: "annotation " + userData, Data: secret.New(inline.text), Merge: machine.MergeVirtlet, Origin: inline.origin()}
	if r.overwrite {
		layer = replacement(layer)
		if object != nil {
			r.notes[userDataSource].value.Warnf(r.list, CodeReplaced, "remove one of the two",
				"%s is %q, so %s takes the place of this object", userDataOverwrite, "true", userData)
		}
	}
	r.at(inline.value.Range(), "userData.layers[%d]", len(ud.Layers))
	ud.Layers = append(ud.Layers, layer)
}

// replacement makes a layer replace those before it. A document that stands alone needs cloud-init's first line.
func replacement(layer machine.Layer) machine.Layer {
	layer.Merge = machine.MergeReplace
	text := layer.Data.Reveal()
	if strings.HasPrefix(text, cloudconfig.Header) {
		return layer
	}
	layer.Data = secret.New(cloudconfig.Header + "\n" + text)
	if layer.Origin.Lines != nil {
		layer.Origin.Lines = slices.Concat([]diag.Pos{layer.Origin.Whole.Start}, layer.Origin.Lines)
	}
	return layer
}

// script returns the text that is all of the user-data: the named key of the source object, or the script annotation.
func (r *reader) script(object *kubeobject.Object) (machine.Layer, bool) {
	inline, key := r.notes[userDataScript], r.notes[sourceKey]
	var layer machine.Layer
	place := inline.value.Range()
	switch {
	case key.exists():
		r.encoding()
		item, ok := r.sourceItem(object)
		if !ok {
			return layer, false
		}
		layer = machine.Layer{Name: item.Origin.What, Data: item.Value, Merge: machine.MergeReplace, Origin: item.Origin}
		place = item.Origin.Whole
		if inline.text != "" {
			inline.value.Warnf(r.list, CodeReplaced, "remove one of the two", "%s takes the place of this script", sourceKey)
		}
		others := slices.DeleteFunc(kubedoc.Keys(*object), func(k string) bool { return k == key.text })
		if len(others) > 0 {
			r.notes[userDataSource].value.Warnf(r.list, CodeReplaced, "", "%s names one key of %s, so these are not used: %s",
				sourceKey, object.Ref, strings.Join(others, ", "))
		}
	case inline.text != "":
		r.encoding()
		layer = machine.Layer{Name: "annotation " + inline.name, Data: secret.New(inline.text), Merge: machine.MergeReplace, Origin: inline.origin()}
		if object != nil {
			r.notes[userDataSource].value.Warnf(r.list, CodeReplaced, "remove one of the two", "%s takes the place of this object", userDataScript)
		}
	default:
		r.encoding()
		return layer, false
	}
	if a := r.notes[userData]; strings.TrimSpace(a.text) != "" {
		a.value.Warnf(r.list, CodeReplaced, "remove one of the two", "%s takes the place of this user-data", layer.Name)
	}
	r.at(place, "userData.layers[0]")
	r.at(place, "userData.raw")
	return layer, true
}

// encoding returns how the value under the source key is written, and reports an encoding that does not exist or that
// nothing uses.
func (r *reader) encoding() string {
	a := r.notes[sourceEncoding]
	switch {
	case !a.exists():
		return "plain"
	case a.text != "plain" && a.text != "base64":
		a.value.Errorf(r.list, CodeAnnotationValue, "", "%s should be plain or base64", a.name)
		return "plain"
	case !r.notes[sourceKey].exists():
		a.value.Warnf(r.list, CodeAnnotationValue, "name the key with "+sourceKey, "%s has no effect without %s", a.name, sourceKey)
	}
	return a.text
}

// sourceItem returns the value under the source key, decoded.
func (r *reader) sourceItem(object *kubeobject.Object) (kubeobject.Item, bool) {
	key := r.notes[sourceKey]
	switch {
	case key.text == "":
		key.value.Errorf(r.list, CodeAnnotationValue, "name a key, or remove the annotation", "%s is empty", sourceKey)
		return kubeobject.Item{}, false
	case object == nil:
		if r.notes[userDataSource].text == "" {
			key.value.Errorf(r.list, CodeAnnotationValue, "name the object with "+userDataSource, "%s has no object to look into", sourceKey)
		}
		return kubeobject.Item{}, false
	}
	item, ok := object.Item(key.text)
	if !ok {
		r.missingKey(key.value, *object, key.text, false)
		return item, false
	}
	if r.notes[sourceEncoding].text != "base64" {
		return item, true
	}
	text, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(item.Value.Reveal()), ""))
	if err != nil {
		r.list.Add(diag.Diagnostic{Code: tree.CodeNotBase64, Severity: diag.Error, Range: item.Origin.Whole,
			Summary: item.Origin.What + " is not base64", Remedy: "encode it, or set " + sourceEncoding + " to plain"}.
			With(key.value.Range(), "the annotation is here"))
		return item, false
	}
	item.Value, item.Origin.Lines = secret.FromBytes(text), nil
	return item, true
}

// sourceLayer makes a document of a key of the source object: the key, and below it the value, which is YAML. The
// value's own text stays as it is, moved to the right.
func (r *reader) sourceLayer(item kubeobject.Item) (machine.Layer, bool) {
	text := item.Value.Reveal()
	wrapped, origin := wrap(item.Key, text, item.Origin)
	alone, found := tree.ParseYAML("", []byte(text), bounded.Limits{})
	if found.HasErrors() && cloudconfig.TemplateMark(text) == "" {
		*r.list = append(*r.list, item.Origin.Carry(found)...)
		return machine.Layer{}, false
	}
	if _, found := cloudconfig.Parse(origin, []byte(wrapped)); found.HasErrors() && len(alone) < 2 {
		*r.list = append(*r.list, found...)
		return machine.Layer{}, false
	}
	inside, _ := tree.ParseYAML("", []byte(wrapped), bounded.Limits{})
	if len(alone) > 1 || len(inside) != 1 || !sameShape(first(alone), inside[0].Get(item.Key)) {
		r.list.Errorf(CodeSourceValue, item.Origin.Whole, "write one YAML document without directives",
			"%s cannot stand below its key in a cloud-config", item.Origin.What)
		return machine.Layer{}, false
	}
	if strings.HasPrefix(text, cloudconfig.Header) || strings.HasPrefix(text, "#!") {
		r.list.Warnf(CodeSourceValue, item.Origin.Whole, "set "+sourceKey+" to "+item.Key,
			"%s looks like a whole user-data document, but is read as the value of the key %q", item.Origin.What, item.Key)
	}
	return machine.Layer{Name: item.Origin.What, Data: secret.New(wrapped), Merge: machine.MergeVirtlet, Origin: origin}, true
}

func first(list []tree.Value) tree.Value {
	if len(list) == 0 {
		return tree.Value{}
	}
	return list[0]
}

// plainKey matches keys that mean the same to all YAML readers without quotes: words with an underscore, or of more
// letters than any spelling of a boolean or null has.
var plainKey = regexp.MustCompile(`^[a-z]+(_[a-z]+)+$|^[a-z]{6,}$`)

// wrap puts a YAML text below a key. The origin maps its lines to where they stood.
func wrap(key, text string, origin diag.Origin) (string, diag.Origin) {
	const indent = "  "
	lines := strings.Split(text, "\n")
	if !plainKey.MatchString(key) {
		key = strconv.Quote(key)
	}
	out := []string{key + ":"}
	for i, line := range lines {
		switch {
		case line == "":
		case i == 0 && strings.TrimRight(line, " \t\r") == "---":
			line = "" // the mark of a document has no place inside one
		default:
			line = indent + line
		}
		out = append(out, line)
	}
	shifted := origin
	if shifted.Lines != nil {
		shifted.Lines = []diag.Pos{origin.Whole.Start}
		for _, p := range origin.Lines {
			shifted.Lines = append(shifted.Lines, diag.Pos{Line: p.Line, Column: p.Column - len(indent)})
		}
	}
	return strings.Join(out, "\n"), shifted
}

// sameShape compares two trees. An absent value equals a null.
func sameShape(a, b tree.Value) bool {
	ka, kb := max(a.Kind(), tree.Null), max(b.Kind(), tree.Null)
	if ka != kb {
		return false
	}
	var unheard diag.List
	switch ka {
	case tree.Scalar:
		return a.Loose(&unheard) == b.Loose(&unheard)
	case tree.List:
		x, y := a.Items(), b.Items()
		for i := range x {
			if len(x) != len(y) || !sameShape(x[i], y[i]) {
				return false
			}
		}
		return len(x) == len(y)
	case tree.Map:
		x, y := a.Entries(), b.Entries()
		for i := range x {
			if len(x) != len(y) || x[i].Key != y[i].Key || !sameShape(x[i].Value, y[i].Value) {
				return false
			}
		}
		return len(x) == len(y)
	}
	return true
}

// injected makes files of the keys of the object that VirtletFilesFromDataSource names: for a key k the path stands
// under k_path and the encoding, base64 by default, under k_encoding.
func (r *reader) injected() {
	from := r.notes[filesSource]
	if !from.exists() {
		return
	}
	o, _, ok := r.source(from, false)
	if !ok {
		return
	}
	const pathSuffix, encodingSuffix = "_path", "_encoding"
	for _, item := range o.Data {
		base := strings.TrimSuffix(strings.TrimSuffix(item.Key, pathSuffix), encodingSuffix)
		if base != item.Key {
			if _, ok := o.Item(base); !ok {
				r.list.Warnf(CodeMissingKey, item.Origin.Whole, "", "%s has no effect: there is no key %q", item.Origin.What, base)
			}
			continue
		}
		r.inject(from, o, item, pathSuffix, encodingSuffix)
	}
}

func (r *reader) inject(from annotation, o kubeobject.Object, item kubeobject.Item, pathSuffix, encodingSuffix string) {
	target, ok := o.Item(item.Key + pathSuffix)
	if !ok {
		r.list.Errorf(CodeMissingKey, item.Origin.Whole, "add the key "+item.Key+pathSuffix, "%s has no path to be written to", item.Origin.What)
		return
	}
	encoding := "base64"
	if e, ok := o.Item(item.Key + encodingSuffix); ok {
		if encoding = strings.TrimSpace(e.Value.Reveal()); encoding != "plain" && encoding != "base64" {
			r.list.Errorf(CodeAnnotationValue, e.Origin.Whole, "", "%s should be plain or base64", e.Origin.What)
			return
		}
	}
	content := item.Value
	if encoding == "base64" {
		text, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(content.Reveal()), ""))
		if err != nil {
			r.list.Errorf(tree.CodeNotBase64, item.Origin.Whole, "encode it, or put \"plain\" under "+item.Key+encodingSuffix,
				"%s is not base64", item.Origin.What)
			return
		}
		content = secret.FromBytes(text)
	}
	path, ok := cleanPath(target.Value.Reveal())
	if !ok {
		r.list.Errorf(CodeMount, target.Origin.Whole, "", "%s should be an absolute path without ..", target.Origin.What)
		return
	}
	r.addFile(machine.File{Path: path, Content: content}, target.Origin.Whole, item.Origin.Whole)
	r.note(from.value, CodeInjected, "%s is written by the guest at its first boot, not into the disk before", path)
}
