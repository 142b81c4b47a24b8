package virtlet

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/kubeobject"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// entry is a file of a volume, as a container would see it.
type entry struct {
	path    string // relative and clean
	content secret.Text
	mode    machine.Mode
	place   diag.Range // of the content
	modeAt  diag.Range
}

// defaultMode is that of files of Secrets, ConfigMaps and projected volumes.
const defaultMode machine.Mode = 0o644

// modeForm matches a whole number as Kubernetes' YAML readers take it.
var modeForm = regexp.MustCompile(`^(0o?[0-7]+|0|[1-9][0-9]*)$`)

// mode reads permissions. A number with a leading zero is octal in YAML, any other decimal.
func (r *reader) mode(v tree.Value, otherwise machine.Mode) machine.Mode {
	if !v.Want(r.list, tree.Scalar) {
		return otherwise
	}
	text := v.Loose(r.list)
	digits, base := text, 10
	if len(text) > 1 && text[0] == '0' {
		digits, base = strings.TrimPrefix(text[1:], "o"), 8
	}
	n, err := strconv.ParseUint(digits, base, 32)
	switch {
	case v.Node().ShortTag() == "!!str" || !modeForm.MatchString(text) || err != nil || n > 0o777:
		v.Errorf(r.list, CodeMode, "write the mode as an octal number with a leading zero and without quotes, such as 0400",
			"a number from 0 to 0777 should stand here")
		return otherwise
	case base == 10 && n >= 100 && looksOctal(text):
		v.Warnf(r.list, CodeMode, "write 0"+text+" if that is meant", "the decimal number %s is the mode %04o", text, n)
	}
	if n == 0 {
		return machine.NoAccess
	}
	return machine.Mode(n)
}

// looksOctal reports whether a decimal number is spelt as permissions usually are. JSON has no octal numbers, so that 256
// and 420 are common there.
func looksOctal(text string) bool {
	return !strings.ContainsAny(text, "89") && text != "256" && text != "420"
}

// fileVolumes makes the files of the kinds of volumes that hold some.
var fileVolumes = map[string]func(*reader, tree.Value) []entry{
	"secret": func(r *reader, v tree.Value) []entry {
		v.Only(r.list, "secretName", "items", "defaultMode", "optional")
		return r.objectFiles(v, "secretName", kubeobject.Secret, r.defaultMode(v))
	},
	"configMap": func(r *reader, v tree.Value) []entry {
		v.Only(r.list, "name", "items", "defaultMode", "optional")
		return r.objectFiles(v, "name", kubeobject.ConfigMap, r.defaultMode(v))
	},
	"downwardAPI": func(r *reader, v tree.Value) []entry {
		v.Only(r.list, "items", "defaultMode")
		return r.downwardFiles(v, r.defaultMode(v))
	},
	"projected": (*reader).projectedFiles,
}

// modes is the mode of files that state none, with its place.
type modes struct {
	mode  machine.Mode
	place diag.Range
}

func (r *reader) defaultMode(v tree.Value) modes {
	m := v.Get("defaultMode")
	return modes{r.mode(m, defaultMode), m.Range()}
}

// objectFiles returns the files of a Secret or ConfigMap: one for each key, or for each of the items.
func (r *reader) objectFiles(v tree.Value, nameField, kind string, otherwise modes) []entry {
	optional := v.Get("optional").Bool(r.list)
	items := v.Get("items")
	name := v.Get(nameField)
	o, ok := r.resolve(name, kind, name.Str(r.list), optional)
	if !ok {
		items.Consume()
		return nil
	}
	if !items.Want(r.list, tree.List) {
		var out []entry
		for _, it := range o.Data {
			out = append(out, entry{it.Key, it.Value, otherwise.mode, it.Origin.Whole, otherwise.place})
		}
		return out
	}
	var out []entry
	for _, item := range items.Items() {
		item.Want(r.list, tree.Map)
		item.Only(r.list, "key", "path", "mode")
		key := item.Get("key")
		target, good := r.itemPath(item)
		mode, modeAt := r.itemMode(item, otherwise)
		data, ok := o.Item(key.Str(r.list))
		if !ok {
			r.missingKey(key, o, key.Str(new(diag.List)), optional)
		} else if good {
			out = append(out, entry{target, data.Value, mode, data.Origin.Whole, modeAt})
		}
	}
	return r.distinct(items, out)
}

// itemPath returns where in the volume an item goes.
func (r *reader) itemPath(item tree.Value) (string, bool) {
	v := item.Get("path")
	text := v.Str(r.list)
	clean, ok := cleanPath("/" + text)
	if text == "" || !ok || strings.HasPrefix(text, "/") || strings.HasPrefix(text, "..") || clean == "/" {
		v.Errorf(r.list, CodeSubPath, "", "the path of an item is relative and has no ..")
		return "", false
	}
	return clean[1:], true
}

func (r *reader) itemMode(item tree.Value, otherwise modes) (machine.Mode, diag.Range) {
	v := item.Get("mode")
	if !v.Exists() {
		return otherwise.mode, otherwise.place
	}
	return r.mode(v, otherwise.mode), v.Range()
}

// distinct sorts files by path. Two with one path are an error.
func (r *reader) distinct(v tree.Value, list []entry) []entry {
	slices.SortStableFunc(list, func(a, b entry) int { return cmp.Compare(a.path, b.path) })
	for i := 1; i < len(list); i++ {
		if list[i].path == list[i-1].path {
			v.Errorf(r.list, CodeSamePath, "give each its own path", "the volume has two files of the path %q", list[i].path)
		}
	}
	return list
}

// downwardFiles returns files with fields of the pod.
func (r *reader) downwardFiles(v tree.Value, otherwise modes) []entry {
	items := v.Get("items")
	items.Want(r.list, tree.List)
	var out []entry
	for _, item := range items.Items() {
		item.Want(r.list, tree.Map)
		item.Only(r.list, "path", "mode", "fieldRef", "resourceFieldRef")
		target, good := r.itemPath(item)
		mode, modeAt := r.itemMode(item, otherwise)
		var text string
		var ok bool
		switch field, resource := item.Get("fieldRef"), item.Get("resourceFieldRef"); {
		case field.Exists() == resource.Exists():
			item.Errorf(r.list, CodeVolume, "", "either fieldRef or resourceFieldRef should stand here")
			item.Consume()
		case field.Exists():
			text, ok = r.fieldRef(field)
		default:
			text, ok = r.resourceFieldRef(resource)
		}
		if good && ok {
			out = append(out, entry{target, secret.New(text), mode, item.Range(), modeAt})
		}
	}
	return r.distinct(items, out)
}

// projectedFiles returns the files of several sources in one directory.
func (r *reader) projectedFiles(v tree.Value) []entry {
	v.Only(r.list, "sources", "defaultMode")
	otherwise := r.defaultMode(v)
	sources := v.Get("sources")
	sources.Want(r.list, tree.List)
	var out []entry
	for _, s := range sources.Items() {
		s.Want(r.list, tree.Map)
		for _, e := range s.Entries() {
			switch e.Key {
			case "secret", "configMap":
				kind := map[string]string{"secret": kubeobject.Secret, "configMap": kubeobject.ConfigMap}[e.Key]
				e.Value.Want(r.list, tree.Map)
				e.Value.Only(r.list, "name", "items", "optional")
				out = append(out, r.objectFiles(e.Value, "name", kind, otherwise)...)
			case "downwardAPI":
				e.Value.Want(r.list, tree.Map)
				e.Value.Only(r.list, "items")
				out = append(out, r.downwardFiles(e.Value, otherwise)...)
			case "serviceAccountToken", "clusterTrustBundle", "podCertificate":
				r.add(diag.Warning, CodeClusterOnly, e, "", "only a cluster can issue a %s; the file is left out", e.Key)
				e.Value.Consume()
			default:
				r.add(diag.Error, tree.CodeUnknownField, e, "", "there is no source %q of projected volumes", e.Key)
				e.Value.Consume()
			}
		}
	}
	return r.distinct(sources, out)
}

// mountFiles puts the files of a volume, or the part that subPath names, at a path of the guest. It reports whether the
// mount is one of a single file.
func (r *reader) mountFiles(m mount, files []entry) (out []placedFile, single bool) {
	for _, f := range files {
		rel := f.path
		if m.subPath != "" {
			below, ok := strings.CutPrefix(f.path, m.subPath+"/")
			switch {
			case f.path == m.subPath:
				rel, single = "", true
			case ok:
				rel = below
			default:
				continue
			}
		}
		file := machine.File{Path: path.Join(m.path, rel), Content: f.content, Mode: f.mode}
		out = append(out, placedFile{file, m.pathAt, f})
	}
	if out == nil && m.subPath != "" && files != nil {
		paths := make([]string, 0, len(files))
		for _, f := range files {
			paths = append(paths, f.path)
		}
		m.subPathAt.Errorf(r.list, CodeSubPath, tree.Suggest(m.subPath, paths), "the volume has no file or directory %q", m.subPath)
	}
	return out, single
}

// placedFile is a file of the guest with the entry that it comes from.
type placedFile struct {
	file   machine.File
	pathAt diag.Range
	from   entry
}

func (r *reader) addPlaced(list []placedFile) {
	for _, p := range list {
		r.addFile(p.file, p.pathAt, p.from.place)
		r.at(p.from.modeAt, "files[%d].mode", len(r.m.Files)-1)
	}
}
