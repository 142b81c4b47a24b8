package cloudconfig

import (
	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed/diag"
)

// MergeVirtlet merges over into base as Virtlet does (its pkg/utils/merge.go): mappings are united at every depth,
// lists are appended, of two scalars the later wins, and a null deletes the key. Values of different types don't mix:
// the later one wins, which is reported as a warning, because data of the earlier one is lost.
//
// Neither document is changed. The result belongs to no file.
func MergeVirtlet(base, over *Document) (*Document, diag.List) {
	var l diag.List
	b, err := base.copyRoot()
	if err == nil {
		var o *yaml.Node
		if o, err = over.copyRoot(); err == nil {
			v := virtletMerge{over: over, list: &l}
			b = v.merge(b, o, "")
		}
	}
	if err != nil {
		l.Errorf(CodeMerge, over.origin.Whole, "", "the documents cannot be merged: %v", err)
		return base, l
	}
	return FromNode(b), l
}

type virtletMerge struct {
	over *Document
	list *diag.List
}

// virtletType folds the types that one JSON type stands for: Virtlet decodes YAML through JSON.
func virtletType(n *yaml.Node) Type {
	switch t := TypeOf(n); t {
	case Float:
		return Int
	case Time, Binary:
		return String
	default:
		return t
	}
}

func (v *virtletMerge) merge(base, over *yaml.Node, path string) *yaml.Node {
	bt, ot := virtletType(base), virtletType(over)
	switch {
	case bt == Null:
		return over
	case bt != ot:
		if ot != Null {
			v.list.Add(diag.Diagnostic{Code: CodeClash, Severity: diag.Warning,
				Range: v.over.origin.At(over.Line, over.Column), Field: path,
				Summary: "a " + ot.String() + " replaces a " + bt.String() + " of an earlier layer",
				Remedy:  "give both layers a value of the same type"})
		}
		return over
	case bt == List:
		base.Content = append(base.Content, over.Content...)
		base.Style &^= yaml.FlowStyle
		return base
	case bt != Map:
		return over
	}
	base.Style &^= yaml.FlowStyle
	at := make(map[string]int, len(base.Content)/2)
	for i := 0; i+1 < len(base.Content); i += 2 {
		at[identity(base.Content[i])] = i
	}
	for i := 0; i+1 < len(over.Content); i += 2 {
		k, value := over.Content[i], over.Content[i+1]
		j, ok := at[identity(k)]
		switch {
		case !ok:
			base.Content = append(base.Content, k, value)
		case TypeOf(value) == Null:
			base.Content[j], base.Content[j+1] = nil, nil
		default:
			sub := k.Value
			if path != "" {
				sub = path + "." + k.Value
			}
			base.Content[j+1] = v.merge(base.Content[j+1], value, sub)
		}
	}
	base.Content = compact(base.Content)
	return base
}
