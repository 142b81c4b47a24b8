package ovirt

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/machine"
)

// guestNIC is a nic_configuration in either form.
type guestNIC struct {
	at              tree.Value
	name, onBoot    tree.Value
	protocol4, ip   tree.Value
	protocol6, ipv6 tree.Value
}

// The protocols of a family.
const (
	static       = "static"
	dhcp         = "dhcp"
	none         = "none"
	autoconf     = "autoconf"
	polyAutoconf = "poly_dhcp_autoconf"
)

// network reads how the guest uses its NICs.
func (r *reader) network(v tree.Value, old legacy) {
	var nics []guestNIC
	list := v.Get("nic_configurations")
	for _, x := range r.items(list, "nic_configuration") {
		if !r.isMap(x) {
			continue
		}
		r.only(x, "boot_protocol", "ip", "ipv6", "ipv6_boot_protocol", "name", "on_boot")
		nics = append(nics, guestNIC{at: x, name: x.Get("name"), onBoot: x.Get("on_boot"), protocol4: x.Get("boot_protocol"),
			ip: x.Get("ip"), protocol6: x.Get("ipv6_boot_protocol"), ipv6: x.Get("ipv6")})
	}
	if len(nics) > 0 && len(old.nics) > 0 {
		r.twice(old.nicsAt, list)
	}
	for _, x := range old.nics {
		if !r.isMap(x) {
			continue
		}
		r.only(x, "boot_protocol", "name", "network", "on_boot")
		nic := guestNIC{at: x, name: x.Get("name"), onBoot: x.Get("on_boot"), protocol4: x.Get("boot_protocol")}
		if n := x.Get("network"); r.isMap(n) {
			r.only(n, "ip")
			nic.ip = n.Get("ip")
		}
		nics = append(nics, nic)
	}
	r.dns(v, old)
	r.protocol(v.Get("cloud_init_network_protocol"))
	if r.few(list, len(nics)) {
		r.guestNICs(nics)
	}
	if len(nics) == 0 {
		r.fallback(v)
	}
}

// fallback is for a guest that is told of no NIC. Its own fallback is DHCP on the first one, and an engine then writes no
// network document, or one with name servers alone, on which guests set up no NIC at all.
func (r *reader) fallback(v tree.Value) {
	switch dns := r.m.Network.DNS; {
	case len(dns.Servers)+len(dns.Search) == 0 && r.kind == CloudInit:
		r.m.Network.Mode = "dhcp"
		r.at(r.init.Range(), "network.mode")
	case len(dns.Servers)+len(dns.Search) > 0 && len(r.m.Network.NICs) > 0:
		first := &r.m.Network.NICs[0]
		first.DHCP4 = true
		at := v.Get("dns_servers")
		if !at.Exists() {
			at = v.Get("dns_search")
		}
		r.at(at.Range(), "network.nics[0].dhcp4")
		r.note(at, CodeNIC, "NIC %q gets its address by DHCP, or the guest would not be told of name servers", first.Name)
	}
}

func (r *reader) protocol(v tree.Value) {
	if r.word(v, "eni", "openstack_metadata") == "eni" {
		r.m.Network.Format = "eni"
		r.at(v.Range(), "network.format")
	}
}

// dns reads name servers and search domains. Any white space stands between them; an engine makes empty items of two blanks.
func (r *reader) dns(v tree.Value, old legacy) {
	words := func(member tree.Value, older []tree.Value) []tree.Value {
		if len(older) > 0 && r.verbatim(member) != "" {
			r.twice(older[0], member)
		}
		if member.Kind() == tree.Scalar || member.Kind() == tree.List {
			return append([]tree.Value{member}, older...)
		}
		member.Want(&r.list, tree.Scalar)
		return older
	}
	d := &r.m.Network.DNS
	for _, x := range slices.Concat(old.servers, []tree.Value{v.Get("dns_search"), v.Get("dns_servers")}) {
		if x.Exists() {
			r.at(x.Range(), "network.dns")
		}
	}
	for _, x := range words(v.Get("dns_servers"), old.servers) {
		for _, word := range strings.Fields(r.verbatim(x)) {
			addr, err := netip.ParseAddr(word)
			if err != nil {
				r.fail(x, CodeAddress, "", "a name server is an IPv4 or IPv6 address, with white space between several")
				continue
			}
			r.at(x.Range(), "network.dns.servers")
			d.Servers = append(d.Servers, addr)
		}
	}
	for _, x := range words(v.Get("dns_search"), old.search) {
		for _, word := range strings.Fields(r.verbatim(x)) {
			if !searchDomain.MatchString(word) {
				r.fail(x, CodeAddress, "", "a search domain consists of letters, digits, dashes and dots, with white space between several")
				continue
			}
			r.at(x.Range(), "network.dns.search")
			d.Search = append(d.Search, word)
		}
	}
}

var searchDomain = regexp.MustCompile(`^[\p{L}\p{N}_]([\p{L}\p{N}_.-]*[\p{L}\p{N}_])?\.?$`)

// guestName is what Linux takes for the name of an interface (dev_valid_name: at most 15 bytes, no slash, colon or white
// space), of the characters that the form of the web administration takes.
var guestName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,15}$`)

// ethernet is a name whose number is that of the NIC.
var ethernet = regexp.MustCompile(`^eth(0|[1-9][0-9]?)$`)

// guestNICs lays what the guest does with its NICs over those of the machine: the first over the first, or the NIC with the
// number of the name when all are called eth and a number.
func (r *reader) guestNICs(nics []guestNIC) {
	names := make([]string, len(nics))
	numbered := true
	seen := map[string]tree.Value{}
	for i, x := range nics {
		name := r.text(x.name)
		switch first, taken := seen[name]; {
		case name == "":
			r.fail(x.at, CodeNIC, "write the name that the interface has in the guest, such as eth0", "a NIC of the guest has no name")
			continue
		case !guestName.MatchString(name):
			r.fail(x.name, CodeNIC, "", "this cannot be the name of an interface: it has up to 15 letters, digits, dashes, dots and underscores")
			continue
		case taken:
			r.list.Add(diag.Diagnostic{Code: CodeNIC, Severity: diag.Error, Range: x.name.Range(), Field: x.name.Path(),
				Summary: fmt.Sprintf("two NICs of the guest are called %q", name), Remedy: "rename one of them"}.With(first.Range(), "the first one is here"))
			continue
		}
		seen[name], names[i] = x.name, name
		numbered = numbered && ethernet.MatchString(name)
	}
	for i, x := range nics {
		if names[i] == "" {
			x.at.Consume() // it has its error
			continue
		}
		at := i
		if numbered {
			at, _ = strconv.Atoi(strings.TrimPrefix(names[i], "eth"))
		}
		r.guestNIC(x, names[i], r.nicAt(at, x, numbered))
	}
	r.sameAddress()
	r.withoutIPv6(nics)
}

// withoutIPv6 is about NICs that come up and shall have no IPv6. Guests take an address that a router advertises all the same,
// and a config drive has no word against that: cloud-init's is for NICs with IPv6 addresses.
func (r *reader) withoutIPv6(nics []guestNIC) {
	var names []string
	var first tree.Value
	for _, x := range nics {
		if !strings.EqualFold(r.text(x.protocol6), none) {
			continue
		}
		for i := range r.m.Network.NICs {
			n := &r.m.Network.NICs[i]
			switch {
			case n.Rename != r.text(x.name) || n.Rename == "" || n.OnBoot != nil && !*n.OnBoot:
			case r.kind == Ignition:
				n.AcceptRA = new(bool)
				r.at(x.protocol6.Range(), "network.nics[%d].acceptRA", i)
			default:
				if len(names) == 0 {
					first = x.protocol6
				}
				names = append(names, n.Rename)
			}
		}
	}
	if len(names) > 0 {
		r.note(first, CodeNIC, "guests take an IPv6 address that a router advertises all the same; their image can forbid that, a config drive cannot (%s)", strings.Join(names, ", "))
	}
}

// nicAt returns the index of the machine's NIC of a number. A machine that states none, or too few, gets those that its
// guest is told of; their MACs are unknown, so the guest finds them by name.
func (r *reader) nicAt(number int, x guestNIC, numbered bool) int {
	have := len(r.m.Network.NICs)
	if number < have {
		return number
	}
	name := func(i int) string {
		if numbered {
			return fmt.Sprintf("eth%d", i)
		}
		return r.text(x.name)
	}
	if !numbered {
		number = have
	}
	for i := have; i <= number; i++ {
		nic := machine.NIC{Name: name(i)}
		if slices.ContainsFunc(r.m.Network.NICs, func(o machine.NIC) bool { return o.Name == nic.Name }) {
			nic.Name = fmt.Sprintf("%s-%d", nic.Name, i)
		}
		if !r.vm.Get("nics").Exists() {
			nic.Match = "name"
		}
		r.m.Network.NICs = append(r.m.Network.NICs, nic)
		r.at(x.at.Range(), "network.nics[%d]", i)
	}
	return number
}

func (r *reader) guestNIC(x guestNIC, name string, i int) {
	path := fmt.Sprintf("network.nics[%d]", i)
	n := &r.m.Network.NICs[i]
	if b := r.flag(x.onBoot); b != nil {
		n.OnBoot = b
		r.at(x.onBoot.Range(), "%s.onBoot", path)
	}
	four := r.family(x.protocol4, x.ip, false)
	six := r.family(x.protocol6, x.ipv6, true)
	if four.wrong || six.wrong {
		x.at.Consume()
	} else if four.protocol == none && six.protocol == none {
		r.note(x.at, CodeNIC, "NIC %q has no protocol, so the guest is not told of it", name)
		r.at(x.at.Range(), "%s", path)
		return
	}
	n.Rename = name
	r.at(x.name.Range(), "%s.rename", path)
	n.DHCP4 = four.protocol == dhcp
	r.at(x.protocol4.Range(), "%s.dhcp4", path)
	switch six.protocol {
	case dhcp:
		n.DHCP6 = "stateful"
	case autoconf:
		n.SLAAC = true
	case polyAutoconf:
		n.SLAAC, n.DHCP6 = true, "stateful"
	}
	r.at(x.protocol6.Range(), "%s.dhcp6", path)
	r.at(x.protocol6.Range(), "%s.slaac", path)
	for _, f := range []family{four, six} {
		if f.prefix.IsValid() {
			n.Addrs = append(n.Addrs, f.prefix)
			r.at(f.at.Range(), "%s.addresses", path)
		}
	}
	n.Gateway4, n.Gateway6 = four.gateway, six.gateway
	r.at(x.ip.Get("gateway").Range(), "%s.gateway4", path)
	r.at(x.ipv6.Get("gateway").Range(), "%s.gateway6", path)
}

// family is what a NIC does in one of the two families.
type family struct {
	protocol string
	prefix   netip.Prefix
	gateway  netip.Addr
	at       tree.Value
	// wrong says that an error is reported, so that what follows from it is not.
	wrong bool
}

// family reads a protocol and the address that belongs to it.
func (r *reader) family(protocol, ip tree.Value, six bool) (f family) {
	f = family{protocol: none, at: ip}
	before := len(r.list)
	defer func() { f.wrong = r.list[before:].HasErrors() }()
	if text := strings.ToLower(r.text(protocol)); !six && (text == autoconf || text == polyAutoconf) {
		r.fail(protocol, CodeInvalidValue, "write dhcp", "Invalid value: %s is not applicable for IPv4.", text)
	} else if six {
		f.protocol = r.word(protocol, none, dhcp, static, autoconf, polyAutoconf)
	} else {
		f.protocol = r.word(protocol, none, dhcp, static)
	}
	stated := f.protocol != ""
	if !stated {
		f.protocol = none
		if r.list[before:].HasErrors() {
			return f
		}
	}
	if !r.isMap(ip) {
		if f.protocol == static {
			r.noAddress(protocol, six)
		}
		return f
	}
	r.only(ip, "address", "gateway", "netmask", "version")
	version := map[bool]string{false: "v4", true: "v6"}[six]
	if have := r.word(ip.Get("version"), "v4", "v6"); have != "" && have != version {
		r.fail(ip.Get("version"), CodeInvalidValue, "write "+version, "the address of this element is of the version %s", version)
	}
	address := r.text(ip.Get("address"))
	switch {
	case address == "" && f.protocol == static:
		r.noAddress(protocol, six)
		return f
	case address != "" && !stated:
		// The engine drops an address without a protocol.
		f.protocol = static
	case address != "" && f.protocol != static:
		r.warn(ip, CodeNIC, "write static, or remove it", "the address does not count, because the protocol is %s", f.protocol)
	}
	if f.protocol != static {
		r.unused(ip, f.protocol)
		return f
	}
	if r.address(&f, ip, six); !stated && f.prefix.IsValid() {
		r.note(ip, CodeNIC, "the address is taken as a static one, because no protocol is given")
	}
	return f
}

// unused consumes an address that does not count. An address that is empty says nothing.
func (r *reader) unused(ip tree.Value, protocol string) {
	if r.text(ip.Get("address")) != "" {
		ip.Consume()
		return
	}
	for _, name := range []string{"netmask", "gateway"} {
		if x := ip.Get(name); r.text(x) != "" {
			r.warn(x, CodeNIC, "write static, or remove it", "this does not count, because the protocol is %s", protocol)
		}
	}
}

func (r *reader) noAddress(v tree.Value, six bool) {
	r.fail(v, CodeAddress, "give an address, or choose another protocol", "a static %s configuration has no address", familyName(six))
}

func familyName(six bool) string {
	if six {
		return "IPv6"
	}
	return "IPv4"
}

// address reads a static address with its netmask and gateway.
func (r *reader) address(f *family, ip tree.Value, six bool) {
	at := ip.Get("address")
	text, bits, cidr := strings.Cut(r.text(at), "/")
	addr, err := netip.ParseAddr(text)
	if err != nil || addr.Is6() != six || addr.Zone() != "" || addr.IsUnspecified() || addr.IsMulticast() {
		r.fail(at, CodeAddress, "", "this is no %s address that a NIC can have", familyName(six))
		return
	}
	mask := ip.Get("netmask")
	if given := r.text(mask); given != "" {
		if cidr {
			r.fail(mask, CodeTwice, "keep one of them", "the address has a prefix length already")
		}
		bits, cidr = given, true
	} else {
		mask = at
	}
	length, ok := addr.BitLen(), true
	switch {
	case cidr:
		length, ok = prefixLength(bits, six)
	case six:
		length = 64
		r.note(at, CodeAddress, "there is no prefix length, so it is 64, as guests take it")
	default:
		length = 24
		r.warn(at, CodeAddress, "write the netmask", "there is no netmask, so it is 255.255.255.0, as guests take it")
	}
	if !ok {
		want := "a netmask such as 255.255.255.0"
		if six {
			want = "a prefix length from 0 to 128"
		}
		r.invalid(mask, want)
		return
	}
	f.prefix = netip.PrefixFrom(addr, length)
	r.gateway(f, ip.Get("gateway"), six)
}

// prefixLength reads a netmask: a number of bits, or for IPv4 a dotted quad.
func prefixLength(text string, six bool) (int, bool) {
	limit := 32
	if six {
		limit = 128
	}
	if n, err := strconv.Atoi(text); err == nil {
		return n, n >= 0 && n <= limit && !strings.HasPrefix(text, "+")
	}
	addr, err := netip.ParseAddr(text)
	if err != nil || !addr.Is4() || six {
		return 0, false
	}
	bits := addr.As4()
	value := uint32(bits[0])<<24 | uint32(bits[1])<<16 | uint32(bits[2])<<8 | uint32(bits[3])
	for n := 0; n <= 32; n++ {
		if value == ^uint32(0)<<(32-n) {
			return n, true
		}
	}
	return 0, false
}

func (r *reader) gateway(f *family, v tree.Value, six bool) {
	text := r.text(v)
	if text == "" {
		return
	}
	addr, err := netip.ParseAddr(text)
	switch {
	case err != nil || addr.Is6() != six || addr.Zone() != "" || addr.IsUnspecified() || addr.IsMulticast():
		r.fail(v, CodeAddress, "", "this is no %s address of a gateway", familyName(six))
		return
	case addr == f.prefix.Addr():
		r.fail(v, CodeAddress, "", "the gateway is the machine itself")
		return
	case !f.prefix.Masked().Contains(addr) && (addr.Is4() || !addr.IsLinkLocalUnicast()):
		r.warn(v, CodeAddress, "correct the gateway or the netmask", "the gateway is outside of the network of the address, so most guests cannot reach it")
	}
	f.gateway = addr
}

// sameAddress notices two NICs with one address.
func (r *reader) sameAddress() {
	seen := map[netip.Addr]string{}
	for i, n := range r.m.Network.NICs {
		for _, p := range n.Addrs {
			if first, ok := seen[p.Addr()]; ok {
				r.list.Errorf(CodeAddress, r.places.Find(fmt.Sprintf("network.nics[%d].addresses", i)), "give each its own", "the NICs %q and %q have the same address", first, n.Rename)
			}
			seen[p.Addr()] = n.Rename
		}
	}
}
