// Package all lists every data source that vmseed has.
package all

import (
	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/datasource/configdrive"
	"github.com/vmseed/vmseed/datasource/nocloud"
)

// DataSources returns the data sources, the default one first.
func DataSources() []datasource.DataSource {
	return []datasource.DataSource{
		nocloud.New(),
		configdrive.New(),
	}
}
