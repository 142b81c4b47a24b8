package netconfig

import (
	"bytes"
	"encoding/json"
	"net/netip"
	"strconv"

	"github.com/vmseed/vmseed/diag"
)

// networkData is network_data.json in the order nova writes it.
type networkData struct {
	Links    []dataLink    `json:"links"`
	Networks []dataNetwork `json:"networks"`
	Services []dataService `json:"services"`
}

// sparseData is network_data.json without empty groups, as oVirt writes it.
type sparseData struct {
	Links    []dataLink    `json:"links,omitempty"`
	Networks []dataNetwork `json:"networks,omitempty"`
	Services []dataService `json:"services,omitempty"`
}

type dataLink struct {
	ID   string `json:"id"`
	Type string `json:"type"`
	MAC  string `json:"ethernet_mac_address,omitempty"`
	MTU  int    `json:"mtu,omitempty"`
	// Name is cloud-init's; nova leaves the name to the guest.
	Name string `json:"name,omitempty"`
	// BondLinks, VLANID and VLANMAC are pointers since cloud-init demands their keys, even for no member, tag 0 and an
	// unknown MAC.
	BondLinks *[]string        `json:"bond_links,omitempty"`
	BondMode  string           `json:"bond_mode,omitempty"`
	VLANLink  string           `json:"vlan_link,omitempty"`
	VLANID    *int             `json:"vlan_id,omitempty"`
	VLANMAC   *json.RawMessage `json:"vlan_mac_address,omitempty"`
	params    []dataParam
}

// dataParam is a bond parameter, written behind the other keys of its link.
type dataParam struct {
	key   string
	value any
}

// MarshalJSON appends the parameters, whose keys are not known beforehand, in their order.
func (l dataLink) MarshalJSON() ([]byte, error) {
	type plain dataLink
	out, err := marshal(plain(l))
	if err != nil {
		return nil, err
	}
	out = bytes.TrimSuffix(out, []byte("}"))
	for _, p := range l.params {
		value, err := marshal(p.value)
		if err != nil {
			return nil, err
		}
		out = append(out, ',')
		out = strconv.AppendQuote(out, p.key)
		out = append(append(out, ':'), value...)
	}
	return append(out, '}'), nil
}

type dataNetwork struct {
	ID        string `json:"id"`
	NetworkID string `json:"network_id,omitempty"`
	Link      string `json:"link"`
	Type      string `json:"type"`
	Address   string `json:"ip_address,omitempty"`
	Netmask   string `json:"netmask,omitempty"`
	// Gateway is oVirt's; nova has a route instead.
	Gateway string      `json:"gateway,omitempty"`
	Metric  int         `json:"metric,omitempty"`
	Routes  []dataRoute `json:"routes,omitempty"`
	// Services is nova's and read by cloud-init since 23.4; DNSServers is read by every cloud-init.
	Services   []dataService `json:"services,omitempty"`
	DNSServers []string      `json:"dns_nameservers,omitempty"`
	DNSSearch  []string      `json:"dns_search,omitempty"`
}

type dataRoute struct {
	Network string `json:"network"`
	Netmask string `json:"netmask"`
	Gateway string `json:"gateway"`
	Metric  int    `json:"metric,omitempty"`
}

type dataService struct {
	Type    string   `json:"type"`
	Address string   `json:"address"`
	Search  []string `json:"search,omitempty"`
}

// marshal is json.Marshal without the escapes for HTML.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

func encodeOpenStack(c *Config) ([]byte, diag.List, error) {
	data := networkData{Links: []dataLink{}, Networks: []dataNetwork{}, Services: []dataService{}}
	for i := range c.Links {
		l := &c.Links[i]
		data.Links = append(data.Links, c.dataLink(l))
		for _, s := range c.subnets(l) {
			if s.kind == manual {
				continue
			}
			n := s.data(l)
			n.ID = "network" + strconv.Itoa(len(data.Networks))
			n.NetworkID = n.ID
			data.Networks = append(data.Networks, n)
		}
	}
	data.Services = append(data.Services, services(c.DNS.Servers)...)
	if len(data.Services) > 0 {
		data.Services[0].Search = c.DNS.Search
	}
	out, err := indented(data)
	return out, nil, err
}

// indented writes a document with a line for each value.
func indented(v any) ([]byte, error) {
	raw, err := marshal(v)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, raw, "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

func services(servers []netip.Addr) []dataService {
	var out []dataService
	for _, a := range servers {
		out = append(out, dataService{Type: "dns", Address: a.String()})
	}
	return out
}

func (c *Config) dataLink(l *Link) dataLink {
	d := dataLink{ID: l.ID, MAC: l.MAC, MTU: l.MTU}
	switch l.Kind {
	case Physical:
		d.Type, d.Name = "phy", l.Name
	case Bond:
		members := append([]string{}, l.Bond.Links...)
		d.Type, d.BondLinks, d.BondMode = "bond", &members, l.Bond.Mode
		names := map[string]string{}
		for _, id := range l.Bond.Links {
			names[id] = orElse(c.Link(id).GuestName(), id)
		}
		for _, name := range sortedKeys(l.Bond.Params) {
			p := bondParams[name]
			d.params = append(d.params, dataParam{"bond_" + p.v1, p.dataValue(l.Bond.Params[name], names)})
		}
	case VLAN:
		d.Type, d.MAC, d.VLANLink, d.VLANID = "vlan", "", l.VLAN.Parent, &l.VLAN.ID
		mac := json.RawMessage("null")
		if address := c.carrierMAC(l); address != "" {
			mac = json.RawMessage(strconv.Quote(address))
		}
		d.VLANMAC = &mac
	}
	return d
}

// dataValue writes a bond parameter: numbers as such, everything else as v1 has it.
func (p param) dataValue(value string, names map[string]string) any {
	switch p.value {
	case number:
		if n, err := strconv.Atoi(value); err == nil {
			return n
		}
	case boolean:
		if value == "true" {
			return "1"
		}
		return "0"
	case device:
		return names[value]
	}
	return value
}

// carrierMAC is the MAC that frames of a link leave with: its own, else that of what it is built upon.
func (c *Config) carrierMAC(l *Link) string {
	if l.MAC != "" {
		return l.MAC
	}
	for _, id := range l.members() {
		if mac := c.carrierMAC(c.Link(id)); mac != "" {
			return mac
		}
	}
	return ""
}

// data writes a subnet as an entry of networks.
func (s subnet) data(l *Link) dataNetwork {
	n := dataNetwork{Link: l.ID, Type: s.dataType(l), Metric: s.metric,
		Services: services(s.dns.Servers), DNSServers: strs(s.dns.Servers), DNSSearch: s.dns.Search}
	if s.kind == fixed {
		n.Address, n.Netmask = s.prefix.Addr().String(), netmask(s.prefix)
	}
	if s.gateway.IsValid() {
		zero := zeroOf(s.gateway).String()
		n.Routes = append(n.Routes, dataRoute{Network: zero, Netmask: zero, Gateway: s.gateway.String()})
	}
	for _, r := range s.routes {
		n.Routes = append(n.Routes, dataRoute{r.To.Addr().String(), netmask(r.To), r.Via.String(), r.Metric})
	}
	return n
}

func (s subnet) dataType(l *Link) string {
	switch {
	case s.v4 && s.kind == dynamic:
		return "ipv4_dhcp"
	case s.v4:
		return "ipv4"
	case s.kind == dynamic:
		return "ipv6_dhcp" // see v1Type
	case s.kind == dhcp6Stateless:
		return "ipv6_dhcpv6-stateless"
	case s.kind == slaac:
		return "ipv6_slaac"
	case l.SLAAC || l.DHCP6 == Stateless:
		// cloud-init switches router advertisements off for the whole link at "ipv6", not so at its own word "static".
		return "static"
	}
	return "ipv6"
}

func zeroOf(a netip.Addr) netip.Addr {
	if a.Is4() {
		return netip.IPv4Unspecified()
	}
	return netip.IPv6Unspecified()
}

// netmask writes a prefix length as nova does: as an address with that many leading ones.
func netmask(p netip.Prefix) string {
	if p.Addr().Is4() {
		var ones [4]byte
		fillOnes(ones[:], p.Bits())
		return netip.AddrFrom4(ones).String()
	}
	var ones [16]byte
	fillOnes(ones[:], p.Bits())
	return netip.AddrFrom16(ones).String()
}

func fillOnes(b []byte, bits int) {
	for i := range bits {
		b[i/8] |= 0x80 >> (i % 8)
	}
}
