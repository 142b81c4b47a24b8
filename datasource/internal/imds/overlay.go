package imds

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/vmseed/vmseed/datasource/internal/metadata"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/cloudconfig"
	"github.com/vmseed/vmseed/machine"
)

var (
	// tagName is what EC2 allows the names of tags that a guest can read.
	tagName = regexp.MustCompile(`^[A-Za-z0-9+\-=.,_:@]+$`)
	// keyNumber begins the line of a listing that cloud-init reads as one of public keys: whatever Python's int takes stands
	// before the first equals sign.
	keyNumber = regexp.MustCompile(`^[+-]?\p{Nd}+(_\p{Nd}+)*\s*=`)
)

// tags puts the instance tags into the tree.
func (g Guest) tags(t leaves) (l diag.List) {
	tags := g.Machine.Identity.Tags
	for _, name := range slices.Sorted(maps.Keys(tags)) {
		place := g.Machine.Places.Find("identity.tags")
		if !tagName.MatchString(name) || !pathName(name) || name == "_index" {
			l.Warnf(CodeKey, place, "give the tag another name", "the guest is not told of the tag %q: its name has no path in EC2's service", name)
			continue
		}
		t["tags/instance/"+name] = tags[name]
		heard(&l, place, fmt.Sprintf("the tag %q", name), tags[name])
	}
	return l
}

// odd says when a reader takes what the machine is called for something else.
func (g Guest) odd(t leaves) (l diag.List) {
	for _, x := range [][2]string{{"instance-id", "identity.instanceID"}, {"local-hostname", "identity.hostname"}, {"instance-type", "identity.instanceType"},
		{"placement/region", "identity.region"}, {"placement/availability-zone", "identity.availabilityZone"}} {
		heard(&l, g.Machine.Places.Find(x[1]), "the "+x[0], t[x[0]])
	}
	return l
}

// heard says when a reader takes a text for something else.
func heard(l *diag.List, at diag.Range, what, text string) {
	trimmed := strings.TrimSpace(text)
	braces := strings.HasPrefix(trimmed, "{") && strings.HasSuffix(trimmed, "}")
	switch {
	case braces && json.Valid([]byte(trimmed)):
		l.Notef(CodeValue, at, "", "cloud-init reads %s as a mapping, because it is JSON in braces", what)
	case braces:
		l.Warnf(CodeValue, at, "leave the braces out", "cloud-init takes %s for JSON because of its braces, and warns that it is none", what)
	case strings.Contains(text, "\n"):
		l.Warnf(CodeValue, at, "leave the line break out", "cloud-init reads %s as a list, because it has a line break", what)
	}
}

// overlay lays the author's meta-data over the tree. It returns the public keys that the author states, if so.
func (t leaves) overlay(m machine.Machine, l *diag.List) (keys []string, stated bool) {
	over := metadata.Object{}
	named, problems := over.Overlay(m.MetaData)
	*l = append(*l, problems...)
	for _, key := range slices.Sorted(maps.Keys(named)) {
		o := overlaying{leaves: t, at: place(m.MetaData, key), list: l}
		switch key {
		case "instance-id", "local-hostname", "hostname":
			// The data source has them already.
		case "public-keys":
			keys, stated = metadata.KeyList(over[key]), true
		default:
			o.lay(key, key, over[key])
		}
	}
	t.directories(m.MetaData, l)
	return keys, stated
}

// directories says where the author's meta-data leave no directory in which cloud-init looks without asking whether it is one.
func (t leaves) directories(layers []machine.Layer, l *diag.List) {
	const remedy = "make it a mapping with the keys that EC2 has"
	if _, leaf := t["placement"]; leaf {
		l.Warnf(CodeValue, place(layers, "placement"), remedy, "cloud-init fails, because the meta-data \"placement\" is no mapping")
	}
	network, interfaces := false, false
	for path := range t {
		network = network || strings.HasPrefix(path, "network/")
		interfaces = interfaces || strings.HasPrefix(path, macs)
	}
	if network && !interfaces {
		l.Warnf(CodeValue, place(layers, "network"), remedy, "cloud-init fails, because the meta-data \"network\" has no mapping interfaces with a mapping macs")
	}
}

// place finds where the last of the layers has a key.
func place(layers []machine.Layer, key string) (at diag.Range) {
	for _, x := range layers {
		if doc, _ := cloudconfig.Parse(x.Origin, []byte(x.Data.Reveal())); doc != nil {
			if n := doc.Get(key); n != nil {
				at = doc.Range(n)
			}
		}
	}
	return at
}

// overlaying lays one key of meta-data.
type overlaying struct {
	leaves
	at   diag.Range
	list *diag.List
}

// maxName is the longest name, in bytes: that of file systems, to which a tree may be written.
const maxName = 255

// pathName reports whether a name can be a part of a path: readers find it in the listing of its directory, one name on
// each line, and ask for it.
func pathName(name string) bool {
	return name != "" && name != "." && name != ".." && len(name) <= maxName && utf8.ValidString(name) && strings.TrimSpace(name) == name &&
		!keyNumber.MatchString(name) && !strings.ContainsFunc(name, func(r rune) bool {
		return r == '/' || r == '\\' || unicode.IsControl(r) || r == '\u2028' || r == '\u2029'
	})
}

// lay puts a value at a path. name is the last part of the path.
func (o overlaying) lay(path, name string, v any) {
	if !pathName(name) {
		o.list.Warnf(CodeKey, o.at, "give it another name", "the guest is not told of the meta-data %q: the name has no path in EC2's service", name)
		return
	}
	switch v := v.(type) {
	case nil:
		o.remove(path)
	case map[string]any:
		if len(v) == 0 {
			o.list.Warnf(CodeValue, o.at, "leave it out", "the guest is not told of the meta-data %q, because there is nothing in it", path)
			return
		}
		for _, below := range slices.Sorted(maps.Keys(v)) {
			o.lay(path+"/"+below, below, v[below])
		}
	case []any:
		o.lines(path, v)
	default:
		value := fmt.Sprint(v)
		heard(o.list, o.at, fmt.Sprintf("the meta-data %q", path), value)
		o.replace(path, value)
	}
}

// lines puts a list of plain values, one on each line. A line break behind the only one makes cloud-init see a list.
func (o overlaying) lines(path string, items []any) {
	var lines []string
	for _, item := range items {
		switch item.(type) {
		case map[string]any, []any, nil:
			out, err := json.Marshal(items)
			if err != nil { // what was read from JSON or YAML has a form
				return
			}
			o.list.Warnf(CodeValue, o.at, "make it a list of plain values", "the guest takes the meta-data %q for a text, which is JSON", path)
			o.replace(path, string(out))
			return
		}
		line := fmt.Sprint(item)
		heard(o.list, o.at, fmt.Sprintf("an item of the meta-data %q", path), line)
		lines = append(lines, line)
	}
	switch len(lines) {
	case 0:
		o.list.Warnf(CodeValue, o.at, "leave it out", "the guest is not told of the meta-data %q, because there is nothing in it", path)
	case 1:
		o.replace(path, lines[0]+"\n")
	default:
		o.replace(path, strings.Join(lines, "\n"))
	}
}
