package judge

import "testing"

// MergePair is one merge of two YAML documents.
type MergePair struct {
	Base string `json:"base"` // the document merged so far
	Over string `json:"over"` // the document that is merged into it
	// How is the value of merge_how as YAML: a string such as
	// list(append)+dict(recurse_array)+str(), or a list of mergers. Empty means
	// no merger at all, not the default.
	How string `json:"how"`
}

// MergeResult is the merged document, or why there is none.
type MergeResult struct {
	Value Value  `json:"value"`
	Err   string `json:"error"` // "Type: message" of the Python exception
}

// Merge runs cloudinit.mergers on each pair, in one process.
func (r *Release) Merge(tb testing.TB, pairs []MergePair) []MergeResult {
	tb.Helper()
	var answer []MergeResult
	ask(tb, r.Root, "merge", map[string]any{"pairs": pairs}, &answer)
	if len(answer) != len(pairs) {
		tb.Fatalf("cloud-init %s judged %d of %d merges", r.Name, len(answer), len(pairs))
	}
	return answer
}

// Part is one part of a MIME multipart user-data.
type Part struct {
	Type     string            `json:"type,omitempty"`     // media type; text/cloud-config if empty
	Filename string            `json:"filename,omitempty"` // of Content-Disposition
	Headers  map[string]string `json:"headers,omitempty"`  // such as Merge-Type or Launch-Index
	Content  []byte            `json:"content"`
}

// MergeParts sends each list of parts as one MIME multipart through the whole
// of cloud-init's user-data processing, in one process. merge_how, merge_type
// and the Merge-Type header of each part decide how it is merged.
func (r *Release) MergeParts(tb testing.TB, lists [][]Part) []ConsumeResult {
	tb.Helper()
	inputs := make([]UserDataInput, len(lists))
	for i, parts := range lists {
		inputs[i].Parts = parts
	}
	return r.UserDataBatch(tb, inputs)
}
