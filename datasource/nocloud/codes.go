package nocloud

import "github.com/vmseed/vmseed/diag"

// The diagnostics of this package.
const (
	// CodeNotFound is for releases that do not find the directory.
	CodeNotFound diag.Code = 4420 + iota
	// CodeNetworkUnread is for a network that the guest may not ask for.
	CodeNetworkUnread
	// CodeMode is for a mode that does not go with HTTP.
	CodeMode
)

// Codes explains the diagnostics of this package.
func Codes() []diag.Explanation {
	return []diag.Explanation{
		{Code: CodeNotFound, Title: "release does not find NoCloud over HTTP",
			Text: "cloud-init 23.4.0 to 23.4.3 pass over the address in the serial number of the firmware, so the guest boots as if it had no seed. Update the image, " +
				"give the same line on the kernel's command line (`ds=nocloud;dsmode=net;s=URL`), or use a volume."},
		{Code: CodeNetworkUnread, Title: "network-config is not asked for",
			Text: "cloud-init before 24.3 does not ask a NoCloud server for network-config. The guest then sets up its first NIC by DHCP and nothing else. For such a guest " +
				"use a volume, or the data source `openstack` or `ec2`, whose guests read their network in every release. Name the guest's release (`guest.release` or " +
				"`--guest`) to hear of this only where it is so."},
		{Code: CodeMode, Title: "dsmode local does not go with HTTP",
			Text: "With the dsmode `local` cloud-init expects its data before there is a network, and never acts on user-data that it fetched after that. Over HTTP the mode is " +
				"`net`. Leave the mode out, or use a volume."},
	}
}
