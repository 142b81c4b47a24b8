package cli

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

// Bounds of what is unpacked for show: configs that merge others, and compressed contents.
const (
	maxNesting  = 8
	maxUnpacked = 16 << 20
)

// resource is what Ignition fetches: a URL that may hold the content itself.
type resource struct {
	Source      string `json:"source"`
	Compression string `json:"compression"`
}

// ignitionConfig is what show looks for in a config.
type ignitionConfig struct {
	Ignition struct {
		Config struct {
			Merge   []resource `json:"merge"`
			Replace resource   `json:"replace"`
		} `json:"config"`
	} `json:"ignition"`
	Storage struct {
		Files []struct {
			Path     string     `json:"path"`
			Contents resource   `json:"contents"`
			Append   []resource `json:"append"`
		} `json:"files"`
	} `json:"storage"`
}

// showIgnition prints a config with its lines indented, and after it what its data: URLs hold: files, and configs that it
// merges.
func showIgnition(w io.Writer, text string, depth int) {
	var pretty bytes.Buffer
	if json.Indent(&pretty, []byte(strings.TrimSpace(text)), "", "  ") != nil {
		fmt.Fprintln(w, text)
		return
	}
	fmt.Fprintln(w, pretty.String())
	var config ignitionConfig
	if json.Unmarshal([]byte(text), &config) != nil {
		return
	}
	for _, f := range config.Storage.Files {
		showResource(w, "file "+f.Path, f.Contents, depth)
		for _, x := range f.Append {
			showResource(w, "appended to "+f.Path, x, depth)
		}
	}
	for i, x := range config.Ignition.Config.Merge {
		showResource(w, fmt.Sprintf("merged config %d", i+1), x, depth)
	}
	showResource(w, "config that replaces this one", config.Ignition.Config.Replace, depth)
}

// showResource prints the content of a data: URL. What is elsewhere stands in the config already.
func showResource(w io.Writer, name string, x resource, depth int) {
	content, ok := unpack(x)
	if !ok {
		return
	}
	name = visible(name)
	if seed.IgnitionVersion(secret.New(content)) != "" && depth < maxNesting && printable(content) {
		fmt.Fprintf(w, "\n### %s (%d bytes)\n", name, len(content))
		showIgnition(w, content, depth+1)
		return
	}
	fmt.Fprintf(w, "\n### %s (%d bytes)\n", name, len(content))
	if !printable(content) {
		fmt.Fprintln(w, "(binary)")
		return
	}
	fmt.Fprint(w, content)
	if content != "" && !strings.HasSuffix(content, "\n") {
		fmt.Fprintln(w)
	}
}

// visible drops what a terminal would act on.
func visible(s string) string {
	if printable(s) {
		return s
	}
	return fmt.Sprintf("%q", s)
}

// unpack decodes a data: URL (RFC 2397), and decompresses it.
func unpack(x resource) (string, bool) {
	rest, ok := strings.CutPrefix(x.Source, "data:")
	if !ok {
		return "", false
	}
	kind, data, ok := strings.Cut(rest, ",")
	text, err := url.PathUnescape(data)
	if !ok || err != nil {
		return "", false
	}
	if strings.HasSuffix(kind, ";base64") {
		raw, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return "", false
		}
		text = string(raw)
	}
	if x.Compression != "gzip" {
		return text, true
	}
	r, err := gzip.NewReader(strings.NewReader(text))
	if err != nil {
		return "", false
	}
	raw, err := io.ReadAll(io.LimitReader(r, maxUnpacked+1))
	if err != nil || len(raw) > maxUnpacked {
		return "", false
	}
	return string(raw), true
}
