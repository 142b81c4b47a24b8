package credentials

import (
	"testing"

	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/datasource/datasourcetest"
)

// TestConformance holds what Expresses says for each release of systemd that reads something else.
func TestConformance(t *testing.T) {
	for _, guest := range []string{"debian-12", "ubuntu-24.04", "systemd=257"} {
		t.Run("guest "+guest, func(t *testing.T) {
			datasourcetest.Run(t, datasourcetest.Config{DataSource: New(), Options: datasource.Options{Guest: guest}})
		})
	}
}
