package tap

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"testing"
)

// execute runs a program as the kernel does, on a frame from whose head one VLAN tag may have been taken.
func execute(t *testing.T, p *program, frame []byte, tagged bool) uint32 {
	t.Helper()
	code, err := p.assemble()
	if err != nil {
		t.Fatal(err)
	}
	var a, x uint32
	load := func(at uint32, size int) (uint32, bool) {
		if at == taggedAt {
			if tagged {
				return 1, true
			}
			return 0, true
		}
		if int(at)+size > len(frame) {
			return 0, false
		}
		var out uint32
		for _, b := range frame[at : int(at)+size] {
			out = out<<8 | uint32(b)
		}
		return out, true
	}
	for at := 0; at*8 < len(code); at++ {
		in := code[at*8:]
		op, k, ok := binary.NativeEndian.Uint16(in), binary.NativeEndian.Uint32(in[4:]), true
		branch := func(holds bool) {
			if holds {
				at += int(in[2])
			} else {
				at += int(in[3])
			}
		}
		switch op {
		case loadWord:
			a, ok = load(k, 4)
		case loadHalf:
			a, ok = load(k, 2)
		case loadByte:
			a, ok = load(k, 1)
		case loadHalfX:
			a, ok = load(x+k, 2)
		case loadIHL:
			x, ok = load(k, 1)
			x = x & 15 * 4
		case and:
			a &= k
		case jumpEqual:
			branch(a == k)
		case jumpSet:
			branch(a&k != 0)
		case jump:
			at += int(k)
		case result:
			return k
		default:
			t.Fatalf("instruction %#x", op)
		}
		if !ok {
			return 0
		}
	}
	t.Fatal("the program has no end")
	return 0
}

// ether is a frame with the payload of an IPv4 or IPv6 packet.
func ether(kind uint16, payload ...[]byte) []byte {
	out := append(make([]byte, 12), byte(kind>>8), byte(kind))
	return append(out, slices.Concat(payload...)...)
}

func packet4(to string, protocol byte, fragment uint16, payload ...byte) []byte {
	h := make([]byte, 20)
	h[0], h[9] = 0x45, protocol
	binary.BigEndian.PutUint16(h[6:], fragment)
	copy(h[16:], netip.MustParseAddr(to).AsSlice())
	return ether(typeIPv4, h, payload)
}

func packet6(to string, next byte, payload ...byte) []byte {
	h := make([]byte, 40)
	h[0], h[6] = 0x60, next
	copy(h[24:], netip.MustParseAddr(to).AsSlice())
	return ether(typeIPv6, h, payload)
}

// hops gives an IPv6 packet a hop limit.
func hops(limit byte, frame []byte) []byte {
	frame[14+7] = limit
	return frame
}

func ports(from, to byte) []byte { return []byte{0, from, 0, to, 0, 8, 0, 0} }

var (
	web      = []byte{0x80, 0, 0, 80, 0, 0, 0, 0}
	dhcp6Ask = []byte{2, 34, 2, 35, 0, 8, 0, 0}
	dhcp6Say = []byte{2, 35, 2, 34, 0, 8, 0, 0}
)

func question(target string) []byte {
	return ether(typeARP, make([]byte, 24), netip.MustParseAddr(target).AsSlice())
}

func TestFromGuest(t *testing.T) {
	service := Filter{Address: netip.MustParseAddr("169.254.169.254")}
	answered := Filter{Answered: true, Address: service.Address}
	withOptions := packet4("255.255.255.255", protoUDP, 0, append([]byte{1, 1, 1, 1}, ports(68, 67)...)...)
	withOptions[14] = 0x46
	for name, c := range map[string]struct {
		frame []byte
		// dropped and read say what becomes of it without answers and with them.
		dropped, droppedAnswered, read, readAnswered bool
	}{
		"the metadata service":         {packet4("169.254.169.254", protoTCP, 0, web...), true, true, true, true},
		"its later fragments":          {packet4("169.254.169.254", protoTCP, 100, web...), true, true, true, true},
		"a question for it":            {question("169.254.169.254"), true, true, true, true},
		"credentials of containers":    {packet4("169.254.170.2", protoTCP, 0, web...), true, true, false, false},
		"and of pods":                  {packet4("169.254.170.23", protoTCP, 0, web...), true, true, false, false},
		"a name server of the node":    {packet4("169.254.20.10", protoUDP, 0, ports(99, 53)...), false, false, false, false},
		"a link-local gateway":         {packet4("169.254.1.1", 1, 0, 8, 0, 0, 0), false, false, false, false},
		"Azure's service":              {packet4("168.63.129.16", protoTCP, 0, web...), true, true, false, false},
		"Azure's name server":          {packet4("168.63.129.16", protoUDP, 0, ports(99, 53)...), false, false, false, false},
		"Alibaba's service":            {packet4("100.100.100.200", protoTCP, 0, web...), true, true, false, false},
		"the world":                    {packet4("198.51.100.7", protoTCP, 0, web...), false, false, false, false},
		"DHCP":                         {packet4("255.255.255.255", protoUDP, 0, ports(68, 67)...), false, true, false, true},
		"DHCP with options of IP":      {withOptions, false, true, false, true},
		"a fragment like DHCP":         {packet4("10.0.0.1", protoUDP, 100, ports(68, 67)...), false, false, false, false},
		"TCP to its port":              {packet4("10.0.0.1", protoTCP, 0, ports(68, 67)...), false, false, false, false},
		"the gateway's MAC":            {question("10.244.1.1"), false, false, false, false},
		"EC2's IPv6":                   {packet6("fd00:ec2::254", protoTCP, web...), true, true, false, false},
		"its neighbour":                {packet6("fd00:ec2::253", protoTCP, web...), false, false, false, false},
		"Google's IPv6":                {packet6("fd20:ce::254", protoTCP, web...), true, true, false, false},
		"a router solicitation":        {packet6("ff02::2", protoICMP6, routerSolicitation, 0, 0, 0), false, true, false, true},
		"a neighbour solicitation":     {packet6("ff02::1:ff00:1", protoICMP6, neighborSolicitation, 0, 0, 0), false, false, false, true},
		"an echo":                      {packet6("fd00::1", protoICMP6, 128, 0, 0, 0), false, false, false, false},
		"DHCP for IPv6":                {packet6("ff02::1:2", protoUDP, dhcp6Ask...), false, true, false, true},
		"two VLAN tags":                {ether(typeVLAN, packet4("169.254.169.254", protoTCP, 0)), true, true, false, false},
		"two tags of the other kind":   {ether(typeQinQ, packet4("169.254.169.254", protoTCP, 0)), true, true, false, false},
		"a frame of another kind":      {ether(0x88cc, make([]byte, 40)), false, false, false, false},
		"a packet that is cut short":   {packet4("10.0.0.1", protoUDP, 0), false, false, false, false},
		"a frame that is cut shorter":  {make([]byte, 8), false, false, false, false},
		"an IPv6 head that is cut off": {packet6("fd00::1", protoICMP6)[:30], false, false, false, false},
	} {
		if got := execute(t, fromGuest(service), c.frame, false) == drop; got != c.dropped {
			t.Errorf("%s: dropped %t", name, got)
		}
		if got := execute(t, fromGuest(answered), c.frame, false) == drop; got != c.droppedAnswered {
			t.Errorf("%s, answered: dropped %t", name, got)
		}
		if got := execute(t, interesting(service), c.frame, false) > 0; got != c.read {
			t.Errorf("%s: read %t", name, got)
		}
		if got := execute(t, interesting(answered), c.frame, false) > 0; got != c.readAnswered {
			t.Errorf("%s, answered: read %t", name, got)
		}
		if execute(t, interesting(answered), c.frame, true) > 0 {
			t.Errorf("%s of a VLAN is read", name)
		}
		// Without anybody who answers, the metadata service is closed all the same.
		if got := execute(t, fromGuest(Filter{}), c.frame, true) == drop; got != c.dropped {
			t.Errorf("%s, unanswered: dropped %t", name, got)
		}
	}
}

func TestToGuest(t *testing.T) {
	for name, c := range map[string]struct {
		frame   []byte
		dropped bool
	}{
		"DHCP":                   {packet4("10.244.1.5", protoUDP, 0, ports(67, 68)...), true},
		"DHCP for IPv6":          {packet6("fe80::1", protoUDP, dhcp6Say...), true},
		"a router advertisement": {packet6("ff02::1", protoICMP6, routerAdvertisement, 0, 0, 0), true},
		"a neighbour's answer":   {packet6("fe80::1", protoICMP6, neighborAdvertisement, 0, 0, 0), false},
		"a name server's answer": {packet4("10.244.1.5", protoUDP, 0, ports(53, 99)...), false},
		"a segment":              {packet4("10.244.1.5", protoTCP, 0, web...), false},
		"a question":             {question("10.244.1.5"), false},
		"two VLAN tags":          {ether(typeVLAN, packet6("ff02::1", protoICMP6, routerAdvertisement)), true},
		"two of the other kind":  {ether(typeQinQ, packet4("10.244.1.5", protoUDP, 0, ports(67, 68)...)), true},
		"one behind an option":   {hops(255, packet6("ff02::1", hopOptions, protoICMP6, 0, 1, 4, 0, 0, 0, 0, routerAdvertisement)), true},
		"behind another":         {hops(255, packet6("ff02::1", destinationOptions, protoICMP6, 0, 1, 4, 0, 0, 0, 0, routerAdvertisement)), true},
		"behind a route":         {hops(255, packet6("ff02::1", routing, protoICMP6, 0, 0, 0, 0, 0, 0, 0, routerAdvertisement)), true},
		"a multicast query":      {hops(1, packet6("ff02::1", hopOptions, protoICMP6, 0, 5, 2, 0, 0, 1, 0, 130)), false},
		"a segment with options": {hops(64, packet6("fd00::5", destinationOptions, protoTCP, 0, 1, 4, 0, 0, 0, 0)), false},
	} {
		if got := execute(t, toGuest(), c.frame, false) == drop; got != c.dropped {
			t.Errorf("%s: dropped %t", name, got)
		}
		if got := execute(t, advertisements(), c.frame, false) > 0; got != (name == "a neighbour's answer") {
			t.Errorf("%s: taken %t", name, got)
		}
	}
}

func TestAssemble(t *testing.T) {
	p := newProgram()
	p.when(jumpEqual, 1, "nowhere")
	p.end("here", 0)
	if _, err := p.assemble(); err == nil {
		t.Error("a jump leads nowhere")
	}
	p = newProgram()
	p.when(jumpEqual, 1, "far")
	for range 256 {
		p.add(loadByte, 0)
	}
	p.end("far", 0)
	if _, err := p.assemble(); err == nil {
		t.Error("a jump is too long for the kernel")
	}
}
