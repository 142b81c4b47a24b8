// Package podnet gives the pods of a node networks by the plugins of the Container Network Interface (CNI), and plugs
// VMs into them.
//
// A pod gets a network namespace of its own, in which the node's plugins add an interface for each network, as they do
// for containers. An interface of a container is no use to a guest, so each is turned into a wire: its addresses and
// routes are taken off and become facts of the VM (package frontend/cniresult reads them), its MAC becomes the guest's,
// and a bridge without an address joins it with a tap device that the hypervisor opens.
//
//	host ── veth ──┊── virtlet-eth0 ── bridge ── tap ──┊── guest, with the MAC and addresses of the plugin
//	               ┊           pod's namespace         ┊
//
// Everything is named after the pod's UID and recorded before it is made, so a node that is killed at any moment
// completes or removes it at its next try. A namespace holds no process and outlives the node's; a VM goes on using it.
//
// A guest never reaches 169.254.169.254 of the host or its cloud: what it sends there stays in the pod's namespace,
// where the VM's supervisor may answer it.
package podnet

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/hypervisor"
	"github.com/vmseed/vmseed/machine"
)

// The defaults of a Config.
const (
	DefaultConfDir  = "/etc/cni/net.d"
	DefaultStateDir = "/var/lib/vmseed-kube/podnet"
	DefaultNetnsDir = "/run/netns"
)

// DefaultBinDirs are where plugins are looked for: where those of clusters are put, and where Debian's package has them.
func DefaultBinDirs() []string { return []string{"/opt/cni/bin", "/usr/lib/cni"} }

// Config is how a node's networks are set up. Every empty field has a default.
type Config struct {
	// ConfDir is the directory of the network configurations (*.conflist, *.conf, *.json). The first by name is the
	// cluster's network.
	ConfDir string
	// BinDirs are the directories that plugins are looked for in.
	BinDirs []string
	// StateDir is where this package keeps its records, mode 0700. It must survive a reboot, because some plugins keep
	// addresses reserved over one.
	StateDir string
	// CacheDir is where libcni keeps the configuration and result of each attachment; it defaults to a directory in
	// StateDir.
	CacheDir string
	// NetnsDir is where namespaces are bound to names, vmseed-<hash of StateDir>-<UID>, as ip-netns(8) has them.
	NetnsDir string
	// ResolvConf is the file with the node's own name resolution, for pods whose dnsPolicy is Default; it defaults to
	// /etc/resolv.conf.
	ResolvConf string
	// ClusterDNS are the addresses of the cluster's name service and ClusterDomain its domain, as a kubelet's flags
	// --cluster-dns and --cluster-domain say.
	ClusterDNS    []netip.Addr
	ClusterDomain string
	// Exclusive says that no other runtime of the host uses the networks of ConfDir. Only then does Tidy have plugins
	// give back what they hold for pods it does not know, which might be another runtime's.
	Exclusive bool
	// Log hears of what is tidied up; it defaults to slog.Default.
	Log *slog.Logger
}

// Pod is what of a pod decides about its networks. FromPod makes one of an object of the API.
type Pod struct {
	Namespace, Name, UID string
	Annotations          map[string]string
	// HostNetwork asks for the node's own network, which no VM can have.
	HostNetwork bool
	// Ports are those that the node's addresses lead to.
	Ports []Port
	DNS   DNS
}

// Port is a port of the node that leads to one of the pod.
type Port struct {
	// Protocol is tcp, udp or sctp.
	Protocol string
	// Host and Guest are the ports on the node and in the guest.
	Host, Guest int
	// HostIP is the address of the node; the zero Addr is all of them.
	HostIP netip.Addr
}

// DNS is what a pod says about its name resolution (Pod v1 core, fields dnsPolicy and dnsConfig).
type DNS struct {
	// Policy is ClusterFirst (the default), ClusterFirstWithHostNet, Default or None.
	Policy          string
	Servers, Search []string
	// Options have the form of resolv.conf(5): ndots:5.
	Options []string
}

// Attachment is a pod's connection to its networks.
type Attachment struct {
	// Netns is the path of the network namespace.
	Netns string
	// Taps are the tap devices in the order of the results' interfaces. Their NIC is the name that frontend/cniresult gives
	// the interface; For has those of a machine whose document names its NICs otherwise.
	Taps []hypervisor.Tap
	// Results are the plugins' results in a JSON array, one of CNI 1.1.0 for each network, as frontend/cniresult reads it.
	Results []byte
	// Networks names the network behind each tap: the cluster's is empty, others are as their annotation has them.
	Networks []string
	// IPs are the pod's addresses on the cluster's network, the primary one first.
	IPs []netip.Addr
	// Diagnostics are what the node's networks cannot do for the pod. They are said once, by the Setup that connects it.
	Diagnostics diag.List `json:"-"`
}

// Arrange returns the attachment in the order of a machine's NICs, before the machine is placed. A NIC whose network the
// pod is connected to gets that one, the others get the cluster's. Networks that no NIC is for are left out. A machine
// without NICs takes everything as it is.
func (a Attachment) Arrange(m machine.Machine) (Attachment, error) {
	var results []json.RawMessage
	if err := json.Unmarshal(a.Results, &results); err != nil {
		return Attachment{}, fmt.Errorf("the networks' results: %w", err)
	}
	units, err := a.units(results)
	if err != nil {
		return Attachment{}, err
	}
	out := Attachment{Netns: a.Netns, IPs: a.IPs, Diagnostics: a.Diagnostics}
	var chosen []json.RawMessage
	wired := false
	for _, n := range m.Network.NICs {
		if !n.Physical() {
			continue
		}
		wired = true
		at := slices.IndexFunc(units, func(u unit) bool { return !u.used && n.Network != "" && sameNetwork(u.network, n.Network) })
		if at < 0 {
			at = slices.IndexFunc(units, func(u unit) bool { return !u.used && u.network == "" })
		}
		if at < 0 {
			return Attachment{}, fmt.Errorf("the pod is not connected to a network for NIC %q (%s); annotation %s names the further ones", n.Name, n.Network, NetworksAnnotation)
		}
		u := &units[at]
		u.used = true
		chosen = append(chosen, results[at])
		out.Taps = append(out.Taps, u.taps...)
		for range u.taps {
			out.Networks = append(out.Networks, u.network)
		}
	}
	if !wired {
		return a, nil
	}
	out.Results, err = json.Marshal(chosen)
	return out, err
}

// unit is a result with the taps of its interfaces.
type unit struct {
	network string
	taps    []hypervisor.Tap
	used    bool
}

func (a Attachment) units(results []json.RawMessage) ([]unit, error) {
	var out []unit
	at := 0
	for _, text := range results {
		var one struct {
			Interfaces []json.RawMessage `json:"interfaces"`
		}
		if err := json.Unmarshal(text, &one); err != nil {
			return nil, fmt.Errorf("the networks' results: %w", err)
		}
		end := at + len(one.Interfaces)
		if end == at || end > len(a.Taps) || end > len(a.Networks) {
			return nil, errors.New("the networks' results do not fit the taps")
		}
		out = append(out, unit{network: a.Networks[at], taps: a.Taps[at:end]})
		at = end
	}
	return out, nil
}

// sameNetwork compares names of networks, of which either may have a namespace.
func sameNetwork(a, b string) bool {
	if strings.Contains(a, "/") != strings.Contains(b, "/") {
		a, b = a[strings.Index(a, "/")+1:], b[strings.Index(b, "/")+1:]
	}
	return a == b
}

// For returns the taps for a placed machine: machine.Place gives the facts of the networks to the physical NICs in their
// order, so the taps follow the same way.
func (a Attachment) For(m machine.Machine) ([]hypervisor.Tap, error) {
	var out []hypervisor.Tap
	for _, n := range m.Network.NICs {
		if n.Physical() && len(out) < len(a.Taps) {
			tap := a.Taps[len(out)]
			tap.NIC = n.Name
			out = append(out, tap)
		}
	}
	if len(out) != len(a.Taps) {
		return nil, fmt.Errorf("the pod has %d networks, but the machine has %d NICs for them: was it placed with the pod's results?", len(a.Taps), len(out))
	}
	return out, nil
}

// ErrNotConfigured is what the errors of Usable and Setup wrap when the node has no network configuration at all, so that
// its VMs get user-mode networks.
var ErrNotConfigured = errors.New("the node has no CNI network")
