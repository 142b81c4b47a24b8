package ignition

import (
	"testing"

	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/datasource/datasourcetest"
	"github.com/vmseed/vmseed/machine"
)

// TestConformance tries every field on the default platform, and on the others those that their volumes may hold.
func TestConformance(t *testing.T) {
	t.Run(DefaultPlatform, func(t *testing.T) { datasourcetest.Run(t, datasourcetest.Config{DataSource: New()}) })
	for _, platform := range Platforms()[1:] {
		t.Run(platform, func(t *testing.T) {
			datasourcetest.Run(t, datasourcetest.Config{DataSource: New(), Options: datasource.Options{IgnitionPlatform: platform},
				Only: machine.NewFieldSet("identity", "metaData", "vendorData", "adminPassword", "dsmode", "network.nics.tag", "packages")})
		})
	}
}
