// Command probe is the user space of a guest on a pod's network: it configures its NIC as it is told, lets others call
// it, and calls them.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// orders is what the test puts into /orders.json.
type orders struct {
	Name, MAC string
	MTU       int
	// Addresses have their prefix lengths.
	Addresses, Gateways []string
	// Call is who is called at which address; Calls is how often others call.
	Call  map[string]string
	Calls int
}

func main() {
	if err := run(); err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
}

func run() error {
	text, err := os.ReadFile("/orders.json")
	if err != nil {
		return err
	}
	var o orders
	if err := json.Unmarshal(text, &o); err != nil {
		return err
	}
	if err := configure(o); err != nil {
		return err
	}
	l, err := net.Listen("tcp", ":7")
	if err != nil {
		return err
	}
	var called sync.WaitGroup
	called.Add(o.Calls)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				fmt.Fprintln(c, o.Name)
				_, err := io.Copy(c, c)
				if c.Close(); err == nil {
					called.Done()
				}
			}()
		}
	}()
	for name, address := range o.Call {
		if err := call(name, address); err != nil {
			return fmt.Errorf("call %s at %s: %w", name, address, err)
		}
		fmt.Println("reached", name, "at", address)
	}
	called.Wait()
	fmt.Println("all have called")
	return nil
}

func configure(o orders) error {
	links, err := netlink.LinkList()
	if err != nil {
		return err
	}
	for _, l := range links {
		if l.Attrs().Name != "lo" && l.Attrs().HardwareAddr.String() != o.MAC {
			continue
		}
		if err := netlink.LinkSetUp(l); err != nil || l.Attrs().Name == "lo" {
			if err != nil {
				return err
			}
			continue
		}
		if err := netlink.LinkSetMTU(l, o.MTU); err != nil {
			return err
		}
		for _, a := range o.Addresses {
			one, err := netlink.ParseAddr(a)
			if err != nil {
				return err
			}
			one.Flags = unix.IFA_F_NODAD
			if err := netlink.AddrAdd(l, one); err != nil {
				return fmt.Errorf("address %s: %w", a, err)
			}
		}
		for _, gw := range o.Gateways {
			if err := netlink.RouteAdd(&netlink.Route{LinkIndex: l.Attrs().Index, Gw: net.ParseIP(gw)}); err != nil {
				return fmt.Errorf("gateway %s: %w", gw, err)
			}
		}
		return nil
	}
	return errors.New("no NIC has the MAC " + o.MAC)
}

// call tries until the other has booted.
func call(name, address string) (err error) {
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); {
		if err = once(name, address); err == nil {
			return nil
		}
		// A refused connection comes back at once.
		<-time.After(100 * time.Millisecond)
	}
	return err
}

func once(name, address string) error {
	c, err := net.DialTimeout("tcp", address, 10*time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	const size = 1 << 16
	go func() {
		c.Write(make([]byte, size))
		c.(*net.TCPConn).CloseWrite()
	}()
	all, err := io.ReadAll(c)
	if err == nil && (len(all) != len(name)+1+size || string(all[:len(name)]) != name) {
		return fmt.Errorf("%d octets came back", len(all))
	}
	return err
}
