package podnet

import (
	"testing"

	"github.com/vmseed/vmseed/diag"
)

// TestCodes demands an explanation for every code that the package gives.
func TestCodes(t *testing.T) {
	explained := map[diag.Code]bool{}
	for _, e := range Codes() {
		if e.Title == "" || e.Text == "" {
			t.Errorf("%v has no title or text", e.Code)
		}
		explained[e.Code] = true
	}
	for _, capability := range []string{"portMappings", "bandwidth"} {
		if d := unheard(capability, "net"); !explained[d.Code] || d.Remedy == "" {
			t.Errorf("%v is not explained", d)
		}
	}
}
