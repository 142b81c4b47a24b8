package ignition

import (
	"testing"

	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/datasource/datasourcetest"
	"github.com/vmseed/vmseed/machine"
)

// TestConformance tries every field on the default platform, and on one of each kind of volume the fields that it may hold.
func TestConformance(t *testing.T) {
	t.Run(DefaultPlatform, func(t *testing.T) { datasourcetest.Run(t, datasourcetest.Config{DataSource: New()}) })
	for _, platform := range []string{"openstack", "proxmoxve"} {
		t.Run(platform, func(t *testing.T) {
			datasourcetest.Run(t, datasourcetest.Config{DataSource: New(), Options: datasource.Options{IgnitionPlatform: platform},
				Only: machine.NewFieldSet("identity", "metaData", "vendorData", "adminPassword", "dsmode", "network.nics.tag", "packages")})
		})
	}
}
