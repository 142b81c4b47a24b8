package cniresult

import (
	"net/netip"

	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/machine"
)

// routes gives each route of the result to the one interface that can reach its gateway.
func (r *result) routes() {
	list := r.v.Get("routes")
	list.Want(r.list, tree.List)
	var all []route
	for _, v := range list.Items() {
		if one, ok := r.route(v); ok {
			all = append(all, one)
		}
	}
	for _, one := range all {
		r.attach(one, all)
	}
	r.stranded()
}

func (r *result) route(v tree.Value) (route, bool) {
	r.known(v, "dst", "gw", "mtu", "advmss", "priority", "table", "scope")
	for _, name := range []string{"mtu", "advmss", "table"} {
		if x := v.Get(name); x.Exists() {
			x.Int(r.list, 0, 1<<32-1)
			x.Warnf(r.list, CodeIgnored, "", "no guest is told the %s of a route", name)
		}
	}
	v.Get("scope").Consume() // follows from whether there is a gateway
	dst := v.Get("dst")
	to, err := netip.ParsePrefix(dst.Str(r.list))
	if err != nil || to.Addr().Is4In6() {
		if !dst.Exists() {
			dst = v
		}
		dst.Errorf(r.list, CodeValue, "", "a network with its prefix length should stand here")
		v.Consume()
		return route{}, false
	}
	one := route{machine.Route{To: to.Masked(), Via: r.addr(v.Get("gw"), to.Addr())}, v}
	if p := v.Get("priority"); p.Exists() {
		metric := int(p.Int(r.list, 0, 1<<31-1))
		one.Metric = &metric
	}
	return one, true
}

// attach finds the interface of a route: the one with an address on the gateway's network, else the one whose own
// gateway it is, else the only one of the family. A route without a gateway takes that of an address.
func (r *result) attach(one route, all []route) {
	is4 := one.To.Addr().Is4()
	if !one.Via.IsValid() {
		if r.implied(one, all) {
			return
		}
		for _, i := range r.inside() {
			for j, gw := range r.nics[i].gateways {
				if gw.IsValid() && gw.Is4() == is4 {
					one.Via = gw
					one.OnLink = !covers(r.nics[i].Addrs[j], gw)
					r.add(&r.nics[i], one)
					return
				}
			}
		}
		one.value.Warnf(r.list, CodeRoute, "add gw to the route", "the route to %s has no gateway, and no address has one; it is left out", one.To)
		return
	}
	var family, own []int
	for _, i := range r.inside() {
		n := r.nics[i]
		for j, a := range n.Addrs {
			switch {
			case a.Addr().Is4() != is4:
				continue
			case covers(a, one.Via):
				r.add(&r.nics[i], one)
				return
			case n.gateways[j] == one.Via:
				own = append(own, i)
			}
			if len(family) == 0 || family[len(family)-1] != i {
				family = append(family, i)
			}
		}
	}
	one.OnLink = !(one.Via.Is6() && one.Via.IsLinkLocalUnicast()) // which every IPv6 link covers
	switch {
	case len(own) > 0:
		r.add(&r.nics[own[0]], one)
	case len(family) == 1:
		r.add(&r.nics[family[0]], one)
	default:
		one.value.Warnf(r.list, CodeRoute, "give the address whose interface it is meant for this gateway",
			"none of the pod's %d interfaces of the family reaches the gateway of the route to %s; it is left out", len(family), one.To)
	}
}

// covers reports whether an address is on the network of another: a neighbour, and never a lone host's own address.
func covers(p netip.Prefix, a netip.Addr) bool { return p.Contains(a) && p.Addr() != a }

// implied reports whether a route without a gateway says what the guest knows anyhow: a network that an address is on, or
// the way to the gateway of another route, which is taken to be on the link.
func (r *result) implied(one route, all []route) bool {
	if one.To.Bits() == 0 {
		return false
	}
	for _, i := range r.inside() {
		for _, a := range r.nics[i].Addrs {
			if a.Masked() == one.To || a.Contains(one.To.Addr()) && a.Bits() <= one.To.Bits() {
				return true
			}
		}
	}
	for _, other := range all {
		if other.Via.IsValid() && one.To.IsSingleIP() && one.To.Addr() == other.Via {
			return true
		}
	}
	return false
}

// add puts a route on an interface. The first default route of a family without a priority is its gateway.
func (r *result) add(n *nic, one route) {
	if one.To.Bits() == 0 && one.Metric == nil {
		gateway := &n.Gateway6
		if one.To.Addr().Is4() {
			gateway = &n.Gateway4
		}
		if !gateway.IsValid() {
			*gateway = one.Via
			return
		}
		if *gateway != one.Via {
			one.value.Warnf(r.list, CodeRoute, "give it another priority", "interface %q has a default route already; this one is left out", n.Name)
		}
		return
	}
	n.Routes = append(n.Routes, one.Route)
}

// stranded reports interfaces that reach nothing: a lone address without any route.
func (r *result) stranded() {
	for _, i := range r.inside() {
		n := r.nics[i]
		if len(n.Routes) > 0 || n.Gateway4.IsValid() || n.Gateway6.IsValid() {
			continue
		}
		for _, a := range n.Addrs {
			if a.IsSingleIP() {
				r.v.Warnf(r.list, CodeRoute, "add the routes that the plugin set in the pod; Calico's gateway is 169.254.1.1",
					"interface %q has the lone address %s and no route, so the guest reaches nothing", n.Name, a)
			}
		}
	}
}
