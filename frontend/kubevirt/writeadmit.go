package kubevirt

import (
	"context"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/kubeobject"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/internal/bounded"
)

// admit reads a written definition by the rules of KubeVirt's admission. What is refused is an error of the machine: it
// states what no definition can.
func (w *writer) admit(text []byte) {
	docs, l := tree.Parse("", text, bounded.Limits{})
	objects, rest, problems := kubeobject.Read(docs)
	l = append(l, problems...)
	manifest, problems := kubeobject.NewManifest(objects)
	l = append(l, problems...)
	src := frontend.Source{Resolver: manifest, Options: frontend.Options{FeatureGates: []string{ignitionGate}}}
	for _, doc := range rest {
		src.Documents = append(src.Documents, frontend.Document{Tree: doc})
	}
	_, problems = Frontend{}.Read(context.Background(), src)
	for _, d := range append(l, problems...) {
		// The Secret of a definition of the first layout is among its author's files.
		if d.Severity != diag.Error || d.Code == CodeMissingObject && w.legacySecret() != "" {
			continue
		}
		field := ""
		if d.Field != "" {
			field = d.Field + ": "
		}
		w.list.Errorf(CodeWrite, w.m.Places.Find(""), d.Remedy, "KubeVirt would refuse what is written: %s%s", field, d.Summary)
	}
}
