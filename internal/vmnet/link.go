package vmnet

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

const (
	headerSize = header.EthernetMinimumSize
	// maxFrame is more than any frame that QEMU sends (NET_BUFSIZE of QEMU: 68 KiB).
	maxFrame = 68 << 10
)

// gatewayMAC derives a locally administered address for the gateway that differs from the guest's.
func gatewayMAC(guest string) (tcpip.LinkAddress, error) {
	mac, err := net.ParseMAC(guest)
	if err != nil || len(mac) != 6 {
		return "", fmt.Errorf("%q is no MAC of a network interface", guest)
	}
	gateway := append(net.HardwareAddr{0x5a, 0x94, 0xef}, mac[3:]...)
	if gateway.String() == mac.String() {
		gateway[2] ^= 1
	}
	return tcpip.LinkAddress(gateway), nil
}

// Serve exchanges frames with the guest over a connection to QEMU's stream netdev, each after its length in 32 bits,
// until the connection or the network ends. It takes the connection over. A network serves one guest at a time, but can
// serve again.
func (n *Network) Serve(conn net.Conn) error {
	ctx, cancel := context.WithCancel(n.context)
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		n.send(ctx, conn)
		cancel()
	}()
	err := n.receive(conn)
	cancel()
	<-sent
	_ = conn.Close()
	if n.context.Err() != nil {
		return nil
	}
	return err
}

// receive hands frames from the guest to the stack.
func (n *Network) receive(conn io.Reader) error {
	r := bufio.NewReaderSize(conn, 64<<10)
	var length [4]byte
	for {
		if _, err := io.ReadFull(r, length[:]); err != nil {
			return err
		}
		size := binary.BigEndian.Uint32(length[:])
		if size > maxFrame {
			return fmt.Errorf("a frame of %d bytes", size)
		}
		frame := make([]byte, size)
		if _, err := io.ReadFull(r, frame); err != nil {
			return err
		}
		n.fromGuest.Add(int64(size))
		if size < headerSize || !n.addressed(header.Ethernet(frame)) {
			continue
		}
		packet := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithData(frame)})
		n.link.InjectInbound(0, packet)
		packet.DecRef()
	}
}

// addressed reports whether the gateway should see a frame.
func (n *Network) addressed(frame header.Ethernet) bool {
	to := frame.DestinationAddress()
	return to == n.mac || to == header.EthernetBroadcastAddress || header.IsMulticastEthernetAddress(to)
}

// send hands frames of the stack to the guest.
func (n *Network) send(ctx context.Context, conn io.Writer) {
	for {
		packet := n.link.ReadContext(ctx)
		if packet == nil {
			return
		}
		frame := packet.ToView().AsSlice()
		packet.DecRef()
		if n.pretends(frame) {
			continue
		}
		out := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(frame)), uint32(len(frame)))
		if _, err := conn.Write(append(out, frame...)); err != nil {
			return
		}
		n.toGuest.Add(int64(len(frame)))
	}
}

// Traffic returns how many bytes of frames the guest has received from the network and sent to it.
func (n *Network) Traffic() (received, sent int64) { return n.toGuest.Load(), n.fromGuest.Load() }

// pretends reports whether a frame is an ARP answer in the name of an address that is not the network's own. The stack
// gives those, as it stands in for every address; a guest that asks whether its own address is taken must not get one.
func (n *Network) pretends(frame []byte) bool {
	if len(frame) < headerSize || header.Ethernet(frame).Type() != header.ARPProtocolNumber {
		return false
	}
	answer := header.ARP(frame[headerSize:])
	return answer.IsValid() && answer.Op() == header.ARPReply && !n.owns(tcpip.AddrFromSlice(answer.ProtocolAddressSender()))
}
