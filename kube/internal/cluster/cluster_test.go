package cluster

import (
	"testing"

	"github.com/spf13/pflag"
)

// TestNodeFlags leaves the CNI networks of this machine alone, unless they are asked for.
func TestNodeFlags(t *testing.T) {
	for want, given := range map[string][]string{"": {"--accel=tcg"}, "/etc/cni/net.d": {"--cni-conf-dir", "/etc/cni/net.d"}} {
		set := pflag.NewFlagSet("node", pflag.ContinueOnError)
		set.String("accel", "auto", "")
		got := set.String("cni-conf-dir", "the default", "")
		if err := set.Parse(Options{NodeFlags: given}.nodeFlags()); err != nil || *got != want {
			t.Errorf("%v: %v, --cni-conf-dir is %q, want %q", given, err, *got, want)
		}
	}
}
