package judge

import "testing"

// SchemaKind says what a document is to the schema.
type SchemaKind string

// The kinds of documents. NetworkConfig needs a release that HasNetworkSchema.
const (
	CloudConfig   SchemaKind = "cloud-config"
	NetworkConfig SchemaKind = "network-config"
)

// SchemaProblem is one complaint about a document.
type SchemaProblem struct {
	Path    string `json:"path"`    // dotted path, or format-lLINE.cCOLUMN
	Message string `json:"message"` // the document's own name is FILE
}

// SchemaResult is the verdict on one document.
type SchemaResult struct {
	RC           int             `json:"rc"` // exit status of the command: 0 or 1
	Errors       []SchemaProblem `json:"errors"`
	Deprecations []SchemaProblem `json:"deprecations"` // alone they leave RC at 0
}

// OK reports whether the document is valid, deprecations aside.
func (s SchemaResult) OK() bool { return s.RC == 0 }

// HasNetworkSchema reports whether the release can validate network-config.
func (r *Release) HasNetworkSchema() bool { return r.Name != "22.4" }

// InstanceData is the instance-data that templates are rendered with when Schema
// judges them.
const InstanceData = `{"v1": {"instance_id": "i-judge", "local_hostname": "judge"}, "ds": {"meta_data": {}}}`

// Schema returns the verdict of "cloud-init schema --config-file" on each
// document, in one process. The judge validates network-config version 2 by
// cloud-init's own schema, as on a guest without netplan's Python library.
func (r *Release) Schema(tb testing.TB, kind SchemaKind, docs [][]byte) []SchemaResult {
	tb.Helper()
	var answer struct {
		Unsupported bool
		Results     []SchemaResult
	}
	ask(tb, r.Root, "schema", map[string]any{"kind": kind, "docs": docs, "instance_data": InstanceData}, &answer)
	if answer.Unsupported {
		tb.Fatalf("cloud-init %s has no schema for %s", r.Name, kind)
	}
	if len(answer.Results) != len(docs) {
		tb.Fatalf("cloud-init %s judged %d of %d documents", r.Name, len(answer.Results), len(docs))
	}
	return answer.Results
}
