package ignconfig

import (
	"bytes"
	"compress/gzip"

	"github.com/clarketm/json"
	v3 "github.com/coreos/ignition/v2/config/v3_6"
	"github.com/coreos/ignition/v2/config/v3_6/types"

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
	var errs diag.List
	for _, d := range l {
		if d.Severity == diag.Error { // the authors of both have heard the warnings already
			errs.Add(d)
		}
	}
	return c, errs
}

// Build makes a config of types. It has the lowest specification version that carries what is used, because an Ignition
// refuses whatever is newer than itself. The version stated in c does not matter. The same types give the same bytes: one
// line of JSON. Diagnostics have a Field, but no place. With an error among them the Config is zero.
func Build(c types.Config) (Config, diag.List) {
	text, l, read := tryAs(c, newest)
	minor := newest
	for lower := range newest {
		smaller, other, same := tryAs(c, lower)
		// A version that knows less may warn of it: it has no effect there.
		if smaller != nil && (len(other) <= len(l) || text == nil) {
			text, minor, l, read = smaller, lower, other, same
			break
		}
	}
	if text == nil {
		return Config{}, l
	}
	version := spec(minor)
	return Config{text: text, stated: version, version: version, types: read}, l
}

// tryAs encodes a config at version 3.minor.0 and reads it back. There is no text when the version cannot carry all of it:
// what it does not know is gone then.
func tryAs(c types.Config, minor int) ([]byte, diag.List, types.Config) {
	c.Ignition.Version = spec(minor)
	text, err := json.Marshal(c)
	if err != nil {
		return nil, diag.List{{Code: CodeInvalid, Severity: diag.Error, Summary: "the config cannot be written as JSON"}}, types.Config{}
	}
	s, l := readJSON(text)
	if l.HasErrors() {
		return nil, l, types.Config{}
	}
	s.list = &l
	back, rpt, err := v3.ParseCompatibleVersion(text)
	s.reported(rpt)
	if err != nil && !l.HasErrors() {
		summary, remedy := said(err.Error())
		s.errorf(CodeInvalid, nil, remedy, "%s", summary)
	}
	for i := range l {
		l[i].Range, l[i].Related = diag.Range{}, nil
	}
	if l.HasErrors() {
		return nil, l, types.Config{}
	}
	again := back
	again.Ignition.Version = c.Ignition.Version
	if kept, err := json.Marshal(again); err != nil || !bytes.Equal(kept, text) {
		return nil, l, back
	}
	return text, l, back
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
