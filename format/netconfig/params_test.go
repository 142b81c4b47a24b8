package netconfig_test

import (
	"slices"
	"testing"

	"github.com/vmseed/vmseed/format/netconfig"
)

// TestBridgeParams holds the list against the model: each parameter has a value that is taken, and no other has one.
func TestBridgeParams(t *testing.T) {
	taken := func(name string) bool {
		return slices.ContainsFunc([]string{"1", "true", "a=1"}, func(value string) bool {
			c := netconfig.Config{Links: []netconfig.Link{{ID: "a", MAC: "52:54:00:00:00:01"}, {ID: "b", Kind: netconfig.Bridge, Bridge: &netconfig.BridgeSpec{Links: []string{"a"}, Params: map[string]string{name: value}}}}}
			return !c.Validate().HasErrors()
		})
	}
	names := netconfig.BridgeParams()
	for _, name := range names {
		if !taken(name) {
			t.Errorf("%s is listed, and no value is right for it", name)
		}
	}
	for _, name := range append(netconfig.BondParams(), "nonsense") {
		if !slices.Contains(names, name) && taken(name) {
			t.Errorf("%s is taken, and not listed", name)
		}
	}
	if len(names) < 8 || !slices.IsSorted(names) {
		t.Errorf("got %q", names)
	}
}
