package host

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"

	"github.com/vmseed/vmseed"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/frontend/cniresult"
	"github.com/vmseed/vmseed/hypervisor"
	"github.com/vmseed/vmseed/internal/vmnet"
	"github.com/vmseed/vmseed/kube/podnet"
	"github.com/vmseed/vmseed/kube/provider"
	"github.com/vmseed/vmseed/machine"
)

// connection is how a pod is connected. One that is not plugged has the network that the supervisor makes.
type connection struct {
	podnet.Attachment
	plugged bool
}

// connect connects a pod to its networks, or finds how it was connected before.
func (h *Host) connect(ctx context.Context, s provider.Start) (connection, diag.List, error) {
	none := errors.New("the node was started without networks of pods")
	if h.options.Networks != nil {
		a, err := h.options.Networks.Setup(ctx, podnet.FromPod(s.Pod))
		if err == nil {
			return connection{a, true}, a.Diagnostics, nil
		}
		if !errors.Is(err, podnet.ErrNotConfigured) {
			return connection{}, nil, waitFor(provider.ReasonCreating, fmt.Errorf("the pod's network: %w", err))
		}
		none = err
	}
	var l diag.List
	if wish := s.Pod.Annotations[podnet.NetworksAnnotation]; wish != "" {
		l.Add(diag.Diagnostic{Code: provider.CodeNetwork, Severity: diag.Warning, Field: "metadata.annotations[" + podnet.NetworksAnnotation + "]",
			Summary: "the VM gets a network of its own instead of those that are named here: " + none.Error(),
			Remedy:  "configure CNI on the node"})
	}
	return connection{}, l, nil
}

// completed is a pod with the addresses that the downward API offers. They are for programs of the guest, so that on a network of
// its own the pod's is the guest's there, though nobody else can reach it.
func (h *Host) completed(pod *corev1.Pod, a connection) *corev1.Pod {
	out := pod.DeepCopy()
	ips := a.IPs
	if !a.plugged {
		own, _ := vmnet.Configure(machine.NIC{DHCP4: true}, machine.DNS{}, 0, diag.Range{})
		ips = []netip.Addr{own.Guest}
	}
	out.Status = corev1.PodStatus{HostIP: first(h.options.NodeIPs), PodIP: first(ips)}
	for _, ip := range h.options.NodeIPs {
		out.Status.HostIPs = append(out.Status.HostIPs, corev1.HostIP{IP: ip.String()})
	}
	for _, ip := range ips {
		out.Status.PodIPs = append(out.Status.PodIPs, corev1.PodIP{IP: ip.String()})
	}
	return out
}

func first(ips []netip.Addr) string {
	if len(ips) == 0 {
		return ""
	}
	return ips[0].String()
}

// renewal has cloud-init write the guest's network configuration at each boot. By
// default it does so for a new instance only, and matches NICs by their MACs; but a pod that takes over a disk, and one whose host
// was restarted, has another MAC and other addresses than at the guest's first boot.
const renewal = `#cloud-config
updates:
  network:
    when: [boot-new-instance, boot]
`

// plug places a machine with the addresses of its networks, and returns the tap devices for its NICs.
func (c connection) plug(e *vmseed.Engine, m machine.Machine) (machine.Machine, []hypervisor.Tap, diag.List, error) {
	a, err := c.Arrange(m)
	if err != nil {
		return m, nil, nil, err
	}
	facts, l := cniresult.Read("the pod's networks", a.Results)
	if l.HasErrors() {
		return m, nil, l, nil
	}
	m, problems := e.Place(m, facts)
	l = append(l, problems...)
	if l.HasErrors() {
		return m, nil, l, nil
	}
	taps, err := a.For(m)
	return m, taps, l, err
}
