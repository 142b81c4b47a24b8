package ignition

import (
	"slices"
	"strings"

	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

// Root is the directory of the service in which a config stands that a kernel argument leads to.
const Root = "ignition"

// ContentType is the registered media type of configs.
const ContentType = "application/vnd.coreos.ignition+json"

// serve makes a seed's tree of a config, and the kernel arguments that lead to it. The platform is metal whatever the image
// was made for: it is the one that waits for nobody else. dracut sets up a network for nobody unless it is asked to.
func serve(s *seed.Seed, m machine.Machine, p platform, text secret.Text) {
	s.Trees = []seed.Tree{{Name: "ignition", Roots: []string{Root}, Blobs: []seed.Blob{
		{Path: seed.IgnitionFile, ContentType: ContentType, Content: text, Sealable: true}}}}
	s.KernelArgs = slices.DeleteFunc(slices.Clone(p.args), func(a string) bool {
		return strings.HasPrefix(a, "ignition.platform.id=") || strings.HasPrefix(a, "flatcar.oem.id=")
	})
	s.KernelArgs = append(s.KernelArgs, "ignition.platform.id=metal", "ignition.config.url="+seed.Base+Root+"/"+seed.IgnitionFile,
		"rd.neednet=1", "ip=dhcp")
	s.Seal = m.MetadataOptions.Seal
}
