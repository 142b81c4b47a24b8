package kubevirt

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/cloudconfig"
	"github.com/vmseed/vmseed/format/ignconfig"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/internal/bounded"
)

// renew writes a document of an older version as v1. Whatever the versions have in common stays as its author wrote it.
func (w *writer) renew(doc tree.Value) ([]byte, diag.List) {
	root, err := plainCopy(doc.Node())
	if err != nil {
		w.list.Errorf(CodeWrite, w.m.Places.Find(""), "", "the machine cannot be written: %v", err)
		return nil, w.list
	}
	set(root, "apiVersion", group+"v1")
	before, err := cloudconfig.EncodeNode(root)
	if err != nil {
		w.list.Errorf(CodeWrite, w.m.Places.Find(""), "", "the machine cannot be written: %v", err)
		return nil, w.list
	}
	kind := vmKinds[0]
	if !doc.At("spec", "template").Exists() {
		kind = instanceKinds[0]
	}
	set(root, "kind", kind)
	spec, metadata := member(root, "spec"), member(root, "metadata")
	if template := member(spec, "template"); template != nil {
		spec, metadata = member(template, "spec"), member(template, "metadata")
	}
	w.translate(member(member(metadata, "annotations"), ignitionAnnotation), "ignition[0]")
	if strategy := member(member(root, "spec"), "running"); strategy != nil && member(member(root, "spec"), "runStrategy") == nil {
		renamed(member(root, "spec"), "running", "runStrategy")
		strategy.Tag, strategy.Style = "!!str", 0
		strategy.Value = map[bool]string{true: "Always", false: "Halted"}[w.m.Running != nil && *w.m.Running]
	}

	for _, d := range items(member(member(member(spec, "domain"), "devices"), "disks")) {
		volume, name := member(d, "volumeName"), member(d, "name")
		if volume == nil {
			continue
		}
		if name != nil && name.Value != volume.Value {
			w.list.Notef(CodeWrite, w.m.Places.Find(""), "", "the disk %q is called %q, as its volume", name.Value, volume.Value)
		}
		removed(d, "volumeName")
		set(d, "name", volume.Value)
	}
	for _, v := range items(member(spec, "volumes")) {
		renamed(v, "registryDisk", "containerDisk")
		for _, kind := range []string{noCloud, configDrive} {
			w.translate(member(member(v, kind), userData.plain), "userData.layers[0]")
		}
	}
	text, err := cloudconfig.EncodeNode(root)
	if err != nil {
		w.list.Errorf(CodeWrite, w.m.Places.Find(""), "", "the machine cannot be written: %v", err)
		return nil, w.list
	}
	if slices.Equal(text, before) {
		if kept, ok := w.sameBytes(doc); ok {
			return kept, w.list
		}
	}
	return []byte(strings.TrimPrefix(string(text), "---\n")), w.list
}

// sameBytes is the file of a definition in which nothing but the version is another, if it holds that definition alone.
func (w *writer) sameBytes(doc tree.Value) ([]byte, bool) {
	text := w.m.Document.Text.Reveal()
	docs, l := tree.Parse("", []byte(text), bounded.Limits{})
	version := doc.Get("apiVersion").Node()
	if l.HasErrors() || len(docs) != 1 || peek(docs[0].Get("kind")) != peek(doc.Get("kind")) || version == nil || version.Line < 1 || version.Column < 1 {
		return nil, false
	}
	lines := strings.SplitAfter(text, "\n")
	if version.Line > len(lines) || version.Column > len(lines[version.Line-1]) {
		return nil, false
	}
	head, rest := lines[version.Line-1][:version.Column-1], lines[version.Line-1][version.Column-1:]
	if quote := rest[:1]; quote == `"` || quote == "'" {
		head, rest = head+quote, rest[1:]
	}
	tail, ok := strings.CutPrefix(rest, version.Value)
	if !ok {
		return nil, false
	}
	lines[version.Line-1] = head + group + "v1" + tail
	out := strings.TrimPrefix(strings.Join(lines, ""), "---\n")
	if !strings.HasSuffix(out, "\n") {
		out += "\n"
	}
	again, l := tree.Parse("", []byte(out), bounded.Limits{})
	return []byte(out), !l.HasErrors() && len(again) == 1 && peek(again[0].Get("apiVersion")) == group+"v1"
}

// translate writes a Butane document as the Ignition config that the guest understands.
func (w *writer) translate(text *yaml.Node, at string) {
	if text == nil || !ignconfig.IsButane([]byte(text.Value)) {
		return
	}
	config, l := ignconfig.Read(diag.Origin{Whole: w.m.Places.Find(at)}, []byte(text.Value))
	w.list = append(w.list, l...)
	if !l.HasErrors() {
		text.Tag, text.Style, text.Value = "!!str", 0, string(config.Text())
		w.list.Notef(CodeWrite, w.m.Places.Find(at), "", "this is Butane, which no guest reads; it is written as the Ignition config that it stands for")
	}
}

// plainCopy returns a copy of a node in which aliases and merge keys are written out, so that every member stands where
// it is looked for.
func plainCopy(n *yaml.Node) (*yaml.Node, error) {
	text, err := cloudconfig.EncodeNode(n)
	if err != nil {
		return nil, err
	}
	docs, l := tree.Parse("", text, bounded.Limits{})
	if l.HasErrors() || len(docs) != 1 {
		return nil, fmt.Errorf("it is not read back: %w", l.Err())
	}
	return docs[0].Node(), nil
}

// member returns the value of a key of a mapping, or nil.
func member(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

func items(n *yaml.Node) []*yaml.Node {
	if n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	return n.Content
}

// set gives a key a text, and adds the key if it is not there.
func set(n *yaml.Node, key, value string) {
	if v := member(n, key); v != nil {
		v.Kind, v.Tag, v.Value, v.Content, v.Alias = yaml.ScalarNode, "!!str", value, nil, nil
		return
	}
	n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value})
}

func renamed(n *yaml.Node, from, to string) {
	if n == nil || n.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == from {
			n.Content[i].Value = to
		}
	}
}

func removed(n *yaml.Node, key string) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			n.Content = append(n.Content[:i:i], n.Content[i+2:]...)
			return
		}
	}
}
