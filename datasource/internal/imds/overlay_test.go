package imds

import (
	"strings"
	"testing"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// TestOverlay lays documents over the tree. absent stands for a leaf that is not there.
func TestOverlay(t *testing.T) {
	const absent = "\x00"
	for _, tt := range []struct {
		name, document string
		want           map[string]string
		said           diag.Code
	}{
		{"a text", "role: web\n", map[string]string{"role": "web"}, 0},
		{"plain values", "a: yes\nb: 010\nc: 1.50\nd: ''\n", map[string]string{"a": "true", "b": "8", "c": "1.5", "d": ""}, 0},
		{"a mapping", "a: {b: {c: d}, e: f}\n", map[string]string{"a/b/c": "d", "a/e": "f"}, 0},
		{"a list", "a: [x, 1]\n", map[string]string{"a": "x\n1"}, 0},
		{"a list of one", "a: [x]\n", map[string]string{"a": "x\n"}, 0},
		{"over a leaf", "instance-type: own\n", map[string]string{"instance-type": "own"}, 0},
		{"beside leaves", "placement: {group-name: g}\n", map[string]string{"placement/group-name": "g", "placement/region": "local-1"}, 0},
		{"over a directory", "placement: p\n", map[string]string{"placement": "p", "placement/region": absent}, CodeValue},
		{"over a directory of others", "services: s\n", map[string]string{"services": "s", "services/domain": absent}, 0},
		{"no interfaces", "network: {interfaces: none}\n", map[string]string{"network/interfaces": "none"}, CodeValue},
		{"no network", "network: null\n", map[string]string{"network": absent}, 0},
		{"no placement", "placement: null\n", map[string]string{"placement": absent}, 0},
		{"a directory over a leaf", "profile: {a: b}\n", map[string]string{"profile": absent, "profile/a": "b"}, 0},
		{"null takes away", "services: null\nprofile: null\n", map[string]string{"services/domain": absent, "profile": absent, "ami-launch-index": "0"}, 0},
		{"keys as a list", "public-keys: [k1, k2]\n", map[string]string{"public-keys/": "0=key-0\n1=key-1", "public-keys/1/openssh-key": "k2"}, 0},
		{"keys by name", "public-keys: {b: [k2], a: k1}\n", map[string]string{"public-keys/": "0=key-0\n1=key-1", "public-keys/0/openssh-key": "k1"}, 0},
		{"many keys", "public-keys: {key-10: k10, key-9: [k9]}\n", map[string]string{"public-keys/0/openssh-key": "k9", "public-keys/1/openssh-key": "k10"}, 0},
		{"keys as a text", "public-keys: |\n  k1\n\n  k2\n", map[string]string{"public-keys/": "0=key-0\n1=key-1", "public-keys/1/openssh-key": "k2"}, 0},
		{"no keys", "public-keys: null\n", map[string]string{"public-keys/": absent, "public-keys/0/openssh-key": absent}, 0},
		{"what the data source decides", "instance-id: x\nlocal-hostname: y\n", map[string]string{"local-hostname": absent}, 0},
		{"a slash", "a/b: c\n", map[string]string{"a/b": absent}, CodeKey},
		{"a name like a key's", "x: {'1=a': b}\n", map[string]string{"x/1=a": absent}, CodeKey},
		{"a name that Python reads as a number", "x: {'-1_0 =a': b}\n", map[string]string{"x/-1_0 =a": absent}, CodeKey},
		{"a name with digits of another script", "'١=a': b\n", map[string]string{"١=a": absent}, CodeKey},
		{"a line break in a name", "\"a\\nb\": c\n", nil, CodeKey},
		{"dots", "x: {..: y}\n", map[string]string{"x/..": absent}, CodeKey},
		{"a backslash", "'a\\b': c\n", map[string]string{`a\b`: absent}, CodeKey},
		{"a long name", strings.Repeat("n", maxName+1) + ": c\n", nil, CodeKey},
		{"characters of URLs", "'a?b#c%20': c\n", map[string]string{"a?b#c%20": "c"}, 0},
		{"two lines", "a: \"b\\nc\"\n", map[string]string{"a": "b\nc"}, CodeValue},
		{"JSON in a text", "a: '{\"b\": 1}'\n", map[string]string{"a": `{"b": 1}`}, CodeValue},
		{"braces", "a: ' {b} '\n", map[string]string{"a": " {b} "}, CodeValue},
		{"a brace", "a: '{b'\n", map[string]string{"a": "{b"}, 0},
		{"a list of mappings", "a: [{b: c}]\n", map[string]string{"a": `[{"b":"c"}]`}, CodeValue},
		{"an empty list", "a: []\n", map[string]string{"a": absent}, CodeValue},
		{"an empty mapping", "a: {}\n", map[string]string{"a": absent}, CodeValue},
	} {
		got, l := full(t, machine.Machine{SSH: machine.SSH{AuthorizedKeys: []string{"k0"}},
			MetaData: []machine.Layer{{Data: secret.New(tt.document), Origin: diag.Origin{Whole: diag.At("meta-data", 1, 1)}}}})
		for path, want := range tt.want {
			have, ok := got["meta-data/"+path]
			if ok && want == absent || !ok && want != absent || ok && have != want {
				t.Errorf("%s: %s is %q (there: %t), want %q", tt.name, path, have, ok, want)
			}
		}
		if tt.said == 0 && len(l) > 0 || tt.said != 0 && (len(l) != 1 || l[0].Code != tt.said) {
			t.Errorf("%s: said %v", tt.name, l)
		}
	}
}

// TestTags leaves out the names that a reader would take for something else.
func TestTags(t *testing.T) {
	for name, ok := range map[string]bool{"Name": true, "a:b@c+d-e=f.g,h_i": true, "=": true, "x1=": true, "-=": true, "1=": false, "12=x": false, "-1=": false, "+1_0=x": false,
		"a b": false, "a/b": false, "": false, ".": false, "..": false, "_index": false, "ä": false} {
		got, l := full(t, machine.Machine{Identity: machine.Identity{Tags: map[string]string{name: "v"}}})
		if _, there := got["meta-data/tags/instance/"+name]; there != ok || ok != (len(l) == 0) {
			t.Errorf("%q: there: %t, said %v", name, there, l)
		}
	}
}

// TestOddIdentity warns of what a guest would not take for one word.
func TestOddIdentity(t *testing.T) {
	for name, id := range map[string]machine.Identity{"region": {Region: "{a}"}, "zone": {AvailabilityZone: "a\nb"}, "type": {InstanceType: "{b} {c}"}} {
		if _, l := full(t, machine.Machine{Identity: id}); len(l) == 0 || l[0].Code != CodeValue || l[0].Severity != diag.Warning {
			t.Errorf("%s: said %v", name, l)
		}
	}
	m := placed(t, machine.Machine{})
	if _, l := Full(Guest{Machine: m, InstanceID: "{i}", Hostname: "a\nb"}); len(l) != 2 {
		t.Errorf("instance id and host name: said %v", l)
	}
}

// TestSaidOnce leaves the diagnosis of a broken document to the overlay.
func TestSaidOnce(t *testing.T) {
	_, l := full(t, machine.Machine{MetaData: []machine.Layer{{Data: secret.New("a: [\n")}}})
	if !l.HasErrors() || strings.Count(l.Error(), "not YAML") != 1 {
		t.Error(l)
	}
}
