package libvirt

import "github.com/vmseed/vmseed/diag"

// The diagnostics of this package.
const (
	// CodeSeed says where libvirt looks for the seed.
	CodeSeed diag.Code = 2470 + iota
	// CodeContents is for a disk whose contents somebody must bring.
	CodeContents
	// CodeNoWords is for what a domain cannot say.
	CodeNoWords
)

// Codes explains the diagnostics of this package.
func Codes() []diag.Explanation {
	return []diag.Explanation{
		{Code: CodeSeed, Title: "the seed stands beside the domain",
			Text: "A libvirt domain names files. What the guest reads at its first boot is a file of its own, which `vmseed render` writes to " +
				"the path in the domain, or to another that you name there. A guest with the data source ec2, openstack or nocloud-net fetches it " +
				"over HTTP instead: the domain has no file of it, and `vmseed metadata` serves it."},
		{Code: CodeContents, Title: "contents of a disk",
			Text: "The definition says where the contents of the disk come from, such as an image or a claim. A domain needs a file: the message " +
				"names the one that must be there before the domain is started."},
		{Code: CodeNoWords, Title: "libvirt has no words for it",
			Text: "A domain of libvirt cannot say this, or needs something that vmseed does not know, such as the UUID of a libvirt secret."},
	}
}
