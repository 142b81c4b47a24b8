package ignconfig

import (
	"bytes"
	"compress/gzip"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/cloudconfig"
	"github.com/vmseed/vmseed/internal/bounded"
)

var byteOrderMark = []byte("\xef\xbb\xbf")

// readJSON parses a config's JSON. Ignition's own reader answers all that stands here with one parser's word or, for
// duplicate keys, not at all.
func readJSON(data []byte) (source, diag.List) {
	var l diag.List
	if refused := foreign(data); refused != nil {
		return source{}, diag.List{*refused}
	}
	doc, problems := bounded.JSON("", data, limits())
	if doc == nil {
		for i, d := range problems {
			if d.Code == bounded.CodeSyntax {
				problems[i], _ = syntax(string(data), d)
			}
		}
		return source{}, problems
	}
	s := source{root: doc.Content[0], list: &l}
	if s.root.Kind != yaml.MappingNode {
		s.errorf(CodeSyntax, nil, `write an object such as {"ignition": {"version": "3.0.0"}}`, "a config is an object, this is %s", shapeOf(s.root))
	}
	return s, l
}

// foreign tells texts of another kind by their beginning, or returns nil.
func foreign(data []byte) *diag.Diagnostic {
	refuse := func(remedy, summary string) *diag.Diagnostic {
		return &diag.Diagnostic{Code: CodeForeign, Severity: diag.Error, Range: diag.At("", 1, 1), Summary: summary, Remedy: remedy}
	}
	if bytes.HasPrefix(data, byteOrderMark) {
		return refuse("save the file as UTF-8 without one", "the text begins with a byte order mark, which Ignition refuses")
	}
	text := bytes.TrimSpace(data)
	if bytes.HasPrefix(text, []byte("{")) {
		return nil
	}
	kind := cloudconfig.RecogniseText(data)
	switch {
	case len(text) == 0:
		return refuse(`write {"ignition": {"version": "3.0.0"}}, or no config at all`, "the config is empty, and a guest boots without a word as if there were none")
	case kind == cloudconfig.CloudConfig:
		return refuse("an Ignition guest does not read it; give it to a cloud-init guest, or as user-data to be translated", "this is a cloud-config, not an Ignition config")
	case kind == cloudconfig.Script:
		return refuse("write it as a file and run it by a systemd unit", "this is a script, which Ignition does not run")
	case cloudconfig.Recognise(data) == cloudconfig.Gzip:
		return refuse("Ignition reads its own config only as plain JSON; unpack it, or merge it by a small one with \"compression\": \"gzip\"", zipped(data))
	case kind == cloudconfig.Base64:
		return refuse("decode it first", "this is base64, and Ignition reads its own config only as plain JSON")
	case IsButane(data):
		return refuse("it has to be translated to Ignition first", "this is Butane")
	case kind != cloudconfig.Unknown && kind != cloudconfig.Ignition && kind != cloudconfig.Empty:
		return refuse("an Ignition guest does not read it", "this is user-data for cloud-init ("+kind.String()+"), not an Ignition config")
	}
	return nil
}

// zipped says what is in a compressed text.
func zipped(data []byte) string {
	if z, err := gzip.NewReader(bytes.NewReader(data)); err == nil {
		head := make([]byte, 4096)
		n, _ := z.Read(head)
		if Recognise(head[:n]) == Ignition {
			return "this is an Ignition config, but compressed"
		}
	}
	return "this is compressed"
}

// withoutCommas takes away the commas behind last values, so that what else is wrong can be said at once. Spaces stand in
// their places.
func withoutCommas(data []byte) ([]byte, diag.List) {
	var l diag.List
	for range 100 {
		doc, problems := bounded.JSON("", data, limits())
		if doc != nil || len(problems) != 1 || problems[0].Code != bounded.CodeSyntax {
			break
		}
		d, comma := syntax(string(data), problems[0])
		if comma < 0 {
			break
		}
		if l == nil {
			data = bytes.Clone(data)
		}
		data[comma] = ' '
		l.Add(d)
	}
	return data, l
}

// syntax gives the parser's complaint the exact place, and says what is meant. comma is the offset of one that is too many,
// or -1.
func syntax(text string, d diag.Diagnostic) (out diag.Diagnostic, comma int) {
	d.Code = CodeSyntax
	offset := offsetOf(text, d.Range.Start)
	rest := strings.TrimLeft(text[offset:], " \t\r\n")
	before := strings.TrimRight(text[:offset], " \t\r\n")
	switch {
	case strings.HasSuffix(before, ",") && rest != "" && strings.ContainsRune("]}", rune(rest[0])):
		place := diag.Index(text, len(before)-1)
		d.Range = diag.At("", place.Line, place.Column)
		d.Summary, d.Remedy = "trailing comma before "+rest[:1], "remove the comma"
		return d, len(before) - 1
	case strings.HasPrefix(rest, "//"), strings.HasPrefix(rest, "/*"), strings.HasPrefix(rest, "#"):
		d.Summary, d.Remedy = "a comment, which JSON does not have", "remove it, or write Butane, which is YAML"
	case strings.HasPrefix(d.Summary, "this is not JSON: there is something behind"):
		d.Summary, d.Remedy = "there is something behind the closing bracket of the config", "remove what follows"
	}
	return d, -1
}

// offsetOf is the byte offset of a place.
func offsetOf(text string, p diag.Pos) int {
	offset := 0
	for line := 1; line < p.Line; line++ {
		next := strings.IndexByte(text[offset:], '\n')
		if next < 0 {
			return len(text)
		}
		offset += next + 1
	}
	column := 1
	for i := range text[offset:] {
		if column == p.Column {
			return offset + i
		}
		column++
	}
	return len(text)
}
