package tree

import (
	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed/diag"
)

// Build makes a value of nodes that the parser of another format made. The nodes have the places of the file; lines says of
// texts that stand in the file line by line where each line begins.
func Build(file string, root *yaml.Node, lines map[*yaml.Node][]diag.Pos) Value {
	return Value{node: root, doc: &document{file: file, starts: lines, read: map[*yaml.Node]bool{}}}
}
