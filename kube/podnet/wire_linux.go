package podnet

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/vmseed/vmseed/internal/tap"
)

// The functions of this file work in the network namespace of the calling thread.

// inspect returns the interfaces of the namespace but those of the given names.
func inspect(but []string) ([]link, error) {
	all, err := netlink.LinkList()
	if err != nil {
		return nil, fmt.Errorf("list the interfaces: %w", err)
	}
	var out []link
	for _, l := range all {
		if slices.Contains(but, l.Attrs().Name) {
			continue
		}
		one, err := look(l)
		if err != nil {
			return nil, fmt.Errorf("read interface %s: %w", l.Attrs().Name, err)
		}
		out = append(out, one)
	}
	return out, nil
}

func look(l netlink.Link) (link, error) {
	out := link{Name: l.Attrs().Name, Kind: l.Type(), MAC: l.Attrs().HardwareAddr.String(), MTU: l.Attrs().MTU}
	addrs, err := netlink.AddrList(l, netlink.FAMILY_ALL)
	if err != nil {
		return link{}, err
	}
	for _, a := range addrs {
		// An address that the kernel took from a router's advertisement is not the plugin's.
		if p, ok := prefix(*a.IPNet); ok && a.Scope == unix.RT_SCOPE_UNIVERSE && a.Flags&unix.IFA_F_PERMANENT != 0 {
			out.Addrs = append(out.Addrs, p)
		}
	}
	routes, err := netlink.RouteList(l, netlink.FAMILY_ALL)
	if err != nil {
		return link{}, err
	}
	for _, r := range routes {
		if h, ok := chosen(r); ok {
			out.Routes = append(out.Routes, h)
		}
	}
	neighbours, err := netlink.NeighList(l.Attrs().Index, netlink.FAMILY_ALL)
	if err != nil {
		return link{}, err
	}
	for _, n := range neighbours {
		a, ok := netip.AddrFromSlice(n.IP)
		if ok && n.State&unix.NUD_PERMANENT != 0 && len(n.HardwareAddr) == 6 {
			out.Neighbours = append(out.Neighbours, neighbour{a.Unmap(), n.HardwareAddr.String()})
		}
	}
	return out, nil
}

// chosen returns a route that somebody chose, rather than the kernel for an address.
func chosen(r netlink.Route) (hop, bool) {
	if r.Protocol == unix.RTPROT_KERNEL || r.Protocol == unix.RTPROT_RA || r.Type != unix.RTN_UNICAST || r.Table != unix.RT_TABLE_MAIN {
		return hop{}, false
	}
	to := netip.PrefixFrom(netip.IPv4Unspecified(), 0)
	if r.Family == netlink.FAMILY_V6 {
		to = netip.PrefixFrom(netip.IPv6Unspecified(), 0)
	}
	if r.Dst != nil {
		p, ok := prefix(*r.Dst)
		if !ok {
			return hop{}, false
		}
		to = p
	}
	h := hop{To: to}
	if via, ok := netip.AddrFromSlice(r.Gw); ok {
		h.Via = via.Unmap()
	}
	if r.Family == netlink.FAMILY_V4 || r.Priority != 1024 { // which IPv6 routes have unless somebody gives them another
		h.Metric = r.Priority
	}
	return h, true
}

// pluggable refuses interfaces that cannot be a guest's: a bridge would take their frames to nobody.
func pluggable(l link) error {
	remedy := "; use a plugin that adds an Ethernet interface of the pod's own, such as bridge or ptp"
	switch l.Kind {
	case "ipvlan":
		return errors.New("an ipvlan interface has the MAC of the host's and cannot carry a guest's" + remedy)
	case "macvlan", "macvtap":
		device, err := netlink.LinkByName(l.Name)
		if err != nil {
			return err
		}
		if m, ok := device.(*netlink.Macvlan); !ok || m.Mode != netlink.MACVLAN_MODE_PASSTHRU {
			return fmt.Errorf("a %s interface takes frames for its own MAC alone, so nothing would reach a guest behind it; "+
				"give macvlan the mode passthru, or use the plugin bridge with the host's bridge", l.Kind)
		}
	case "ipip", "sit", "gre", "ip6tnl", "tun", "wireguard", "vti", "vti6", "ip6gre":
		return fmt.Errorf("an interface of the kind %s carries no Ethernet frames%s", l.Kind, remedy)
	}
	if mac, err := net.ParseMAC(l.MAC); err != nil || len(mac) != 6 {
		return errors.New("it has no MAC, so it carries no Ethernet frames" + remedy)
	}
	if address := virtualFunction(l.Name); address != "" {
		return fmt.Errorf("it is a virtual function of an SR-IOV card (%s), which a bridge cannot extend and vmseed does not pass through%s", address, remedy)
	}
	return nil
}

// virtualFunction returns the PCI address of an interface that is a virtual function.
func virtualFunction(name string) string {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	defer unix.Close(s)
	info, err := unix.IoctlGetEthtoolDrvinfo(s, name)
	if err != nil {
		return ""
	}
	address := unix.ByteSliceToString(info.Bus_info[:])
	if _, err := os.Lstat("/sys/bus/pci/devices/" + address + "/physfn"); address == "" || strings.Contains(address, "/") || err != nil {
		return ""
	}
	return address
}

// plug turns an interface into a wire: it loses its addresses and MAC to the guest and is joined with a new tap.
func plug(w wire) error {
	l, err := netlink.LinkByName(w.Interface)
	if err != nil {
		return err
	}
	// Down, it loses its routes and the addresses that the kernel gave it. What is left goes one by one.
	if err := netlink.LinkSetDown(l); err != nil {
		return fmt.Errorf("set it down: %w", err)
	}
	if err := silence(w.Interface); err != nil {
		return err
	}
	addrs, err := netlink.AddrList(l, netlink.FAMILY_ALL)
	if err != nil {
		return err
	}
	for _, a := range addrs {
		if err := netlink.AddrDel(l, &a); err != nil {
			return fmt.Errorf("take off its address %s: %w", a.IPNet, err)
		}
	}
	if err := netlink.LinkSetHardwareAddr(l, randomMAC()); err != nil {
		return fmt.Errorf("give it another MAC: %w", err)
	}
	bridge, err := addBridge(w)
	if err != nil {
		return fmt.Errorf("add bridge %s: %w", w.Bridge, err)
	}
	device, err := addTap(w)
	if err != nil {
		return fmt.Errorf("add tap %s: %w", w.Tap, err)
	}
	for _, port := range []netlink.Link{l, device} {
		if err := netlink.LinkSetMaster(port, bridge); err != nil {
			return fmt.Errorf("join %s, a device of the kind %s, with a bridge: %w", port.Attrs().Name, port.Type(), err)
		}
	}
	if err := w.vouch(l, bridge); err != nil {
		return fmt.Errorf("answer for its neighbours: %w", err)
	}
	// Before the device is up, so that there is no moment in which a guest could pass.
	if err := tap.Protect(tap.Device{Name: w.Tap}, tap.Filter{}); err != nil {
		return fmt.Errorf("keep the guest from the metadata service of the host: %w", err)
	}
	for _, x := range []netlink.Link{l, device, bridge} {
		if err := netlink.LinkSetUp(x); err != nil {
			return fmt.Errorf("set %s up: %w", x.Attrs().Name, err)
		}
	}
	return nil
}

// addBridge makes a bridge that behaves as a cable: it has no address, knows no spanning tree (so its ports forward at
// once), learns nothing (with two ports a frame that came by one leaves by the other, and a guest may change its MACs as
// it likes), and does not look into multicast, on which neighbour discovery and DHCPv6 depend.
func addBridge(w wire) (netlink.Link, error) {
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU, attrs.HardwareAddr = w.Bridge, w.MTU, randomMAC()
	snooping, ageing := false, uint32(0)
	b := &netlink.Bridge{LinkAttrs: attrs, MulticastSnooping: &snooping, AgeingTime: &ageing}
	if err := netlink.LinkAdd(b); err != nil {
		return nil, err
	}
	return b, silence(w.Bridge)
}

// addTap makes a persistent tap. Offloads need no care here: the kernel computes checksums and cuts segments for a tap
// unless who has it open says that its guest does so.
func addTap(w wire) (netlink.Link, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("/dev/net/tun: %w", err)
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq(w.Tap)
	if err != nil {
		return nil, err
	}
	request.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI | unix.IFF_VNET_HDR)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
		return nil, fmt.Errorf("TUNSETIFF: %w", err)
	}
	if err := unix.IoctlSetInt(fd, unix.TUNSETPERSIST, 1); err != nil {
		return nil, fmt.Errorf("TUNSETPERSIST: %w", err)
	}
	l, err := netlink.LinkByName(w.Tap)
	if err != nil {
		return nil, err
	}
	if err := netlink.LinkSetMTU(l, w.MTU); err != nil {
		return nil, err
	}
	return l, silence(w.Tap)
}

// vouch has the bridge answer ARP and neighbour solicitations for neighbours that the plugin told the pod's kernel of, and
// that do not answer themselves: the gateway of Amazon's plugin is one.
func (w wire) vouch(l, bridge netlink.Link) error {
	if len(w.Neighbours) == 0 {
		return nil
	}
	if err := netlink.LinkSetBrNeighSuppress(l, true); err != nil {
		return err
	}
	for _, n := range w.Neighbours {
		mac, err := net.ParseMAC(n.MAC)
		if err != nil {
			return err
		}
		at := &netlink.Neigh{LinkIndex: bridge.Attrs().Index, State: unix.NUD_PERMANENT, IP: n.Addr.AsSlice(), HardwareAddr: mac}
		if err := netlink.NeighSet(at); err != nil {
			return fmt.Errorf("%s: %w", n.Addr, err)
		}
		// The bridge answers for those only whom it knows to be behind that port.
		behind := &netlink.Neigh{LinkIndex: l.Attrs().Index, Family: unix.AF_BRIDGE, State: unix.NUD_NOARP, Flags: netlink.NTF_MASTER, HardwareAddr: mac}
		if err := netlink.NeighSet(behind); err != nil {
			return fmt.Errorf("%s: %w", mac, err)
		}
	}
	return nil
}

// unplug gives an interface back as the plugin made it, so that one which goes back to the host has its own MAC there.
func unplug(w wire) error {
	l, err := netlink.LinkByName(w.Interface)
	if errors.As(err, &netlink.LinkNotFoundError{}) {
		return nil
	}
	if err != nil {
		return err
	}
	mac, err := net.ParseMAC(w.MAC)
	if err != nil {
		return err
	}
	return errors.Join(netlink.LinkSetNoMaster(l), netlink.LinkSetDown(l), netlink.LinkSetHardwareAddr(l, mac))
}

// connected reports what is missing of a wire.
func connected(w wire) error {
	bridge, err := netlink.LinkByName(w.Bridge)
	if err != nil {
		return fmt.Errorf("bridge %s: %w", w.Bridge, err)
	}
	for _, name := range []string{w.Interface, w.Tap} {
		port, err := netlink.LinkByName(name)
		if err != nil {
			return fmt.Errorf("interface %s: %w", name, err)
		}
		if a := port.Attrs(); a.MasterIndex != bridge.Attrs().Index || a.Flags&net.FlagUp == 0 {
			return fmt.Errorf("interface %s is down or not joined with %s", name, w.Bridge)
		}
	}
	return nil
}

// silence keeps the kernel from talking IPv6 on an interface that is the guest's alone.
func silence(name string) error { return sysctl("ipv6/conf/"+name+"/disable_ipv6", "1") }

func linkUp(name string) error {
	l, err := netlink.LinkByName(name)
	if err != nil {
		return err
	}
	return netlink.LinkSetUp(l)
}

// randomMAC returns a locally administered unicast MAC.
func randomMAC() net.HardwareAddr {
	mac := make(net.HardwareAddr, 6)
	_, _ = rand.Read(mac) // which never fails
	mac[0] = mac[0]&^1 | 2
	return mac
}
