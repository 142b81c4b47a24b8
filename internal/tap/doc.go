// Package tap is the host's side of a tap device that a NIC of a guest is plugged into, in whichever network namespace
// the device is: it opens the device for QEMU, keeps the guest from metadata services of the host's network, and
// exchanges frames with the guest beside QEMU.
//
// What the guest is kept from is a filter of the device itself (cls_bpf of Linux's traffic control), so it holds from
// before the guest's first frame and whether or not a process watches. The process that answers the guest reads its
// frames before that filter drops them, and writes frames that reach the guest alone: nobody else on the network that
// the device is connected to can ask, or listens.
//
// All of it is Linux's; elsewhere every function fails with errors.ErrUnsupported.
package tap

import "net/netip"

// Device names a tap device.
type Device struct {
	// Name is that of the device, Namespace the path of the network namespace that it is in; empty is the caller's own.
	Name, Namespace string
}

// Filter says what the guest of a tap device is kept from beside metadata services, and which frames of the guest its
// Port reads.
type Filter struct {
	// Answered means that the guest's DHCP requests and router solicitations are answered by the Port's user: they go no
	// further, and answers of others do not reach the guest.
	Answered bool
	// Address is what the Port's user answers for, by ARP and IPv4; invalid is none. It goes no further either.
	Address netip.Addr
}

// closed4 are the networks at which clouds hand out metadata and credentials to their hosts, as in internal/vmnet, but
// without the rest of 169.254.0.0/16, where gateways and name servers of pods may be: Amazon's two, Alibaba Cloud's and
// Oracle Cloud's.
var closed4 = []netip.Prefix{
	netip.MustParsePrefix("169.254.169.254/32"),
	netip.MustParsePrefix("169.254.170.0/24"),
	netip.MustParsePrefix("100.100.100.200/32"),
	netip.MustParsePrefix("192.0.0.192/32"),
}

// closedTCP is Azure's, which is a name server as well.
var closedTCP = netip.MustParseAddr("168.63.129.16")

// closed6 are Amazon's two and Google Cloud's.
var closed6 = []netip.Addr{
	netip.MustParseAddr("fd00:ec2::254"),
	netip.MustParseAddr("fd00:ec2::23"),
	netip.MustParseAddr("fd20:ce::254"),
}
