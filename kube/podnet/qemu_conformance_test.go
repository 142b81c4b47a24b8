//go:build conformance && linux

package podnet

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/vmseed/vmseed/frontend/cniresult"
	"github.com/vmseed/vmseed/internal/testguest"
	"github.com/vmseed/vmseed/kube/internal/hosttest"
)

// TestGuests boots two VMs with nothing but what the attachments say. They reach each other and the host, and the host
// reaches them, over IPv4 and IPv6.
func TestGuests(t *testing.T) {
	n := newNode(t, map[string]string{"10-net.conflist": bridged("cluster", "cni-q", `[{"subnet": "10.73.0.0/24"}], [{"subnet": "fd73::/64"}]`, `"mtu": 1400,`)})
	probe := testguest.InitramfsConfig{Probe: "github.com/vmseed/vmseed/kube/podnet/testdata/probe", Modules: []string{"virtio_net"}}
	if !t.Run("kernel", func(t *testing.T) {
		hosttest.Machine(t)
		testguest.InitramfsFiles(t, probe)
	}) {
		return
	}
	pods := map[string]Attachment{"one": n.setup(t, pod("one")), "two": n.setup(t, pod("two"))}
	serve(t, host, ":7", "host")
	answers := make(chan error, len(pods))
	for name, a := range pods {
		go func() {
			err := errors.New("not tried")
			for deadline := time.Now().Add(5 * limit); err != nil && time.Now().Before(deadline); {
				err = call(host, a.IPs[0].String()+":7", name)
			}
			answers <- err
		}()
	}
	t.Run("guest", func(t *testing.T) {
		for name, a := range pods {
			other := map[string]string{"one": "two", "two": "one"}[name]
			vm := probe
			vm.Files, vm.ExtraQEMU = vmOf(t, name, a, map[string]string{"host": "10.73.0.1:7", other: "[" + pods[other].IPs[1].String() + "]:7"})
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				hosttest.Enter(t, a.Netns)
				out := testguest.Initramfs(t, vm)
				for _, want := range []string{"reached host", "reached " + other, "all have called"} {
					if !strings.Contains(out, want) {
						t.Errorf("the guest's words lack %q:\n%s", want, out)
					}
				}
			})
		}
	})
	for range pods {
		if err := <-answers; err != nil {
			t.Errorf("the host calls a guest: %v", err)
		}
	}
}

// vmOf returns the files and the NIC of a guest at an attachment, which others call twice.
func vmOf(t *testing.T, name string, a Attachment, calls map[string]string) (files map[string][]byte, qemu []string) {
	facts, diags := cniresult.Read("results", a.Results)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	nic := facts.NICs[0]
	orders, err := json.Marshal(map[string]any{"Name": name, "MAC": nic.MAC, "MTU": nic.MTU, "Addresses": nic.Addrs,
		"Gateways": []string{nic.Gateway4.String(), nic.Gateway6.String()}, "Call": calls, "Calls": 2})
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{"orders.json": orders}, []string{"-netdev", "tap,id=net,ifname=" + a.Taps[0].Device + ",script=no,downscript=no",
		"-device", "virtio-net-pci,netdev=net,romfile=,mac=" + nic.MAC}
}
