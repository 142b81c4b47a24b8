package intake_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/report/intake"
	"github.com/vmseed/vmseed/secret"
)

func TestLost(t *testing.T) {
	for _, c := range []struct{ name, doc, want string }{
		{"nothing", "#cloud-config\nhostname: x\n", ""},
		{"their own handler", "#cloud-config\nreporting:\n  mine: {type: print}\n", ""},
		{"a handler of our name", "#cloud-config\nreporting:\n  mine: {type: print}\n  vmseed: null\n", "vm.yaml:3:3: VS6101"},
		{"no mapping", "#cloud-config\nreporting: null\n", "vm.yaml:2:12: VS6101"},
		{"vendor-data off", "#cloud-config\nvendor_data: {enabled: no}\n", "vm.yaml:2:14: VS6100"},
		{"vendor-data on", "#cloud-config\nvendor_data: {enabled: true, prefix: /bin/x}\n", ""},
		{"their own phone_home", "#cloud-config\nphone_home: {url: http://x}\n", ""},
		{"a script", "#!/bin/sh\nreporting: null\n", ""},
		{"broken", "#cloud-config\nreporting: [\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := machine.Machine{UserData: machine.UserData{Layers: []machine.Layer{{Data: secret.New(c.doc), Origin: diag.File("vm.yaml")}}}}
			var got []string
			for _, d := range intake.Lost(m, true) {
				got = append(got, d.Range.String()+": "+d.Code.String())
				if !strings.Contains(c.doc, "\n") || d.Remedy == "" || d.Severity != diag.Warning {
					t.Errorf("%+v", d)
				}
			}
			if diff := cmp.Diff(c.want, strings.Join(got, "\n")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if l := intake.Lost(m, false); len(l) > 0 && strings.Contains(l.Error(), "VS6100") {
				t.Errorf("without vendor-data: %v", l)
			}
		})
	}
}

// The URL reaches what the layers install, and nothing that shows a layer.
func TestLayers(t *testing.T) {
	const url = "http://169.254.169.254/vmseed/report/ns/vm/canary"
	layers := intake.Layers(secret.New(url))
	for i, want := range []string{url + "/webhook", url + "/check-in"} {
		if text := layers[i].Data.Reveal(); !strings.HasPrefix(text, "#cloud-boothook\n#!/bin/sh\n") || strings.Count(text, `"`+want+`"`) != 1 || strings.Contains(text, "@") {
			t.Errorf("%s:\n%s", layers[i].Name, text)
		}
		if strings.Contains(layers[i].Name, "canary") {
			t.Error(layers[i].Name)
		}
	}
	if text := layers[2].Data.Reveal(); !strings.HasPrefix(text, `{"ignition":{"version":"3.0.0"}`) || !strings.Contains(text, "/etc/vmseed/checkin.url") {
		t.Errorf("%s:\n%s", layers[2].Name, text)
	}
}
