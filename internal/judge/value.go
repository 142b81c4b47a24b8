package judge

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// Value is a value of a Python program with its type, as PyYAML or cloud-init
// made it.
type Value struct {
	// Tag is the type: null, bool, int, float, str, bytes, date, datetime,
	// list, map, set; surrogates for a string that UTF-8 cannot hold; cycle for
	// a collection that contains itself; error for a document that was refused.
	// It is empty where there is no value.
	Tag string `json:"t"`
	// Text is a scalar: true or false, decimal digits, Python's repr of a float
	// (inf, nan), the string itself, base64 of bytes, ISO 8601 of a date, and
	// for an error "Type: message".
	Text string `json:"v,omitempty"`
	// Items are a list's elements, or key, value, key, value, … of a map in the
	// document's order.
	Items []Value `json:"i,omitempty"`
}

// IsError reports whether the document was refused; Text says why.
func (v Value) IsError() bool { return v.Tag == "error" }

// Get returns the value at a path of string keys, or a Value without a Tag.
func (v Value) Get(path ...string) Value {
	for _, key := range path {
		v = v.member(key)
	}
	return v
}

func (v Value) member(key string) Value {
	if v.Tag != "map" {
		return Value{}
	}
	for i := 0; i+1 < len(v.Items); i += 2 {
		if v.Items[i].Tag == "str" && v.Items[i].Text == key {
			return v.Items[i+1]
		}
	}
	return Value{}
}

// Keys returns a map's keys as text, in order.
func (v Value) Keys() []string {
	var keys []string
	if v.Tag == "map" {
		for i := 0; i+1 < len(v.Items); i += 2 {
			keys = append(keys, v.Items[i].Text)
		}
	}
	return keys
}

// JSON returns the value as compact JSON with sorted keys, for comparison with
// what is written by hand in a test. Keys become strings; what JSON lacks
// becomes a string too, so compare Values where 1 and "1" must differ.
func (v Value) JSON() string {
	out, err := json.Marshal(v.plain())
	if err != nil {
		return fmt.Sprintf("error: %v", err)
	}
	return string(out)
}

func (v Value) plain() any {
	switch v.Tag {
	case "", "null":
		return nil
	case "bool":
		return v.Text == "true"
	case "int":
		return json.Number(v.Text)
	case "float":
		if strings.ContainsAny(v.Text, "in") { // inf, nan
			return v.Text
		}
		return json.Number(v.Text)
	case "list", "set":
		list := make([]any, len(v.Items))
		for i, item := range v.Items {
			list[i] = item.plain()
		}
		return list
	case "map":
		object := make(map[string]any, len(v.Items)/2)
		for i := 0; i+1 < len(v.Items); i += 2 {
			key := v.Items[i].Text
			if v.Items[i].Tag == "null" {
				key = "null"
			}
			object[key] = v.Items[i+1].plain()
		}
		return object
	default:
		return v.Text
	}
}

// PyYAML returns what yaml.safe_load makes of each document, in one process.
// It skips the test when PyYAML is missing.
func PyYAML(tb testing.TB, docs [][]byte) []Value {
	tb.Helper()
	needPython(tb)
	var answer []Value
	ask(tb, "-", "pyyaml", map[string]any{"docs": docs}, &answer)
	if len(answer) != len(docs) {
		tb.Fatalf("PyYAML judged %d of %d documents", len(answer), len(docs))
	}
	return answer
}
