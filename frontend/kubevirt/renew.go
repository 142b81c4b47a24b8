package kubevirt

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/cloudconfig"
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
	kind := vmKinds[0]
	if !doc.At("spec", "template").Exists() {
		kind = instanceKinds[0]
	}
	set(root, "kind", kind)
	spec := member(root, "spec")
	if template := member(spec, "template"); template != nil {
		spec = member(template, "spec")
	}
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
	}
	text, err := cloudconfig.EncodeNode(root)
	if err != nil {
		w.list.Errorf(CodeWrite, w.m.Places.Find(""), "", "the machine cannot be written: %v", err)
		return nil, w.list
	}
	return []byte(strings.TrimPrefix(string(text), "---\n")), w.list
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
