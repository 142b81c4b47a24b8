//go:build conformance

package judge_test

import (
	"testing"

	"github.com/vmseed/vmseed/internal/judge"
)

// Pairs whose results are known from cloud-init's documentation or were seen in
// guests; the last ones must fail.
func TestMerge(t *testing.T) {
	const appending = "list(append)+dict(recurse_array)+str()"
	tests := []struct{ how, base, over, want string }{
		{appending, "{l: [1]}", "{l: [2]}", `{"l":[1,2]}`},
		{appending, "{l: [1], x: 1}", "{l: [2], x: 2}", `{"l":[1,2],"x":1}`},
		{"[{name: list, settings: [append]}, {name: dict, settings: [recurse_array]}]", "{l: [1]}", "{l: [2]}", `{"l":[1,2]}`},
		{"dict(replace)+list()+str()", "{a: 1, b: [1, 2]}", "{b: [3]}", `{"a":1,"b":[3]}`},
		{"dict(allow_delete,replace)+list()+str()", "{a: 1, b: 2}", "{a: null}", `{"b":2}`},
		{"", "{l: [1]}", "{l: [2]}", `{"l":[1]}`},
		{"bogus()", "{}", "{}", ""},
		{appending, "{a: ", "{}", ""},
	}
	var pairs []judge.MergePair
	for _, tt := range tests {
		pairs = append(pairs, judge.MergePair{Base: tt.base, Over: tt.over, How: tt.how})
	}
	for _, release := range judge.Releases(t) {
		for i, got := range release.Merge(t, pairs) {
			tt := tests[i]
			if (got.Err == "") != (tt.want != "") || tt.want != "" && got.Value.JSON() != tt.want {
				t.Errorf("%s: merge %s of %s into %s = %s %s, want %s",
					release.Name, tt.how, tt.over, tt.base, got.Value.JSON(), got.Err, tt.want)
			}
		}
	}
}
