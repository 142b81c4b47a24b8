package tap

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// Codes of classic BPF (Linux, Documentation/networking/filter.rst).
const (
	loadWord  = 0x20 // A = 4 bytes of the frame
	loadHalf  = 0x28
	loadByte  = 0x30
	loadHalfX = 0x48 // A = 2 bytes at X + k
	loadIHL   = 0xb1 // X = the length of the IPv4 header at k
	and       = 0x54
	jumpEqual = 0x15
	jumpSet   = 0x45
	jump      = 0x05
	result    = 0x06
	// taggedAt is where the kernel says whether a VLAN tag was taken out of the frame (SKF_AD_VLAN_TAG_PRESENT).
	taggedAt = 0xfffff000 + 48
)

// Offsets of fields in an Ethernet frame without a VLAN tag, whose payload begins at 14.
const (
	typeAt     = 12
	fragmentAt = 14 + 6
	proto4At   = 14 + 9
	to4At      = 14 + 16
	ports4At   = 14 // after the header of IPv4
	askedAt    = 14 + 24
	next6At    = 14 + 6
	hops6At    = 14 + 7
	to6At      = 14 + 24
	after6At   = 14 + 40 // the ports, or the type of an ICMPv6 message
	protoTCP   = 6
	protoUDP   = 17
	protoICMP6 = 58

	// The headers that may stand between that of IPv6 and a message (RFC 8200, section 4). A message of Neighbor Discovery in
	// fragments is none (RFC 6980).
	hopOptions, routing, destinationOptions = 0, 43, 60
	// linkHops is the hop limit of messages of Neighbor Discovery, which count with no other (RFC 4861, section 6.1).
	linkHops = 255

	typeIPv4 = 0x0800
	typeARP  = 0x0806
	typeVLAN = 0x8100
	typeQinQ = 0x88a8
	typeIPv6 = 0x86dd

	routerSolicitation    = 133
	routerAdvertisement   = 134
	neighborSolicitation  = 135
	neighborAdvertisement = 136

	dhcp4Server, dhcp4Client = 67, 68
	dhcp6Server, dhcp6Client = 547, 546
)

// instruction is one of classic BPF (struct sock_filter).
type instruction struct {
	code   uint16
	jt, jf uint8
	k      uint32
}

// program is built from its start. Jumps lead to labels further on.
type program struct {
	code   []instruction
	labels map[string]int
	// jumps are the places whose jumps lead to a label when the comparison holds, or always.
	jumps map[int]string
}

func newProgram() *program { return &program{labels: map[string]int{}, jumps: map[int]string{}} }

func (p *program) add(code uint16, k uint32) { p.code = append(p.code, instruction{code: code, k: k}) }

// when jumps to a label when A compares to k.
func (p *program) when(code uint16, k uint32, label string) {
	p.jumps[len(p.code)] = label
	p.add(code, k)
}

// load loads a field and jumps to a label when it is one of some values.
func (p *program) load(code uint16, at uint32, label string, values ...uint32) {
	p.add(code, at)
	for _, v := range values {
		p.when(jumpEqual, v, label)
	}
}

func (p *program) label(name string) { p.labels[name] = len(p.code) }

// end gives a label to the end of the program that returns a value.
func (p *program) end(label string, value uint32) {
	p.label(label)
	p.add(result, value)
}

// assemble resolves the labels and returns the program as the kernel takes it, in the byte order of this machine.
func (p *program) assemble() ([]byte, error) {
	var out []byte
	for i, in := range p.code {
		if label, ok := p.jumps[i]; ok {
			at, known := p.labels[label]
			distance := at - i - 1
			switch {
			case !known || distance < 0 || in.code != jump && distance > 255:
				return nil, fmt.Errorf("the filter has no way from instruction %d to %q", i, label)
			case in.code == jump:
				in.k = uint32(distance)
			default:
				in.jt = uint8(distance)
			}
		}
		out = binary.NativeEndian.AppendUint16(out, in.code)
		out = append(out, in.jt, in.jf)
		out = binary.NativeEndian.AppendUint32(out, in.k)
	}
	return out, nil
}

func word(a netip.Addr) uint32 {
	b := a.As4()
	return binary.BigEndian.Uint32(b[:])
}

// in4 jumps to a label when A is in one of the closed networks.
func (p *program) in4(at uint32, label string) {
	for _, n := range closed4 {
		p.add(loadWord, at)
		if n.Bits() < 32 {
			p.add(and, ^uint32(0)<<(32-n.Bits()))
		}
		p.when(jumpEqual, word(n.Addr()), label)
	}
}

// verdicts of traffic control: look at further filters, or drop the frame.
const (
	further = 0xffffffff
	drop    = 2
)

// fromGuest drops what a guest may not send to the network.
func fromGuest(f Filter) *program {
	p := newProgram()
	// The kernel has taken one tag out already. What two of them hide is nothing that a VM's network carries.
	p.load(loadHalf, typeAt, "drop", typeVLAN, typeQinQ)
	p.when(jumpEqual, typeARP, "arp")
	p.when(jumpEqual, typeIPv4, "ipv4")
	p.when(jumpEqual, typeIPv6, "ipv6")
	p.add(result, further)

	p.label("arp")
	p.in4(askedAt, "drop")
	p.address(f, askedAt, "drop")
	p.add(result, further)

	p.label("ipv4")
	p.in4(to4At, "drop")
	p.address(f, to4At, "drop")
	p.load(loadWord, to4At, "azure", word(closedTCP))
	p.when(jump, 0, "port4")
	p.label("azure")
	p.load(loadByte, proto4At, "drop", protoTCP)
	p.label("port4")
	if f.Answered {
		p.udp4("drop", dhcp4Server)
	}
	p.add(result, further)

	p.label("ipv6")
	for i, a := range closed6 {
		b, differs := a.As16(), fmt.Sprintf("not %d", i)
		for at := range 4 {
			p.add(loadWord, to6At+4*uint32(at))
			p.when(jumpEqual, binary.BigEndian.Uint32(b[4*at:]), fmt.Sprintf("%d of %d", at, i))
			p.when(jump, 0, differs)
			p.label(fmt.Sprintf("%d of %d", at, i))
		}
		p.add(result, drop)
		p.label(differs)
	}
	if f.Answered {
		p.ip6("drop", dhcp6Server, routerSolicitation)
	}
	p.end("pass", further)
	p.end("drop", drop)
	return p
}

// toGuest drops what others on the network would tell a guest of addresses and routers.
func toGuest() *program {
	p := newProgram()
	// A guest takes tags of the VLAN 0 off, however many.
	p.load(loadHalf, typeAt, "drop", typeVLAN, typeQinQ)
	p.when(jumpEqual, typeIPv4, "ipv4")
	p.when(jumpEqual, typeIPv6, "ipv6")
	p.add(result, further)
	p.label("ipv4")
	p.udp4("drop", dhcp4Client)
	p.add(result, further)
	p.label("ipv6")
	p.load(loadByte, next6At, "extended", hopOptions, routing, destinationOptions)
	p.ip6("drop", dhcp6Client, routerAdvertisement)
	p.add(result, further)
	// What hides an advertisement (RFC 7113). Multicast Listener Discovery, which needs such a header, has a hop limit of 1.
	p.label("extended")
	p.load(loadByte, hops6At, "drop", linkHops)
	p.end("pass", further)
	p.end("drop", drop)
	return p
}

// interesting passes the frames of a guest that a Port's user answers.
func interesting(f Filter) *program {
	p := newProgram()
	p.load(loadByte, taggedAt, "pass", 1)
	p.load(loadHalf, typeAt, "arp", typeARP)
	p.when(jumpEqual, typeIPv4, "ipv4")
	p.when(jumpEqual, typeIPv6, "ipv6")
	p.add(result, 0)
	p.label("arp")
	p.address(f, askedAt, "take")
	p.add(result, 0)
	p.label("ipv4")
	p.address(f, to4At, "take")
	if f.Answered {
		p.udp4("take", dhcp4Server)
	}
	p.add(result, 0)
	p.label("ipv6")
	if f.Answered {
		p.ip6("take", dhcp6Server, routerSolicitation, neighborSolicitation)
	}
	p.end("pass", 0)
	p.end("take", 1<<18)
	return p
}

// advertisements passes the answers of neighbours.
func advertisements() *program {
	p := newProgram()
	p.load(loadHalf, typeAt, "ipv6", typeIPv6)
	p.add(result, 0)
	p.label("ipv6")
	p.ip6("take", 0, neighborAdvertisement)
	p.end("pass", 0)
	p.end("take", 1<<18)
	return p
}

// address jumps to a label when the field of a frame is the filter's address.
func (p *program) address(f Filter, at uint32, label string) {
	if f.Address.Is4() {
		p.load(loadWord, at, label, word(f.Address))
	}
}

// udp4 jumps to a label when an IPv4 packet is UDP to a port. What
// follows is the next block of the program.
func (p *program) udp4(label string, port uint32) {
	after := fmt.Sprintf("after %d", len(p.code))
	p.load(loadByte, proto4At, after+" udp", protoUDP)
	p.when(jump, 0, after)
	p.label(after + " udp")
	p.add(loadHalf, fragmentAt)
	p.when(jumpSet, 0x1fff, after)
	p.add(loadIHL, 14)
	p.load(loadHalfX, ports4At+2, label, port)
	p.label(after)
}

// ip6 jumps to a label when an IPv6 packet is UDP to a port (0 for none) or one of some messages of ICMPv6.
func (p *program) ip6(label string, port uint32, messages ...uint32) {
	after := fmt.Sprintf("after %d", len(p.code))
	p.load(loadByte, next6At, after+" icmp", protoICMP6)
	if port > 0 {
		p.when(jumpEqual, protoUDP, after+" udp")
	}
	p.when(jump, 0, after)
	p.label(after + " udp")
	if port > 0 {
		p.load(loadHalf, after6At+2, label, port)
		p.when(jump, 0, after)
	}
	p.label(after + " icmp")
	p.load(loadByte, after6At, label, messages...)
	p.label(after)
}
