// Package ignitiontest reads an Ignition config as its guest does: with the configs merged that it names, and the contents
// of its files decoded. Only tests import it, because it reveals secrets.
package ignitiontest

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/ignconfig"
)

// Config is what a guest makes of a config.
type Config struct {
	ignconfig.Config
	// Files are the contents by path, first what is written, then what is appended.
	Files map[string]string
}

// Read reads a config whose parts are all data: URLs.
func Read(text string) (Config, error) {
	c, err := merged(text)
	if err != nil {
		return Config{}, err
	}
	out := Config{Config: c, Files: map[string]string{}}
	for _, f := range c.Types().Storage.Files {
		var content strings.Builder
		for _, r := range slices.Insert(slices.Clone(f.Append), 0, f.Contents) {
			if r.Source == nil {
				continue
			}
			data, err := Data(*r.Source, r.Compression)
			if err != nil {
				return out, fmt.Errorf("%s: %w", f.Path, err)
			}
			content.Write(data)
		}
		out.Files[f.Path] = content.String()
	}
	return out, nil
}

// merged merges the children that a config names, as Ignition does: each over what is there already.
func merged(text string) (ignconfig.Config, error) {
	c, l := ignconfig.Parse(diag.Origin{}, []byte(text))
	if err := l.Err(); err != nil {
		return c, err
	}
	for _, r := range c.Types().Ignition.Config.Merge {
		data, err := Data(*r.Source, r.Compression)
		if err != nil {
			return c, err
		}
		child, err := merged(string(data))
		if err != nil {
			return c, err
		}
		if c, l = ignconfig.Merge(c, child); l.HasErrors() {
			return c, l.Err()
		}
	}
	return c, nil
}

// Children returns the texts of the configs that a config merges, in their order.
func Children(text string) ([]string, error) {
	c, l := ignconfig.Parse(diag.Origin{}, []byte(text))
	if err := l.Err(); err != nil {
		return nil, err
	}
	var out []string
	for _, r := range c.Types().Ignition.Config.Merge {
		data, err := Data(*r.Source, r.Compression)
		if err != nil {
			return nil, err
		}
		out = append(out, string(data))
	}
	return out, nil
}

// Data decodes a data: URL (RFC 2397) and unpacks what it holds.
func Data(source string, compression *string) ([]byte, error) {
	kind, text, ok := strings.Cut(strings.TrimPrefix(source, "data:"), ",")
	if !ok || !strings.HasPrefix(source, "data:") {
		return nil, fmt.Errorf("%.20s is no data: URL", source)
	}
	plain, err := url.PathUnescape(text)
	if err != nil {
		return nil, err
	}
	data := []byte(plain)
	if strings.HasSuffix(kind, ";base64") {
		if data, err = base64.StdEncoding.DecodeString(plain); err != nil {
			return nil, err
		}
	}
	if compression == nil || *compression == "" {
		return data, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}
