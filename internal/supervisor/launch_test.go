package supervisor

import (
	"slices"
	"testing"
)

// TestEnvironment keeps passwords and tokens from QEMU, and nothing else.
func TestEnvironment(t *testing.T) {
	all := []string{"PATH=/bin", "VMSEED_PASSWORD=canary", "VMSEED_HOST=x", "OVIRT_TOKEN=canary", "=C:=C:\\", "EMPTY=", "TMPDIR=/x=_TOKEN"}
	want := []string{"PATH=/bin", "VMSEED_HOST=x", "=C:=C:\\", "EMPTY=", "TMPDIR=/x=_TOKEN"}
	if got := environment(all); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if len(all) != 7 || all[1] != "VMSEED_PASSWORD=canary" {
		t.Errorf("the environment of this process is changed: %q", all)
	}
}
