package ignition

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/ignconfig"
	"github.com/vmseed/vmseed/machine"
)

// versions are those that a config without one may be of: the lowest of specification 3 that knows all its keys, else that
// of specification 2 which oVirt's engine adds.
var versions = []string{"3.0.0", "3.1.0", "3.2.0", "3.3.0", "3.4.0", "3.5.0", "3.6.0", "2.3.0"}

// versioned adds the version to a config of oVirt that states none, as the engine does, by the type of the operating system.
// Here it is the content that decides, since 2.3.0 is wrong for every image of today. All else stays as it is.
func (c *composer) versioned(x machine.Layer) []byte {
	data := []byte(x.Data.Reveal())
	if c.m.Compat != "ovirt" {
		return data
	}
	at, empty, missing := noVersion(data)
	if !missing {
		return data
	}
	with := func(version string) []byte {
		member := `"version": "` + version + `"`
		if !empty {
			member += ", "
		}
		return slices.Concat(data[:at], []byte(member), data[at:])
	}
	for _, v := range versions {
		_, l := ignconfig.Read(x.Origin, with(v))
		odd := func(d diag.Diagnostic) bool { return d.Severity == diag.Error || d.Code == ignconfig.CodeUnknownKey }
		if !slices.ContainsFunc(l, odd) {
			c.list.Notef(CodeVersion, x.Origin.At(1, 1), "add \"version\" to \"ignition\"", "the config states no version; going by its keys it is taken for one of %s", v)
			return with(v)
		}
	}
	return with(versions[0])
}

// noVersion finds the place behind the brace of the member ignition of a JSON object, when there is no version in it.
func noVersion(data []byte) (at int, empty, missing bool) {
	d := json.NewDecoder(bytes.NewReader(data))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return 0, false, false
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return 0, false, false
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return 0, false, false
		}
		if key != "ignition" {
			continue
		}
		var members map[string]json.RawMessage
		if json.Unmarshal(value, &members) != nil || members == nil {
			return 0, false, false
		}
		_, stated := members["version"]
		return int(d.InputOffset()) - len(value) + 1, len(members) == 0, !stated
	}
	return 0, false, false
}
