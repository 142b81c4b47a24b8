package ignconfig

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	butane "github.com/coreos/butane/config"
	"github.com/coreos/butane/config/common"
	ignerrors "github.com/coreos/ignition/v2/config/shared/errors"
	"github.com/coreos/vcontext/report"
	"github.com/coreos/vcontext/tree"
	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed/diag"
	documents "github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/internal/bounded"
)

// variant is a dialect of Butane: its versions, and the minor version of specification 3 that each gives.
type variant struct {
	name     string
	versions []string
	minor    []int
}

// variants are the released versions of Butane's variants.
var variants = []variant{
	{"fcos", []string{"1.0.0", "1.1.0", "1.2.0", "1.3.0", "1.4.0", "1.5.0", "1.6.0", "1.7.0"}, []int{0, 1, 2, 2, 3, 4, 5, 6}},
	{"flatcar", []string{"1.0.0", "1.1.0"}, []int{3, 4}},
	{"openshift", []string{"4.8.0", "4.9.0", "4.10.0", "4.11.0", "4.12.0", "4.13.0", "4.14.0", "4.15.0", "4.16.0", "4.17.0", "4.18.0", "4.19.0", "4.20.0", "4.21.0"},
		[]int{2, 2, 2, 2, 2, 2, 4, 4, 4, 4, 4, 5, 5, 5}},
	{"r4e", []string{"1.0.0", "1.1.0"}, []int{3, 4}},
	{"fiot", []string{"1.0.0"}, []int{4}},
}

// ParseButane reads a Butane document of any released variant and translates it with the official library. Files are not
// read: contents stand in the document. Of the variant openshift the Ignition config counts, without the MachineConfig
// around it. The Config is zero when there is an error.
func ParseButane(origin diag.Origin, data []byte) (Config, diag.List) {
	c, l := parseButane(data)
	return c, origin.Carry(l.Sorted())
}

func parseButane(data []byte) (Config, diag.List) {
	docs, l := bounded.YAML("", data, limits())
	switch {
	case l.HasErrors():
		return Config{}, l
	case len(docs) != 1 || docs[0].Content[0].Kind != yaml.MappingNode:
		l.Errorf(CodeButane, diag.At("", 1, 1), "write variant: fcos and version: 1.5.0, and what is wanted below", "a Butane document is one YAML mapping")
		return Config{}, l
	}
	s := source{root: docs[0].Content[0], list: &l, snake: true, budget: newBudget()}
	stated, ok := s.variant()
	if !ok {
		return Config{}, l
	}
	if s.tooMany() {
		return Config{}, l
	}
	text, rpt, err := butane.TranslateBytes(data, common.TranslateBytesOptions{Raw: true})
	s.butaneReported(rpt)
	if err != nil {
		if !l.HasErrors() {
			s.butaneFailed(err)
		}
		return Config{}, l
	}
	// Butane's library has validated what it wrote; its places would be those of a text that nobody sees.
	c, problems := parse(text, reading{quiet: true})
	if problems.HasErrors() {
		s.errorf(CodeButane, nil, "translate it with the command butane and look at its result", "the Ignition config that Butane makes of this is not valid")
		return Config{}, l
	}
	c.stated = stated
	s.plausible(c.types, version{3, 0})
	s.references(c.types, 0)
	if l.HasErrors() {
		return Config{}, l
	}
	return c, l
}

// variant reads variant and version, and refuses those that Butane does not know.
func (s source) variant() (string, bool) {
	variant, version := s.value("variant"), s.value("version")
	var names []string
	for _, v := range variants {
		names = append(names, v.name)
	}
	switch {
	case variant == nil || variant.Kind != yaml.ScalarNode || variant.Value == "":
		s.errorf(CodeButane, dataPath{"variant"}, "write one of "+strings.Join(names, ", "), "the document names no variant")
		return "", false
	case version == nil || version.Kind != yaml.ScalarNode || version.Value == "":
		s.errorf(CodeButane, dataPath{"version"}, "write version: 1.5.0", "the document states no version")
		return "", false
	case variant.Value == "rhcos":
		s.errorf(CodeButane, dataPath{"variant"}, "write variant: openshift and the version of OpenShift, such as 4.18.0", "the variant rhcos was removed from Butane")
		return "", false
	}
	i := slices.Index(names, variant.Value)
	if i < 0 {
		s.errorf(CodeButane, dataPath{"variant"}, "write one of "+strings.Join(names, ", "), "Butane has no such variant")
		return "", false
	}
	if slices.Contains(variants[i].versions, version.Value) {
		return variant.Value + " " + version.Value, true
	}
	remedy := "write one of " + strings.Join(variants[i].versions, ", ")
	switch {
	case strings.HasSuffix(version.Value, "-experimental"):
		s.errorf(CodeButane, dataPath{"version"}, remedy, "experimental versions change from release to release, and their configs are accepted by a single release of Ignition")
	case slices.Contains(variants[i].versions, version.Value+".0"):
		s.errorf(CodeButane, dataPath{"version"}, "write "+version.Value+".0", "a version has three numbers")
	default:
		s.errorf(CodeButane, dataPath{"version"}, remedy, "Butane has no such version of the variant %s", names[i])
	}
	return "", false
}

// butaneReported adds what Butane's library reports.
func (s source) butaneReported(rpt report.Report) {
	for _, e := range rpt.Entries {
		p := dataPath(e.Context.Path)
		code, severity := CodeButane, diag.Error
		switch e.Kind {
		case report.Warn:
			severity = diag.Warning
		case report.Info:
			severity = diag.Note
		}
		if e.Message == ignerrors.ErrModeSpecialBits.Error() && slices.ContainsFunc(rpt.Entries, func(other report.Entry) bool {
			return other.Message == common.ErrDecimalMode.Error() && dataPath(other.Context.Path).String() == p.String()
		}) {
			continue // that entry says what is meant
		}
		if strings.HasPrefix(e.Message, "unused key ") {
			key, _ := p[len(p)-1].(tree.Key)
			remedy := "remove it"
			if near, ok := documents.Closest(string(key), butaneKeys()); ok && near != string(key) {
				remedy = fmt.Sprintf("did you mean %q?", near)
			}
			s.warnf(CodeUnknownKey, p, remedy, "Butane does not know this key here and ignores it")
			continue
		}
		summary, remedy := butaneSaid(e.Message)
		s.add(code, severity, p, remedy, "%s", summary)
	}
}

var typeComplaint = regexp.MustCompile("line ([0-9]+): cannot unmarshal !!([a-z]+) .*into ([A-Za-z0-9_.\\[\\]*]+)")

// butaneFailed says why Butane's library gives no report. Its messages may quote values.
func (s source) butaneFailed(err error) {
	var unmarshal common.ErrUnmarshal
	text := err.Error()
	if errors.As(err, &unmarshal) {
		text = unmarshal.Detail
	}
	all := typeComplaint.FindAllStringSubmatch(text, -1)
	for _, m := range all {
		line, _ := strconv.Atoi(m[1])
		n, p := s.atLine(line, m[2])
		s.list.Add(diag.Diagnostic{Code: CodeType, Severity: diag.Error, Range: at(n), Field: p.String(),
			Summary: fmt.Sprintf("this should be %s, not %s", goShape(m[3]), yamlShape(m[2])), Remedy: "see Butane's specification of this variant"})
	}
	if len(all) == 0 {
		summary, remedy := butaneSaid(text)
		s.errorf(CodeButane, nil, remedy, "%s", summary)
	}
}

// atLine finds the last value with a tag that begins in a line.
func (s source) atLine(line int, tag string) (*yaml.Node, dataPath) {
	places := map[diag.Pos]dataPath{}
	s.index(s.root, nil, places)
	best := diag.Pos{}
	for pos, p := range places {
		if n, _ := s.find(p); pos.Line == line && pos.Column > best.Column && n.ShortTag() == "!!"+tag {
			best = pos
		}
	}
	n, _ := s.find(places[best])
	return n, places[best]
}

func goShape(t string) string {
	switch strings.TrimLeft(t, "*") {
	case "int":
		return "a whole number"
	case "bool":
		return "true or false"
	case "string":
		return "a text"
	}
	if strings.HasPrefix(t, "[]") {
		return "a list"
	}
	return "a mapping"
}

func yamlShape(tag string) string {
	switch tag {
	case "map":
		return "a mapping"
	case "seq":
		return "a list"
	case "str":
		return "a text"
	case "bool":
		return "true or false"
	}
	return "a number"
}
