package kubevirt

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/format/cloudconfig"
	"github.com/vmseed/vmseed/format/kubeobject"
)

// network writes the interfaces into the devices and returns the networks. Without any, KubeVirt gives the machine the
// network of its pod.
func (w *writer) network() []mapping {
	var interfaces, networks []mapping
	pod := false
	for i, n := range w.m.Network.NICs {
		if !n.Physical() {
			continue // the network document says it
		}
		at := fmt.Sprintf("network.nics[%d]", i)
		name := w.name("nic", n.Name)
		model := n.Model
		if model != "" && !slices.Contains(nicModels, model) {
			w.warn(at+".model", "", "KubeVirt has no NICs of the model %s; it is virtio", model)
			model = ""
		}
		w.ownAddress(at+".pciAddress", n.PCI != "")
		x := with(with(mapping{entry("name", name)}, "model", model), "macAddress", n.MAC)
		x = with(with(x, "bootOrder", w.boot(at, n.BootOrder)), "tag", n.Tag)
		if n.LinkDown {
			x = append(x, entry("state", "down"))
		}
		of, binding := entry("pod", mapping{}), "masquerade"
		switch {
		case n.Network != "" && n.Network != "pod" && !w.legacy.Exists():
			of, binding = w.attached(at, n.Network), "bridge"
		case pod:
			w.warn(at, "name the network of the NIC", "a KubeVirt machine has one NIC in the network of its pod; %q is written as of a network %[1]q", name)
			of, binding = w.attached(at, name), "bridge"
		default:
			pod = true
		}
		interfaces = append(interfaces, append(x, entry(binding, mapping{})))
		networks = append(networks, mapping{entry("name", name), of})
	}
	w.devices = with(w.devices, "interfaces", interfaces)
	return networks
}

// attached names the definition of a network in the cluster: [NAMESPACE/]NAME.
func (w *writer) attached(at, network string) cloudconfig.Entry {
	if !networkName(network) {
		name := label(network)
		if name == "" {
			name = "network"
		}
		w.warn(at+".network", "make a NetworkAttachmentDefinition of that name", "%q cannot be the name of a network of Kubernetes; it is %s", network, name)
		network = name
	}
	return entry("multus", mapping{entry("networkName", network)})
}

func networkName(text string) bool {
	namespace, name, ok := strings.Cut(text, "/")
	if !ok {
		namespace, name = kubeobject.DefaultNamespace, text
	}
	return kubeobject.ValidName(namespace) && kubeobject.ValidName(name)
}
