package podnet

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/containernetworking/cni/pkg/types"
	types100 "github.com/containernetworking/cni/pkg/types/100"
)

// link is an interface in the pod's namespace as a plugin left it.
type link struct {
	Name, Kind, MAC string
	MTU             int
	Addrs           []netip.Prefix
	Routes          []hop
	Neighbours      []neighbour
}

// hop is a route of the pod's namespace that no address implies. Via is invalid for what is on the link.
type hop struct {
	To     netip.Prefix
	Via    netip.Addr
	Metric int
}

// complete makes a plugin's result say everything that a guest in place of the pod must know. Plugins may report less
// than they set up, because containers find the rest in their namespace: addresses that name no interface, no routes at
// all (Calico), interfaces that another plugin was left to make (Multus), no MTU before CNI 1.1.0. What the links have is
// added, in the order of the result's interfaces. What has no wire in the end is not in the result.
func complete(in *types100.Result, netns string, links []link) (*types100.Result, []link) {
	links = slices.Clone(links)
	slices.SortStableFunc(links, func(a, b link) int { return cmp.Compare(reported(in, a.Name), reported(in, b.Name)) })
	out := &types100.Result{CNIVersion: types100.ImplementedSpecVersion, DNS: in.DNS}
	narrowed := map[bool]bool{}
	for i := range links {
		l := &links[i]
		out.Interfaces = append(out.Interfaces, &types100.Interface{Name: l.Name, Mac: l.MAC, Mtu: l.MTU, Sandbox: netns})
		l.Addrs = owned(in, links, i)
		for j, a := range l.Addrs {
			if l.routed(a) {
				l.Addrs[j] = netip.PrefixFrom(a.Addr(), a.Addr().BitLen())
				narrowed[a.Addr().Is4()] = true
			}
			index := i
			out.IPs = append(out.IPs, &types100.IPConfig{Interface: &index, Address: ipnet(l.Addrs[j]), Gateway: gateway(in, a.Addr())})
		}
	}
	for _, is4 := range []bool{true, false} {
		out.Routes = append(out.Routes, routes(in, links, is4, narrowed[is4])...)
	}
	return out, links
}

// reported is where the result has an interface of the pod; those that it does not have follow.
func reported(r *types100.Result, name string) int {
	for i, have := range r.Interfaces {
		if have.Name == name && have.Sandbox != "" {
			return i
		}
	}
	return len(r.Interfaces)
}

// owned are the addresses of a link. An address that the result gives to an interface is that one's; one that names no
// interface is that of the link which has it, else of the first. A link that the result has no address for keeps its own.
func owned(r *types100.Result, links []link, at int) []netip.Prefix {
	var out []netip.Prefix
	for _, ip := range r.IPs {
		a, ok := prefix(ip.Address)
		if ok && carrier(r, ip, a, links) == at {
			out = append(out, a)
		}
	}
	if len(out) == 0 {
		return slices.Clone(links[at].Addrs)
	}
	return out
}

// carrier returns the index of the link of an address, or -1 when it is an interface outside the pod.
func carrier(r *types100.Result, ip *types100.IPConfig, a netip.Prefix, links []link) int {
	if ip.Interface != nil && *ip.Interface >= 0 && *ip.Interface < len(r.Interfaces) {
		have := r.Interfaces[*ip.Interface]
		if have.Sandbox == "" {
			return -1
		}
		if i := slices.IndexFunc(links, func(l link) bool { return l.Name == have.Name }); i >= 0 {
			return i
		}
	}
	i := slices.IndexFunc(links, func(l link) bool {
		return slices.ContainsFunc(l.Addrs, func(b netip.Prefix) bool { return b.Addr() == a.Addr() })
	})
	return max(i, 0)
}

// routed reports whether the network of an address is not on the link although the address has its length: the plugin
// ptp sends even neighbours' traffic through the host. A guest that took the network for its link would ask in vain who
// has an address there.
func (l link) routed(a netip.Prefix) bool {
	return !a.IsSingleIP() && slices.ContainsFunc(l.Routes, func(h hop) bool { return h.To == a.Masked() && h.Via.IsValid() })
}

// routes are the result's of a family, or those of the links when it has none, or when they were made for a network that
// is not on the link.
func routes(r *types100.Result, links []link, is4, real bool) []*types.Route {
	var out []*types.Route
	for _, have := range r.Routes {
		if to, ok := prefix(have.Dst); ok && to.Addr().Is4() == is4 && !real {
			out = append(out, have)
		}
	}
	if len(out) > 0 {
		return out
	}
	for _, l := range links {
		for _, h := range l.Routes {
			if h.To.Addr().Is4() != is4 {
				continue
			}
			one := &types.Route{Dst: ipnet(h.To), Priority: h.Metric}
			if h.Via.IsValid() {
				one.GW = h.Via.AsSlice()
			}
			out = append(out, one)
		}
	}
	return out
}

func gateway(r *types100.Result, a netip.Addr) net.IP {
	for _, ip := range r.IPs {
		if have, ok := prefix(ip.Address); ok && have.Addr() == a {
			return ip.Gateway
		}
	}
	return nil
}

func prefix(n net.IPNet) (netip.Prefix, bool) {
	a, ok := netip.AddrFromSlice(n.IP)
	ones, bits := n.Mask.Size()
	if !ok || bits == 0 {
		return netip.Prefix{}, false
	}
	if a.Is4In6() && bits == 32 {
		a = a.Unmap()
	}
	p := netip.PrefixFrom(a, ones)
	return p, p.IsValid()
}

func ipnet(p netip.Prefix) net.IPNet {
	return net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

// takeDefault makes a further network the one that the pod's default routes go to, as default-route of its annotation
// says: the default routes of all others go.
func takeDefault(all []*types100.Result, at int, gateways []netip.Addr) error {
	result := all[at]
	for _, gw := range gateways {
		has := slices.ContainsFunc(result.IPs, func(ip *types100.IPConfig) bool {
			a, ok := prefix(ip.Address)
			return ok && a.Addr().Is4() == gw.Is4()
		})
		if !has {
			return fmt.Errorf("default-route: the network gave the pod no address of the family of %s", gw)
		}
		for _, r := range all {
			r.Routes = slices.DeleteFunc(r.Routes, func(have *types.Route) bool {
				to, ok := prefix(have.Dst)
				return ok && to.Bits() == 0 && to.Addr().Is4() == gw.Is4()
			})
		}
		unspecified := netip.IPv6Unspecified()
		if gw.Is4() {
			unspecified = netip.IPv4Unspecified()
		}
		result.Routes = append(result.Routes, &types.Route{Dst: ipnet(netip.PrefixFrom(unspecified, 0)), GW: gw.AsSlice()})
	}
	return nil
}

// errNoAddress is for a cluster's network that leaves a pod without an address.
var errNoAddress = errors.New("the plugins of the cluster's network gave the pod no address")
