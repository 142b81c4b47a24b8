package frontendtest

import (
	"context"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/element"
	"github.com/vmseed/vmseed/format/kubeobject"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/internal/bounded"
	"github.com/vmseed/vmseed/machine"
)

// Load reads files as the engine reads an input, but with one front end, whatever it says of the documents: files may
// hold several, and the objects among them serve the others. The diagnostics are sorted.
func Load(f frontend.Frontend, o frontend.Options, files ...File) ([]machine.Machine, diag.List) {
	var values []tree.Value
	var l diag.List
	data := map[string][]byte{}
	for _, file := range files {
		v, found := element.Documents(file.Name, []byte(file.Text), bounded.Defaults())
		values, l = append(values, v...), append(l, found...)
		data[file.Name] = []byte(file.Text)
	}
	objects, rest, found := kubeobject.Read(values)
	l = append(l, found...)
	manifest, found := kubeobject.NewManifest(objects)
	l = append(l, found...)
	src := frontend.Source{Resolver: manifest, Options: o}
	for _, v := range rest {
		src.Documents = append(src.Documents, frontend.Document{File: v.File(), Data: data[v.File()], Tree: v})
	}
	machines, found := f.Read(context.Background(), src)
	return machines, append(l, found...).Sorted()
}
