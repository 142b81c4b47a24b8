package ignconfig

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"

	cleanjson "github.com/clarketm/json"
	v3 "github.com/coreos/ignition/v2/config/v3_6"
	"github.com/coreos/ignition/v2/config/v3_6/types"

	"github.com/vmseed/vmseed/diag"
)

// newest is the highest minor version of specification 3 that this package knows.
const newest = 6

func spec(minor int) string { return fmt.Sprintf("3.%d.0", minor) }

// Merge lays child over parent as Ignition itself does: what the child states wins, lists are united by their keys. The
// result is built anew; see Build.
func Merge(parent, child Config) (Config, diag.List) {
	return Build(v3.Merge(parent.types, child.types))
}

// Build makes a config of types. It has the lowest specification version that carries what is used, because an Ignition
// refuses whatever is newer than itself. The version stated in c does not matter. The same types give the same bytes.
func Build(c types.Config) (Config, diag.List) {
	var l diag.List
	for minor := 0; minor <= newest; minor++ {
		c.Ignition.Version = spec(minor)
		text, err := encode(c)
		if err != nil {
			continue
		}
		back, _, err := v3.ParseCompatibleVersion(text)
		if err != nil {
			continue
		}
		back.Ignition.Version = spec(minor)
		if again, err := encode(back); err == nil && bytes.Equal(again, text) {
			back.Ignition.Version = spec(newest)
			return Config{text: text, stated: spec(minor), version: spec(minor), types: back}, l
		}
	}
	l.Errorf(CodeInvalid, diag.Range{}, "", "no version of Ignition accepts this config")
	return Config{}, l
}

// encode writes a config on one line, without the empty objects that encoding/json would leave in it.
func encode(c types.Config) ([]byte, error) { return cleanjson.Marshal(c) }

// wrapLimit is the size in bytes from which on Wrap compresses a child.
const wrapLimit = 16 << 10

// Wrap makes a small config that merges others, in their order, as data: URLs: the children's bytes are unchanged. It has
// version 3.0.0, or 3.1.0 when a child is so large that it is compressed.
func Wrap(children ...Config) Config {
	version := spec(0)
	c := types.Config{}
	for _, child := range children {
		data, compression := child.text, (*string)(nil)
		if len(data) >= wrapLimit {
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			_, _ = z.Write(data)
			_ = z.Close()
			name := "gzip"
			data, compression, version = b.Bytes(), &name, spec(1)
		}
		source := "data:;base64," + base64.StdEncoding.EncodeToString(data)
		c.Ignition.Config.Merge = append(c.Ignition.Config.Merge, types.Resource{Source: &source, Compression: compression})
	}
	c.Ignition.Version = version
	text, _ := encode(c)
	c.Ignition.Version = spec(newest)
	return Config{text: text, stated: version, version: version, types: c}
}
