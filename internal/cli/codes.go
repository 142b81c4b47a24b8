package cli

import (
	"slices"

	"github.com/vmseed/vmseed"
	"github.com/vmseed/vmseed/daemon"
	"github.com/vmseed/vmseed/daemon/ovirtapi"
	datasources "github.com/vmseed/vmseed/datasource/all"
	"github.com/vmseed/vmseed/diag"
	frontends "github.com/vmseed/vmseed/frontend/all"
	hypervisors "github.com/vmseed/vmseed/hypervisor/all"
	"github.com/vmseed/vmseed/image"
	"github.com/vmseed/vmseed/internal/boot"
	"github.com/vmseed/vmseed/internal/metadataservice"
	"github.com/vmseed/vmseed/machine"
)

// explanations returns what every package has to say about its diagnostics.
func explanations() []diag.Explanation {
	return slices.Concat(vmseed.Codes(), Codes(), boot.Codes(), machine.Codes(), image.Codes(), frontends.Codes(), datasources.Codes(), hypervisors.Codes(),
		daemon.Codes(), ovirtapi.Codes(), metadataservice.Codes())
}
