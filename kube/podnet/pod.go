package podnet

import (
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// FromPod takes what Setup needs out of a pod of the API.
func FromPod(pod *corev1.Pod) Pod {
	out := Pod{Namespace: pod.Namespace, Name: pod.Name, UID: string(pod.UID), Annotations: pod.Annotations, HostNetwork: pod.Spec.HostNetwork,
		DNS: DNS{Policy: string(pod.Spec.DNSPolicy)}}
	for _, c := range pod.Spec.Containers {
		for _, p := range c.Ports {
			if p.HostPort == 0 {
				continue
			}
			protocol := strings.ToLower(string(p.Protocol))
			if protocol == "" {
				protocol = "tcp"
			}
			// An address that does not parse is refused by the API server; an empty one is every address.
			address, _ := netip.ParseAddr(p.HostIP)
			out.Ports = append(out.Ports, Port{Protocol: protocol, Host: int(p.HostPort), Guest: int(p.ContainerPort), HostIP: address})
		}
	}
	if c := pod.Spec.DNSConfig; c != nil {
		out.DNS.Servers, out.DNS.Search = c.Nameservers, c.Searches
		for _, o := range c.Options {
			text := o.Name
			if o.Value != nil {
				text += ":" + *o.Value
			}
			out.DNS.Options = append(out.DNS.Options, text)
		}
	}
	return out
}
