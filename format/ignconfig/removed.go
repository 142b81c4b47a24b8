package ignconfig

import (
	"fmt"

	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed/diag"
)

// removed explains keys of specification 2 that specification 3 ignores without a word.
func removed(p dataPath, key string, value *yaml.Node) (summary, remedy string) {
	if len(p) == 0 && key == "networkd" {
		if units := step(value, "units"); units == nil || len(units.Content) == 0 {
			return "specification 3 has no networkd section; this one is empty, so nothing is lost", "remove it"
		}
		return "specification 3 has no networkd section: the guest ignores these units and comes up without their network",
			"write them as files below /etc/systemd/network"
	}
	for _, r := range []struct{ place, key, remedy string }{
		{"ignition.config", "append", `"append" is called "merge" now`},
		{"storage.files", "filesystem", "give the path as it is seen from the root, the file system's own path in front"},
		{"storage.directories", "filesystem", "give the path as it is seen from the root, the file system's own path in front"},
		{"storage.links", "filesystem", "give the path as it is seen from the root, the file system's own path in front"},
		{"storage.filesystems", "name", "name the file system by its path, or leave the name away"},
		{"storage.filesystems", "mount", "put its members directly into the file system"},
		{"passwd.users", "create", "put its members directly into the user"},
		{"systemd.units", "enable", `"enable" is called "enabled" now`},
	} {
		if r.place == p.sections() && r.key == key {
			return fmt.Sprintf("%q is of specification 2, and Ignition ignores it in a config of specification 3", key), r.remedy
		}
	}
	if p.leaf() == "contents" && (key == "inline" || key == "local") {
		return fmt.Sprintf("%q is Butane's, and Ignition ignores it", key), `write "source": "data:," and the content in percent-encoding, or translate with Butane`
	}
	return "", ""
}

// sections is the path without indices.
func (p dataPath) sections() string {
	var out dataPath
	for _, e := range p {
		if _, ok := e.(int); !ok {
			out = append(out, e)
		}
	}
	return out.String()
}

// leaf is the last key of a path.
func (p dataPath) leaf() string {
	for i := len(p) - 1; i >= 0; i-- {
		if key, ok := p[i].(string); ok {
			return key
		}
	}
	return ""
}

// spelledTwice refuses two keys that are one to encoding/json, which takes the last.
func spelledTwice(key, first *yaml.Node, name string, p dataPath) diag.Diagnostic {
	return diag.Diagnostic{Code: CodeSyntax, Severity: diag.Error, Range: at(key), Field: p.String(),
		Summary: fmt.Sprintf("%q stands twice in one object, in two spellings", name), Remedy: "remove one of the two"}.
		With(at(first), "the first one is here")
}
