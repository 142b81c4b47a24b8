//go:build conformance

package cloudconfig

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/internal/judge"
)

// randomTree makes a value whose keys and types meet those of other values often.
func randomTree(r *rand.Rand, depth int) string {
	return randomTreeOf(r, depth, "a", "b", "c", "d", "1", "yes", "0", "null")
}

func randomTreeOf(r *rand.Rand, depth int, keys ...string) string {
	kind := r.IntN(10)
	if depth > 3 {
		kind = r.IntN(5)
	}
	var parts []string
	switch kind {
	case 0, 1, 2, 3, 4:
		return []string{"s", "ab", "''", "5", "7", "1.5", "null", "yes", "2024-01-02", "'5'", "é", "!!binary aGk=", "!!set {a}"}[r.IntN(13)]
	case 5, 6, 7:
		for range r.IntN(4) {
			parts = append(parts, randomTreeOf(r, depth+1, keys...))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	used := map[string]bool{}
	for range r.IntN(5) {
		k := keys[r.IntN(len(keys))]
		if k == "yes" && used["1"] || k == "1" && used["yes"] || used[k] {
			continue
		}
		used[k] = true
		parts = append(parts, k+": "+randomTreeOf(r, depth+1, keys...))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// randomHow makes a value of merge_how, sometimes one that is not understood.
func randomHow(r *rand.Rand) string {
	options := []string{"replace", "no_replace", "append", "prepend", "recurse_str", "recurse_dict", "recurse_array", "recurse_list",
		"allow_delete", "nonsense", "No-Replace"}
	some := func() []string {
		var out []string
		for range r.IntN(4) {
			out = append(out, options[r.IntN(len(options))])
		}
		return out
	}
	types := []string{"dict", "list", "str", "dict", "list", "str", "Dict", "m_list", "set", "LIST"}
	var parts []string
	form := r.IntN(6)
	for range r.IntN(5) {
		name := types[r.IntN(len(types))]
		switch {
		case form < 4:
			parts = append(parts, name+"("+strings.Join(some(), ",")+")")
		case form == 4:
			parts = append(parts, fmt.Sprintf("{name: %s, settings: [%s]}", name, strings.Join(some(), ", ")))
		default:
			parts = append(parts, "["+strings.Join(append([]string{name}, some()...), ", ")+"]")
		}
	}
	if form < 4 {
		return `"` + strings.Join(parts, "+") + `"`
	}
	if r.IntN(20) == 0 {
		return []string{"5", "{list: append}", "[list]", "[{name: dict, settings: no_replace}]", "[{name: list}]", "[[]]", "nope", "[['']]"}[r.IntN(8)]
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// TestMergeAsCloudInit merges by hand-made and by generated pairs and compares with cloudinit.mergers of each release.
func TestMergeAsCloudInit(t *testing.T) {
	var pairs []judge.MergePair
	for _, c := range mergeCases {
		pairs = append(pairs, judge.MergePair{Base: c.base, Over: c.over, How: quote(c.how)})
	}
	r := rand.New(rand.NewPCG(11, 12))
	for range 3000 {
		p := judge.MergePair{Base: randomTree(r, 0), Over: randomTree(r, 0), How: randomHow(r)}
		if r.IntN(3) > 0 { // documents, most of the time
			p.Base, p.Over = "{x: "+p.Base+", y: {z: "+randomTree(r, 1)+"}}", "{x: "+p.Over+", y: {z: "+randomTree(r, 1)+"}}"
		}
		pairs = append(pairs, p)
	}
	for _, release := range judge.Releases(t) {
		t.Run(release.Name, func(t *testing.T) {
			theirs := release.Merge(t, pairs)
			var merged []*yaml.Node
			var at []int
			failed := 0
			for i, p := range pairs {
				how, err := HowOf(node(t, p.How))
				var n *yaml.Node
				if err == nil {
					n, err = Merge(node(t, p.Base), node(t, p.Over), how)
				}
				if err != nil {
					failed++
				}
				if (err != nil) != (theirs[i].Err != "") {
					t.Errorf("%+v: cloud-init: %s %q; we: %v", p, text1(theirs[i].Value), theirs[i].Err, err)
				}
				if err == nil && theirs[i].Err == "" {
					merged, at = append(merged, n), append(at, i)
				}
			}
			for j, v := range load(t, merged) {
				if want := theirs[at[j]].Value; !same(v, want) {
					t.Errorf("%+v: cloud-init: %s; we: %s", pairs[at[j]], text1(want), text1(v))
				}
			}
			t.Logf("%d pairs agree with cloud-init %s, %d of them are refused by both", len(pairs), release.Version, failed)
		})
	}
}

func text1(v judge.Value) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// TestMergePartsAsCloudInit sends lists of parts through the whole of cloud-init.
func TestMergePartsAsCloudInit(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	var lists [][]judge.Part
	var mine []*yaml.Node
	for range 60 {
		var list []judge.Part
		var parts []Part
		for range 1 + r.IntN(4) {
			// Keys are text: 25.1 fails when it sorts keys of several types for its log.
			content := Header + "\nruncmd: " + randomTreeOf(r, 2, "a", "b", "c") + "\nx: " + randomTreeOf(r, 0, "a", "b", "c") + "\n"
			switch r.IntN(6) {
			case 0, 1:
				content += "merge_how: " + randomHow(r) + "\n"
			case 2:
				content += "merge_type: " + randomHow(r) + "\n"
			case 3:
				// The second stays behind, and a guest merges the whole with its own configuration by it.
				content += "merge_how: " + randomHow(r) + "\nmerge_type: list()+dict()+str()\n"
			}
			p := judge.Part{Content: []byte(content), Headers: map[string]string{}}
			if r.IntN(3) == 0 {
				p.Headers[[]string{"Merge-Type", "X-Merge-Type"}[r.IntN(2)]] = strings.Trim(randomHow(r), `"`)
			}
			d, l := Parse(diag.File("f"), p.Content)
			if d == nil {
				t.Fatalf("%v\n%s", l, content)
			}
			list = append(list, p)
			parts = append(parts, Part{Document: d, MergeType: p.Headers["Merge-Type"] + p.Headers["X-Merge-Type"]})
		}
		merged, _ := MergeParts(parts...)
		lists, mine = append(lists, list), append(mine, merged.Root())
	}
	values := load(t, mine)
	for _, release := range judge.Releases(t) {
		for i, result := range release.MergeParts(t, lists) {
			want := result.Config
			if want.Tag == "null" || want.Tag == "" {
				want = judge.Value{Tag: "map"}
			}
			// The guest stores the result as YAML with sorted keys.
			if sortedForm(want) != sortedForm(values[i]) {
				t.Errorf("cloud-init %s: %s\nwe: %s\n%s", release.Name, text1(want), text1(values[i]), lists[i])
			}
		}
	}
}

// sortedForm is the value with the keys of mappings in order.
func sortedForm(v judge.Value) string {
	if v.Tag == "map" {
		m := map[string]string{}
		for i := 0; i+1 < len(v.Items); i += 2 {
			m[v.Items[i].Tag+v.Items[i].Text] = sortedForm(v.Items[i+1])
		}
		b, _ := json.Marshal(m)
		return string(b)
	}
	var items []string
	for _, c := range v.Items {
		items = append(items, sortedForm(c))
	}
	return v.Tag + " " + v.Text + " " + strings.Join(items, ";")
}
