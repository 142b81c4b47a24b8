package podnet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// The annotations that this package reads.
const (
	// NetworksAnnotation names further networks of a pod, in the forms of the Network Plumbing Working Group's
	// de-facto standard, version 1.3: "name, namespace/name@interface" or a JSON list.
	NetworksAnnotation = "k8s.v1.cni.cncf.io/networks"
	// IngressAnnotation and EgressAnnotation limit a pod's traffic, in bits a second.
	IngressAnnotation = "kubernetes.io/ingress-bandwidth"
	EgressAnnotation  = "kubernetes.io/egress-bandwidth"
)

// mostNetworks is how many further networks a pod may have. Each costs the node devices and runs of its plugins, and an
// annotation has room for a hundred thousand names; a VM has no slots for more NICs.
const mostNetworks = 31

// selection is a further network that a pod asks for (Network Selection Element of the standard).
type selection struct {
	Name         string           `json:"name"`
	Namespace    string           `json:"namespace"`
	Interface    string           `json:"interface"`
	MAC          string           `json:"mac"`
	IPs          []string         `json:"ips"`
	Args         map[string]any   `json:"cni-args"`
	DefaultRoute []netip.Addr     `json:"default-route"`
	PortMappings []map[string]any `json:"portMappings"`
	Bandwidth    map[string]any   `json:"bandwidth"`
}

// label is the network as people refer to it: with the namespace that the annotation gives it.
func (s selection) label() string {
	if s.Namespace == "" {
		return s.Name
	}
	return s.Namespace + "/" + s.Name
}

var (
	networkForm   = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_.-]*$`)
	interfaceForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,14}$`)
)

// selections reads the annotation of further networks.
func selections(text string) ([]selection, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, nil
	}
	var out []selection
	if strings.HasPrefix(text, "[") {
		d := json.NewDecoder(bytes.NewReader([]byte(text)))
		d.DisallowUnknownFields() // a wish that is passed over would be a guest with another network than asked for
		if err := d.Decode(&out); err != nil {
			return nil, fmt.Errorf("annotation %s: %w", NetworksAnnotation, err)
		}
		if d.More() {
			return nil, fmt.Errorf("annotation %s: something follows the list", NetworksAnnotation)
		}
	} else {
		for item := range strings.SplitSeq(text, ",") {
			out = append(out, short(item))
		}
	}
	if len(out) > mostNetworks {
		return nil, fmt.Errorf("annotation %s: %d networks are more than the %d that a pod may have", NetworksAnnotation, len(out), mostNetworks)
	}
	for i, s := range out {
		if err := s.check(); err != nil {
			return nil, fmt.Errorf("annotation %s, network %d: %w", NetworksAnnotation, i+1, err)
		}
	}
	return out, nil
}

// short reads the form namespace/name@interface.
func short(text string) selection {
	var s selection
	s.Name, s.Interface, _ = strings.Cut(strings.TrimSpace(text), "@")
	if namespace, name, ok := strings.Cut(s.Name, "/"); ok {
		s.Namespace, s.Name = namespace, name
	}
	return s
}

func (s selection) check() error {
	switch {
	case !networkForm.MatchString(s.Name):
		return fmt.Errorf("%q cannot be the name of a network", s.Name)
	case s.Namespace != "" && !networkForm.MatchString(s.Namespace):
		return fmt.Errorf("%q cannot be the name of a namespace", s.Namespace)
	case s.Interface != "" && (!interfaceForm.MatchString(s.Interface) || reserved(s.Interface)):
		return fmt.Errorf("%q cannot be the name of an interface", s.Interface)
	}
	if s.MAC != "" {
		if mac, err := net.ParseMAC(s.MAC); err != nil || len(mac) != 6 {
			return fmt.Errorf("%q is no MAC of six octets", s.MAC)
		}
	}
	for _, ip := range s.IPs {
		_, err := netip.ParsePrefix(ip)
		if _, err2 := netip.ParseAddr(ip); err != nil && err2 != nil {
			return fmt.Errorf("%q is no address", ip)
		}
	}
	if slices.ContainsFunc(s.DefaultRoute, func(gw netip.Addr) bool { return !gw.IsValid() || gw.Is4In6() }) {
		return errors.New("default-route holds something that is no address of a gateway")
	}
	return nil
}

// reserved reports whether the name is one that this package gives to its own devices, or one that the kernel's settings
// have for all devices.
func reserved(name string) bool {
	return name == "lo" || name == "all" || name == "default" || strings.HasPrefix(name, bridgePrefix) || strings.HasPrefix(name, tapPrefix)
}

// capabilities are what the plugins of a further network are asked for.
func (s selection) capabilities() map[string]any {
	out := map[string]any{}
	if s.MAC != "" {
		out["mac"] = s.MAC
	}
	if len(s.IPs) > 0 {
		out["ips"] = s.IPs
	}
	if len(s.PortMappings) > 0 {
		out["portMappings"] = s.PortMappings
	}
	if len(s.Bandwidth) > 0 {
		out["bandwidth"] = s.Bandwidth
	}
	return out
}

// portMappings are the pod's host ports as the capability portMappings has them.
func (p Pod) portMappings() []map[string]any {
	var out []map[string]any
	for _, port := range p.Ports {
		one := map[string]any{"hostPort": port.Host, "containerPort": port.Guest, "protocol": port.Protocol}
		if port.HostIP.IsValid() && !port.HostIP.IsUnspecified() {
			one["hostIP"] = port.HostIP.String()
		}
		out = append(out, one)
	}
	return out
}

// burst is how much may be sent at once above the rate, in bits: as much as there is room for, which is what other
// runtimes ask for.
const burst = 1<<32 - 1

// bandwidth is the pod's limit as the capability bandwidth has it, or nil.
func (p Pod) bandwidth() (map[string]any, error) {
	out := map[string]any{}
	for annotation, name := range map[string]string{IngressAnnotation: "ingress", EgressAnnotation: "egress"} {
		text, ok := p.Annotations[annotation]
		if !ok {
			continue
		}
		q, err := resource.ParseQuantity(text)
		if err != nil {
			return nil, fmt.Errorf("annotation %s: %q is no quantity", annotation, text)
		}
		if q.Value() < 1000 || q.Value() > 1e15 {
			return nil, fmt.Errorf("annotation %s: %s is not between 1k and 1P bits a second", annotation, text)
		}
		out[name+"Rate"], out[name+"Burst"] = q.Value(), burst
	}
	if len(out) == 0 {
		return nil, nil
	}
	return out, nil
}
