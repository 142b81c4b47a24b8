package translate

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/cloudconfig"
	"github.com/vmseed/vmseed/machine"
)

// value is a node of the document with its path, which messages name.
type value struct {
	node *yaml.Node
	path string
}

func (v value) kind() cloudconfig.Type { return cloudconfig.TypeOf(v.node) }

// reader reads one document into a machine that holds nothing else.
type reader struct {
	doc *cloudconfig.Document
	m   machine.Machine
	// set remembers where the fields of m come from, where the members of its lists, and userPlaces where its users.
	set        map[string]value
	where      map[string][]value
	userPlaces map[string]value
	// places are those of the machine that the document is joined with.
	places machine.Places
	list   diag.List
	// aliases are the device_aliases.
	aliases map[string]string
	// unpacked counts the bytes of contents that were compressed.
	unpacked int
	// listed says that the document has a list of users, withDefault that the default user is among them.
	listed, withDefault bool
}

func (r *reader) say(code diag.Code, severity diag.Severity, v value, remedy, format string, args ...any) {
	r.list.Add(diag.Diagnostic{Code: code, Severity: severity, Range: r.doc.Range(v.node), Field: v.path,
		Summary: fmt.Sprintf(format, args...), Remedy: remedy})
}

// lost says that only cloud-init could carry out a key.
func (r *reader) lost(v value, remedy string) {
	r.say(CodeLost, diag.Warning, v, remedy, "the guest has no cloud-init, and nothing else does this")
}

func (r *reader) idle(v value) {
	r.say(CodeIdle, diag.Note, v, "", "the key is about cloud-init itself, which the guest does not have")
}

func (r *reader) wrong(v value, expected string) {
	r.say(CodeValue, diag.Warning, v, "write "+expected, "the value is of type %s, so it is left out", v.kind())
}

// apart says that something is done differently.
func (r *reader) apart(v value, format string, args ...any) {
	r.say(CodeApart, diag.Note, v, "", format, args...)
}

// keys are the handlers of a mapping's keys.
type keys map[string]func(v value)

// mapping hands each value of a mapping to the handler of its key. A key without one is lost, with the remedy; an empty remedy
// stands for mappings of which every key is known.
func (r *reader) mapping(v value, handlers keys, remedy string) {
	if v.kind() != cloudconfig.Map {
		if v.kind() != cloudconfig.Null {
			r.wrong(v, "a mapping")
		}
		return
	}
	for i := 0; i+1 < len(v.node.Content); i += 2 {
		k := v.node.Content[i]
		item := value{v.node.Content[i+1], strings.TrimPrefix(v.path+"."+k.Value, ".")}
		if h, ok := handlers[k.Value]; ok && k.Kind == yaml.ScalarNode {
			h(item)
			continue
		}
		if remedy == "" {
			r.say(CodeLost, diag.Warning, value{k, item.path}, "check the spelling", "cloud-init has no such key, and there is nothing to translate it to")
			continue
		}
		r.lost(value{k, item.path}, remedy)
	}
}

// items returns the members of a list.
func (r *reader) items(v value) []value {
	if v.kind() != cloudconfig.List {
		if v.kind() != cloudconfig.Null {
			r.wrong(v, "a list")
		}
		return nil
	}
	out := make([]value, len(v.node.Content))
	for i, n := range v.node.Content {
		out[i] = value{n, fmt.Sprintf("%s[%d]", v.path, i)}
	}
	return out
}

// text returns a scalar as Python's str() writes it where that is what cloud-init does: texts, numbers and dates.
func (r *reader) text(v value) (string, bool) {
	switch v.kind() {
	case cloudconfig.String:
		return v.node.Value, true
	case cloudconfig.Time, cloudconfig.Float:
		return v.node.Value, true
	case cloudconfig.Int:
		if n, ok := cloudconfig.Integer(v.node); ok {
			return n.String(), true
		}
	case cloudconfig.Null:
		return "", false
	}
	r.wrong(v, "a text")
	return "", false
}

// integer returns a whole number, which may be written as a text.
func (r *reader) integer(v value) (int, bool) {
	if n, ok := cloudconfig.Integer(v.node); ok && n.IsInt64() {
		return int(n.Int64()), true
	}
	var n int
	var rest string
	if v.kind() == cloudconfig.String {
		if got, _ := fmt.Sscanf(v.node.Value+" ", "%d%s", &n, &rest); got == 1 {
			return n, true
		}
	}
	if v.kind() != cloudconfig.Null {
		r.wrong(v, "a whole number")
	}
	return 0, false
}

// boolean returns a truth value as cloud-init's util.is_true and is_false understand it. ok is false for anything else.
func (r *reader) boolean(v value) (b, ok bool) {
	if b, ok := cloudconfig.Truth(v.node); ok {
		return b, true
	}
	if v.kind() == cloudconfig.String || v.kind() == cloudconfig.Int {
		switch strings.ToLower(strings.TrimSpace(v.node.Value)) {
		case "true", "1", "on", "yes":
			return true, true
		case "off", "0", "no", "false":
			return false, true
		}
	}
	if v.kind() != cloudconfig.Null {
		r.wrong(v, "true or false")
	}
	return false, false
}

// texts returns the members of a list of texts, or the one text that stands in its place.
func (r *reader) texts(v value) []string {
	if v.kind() == cloudconfig.String {
		return []string{v.node.Value}
	}
	var out []string
	for _, item := range r.items(v) {
		if s, ok := r.text(item); ok {
			out = append(out, s)
		}
	}
	return out
}

// words returns texts that may also be joined by commas, as the names of users and groups are.
func (r *reader) words(v value) []string {
	var out []string
	for _, s := range r.texts(v) {
		for part := range strings.SplitSeq(s, ",") {
			if part = strings.TrimSpace(part); part != "" {
				out = append(out, part)
			}
		}
	}
	return out
}

// mark remembers where a field comes from. Fields of list members have no name of their own.
func (r *reader) mark(field string, v value) {
	if field != "" {
		r.set[field] = v
	}
}

// The setters below store a value and mark the field.

func (r *reader) setText(field string, to *string) func(value) {
	return func(v value) {
		if s, ok := r.text(v); ok {
			*to = s
			r.mark(field, v)
		}
	}
}

func (r *reader) setFlag(field string, to **bool) func(value) {
	return func(v value) {
		if b, ok := r.boolean(v); ok {
			*to = &b
			r.mark(field, v)
		}
	}
}

func (r *reader) setTrue(field string, to *bool) func(value) {
	return func(v value) {
		if b, ok := r.boolean(v); ok {
			*to = b
			r.mark(field, v)
		}
	}
}

func (r *reader) setNumber(field string, to **int) func(value) {
	return func(v value) {
		if n, ok := r.integer(v); ok {
			*to = &n
			r.mark(field, v)
		}
	}
}

func (r *reader) addTexts(field string, to *[]string) func(value) {
	return func(v value) {
		*to = append(*to, r.texts(v)...)
		r.set[field] = v
	}
}

// member remembers where a member of a list comes from.
func (r *reader) member(list string, v value) { r.where[list] = append(r.where[list], v) }
