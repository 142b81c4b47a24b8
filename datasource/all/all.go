// Package all lists every data source that vmseed has.
package all

import (
	"slices"

	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/datasource/configdrive"
	"github.com/vmseed/vmseed/datasource/credentials"
	"github.com/vmseed/vmseed/datasource/ec2"
	"github.com/vmseed/vmseed/datasource/ignition"
	config "github.com/vmseed/vmseed/datasource/internal/ignition"
	"github.com/vmseed/vmseed/datasource/internal/imds"
	"github.com/vmseed/vmseed/datasource/internal/metadata"
	"github.com/vmseed/vmseed/datasource/internal/network"
	"github.com/vmseed/vmseed/datasource/internal/translate"
	"github.com/vmseed/vmseed/datasource/internal/userdata"
	"github.com/vmseed/vmseed/datasource/nocloud"
	"github.com/vmseed/vmseed/datasource/openstack"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/cloudconfig"
	"github.com/vmseed/vmseed/format/cloudconfig/lint"
	"github.com/vmseed/vmseed/format/mimepart"
	"github.com/vmseed/vmseed/format/netconfig"
)

// DataSources returns the data sources, the default one first.
func DataSources() []datasource.DataSource {
	return []datasource.DataSource{
		nocloud.New(),
		configdrive.New(),
		ignition.New(),
		ec2.New(),
		openstack.New(),
		credentials.New(),
	}
}

// Codes explains the diagnostics of the data sources and of the formats that they write.
func Codes() []diag.Explanation {
	return slices.Concat(cloudconfig.Codes(), lint.Codes(), netconfig.Codes(), mimepart.Codes(),
		userdata.Codes(), metadata.Codes(), network.Codes(), configdrive.Codes(), nocloud.Codes(), imds.Codes(), ec2.Codes(), openstack.Codes(),
		config.Codes(), ignition.Codes(), credentials.Codes(), translate.Codes())
}
