package metadata

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

func layers(texts ...string) []machine.Layer {
	var out []machine.Layer
	for _, t := range texts {
		out = append(out, machine.Layer{Data: secret.New(t), Origin: diag.Origin{Whole: diag.At("meta-data", 1, 1)}})
	}
	return out
}

// TestOverlay puts documents over a generated object and compares the line that is written.
func TestOverlay(t *testing.T) {
	for _, tt := range []struct {
		name   string
		layers []machine.Layer
		want   string
	}{
		{"nothing", nil, `{"instance-id":"i","tags":{"a":"b"}}`},
		{"another key", layers("x: y\n"), `{"instance-id":"i","tags":{"a":"b"},"x":"y"}`},
		{"values are replaced whole", layers("tags: {c: d}\n"), `{"instance-id":"i","tags":{"c":"d"}}`},
		{"null stays", layers("tags: null\n"), `{"instance-id":"i","tags":null}`},
		{"the later layer wins", layers("x: 1\ny: 1\n", "x: 2\n"), `{"instance-id":"i","tags":{"a":"b"},"x":2,"y":1}`},
		{"JSON", layers(`{"instance-id": "j", "tags": []}`), `{"instance-id":"j","tags":[]}`},
		{"values of YAML 1.1", layers("a: yes\nb: 0o10\nc: 010\nd: 0x1F\ne: 1_000\nf: 190:20:30\ng: off\nh: ~\ni: 2001-12-14\nj: y\nk: 'no'\n"),
			`{"a":true,"b":"0o10","c":8,"d":31,"e":1000,"f":685230,"g":false,"h":null,"i":"2001-12-14","instance-id":"i","j":"y","k":"no","tags":{"a":"b"}}`},
		{"numbers", layers("a: 1.0\nb: 1e3\nc: 1.5e+3\nd: 1.0e+30\ne: 123456789012345678901234567890\nf: .5\n"),
			`{"a":1.0,"b":"1e3","c":1500.0,"d":1.0e+30,"e":123456789012345678901234567890,"f":0.5,"instance-id":"i","tags":{"a":"b"}}`},
		{"aliases and merge keys", layers("a: &a {x: 1, y: 2}\nb: *a\nc: {<<: *a, y: 3}\n"),
			`{"a":{"x":1,"y":2},"b":{"x":1,"y":2},"c":{"x":1,"y":3},"instance-id":"i","tags":{"a":"b"}}`},
		{"keys that are no text", layers("m: {1: a, 2.5: b}\n"), `{"instance-id":"i","m":{"1":"a","2.5":"b"},"tags":{"a":"b"}}`},
		{"control characters", layers("a: \"\\x01\\x7f\\x85\\u2028<>&\"\n"), `{"a":"\u0001\u007f\u0085\u2028<>&","instance-id":"i","tags":{"a":"b"}}`},
	} {
		o := Object{"instance-id": "i", "tags": map[string]string{"a": "b"}}
		_, l := o.Overlay(tt.layers)
		got, err := o.Encode()
		if err != nil || l.HasErrors() || string(got) != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s\n%v %v", tt.name, got, tt.want, err, l)
		}
		if !json.Valid(got) {
			t.Errorf("%s: no JSON", tt.name)
		}
	}
}

func TestOverlayRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"x: .inf\n": `meta-data:1:`, "x: [.nan]\n": `"x"`, "x: !!binary aGk=\n": "no form in JSON", "x: !!set {a}\n": "no form in JSON",
		"a: [\n": "not YAML", "- a\n": "mapping",
	} {
		l := diag.List(nil)
		if _, l = (Object{}).Overlay(layers(text)); !l.HasErrors() || !strings.Contains(l.Error(), want) {
			t.Errorf("%q: %v; want an error with %q", text, l, want)
		}
	}
}

// TestVerbatim holds what may be passed as it is to documents that miss nothing.
func TestVerbatim(t *testing.T) {
	for _, tt := range []struct {
		layers []machine.Layer
		want   bool
	}{
		{layers("# a comment\ninstance-id: i\n"), true},
		{layers("x: y\n"), false},
		{layers("instance-id: i\n", "x: y\n"), false},
		{nil, false},
	} {
		o := Object{"instance-id": "generated"}
		named, _ := o.Overlay(tt.layers)
		got, ok := o.Verbatim(tt.layers, named)
		if ok != tt.want || ok && string(got) != tt.layers[0].Data.Reveal() {
			t.Errorf("%v: %q %v", tt.layers, got, ok)
		}
	}
}

func TestInstance(t *testing.T) {
	m := machine.Machine{Identity: machine.Identity{InstanceID: "own", Revision: 3}}
	if got := Instance(m, ""); got != "own-r3" {
		t.Errorf("instance id %q", got)
	}
	if got := Instance(m, "stated"); got != "stated-r3" {
		t.Errorf("stated instance id %q", got)
	}
	m.Identity.Revision = 0
	if got := Instance(m, "stated"); got != "stated" {
		t.Errorf("instance id without revision %q", got)
	}
}

func TestCommon(t *testing.T) {
	index := 0
	m := machine.Machine{Identity: machine.Identity{Region: "r", CloudName: "c", LaunchIndex: &index, Tags: map[string]string{"b": "2", "a": "1"}},
		SSH: machine.SSH{AuthorizedKeys: []string{"k1", "k2"}}}
	o := Common(m, map[string]string{"region": "region", "launchIndex": "launch-index", "tags": "tags"})
	got, err := o.Encode()
	if want := `{"launch-index":0,"public-keys":["k1","k2"],"region":"r","tags":{"a":"1","b":"2"}}`; err != nil || string(got) != want {
		t.Errorf("%s %v, want %s", got, err, want)
	}
	o["public-keys"].([]string)[0] = "changed"
	if m.SSH.AuthorizedKeys[0] != "k1" {
		t.Error("the object shares its keys with the machine")
	}
}
