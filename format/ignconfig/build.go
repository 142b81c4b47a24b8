package ignconfig

import (
	"bytes"
	"compress/gzip"
	"reflect"

	"github.com/clarketm/json"
	v3 "github.com/coreos/ignition/v2/config/v3_6"
	"github.com/coreos/ignition/v2/config/v3_6/types"
	"github.com/coreos/ignition/v2/config/validate"
	"github.com/coreos/vcontext/report"

	"github.com/vmseed/vmseed/diag"
)

// Merge lays child over parent as Ignition itself does: what the child states wins, lists are united by their keys, which
// are names and paths. The result is built anew; see Build. A zero Config is laid over, or under, nothing.
func Merge(parent, child Config) (Config, diag.List) {
	switch {
	case parent.IsZero():
		return child, nil
	case child.IsZero():
		return parent, nil
	}
	c, l := Build(v3.Merge(parent.types, child.types))
	return c, onlyErrors(l)
}

// Conflicts says what is wrong with several configs, each of them valid, when Ignition merges them, each a child of those
// before it. Diagnostics have a Field, but no place.
func Conflicts(configs ...Config) diag.List {
	var whole types.Config
	for i, c := range configs {
		if i == 0 {
			whole = c.types
		} else {
			whole = v3.Merge(whole, c.types)
		}
	}
	whole.Ignition.Version = spec(newest)
	rpt := validate.ValidateWithContext(whole, nil)
	if !rpt.IsFatal() {
		return nil
	}
	text, err := json.Marshal(whole)
	if err != nil {
		return diag.List{{Code: CodeInvalid, Severity: diag.Error, Summary: "the configs cannot be written as JSON"}}
	}
	return onlyErrors(about(text, rpt))
}

// onlyErrors leaves away what the authors of each config have heard already.
func onlyErrors(l diag.List) (errs diag.List) {
	for _, d := range l {
		if d.Severity == diag.Error {
			errs.Add(d)
		}
	}
	return errs
}

// Build makes a config of types. It has the lowest specification version that carries what is used, because an Ignition
// refuses whatever is newer than itself. The version stated in c does not matter. The same types give the same bytes: one
// line of JSON. Diagnostics have a Field, but no place. With an error among them the Config is zero.
func Build(c types.Config) (Config, diag.List) {
	c.Ignition.Version = spec(newest)
	text, err := json.Marshal(c)
	var read types.Config
	if err == nil {
		err = json.Unmarshal(text, &read)
	}
	if err != nil {
		return Config{}, diag.List{{Code: CodeInvalid, Severity: diag.Error, Summary: "the config cannot be written as JSON"}}
	}
	minor, rpt := newest, validate.ValidateWithContext(read, nil)
	for lower := range newest {
		// A version that knows less may warn of it: it has no effect there.
		other, whole := carriedBy(text, read, lower)
		if whole && (rpt.IsFatal() || len(other.Entries) <= len(rpt.Entries)) {
			minor, rpt = lower, other
			break
		}
	}
	l := about(text, rpt)
	if l.HasErrors() {
		return Config{}, l
	}
	version := spec(minor)
	if c.Ignition.Version != version {
		c.Ignition.Version = version
		text, _ = json.Marshal(c) // which it could at the newest version
	}
	return Config{text: text, stated: version, version: version, types: read}, l
}

// carriedBy reads a config with the official types of version 3.minor.0, and returns what they say about it and whether all of
// it is there: what a version does not know is gone then. Text is the config at the newest version, and read what that is.
func carriedBy(text []byte, read types.Config, minor int) (rpt report.Report, whole bool) {
	c := reflect.New(configType(minor))
	if json.Unmarshal(text, c.Interface()) != nil {
		return rpt, false
	}
	c.Elem().FieldByName("Ignition").FieldByName("Version").SetString(spec(minor))
	rpt = validate.ValidateWithContext(c.Elem().Interface(), nil)
	if rpt.IsFatal() {
		return rpt, false
	}
	kept, err := json.Marshal(c.Interface())
	var back types.Config
	if err != nil || json.Unmarshal(kept, &back) != nil {
		return rpt, false
	}
	back.Ignition.Version = read.Ignition.Version
	return rpt, reflect.DeepEqual(back, read)
}

// about says in diagnostics without places what an official library says about a text, and whether it keeps to the budgets
// of configs. A text that is shorter than two bytes for each node cannot have too many of them.
func about(text []byte, rpt report.Report) diag.List {
	if len(rpt.Entries) == 0 && len(text) < 2*limits().Nodes {
		return nil
	}
	s, l := readJSON(text)
	if !l.HasErrors() {
		s.list = &l
		s.reported(rpt)
	}
	for i := range l {
		l[i].Range, l[i].Related = diag.Range{}, nil
	}
	return l
}

// wrapLimit is the size in bytes from which on Wrap compresses a child. Smaller ones are not worth the later version.
const wrapLimit = 16 << 10

// Wrap makes a small config that merges others, in their order, as data: URLs: the children's bytes are unchanged, whatever
// version they have. The result has version 3.0.0, or 3.1.0 when a child is so large that it is compressed. It states no
// hashes, since nothing can change the children on their way.
func Wrap(children ...Config) Config {
	version := spec(0)
	var c types.Config
	for _, child := range children {
		var r types.Resource
		data := child.text
		if len(data) >= wrapLimit {
			if packed := pack(data); len(packed) < len(data) {
				method := "gzip"
				data, r.Compression, version = packed, &method, spec(1)
			}
		}
		source := encodeData(data)
		r.Source = &source
		c.Ignition.Config.Merge = append(c.Ignition.Config.Merge, r)
	}
	c.Ignition.Version = version
	text, err := json.Marshal(c)
	if err != nil {
		return Config{} // texts always have a JSON form
	}
	c.Ignition.Version = spec(newest)
	return Config{text: text, stated: version, version: version, types: c}
}

// pack compresses data. The header of the result holds neither a time nor a name.
func pack(data []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(data) // a Buffer takes everything
	_ = z.Close()
	return b.Bytes()
}
