package kubevirt_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/frontend/frontendtest"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/machine/machinetest"
)

// breaks are the line breaks of YAML 1.1 beside \n.
var breaks = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// FuzzRead reads what comes. Every diagnostic is complete and stands in the input, every value of a machine that was
// read without errors has a place, no diagnostic shows a secret, no definition vanishes, and two readings agree.
func FuzzRead(f *testing.F) {
	for _, pattern := range []string{"testdata/*/*.yaml", examples + "*"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			f.Fatal(pattern, err)
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			if len(data) < 3000 { // more takes minutes to minimise
				f.Add(string(data))
			}
		}
	}
	f.Add(instance(withVolume("cloudInitNoCloud", "secretRef: {name: lower}\nnetworkDataSecretRef: {name: nobody}")).Text + "---\n" + secrets)
	f.Add(ignited("").Text + "---\n" + configMap("kubevirt", "feature-gates: "+gate).Text + "---\n" + resource("featureGates: [A]").Text)
	f.Fuzz(func(t *testing.T, text string) {
		in := frontendtest.File{Name: "in", Text: text}
		machines, l := load(frontend.Options{FeatureGates: []string{gate}}, in)
		lines := strings.Split(breaks.Replace(text), "\n")
		printed, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range l {
			if d.Summary == "" || d.Code == 0 || d.Severity < diag.Note || d.Severity > diag.Error {
				t.Errorf("incomplete: %+v", d)
			}
			if p := d.Range.Start; d.Range.File != "in" || p.Line < 1 || p.Line > len(lines) || p.Column < 1 {
				t.Errorf("%s stands outside of the input", d.Error())
			}
		}
		for _, m := range machines {
			checkSecrets(t, m, string(printed))
			if l.HasErrors() {
				continue
			}
			for _, u := range machine.Used(m) {
				if m.Places.Find(u.Path).IsZero() {
					t.Errorf("%s has no place", u.Path)
				}
			}
		}
		again, l2 := load(frontend.Options{FeatureGates: []string{gate}}, in)
		if a, b := dump(machines, l), dump(again, l2); a != b {
			t.Errorf("two readings differ:\n%s\n%s", a, b)
		}
		if len(machines) == 0 && len(l) == 0 && strings.HasPrefix(text, "apiVersion: kubevirt.io/v1\nkind: VirtualMachine") {
			t.Error("a definition vanished")
		}
	})
}

// checkSecrets demands that diagnostics show no secret of a machine. Shorter texts stand in messages by chance, and so
// does what the input has outside of secrets as well.
func checkSecrets(t *testing.T, m machine.Machine, printed string) {
	t.Helper()
	for _, secret := range machinetest.Secrets(m) {
		if len(secret) > 40 && strings.Contains(printed, strings.Trim(fmt.Sprintf("%q", secret), `"`)) {
			t.Errorf("a secret shows in %s", printed)
		}
	}
}
