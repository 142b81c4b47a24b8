package cloudconfig

import (
	"bytes"
	"strings"

	"go.yaml.in/yaml/v4"
)

// opaqueRune stands in a masked template for a character of an expression. It is a private-use character, which YAML
// treats as a letter.
const opaqueRune = '\uE5EE'

// Opaque reports whether a scalar of a template's document depends on an expression, so that its value is known to
// the guest alone.
func Opaque(n *yaml.Node) bool {
	n = resolveAlias(n)
	return n != nil && n.Kind == yaml.ScalarNode && strings.ContainsRune(n.Value, opaqueRune)
}

// maskJinja returns a template with each expression turned into opaque letters and each statement and comment into
// blanks, so that every other character keeps its line and column. The header line is blank too.
func maskJinja(data []byte) []byte {
	start := len(data) - len(trimLeft(data))
	text := []rune(string(data))
	i := len([]rune(string(data[:start])))
	for i < len(text) && text[i] != '\n' { // the header
		text[i] = ' '
		i++
	}
	for i+1 < len(text) {
		var closing string
		fill := ' '
		switch string(text[i : i+2]) {
		case "{{":
			closing, fill = "}}", opaqueRune
		case "{%":
			closing = "%}"
		case "{#":
			closing = "#}"
		default:
			i++
			continue
		}
		end := i + 2
		for end+1 < len(text) && string(text[end:end+2]) != closing {
			end++
		}
		end = min(end+2, len(text))
		for ; i < end; i++ {
			if text[i] != '\n' {
				text[i] = fill
			}
		}
	}
	return dropBlank(data, []byte(string(text)))
}

// dropBlank empties the lines that held statements alone: trailing blanks would otherwise matter in a block scalar.
func dropBlank(before, after []byte) []byte {
	old, new := bytes.Split(before, []byte("\n")), bytes.Split(after, []byte("\n"))
	for i := range new {
		if i < len(old) && len(bytes.TrimSpace(new[i])) == 0 {
			new[i] = nil
		}
	}
	return bytes.Join(new, []byte("\n"))
}
