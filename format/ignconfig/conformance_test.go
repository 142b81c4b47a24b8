//go:build conformance

package ignconfig

import (
	"regexp"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/internal/judge"
)

// The real program refuses what is called an error here, and takes the rest. It is Debian 12's, which ends at specification
// 3.3.0.
func TestVerdicts(t *testing.T) {
	ignition := judge.NewIgnition(t)
	guest, err := ParseGuest("debian-12")
	if err != nil {
		t.Fatal(err)
	}
	// These are refused here although this release takes them: keys of which one is lost, a text that boots without a word,
	// and what later releases refuse.
	stricter := map[string]bool{"a key twice": true, "two spellings": true, "empty": true, "unit in the path of a file": true}
	// These are accepted here with a remark that says how a guest dies of them.
	milder := map[string]bool{"user without a name": true, "host name": true}
	for name, tt := range wrong() {
		in, _ := marked(tt.in)
		t.Run(name, func(t *testing.T) {
			_, l := Parse(diag.File("c.ign"), []byte(in))
			got := ignition.Apply(t, []byte(in))
			refused := l.HasErrors() && !stricter[name] || milder[name]
			if (got.Failed != "") != refused {
				t.Errorf("Ignition failed in %q (%s), and here it says %v", got.Failed, got.Reason, l)
			}
			for _, w := range got.Warnings {
				if len(l) == 0 {
					t.Errorf("nothing is said where Ignition warns: %s", w)
				}
			}
		})
	}
	remote := regexp.MustCompile(`"(http|gs|arn):`)
	for name, tt := range features() {
		c, l := Build(tt.c)
		if l.HasErrors() {
			t.Fatal(l)
		}
		if remote.Match(c.Text()) {
			continue // Ignition waits for a network for ever
		}
		t.Run("feature: "+name, func(t *testing.T) {
			got := ignition.Apply(t, c.Text())
			newer := tt.version > spec(guest.accepts())
			if unsupported := strings.Contains(got.Reason, "unsupported config version"); unsupported != newer {
				t.Errorf("version %s: Ignition says %q", tt.version, got.Reason)
			}
			if said := Lint(diag.File("c.ign"), c.Text(), guest).HasErrors(); newer && !said {
				t.Errorf("version %s: nothing is said about the guest", tt.version)
			}
		})
	}
}
