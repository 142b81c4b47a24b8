package ignconfig

import (
	"bytes"
	"encoding/json"
	"io"
	"reflect"

	"github.com/coreos/ign-converter/translate/v24tov31"
	"github.com/coreos/ignition/config/v2_0/types"
	"github.com/coreos/ignition/config/v2_1"
	types1 "github.com/coreos/ignition/config/v2_1/types"
	"github.com/coreos/ignition/config/v2_2"
	types2 "github.com/coreos/ignition/config/v2_2/types"
	"github.com/coreos/ignition/config/v2_3"
	types3 "github.com/coreos/ignition/config/v2_3/types"
	"github.com/coreos/ignition/config/v2_4"
	old "github.com/coreos/ignition/config/v2_4/types"
	"github.com/coreos/ignition/config/validate"
	"github.com/coreos/ignition/config/validate/astnode"
	"github.com/coreos/ignition/config/validate/report"
	v3 "github.com/coreos/ignition/v2/config/v3_6"
	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed/diag"
)

// translate reads a config of version 2.minor.0 and writes it anew for specification 3.
func (s source) translate(data []byte, v version) Config {
	shape{s, specification2}.walk(s.root, configType(specification2), nil)
	if s.list.HasErrors() || s.tooMany() {
		return Config{}
	}
	cfg := s.readOld(data, v.minor)
	if s.list.HasErrors() {
		return Config{}
	}
	p := preparation{source: s, cfg: &cfg, mounted: map[string]string{}}
	p.prepare(v)
	if s.list.HasErrors() {
		return Config{}
	}
	where := dataPath{"ignition", "version"}
	const remedy = "write it anew by specification 3"
	translated, err := v24tov31.Translate(cfg, p.mounted)
	if err != nil {
		s.errorf(CodeNotTranslated, where, remedy, "the official converter cannot translate this config to specification 3")
		return Config{}
	}
	text, err := json.Marshal(translated)
	if err != nil {
		s.errorf(CodeNotTranslated, where, remedy, "the translation cannot be written")
		return Config{}
	}
	newer, _, err := v3.ParseCompatibleVersion(text)
	if err != nil {
		s.errorf(CodeNotTranslated, where, remedy, "the translation to specification 3 is not valid")
		return Config{}
	}
	c, l := Build(newer)
	*s.list = append(*s.list, l...)
	c.stated = s.value(where...).Value
	s.warnf(CodeOldSpecification, where, "let Butane or a current tool write the config",
		"no current Ignition accepts specification 2, so the guest gets a translation of version %s", c.version)
	return c
}

// readOld reads a config with the official types of its version, checks it by their rules and raises it to version 2.4.0.
func (s source) readOld(data []byte, minor int) old.Config {
	switch minor {
	case 0:
		c := readAs[types.Config](s, data)
		if s.list.HasErrors() {
			return old.Config{}
		}
		return v2_4.Translate(v2_3.Translate(v2_2.TranslateFromV2_1(v2_1.TranslateFromV2_0(c))))
	case 1:
		return v2_4.Translate(v2_3.Translate(v2_2.TranslateFromV2_1(readAs[types1.Config](s, data))))
	case 2:
		return v2_4.Translate(v2_3.Translate(readAs[types2.Config](s, data)))
	case 3:
		return v2_4.Translate(readAs[types3.Config](s, data))
	}
	return readAs[old.Config](s, data)
}

func readAs[T any](s source, data []byte) T {
	var c T
	if err := json.Unmarshal(data, &c); err != nil {
		summary, remedy := said(err.Error())
		s.errorf(CodeInvalid, nil, remedy, "%s", summary)
		return c
	}
	places := map[diag.Pos]dataPath{}
	s.index(s.root, nil, places)
	// The validator hands its reader to the nodes only. A nil one means that no place is wanted.
	var unused io.ReadSeeker = bytes.NewReader(nil)
	rpt := validate.Validate(reflect.ValueOf(c), placed{s.root}, unused, false)
	for _, e := range rpt.Entries {
		code, severity := CodeInvalid, diag.Error
		switch e.Kind {
		case report.EntryWarning, report.EntryInfo:
			code, severity = CodeDoubtful, diag.Warning
		case report.EntryDeprecated:
			continue // it is translated
		}
		if e.Message == `Filesystem "root" shadows exising filesystem definition` {
			continue // that is how specification 2 says that the root file system is made anew
		}
		summary, remedy := said(e.Message)
		s.add(code, severity, places[diag.Pos{Line: e.Line, Column: e.Column}], remedy, "%s", summary)
	}
	return c
}

// index notes where each value stands.
func (s source) index(n *yaml.Node, p dataPath, out map[diag.Pos]dataPath) {
	out[diag.Pos{Line: n.Line, Column: n.Column}] = p
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			s.index(n.Content[i+1], p.child(n.Content[i].Value), out)
		}
	case yaml.SequenceNode:
		for i, c := range n.Content {
			s.index(c, p.child(i), out)
		}
	}
}

// placed shows a node to the validator of specification 2. The library's own nodes name the end of a value, and read the
// whole text anew for each.
type placed struct{ n *yaml.Node }

// ValueLineCol returns where the value begins.
func (p placed) ValueLineCol(r io.ReadSeeker) (line, column int, highlight string) {
	if r == nil {
		return 0, 0, ""
	}
	return p.n.Line, p.n.Column, ""
}

// KeyLineCol is for keys that nobody reads, which shape reports.
func (p placed) KeyLineCol(r io.ReadSeeker) (line, column int, highlight string) {
	return p.ValueLineCol(r)
}

// LiteralValue returns the text of a single value.
func (p placed) LiteralValue() any { return p.n.Value }

// SliceChild returns an item of a list.
func (p placed) SliceChild(i int) (astnode.AstNode, bool) {
	if p.n.Kind != yaml.SequenceNode || i >= len(p.n.Content) {
		return nil, false
	}
	return placed{p.n.Content[i]}, true
}

// KeyValueMap returns the members of an object.
func (p placed) KeyValueMap() (map[string]astnode.AstNode, bool) {
	if p.n.Kind != yaml.MappingNode {
		return nil, false
	}
	out := map[string]astnode.AstNode{}
	for i := 0; i+1 < len(p.n.Content); i += 2 {
		out[p.n.Content[i].Value] = placed{p.n.Content[i+1]}
	}
	return out, true
}

// Tag is the struct tag that names the members.
func (p placed) Tag() string { return "json" }

var _ astnode.AstNode = placed{}
