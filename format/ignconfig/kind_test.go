package ignconfig

import "testing"

func TestRecognise(t *testing.T) {
	for text, want := range map[string]Kind{
		"": None, " \n": None, "{": None, "{}": None, "[]": None, "hello": None, "#cloud-config\nvariant: fcos\n": None,
		`{"ignition": {"version": "3.0.0"}}`:                  Ignition,
		`{"ignition": {"version": "3.0.0"`:                    Ignition,
		`{"\u0069gnition": {}}`:                               Ignition,
		`{"Ignition": {}}`:                                    Ignition,
		`{"ignitionVersion": 1}`:                              Ignition,
		"\ufeff\n{\"ignition\": {}}":                          Ignition,
		"{\n// mine\n/* and \" */ \"ignition\" : {}":          Ignition,
		`{"storage": {"files": [{},]}, "ignition": {}}`:       Ignition,
		`{"a": "\"ignition\": {}"}`:                           None,
		`{"ignition"`:                                         None,
		`{"ignition`:                                          None,
		`{"\`:                                                 None,
		`{/* "ignition": {}`:                                  None,
		`{// "ignition": {}`:                                  None,
		`{"name": "ignition"}`:                                None,
		`{"kind": "VM", "spec": {"ignition": {}}}`:            None,
		`[{"ignition": {}}]`:                                  None,
		"variant: fcos\nversion: 1.5.0\n":                     Butane,
		"# mine\n\"variant\": fcos\n'version' : 1.5.0\n":      Butane,
		"version: 1.5.0\nvariant: fcos\n":                     Butane,
		"variant: fcos\n":                                     None,
		"kind: VM\nx: |\n  variant: fcos\n  version: 1.5.0\n": None,
		"invariant: fcos\nversion: 1.5.0\n":                   None,
	} {
		if got := Recognise([]byte(text)); got != want {
			t.Errorf("%q is %v, want %v", text, got, want)
		}
		if IsButane([]byte(text)) != (want == Butane) {
			t.Errorf("%q: IsButane says something else", text)
		}
	}
	for text, want := range map[string]string{"variant: fcos\nversion: 1.5.0\n": "fcos", "version: x\n\"variant\":  'r4e'\n": "r4e", "variant: fcos\n": "", "{}": ""} {
		if got := Variant([]byte(text)); got != want {
			t.Errorf("%q is of variant %q, want %q", text, got, want)
		}
	}
}
