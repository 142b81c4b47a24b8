package autoconf

import (
	"net"
	"net/netip"
	"slices"

	"github.com/insomniacslk/dhcp/dhcpv6"
	"github.com/insomniacslk/dhcp/iana"
	"github.com/insomniacslk/dhcp/rfc1035label"
)

// duid is the identity of the server: the same as long as the guest's MAC is.
func (r *Responder) duid() dhcpv6.DUID {
	return &dhcpv6.DUIDLL{HWType: iana.HWTypeEthernet, LinkLayerAddr: r.mac}
}

// dhcp6 answers a message of a DHCP client for IPv6 (RFC 8415, section 18.3).
func (r *Responder) dhcp6(f frame, payload []byte) []byte {
	m, err := dhcpv6.MessageFromBytes(payload)
	if err != nil || len(r.config.addresses6()) == 0 || !f.source.IsLinkLocalUnicast() {
		return nil
	}
	if server := m.Options.ServerID(); !named(m.MessageType, server != nil) || server != nil && !server.Equal(r.duid()) {
		return nil
	}
	out := &dhcpv6.Message{MessageType: dhcpv6.MessageTypeReply, TransactionID: m.TransactionID}
	client := m.GetOneOption(dhcpv6.OptionClientID)
	if client != nil {
		out.AddOption(client)
	} else if m.MessageType != dhcpv6.MessageTypeInformationRequest {
		return nil
	}
	out.AddOption(dhcpv6.OptServerID(r.duid()))
	switch m.MessageType {
	case dhcpv6.MessageTypeSolicit:
		if m.GetOneOption(dhcpv6.OptionRapidCommit) != nil {
			out.AddOption(&dhcpv6.OptionGeneric{OptionCode: dhcpv6.OptionRapidCommit})
		} else {
			out.MessageType = dhcpv6.MessageTypeAdvertise
		}
		r.give(m, out)
	case dhcpv6.MessageTypeRequest, dhcpv6.MessageTypeRenew, dhcpv6.MessageTypeRebind:
		r.give(m, out)
	case dhcpv6.MessageTypeConfirm:
		status := r.onLink(m)
		if status == nil {
			return nil
		}
		out.AddOption(status)
	case dhcpv6.MessageTypeRelease, dhcpv6.MessageTypeDecline:
		// The address stays the guest's, so that it gets the same when it asks again.
		out.AddOption(&dhcpv6.OptStatusCode{StatusCode: iana.StatusSuccess})
	case dhcpv6.MessageTypeInformationRequest:
	default:
		return nil
	}
	r.config.options6(out)
	typ, packet := udp(netip.AddrPortFrom(r.linkLocal(), dhcp6Server), netip.AddrPortFrom(f.source, dhcp6Client), out.ToBytes())
	return ethernet(r.mac, f.from, typ, packet)
}

// named reports whether a message may name its server, or not (RFC 8415, section 16).
func named(kind dhcpv6.MessageType, has bool) bool {
	switch kind {
	case dhcpv6.MessageTypeSolicit, dhcpv6.MessageTypeConfirm, dhcpv6.MessageTypeRebind:
		return !has
	case dhcpv6.MessageTypeRequest, dhcpv6.MessageTypeRenew, dhcpv6.MessageTypeRelease, dhcpv6.MessageTypeDecline:
		return has
	}
	return true
}

// give answers each request for addresses with all that the NIC has. An address that the client has from before, and has
// no more, ends at once (RFC 8415, section 18.3.4).
func (r *Responder) give(m, out *dhcpv6.Message) {
	own := r.config.addresses6()
	for i, asked := range m.Options.IANA() {
		ia := &dhcpv6.OptIANA{IaId: asked.IaId, T1: renewTime, T2: rebindTime}
		if i > 0 {
			ia.T1, ia.T2 = 0, 0
			ia.Options.Add(&dhcpv6.OptStatusCode{StatusCode: iana.StatusNoAddrsAvail})
			out.AddOption(ia)
			continue
		}
		for _, a := range own {
			ia.Options.Add(&dhcpv6.OptIAAddress{IPv6Addr: a.Addr().AsSlice(), PreferredLifetime: leaseTime, ValidLifetime: leaseTime})
		}
		for _, have := range asked.Options.Addresses() {
			if m.MessageType != dhcpv6.MessageTypeSolicit && !slices.ContainsFunc(own, func(a netip.Prefix) bool { return have.IPv6Addr.Equal(a.Addr().AsSlice()) }) {
				ia.Options.Add(&dhcpv6.OptIAAddress{IPv6Addr: have.IPv6Addr})
			}
		}
		out.AddOption(ia)
	}
	for _, asked := range m.Options.IAPD() {
		pd := &dhcpv6.OptIAPD{IaId: asked.IaId}
		pd.Options.Add(&dhcpv6.OptStatusCode{StatusCode: iana.StatusNoPrefixAvail})
		out.AddOption(pd)
	}
	for _, asked := range m.Options.IATA() {
		ta := &dhcpv6.OptIATA{IaId: asked.IaId}
		ta.Options.Add(&dhcpv6.OptStatusCode{StatusCode: iana.StatusNoAddrsAvail})
		out.AddOption(ta)
	}
}

// onLink says whether all addresses of a client are those of the NIC; nil when the client has none, which stays without an
// answer (RFC 8415, section 18.3.3).
func (r *Responder) onLink(m *dhcpv6.Message) *dhcpv6.OptStatusCode {
	var status *dhcpv6.OptStatusCode
	for _, ia := range m.Options.IANA() {
		for _, have := range ia.Options.Addresses() {
			if !slices.ContainsFunc(r.config.addresses6(), func(a netip.Prefix) bool { return have.IPv6Addr.Equal(a.Addr().AsSlice()) }) {
				return &dhcpv6.OptStatusCode{StatusCode: iana.StatusNotOnLink}
			}
			status = &dhcpv6.OptStatusCode{StatusCode: iana.StatusSuccess}
		}
	}
	return status
}

// options6 are what a client is told beside its addresses. Routers and routes are for advertisements.
func (c *Config) options6(out *dhcpv6.Message) {
	var servers []net.IP
	for _, s := range c.servers(false) {
		servers = append(servers, s)
	}
	if len(servers) > 0 {
		out.AddOption(dhcpv6.OptDNS(servers...))
	}
	const head = 4 // of the option
	if search := leading(c.Search, minMTU6-ip6Size-udpSize-len(out.ToBytes())-head); len(search) > 0 {
		out.AddOption(dhcpv6.OptDomainSearchList(&rfc1035label.Labels{Labels: search}))
	}
}
