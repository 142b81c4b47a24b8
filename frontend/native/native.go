// Package native reads and writes vmseed's own form of a machine: a Kubernetes-style document of apiVersion
// vmseed.dev/v1alpha1 and kind Machine whose spec has the fields of machine.Machine under their own names.
//
// Reading is strict: an unknown field, a text that some YAML reader takes for a number, a path that is not absolute is
// an error with its place. docs/reference/native.md and the JSON schema are generated from the same tables.
package native

import (
	"bytes"
	"context"
	_ "embed"
	"regexp"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/cloudconfig"
	"github.com/vmseed/vmseed/format/kubeobject"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/internal/bounded"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// The type that native documents name.
const (
	APIVersion = "vmseed.dev/v1alpha1"
	Kind       = "Machine"
)

//go:embed schema.json
var schema []byte

// Schema returns the JSON schema (draft 2020-12) of native documents.
func Schema() []byte { return bytes.Clone(schema) }

// Frontend reads native documents. It implements frontend.Frontend and frontend.Writer.
type Frontend struct{}

// New returns the front end.
func New() Frontend { return Frontend{} }

// Name returns "native".
func (Frontend) Name() string { return "native" }

// sniffed finds the group of the apiVersion where a field of the document itself stands: at the beginning of a line,
// or anywhere in JSON.
var (
	sniffed     = regexp.MustCompile(`(?m)^["']?apiVersion["']?[ \t]*:[ \t]+["']?vmseed\.dev/`)
	sniffedJSON = regexp.MustCompile(`"apiVersion"\s*:\s*"vmseed\.dev/`)
)

// Sniff returns Strong for documents whose apiVersion is of the group vmseed.dev.
func (Frontend) Sniff(head []byte) frontend.Match {
	switch cloudconfig.RecogniseText(head) {
	case cloudconfig.Unknown, cloudconfig.Ignition:
	default:
		// A script or template may hold a whole definition.
		return frontend.No
	}
	switch {
	case tree.IsJSON(head) && sniffedJSON.Match(head), sniffed.Match(head):
		return frontend.Strong
	}
	return frontend.No
}

// Read decodes each document into a machine. A document of another version gives no machine.
func (Frontend) Read(ctx context.Context, src frontend.Source) ([]machine.Machine, diag.List) {
	var machines []machine.Machine
	var l diag.List
	for _, doc := range src.Documents {
		if doc.Role != frontend.Definition {
			l.Errorf(CodeRole, diag.At(doc.File, 1, 1), "give the file without a flag", "a native document cannot be used as %s", doc.Role)
			continue
		}
		trees := []tree.Value{doc.Tree}
		if !doc.Tree.Exists() {
			var found diag.List
			trees, found = tree.Parse(doc.File, doc.Data, bounded.Limits{})
			l = append(l, found...)
		}
		for _, v := range trees {
			m, ok := read(v, &l, func(ref kubeobject.Ref) (kubeobject.Object, error) { return src.Resolver.Resolve(ctx, ref) })
			if !ok {
				continue
			}
			m.Document = machine.Document{Form: Frontend{}.Name(), Text: text(doc, v)}
			machines = append(machines, m)
		}
	}
	return machines, l
}

// text returns the document that a machine was read from: the author's own bytes where the file holds nothing else.
func text(doc frontend.Document, v tree.Value) secret.Text {
	if tree.IsJSON(doc.Data) || !bytes.Contains(doc.Data, []byte("\n---")) && len(doc.Data) > 0 {
		return secret.FromBytes(doc.Data)
	}
	data, err := cloudconfig.EncodeNode(v.Node())
	if err != nil {
		data = doc.Data
	}
	return secret.FromBytes(data)
}

// read decodes one document. It reports false when the document is none of this version and kind.
func read(v tree.Value, l *diag.List, resolve resolver) (machine.Machine, bool) {
	var m machine.Machine
	if !v.Want(l, tree.Map) {
		return m, false
	}
	for _, want := range []struct{ key, value string }{{"apiVersion", APIVersion}, {"kind", Kind}} {
		if field := v.Get(want.key); field.Loose(l) != want.value {
			field.Errorf(l, CodeVersion, "write "+want.key+": "+want.value, "this is no document that the native form knows")
			v.Consume()
			return m, false
		}
	}
	v.Only(l, "apiVersion", "kind", "metadata", "spec")
	d := &decoder{resolve: resolve, list: l, places: machine.Places{"": v.Range()},
		origins: map[string]diag.Origin{}, broken: map[string]bool{}}
	d.metadata(v.Get("metadata"), &m)
	d.namespace = m.Namespace
	if d.namespace == "" {
		d.namespace = kubeobject.DefaultNamespace
	}
	spec := v.Get("spec")
	d.spec(spec, &m)
	if h := spec.At("identity", "hostname"); !h.Exists() || h.Kind() == tree.Null {
		m.Identity.Hostname = m.Name
		d.places["identity.hostname"] = d.places.Find("name")
	}
	m.Places = d.places
	d.check(&m)
	for _, e := range v.Unread() {
		l.Add(diag.Diagnostic{Code: tree.CodeUnknownField, Severity: diag.Error, Range: e.Place, Field: e.Value.Path(),
			Summary: "nothing reads this value", Remedy: "remove it"})
	}
	return m, true
}
