package ignconfig

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/coreos/ignition/v2/config/shared/errors"
	v3 "github.com/coreos/ignition/v2/config/v3_6"
	"github.com/coreos/vcontext/report"
	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/internal/bounded"
)

// newest is the highest minor version of specification 3 that this package knows, newest2 that of specification 2.
const (
	newest  = 6
	newest2 = 4
)

// spec is a version of specification 3.
func spec(minor int) string { return fmt.Sprintf("3.%d.0", minor) }

// Parse reads an Ignition config of specification 2 or 3. A config of specification 2 is translated, with a diagnostic that
// says so. The Config is zero when there is an error.
func Parse(origin diag.Origin, data []byte) (Config, diag.List) {
	c, l := parse(data, reading{old: true})
	return c, origin.Carry(l.Sorted())
}

// reading says how a config is read.
type reading struct {
	// old allows specification 2.
	old bool
	// depth counts the configs around one that travels inside another.
	depth int
	// budget is that of the config around, or nil.
	budget *int64
	// mended means that commas were taken out already.
	mended bool
	// quiet leaves away what stands in a text that the user has not written.
	quiet bool
}

func parse(data []byte, r reading) (Config, diag.List) {
	s, l := readJSON(data)
	if l.HasErrors() {
		if mended, commas := withoutCommas(data); len(commas) > 0 && !r.mended {
			r.mended = true
			_, l = parse(mended, r)
			l = append(commas, l...)
		}
		return Config{}, l
	}
	s.list, s.budget = &l, r.budget
	if s.budget == nil {
		s.budget = newBudget()
	}
	v, ok := s.version()
	if !ok {
		return Config{}, l
	}
	var c Config
	switch {
	case v.major == 3:
		c = s.modern(data, v.minor)
	case r.old:
		c = s.translate(data, v)
	default:
		s.errorf(CodeVersion, dataPath{"ignition", "version"}, "state a version from 3.0.0 to "+spec(newest), "a config of specification 2 cannot be part of one of specification 3")
	}
	if l.HasErrors() {
		return Config{}, l
	}
	if r.quiet {
		return c, nil
	}
	s.plausible(c.types, v)
	s.references(c.types, r.depth)
	if l.HasErrors() {
		return Config{}, l
	}
	return c, l
}

// version is a published version of the specification.
type version struct{ major, minor int }

var versionForm = regexp.MustCompile(`^([0-9]+)\.([0-9]+)\.([0-9]+)(-[0-9A-Za-z.-]+)?$`)

// version reads the version that a config states, and refuses those that are none, too new or too old.
func (s source) version() (version, bool) {
	const example = `add "ignition": {"version": "3.0.0"}`
	where := dataPath{"ignition", "version"}
	n := s.value(where...)
	switch {
	case n == nil && s.value("ignitionVersion") != nil:
		s.errorf(CodeVersion, dataPath{"ignitionVersion"}, "write it anew for specification 3", "specification 1 was given up long ago")
		return version{}, false
	case n == nil && s.value("ignition") == nil:
		s.errorf(CodeVersion, nil, example, "this object has no member \"ignition\", so it is not an Ignition config")
		return version{}, false
	case n == nil:
		s.errorf(CodeVersion, dataPath{"ignition"}, example, "the config states no version")
		return version{}, false
	case n.Kind != yaml.ScalarNode || n.Tag != "!!str":
		s.errorf(CodeVersion, where, `write a text such as "3.0.0"`, "the version is %s", shapeOf(n))
		return version{}, false
	}
	m := versionForm.FindStringSubmatch(n.Value)
	if m == nil {
		remedy := "write all three numbers, such as 3.0.0"
		if short := regexp.MustCompile(`^v?([23])(\.[0-9])?$`).FindStringSubmatch(n.Value); short != nil {
			remedy = fmt.Sprintf("write %s%s.0", short[1], orElse(short[2], ".0"))
		}
		s.errorf(CodeVersion, where, remedy, "the version cannot be read")
		return version{}, false
	}
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2])
	if m[4] == "" && m[3] == "0" && (major == 3 && minor <= newest || major == 2 && minor <= newest2) {
		return version{major, minor}, true
	}
	s.errorf(CodeVersion, where, "write one of "+strings.Join(supported(), ", "), "%s", unsupported(n.Value, m[4], major, minor))
	return version{}, false
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// supported lists the versions of specification 3.
func supported() []string {
	var out []string
	for minor := 0; minor <= newest; minor++ {
		out = append(out, spec(minor))
	}
	return out
}

func unsupported(stated, suffix string, major, minor int) string {
	switch {
	case strings.HasSuffix(suffix, "-experimental"):
		return "version " + stated + " is not finished: it changes from release to release, and no other release of Ignition accepts it"
	case major == 3 && minor > newest || major > 3:
		return "version " + stated + " is newer than " + spec(newest) + ", the newest one that is known here"
	}
	return "there is no version " + stated + " of the specification"
}

// modern reads a config of version 3.minor.0.
func (s source) modern(data []byte, minor int) Config {
	shape{s, minor}.walk(s.root, configType(minor), nil)
	if s.list.HasErrors() || s.tooMany() {
		return Config{}
	}
	c, rpt, err := v3.ParseCompatibleVersion(data)
	s.reported(rpt)
	if err != nil && !s.list.HasErrors() {
		summary, remedy := said(err.Error())
		s.errorf(CodeInvalid, nil, remedy, "%s", summary)
	}
	stated := spec(minor)
	return Config{text: bytes.Clone(data), stated: stated, version: stated, types: c}
}

// comparisons is how many pairs of a path and a link the official library may compare. A pair costs it a quarter of a
// microsecond.
const comparisons = 4_000_000

// tooMany refuses configs that would keep the official library busy for longer than a second.
func (s source) tooMany() bool {
	count := func(list string) int {
		if n := s.value("storage", list); n != nil {
			return len(n.Content)
		}
		return 0
	}
	links := count("links")
	if (links+count("files")+count("directories"))*links <= comparisons {
		return false
	}
	s.errorf(bounded.CodeTooManyNodes, dataPath{"storage", "links"}, "ship them in an archive that a unit unpacks", "these are more links and files than can be compared within reason")
	return true
}

// reported adds what an official library reports about a document whose paths are those of s.
func (s source) reported(rpt report.Report) {
	const twins = 100 // looking for more of them takes time that nobody's reading is worth
	for i, e := range rpt.Entries {
		if said := e.Message; strings.HasPrefix(said, "unused key ") || strings.HasPrefix(said, "context tree does not match ") {
			continue // shape has said so, with a remedy
		}
		p := dataPath(e.Context.Path)
		if e.Message == errors.ErrModeSpecialBits.Error() && (s.octalMeant(p) || !s.isMode(p)) {
			continue // plausible says what is meant, or another entry that it is no mode at all
		}
		summary, remedy := said(e.Message)
		code, severity := CodeInvalid, diag.Error
		switch e.Kind {
		case report.Warn:
			code, severity = CodeDoubtful, diag.Warning
		case report.Info:
			code, severity = CodeDoubtful, diag.Note
		}
		s.add(code, severity, p, remedy, "%s", summary)
		if e.Message == errors.ErrDuplicate.Error() && i < twins {
			if first := s.twin(p); first != nil {
				last := len(*s.list) - 1
				(*s.list)[last] = (*s.list)[last].With(at(first), "the first one is here")
			}
		}
	}
}

// twin finds the entry that one of the same name or path follows.
func (s source) twin(p dataPath) *yaml.Node {
	if len(p) < 2 {
		return nil
	}
	list, _ := p[len(p)-2].(string)
	index, _ := p[len(p)-1].(int)
	self := s.value(p...)
	lists := []string{list}
	if list == "directories" || list == "files" || list == "links" {
		lists = []string{"directories", "files", "links"}
	}
	for _, name := range lists {
		all := s.value(append(p[:len(p)-2:len(p)-2], name)...)
		for i := 0; self != nil && all != nil && i < len(all.Content); i++ {
			if name == list && i >= index {
				break
			}
			if identity(all.Content[i]) == identity(self) {
				return all.Content[i]
			}
		}
	}
	return nil
}

// identity is what makes an entry of a list the same as another.
func identity(n *yaml.Node) string {
	if n.Kind == yaml.ScalarNode {
		return n.Value
	}
	for _, key := range []string{"path", "name", "device", "source"} {
		if v := step(n, key); v != nil {
			return key + " " + v.Value
		}
	}
	return ""
}
