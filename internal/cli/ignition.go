package cli

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/vmseed/vmseed/format/ignconfig"
	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

// Bounds of what is unpacked for show: configs that merge others, and what all data: URLs of a config hold together.
const (
	maxNesting  = 8
	maxUnpacked = 64 << 20
	maxIndented = 200
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

// ignitionPrinter prints a config and what is inside it.
type ignitionPrinter struct {
	w io.Writer
	// left is how many bytes may still be unpacked.
	left int
}

// showIgnition prints a config with its lines indented, and after it what its data: URLs hold: files, and configs that it
// merges.
func showIgnition(w io.Writer, text string) {
	p := ignitionPrinter{w, maxUnpacked}
	p.config(text, 0)
}

func (p *ignitionPrinter) config(text string, depth int) {
	fmt.Fprintln(p.w, indented(strings.TrimSpace(text)))
	var config ignitionConfig
	if json.Unmarshal([]byte(text), &config) != nil {
		return
	}
	for _, f := range config.Storage.Files {
		p.resource("file "+f.Path, f.Contents, depth)
		for _, x := range f.Append {
			p.resource("appended to "+f.Path, x, depth)
		}
	}
	for i, x := range config.Ignition.Config.Merge {
		p.resource(fmt.Sprintf("merged config %d", i+1), x, depth)
	}
	p.resource("config that replaces this one", config.Ignition.Config.Replace, depth)
}

// indented is a config with one value a line. Other texts stay as they are, and so does one whose brackets are nested so
// deep that it would be mostly indentation.
func indented(text string) string {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if depth > maxIndented {
			return text
		}
	}
	var pretty bytes.Buffer
	if seed.IgnitionVersion(secret.New(text)) == "" || json.Indent(&pretty, []byte(text), "", "  ") != nil {
		return text
	}
	return pretty.String()
}

// resource prints the content of a data: URL. What is elsewhere stands in the config already.
func (p *ignitionPrinter) resource(name string, x resource, depth int) {
	name = visible(name)
	content, ok := unpack(x, p.left)
	if !ok {
		return
	}
	if p.left -= len(content); p.left < 0 {
		p.left = 0
		fmt.Fprintf(p.w, "\n### %s\n(not shown: the config holds more than %d bytes)\n", name, maxUnpacked)
		return
	}
	w := p.w
	if seed.IgnitionVersion(secret.New(content)) != "" && depth < maxNesting && printable(content) {
		fmt.Fprintf(w, "\n### %s (%d bytes)\n", name, len(content))
		p.config(content, depth+1)
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

// unpack decodes a data: URL, and decompresses up to one byte more than most.
func unpack(x resource, most int) (string, bool) {
	data, ok := ignconfig.DecodeData(x.Source)
	if !ok {
		return "", false
	}
	if x.Compression != "gzip" {
		return string(data), true
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return "", false
	}
	raw, err := io.ReadAll(io.LimitReader(r, int64(most)+1))
	return string(raw), err == nil
}
