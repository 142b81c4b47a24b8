package podnet

import (
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/containernetworking/cni/pkg/types"
)

// resolution is the name resolution that a pod gets: that of its dnsPolicy with what its dnsConfig adds, as a kubelet
// makes it (Kubernetes documentation, "DNS for Services and Pods"), but for the options that the pod does not name, ndots:5
// and those of the node: DHCP and most seeds have no word for options, and a guest finds the same names without them, only
// in another order of questions. The result is empty when the pod has none of its own, and the plugins' word stands.
func (c Config) resolution(p Pod) types.DNS {
	var out types.DNS
	switch p.DNS.Policy {
	case "None":
	case "Default":
		out = hostDNS(c.ResolvConf)
	default:
		if len(c.ClusterDNS) == 0 {
			out = hostDNS(c.ResolvConf)
			break
		}
		for _, a := range c.ClusterDNS {
			out.Nameservers = append(out.Nameservers, a.String())
		}
		if d := strings.Trim(c.ClusterDomain, "."); d != "" {
			out.Search = []string{p.Namespace + ".svc." + d, "svc." + d, d}
		}
		out.Search = append(out.Search, hostDNS(c.ResolvConf).Search...)
	}
	out.Nameservers = union(out.Nameservers, p.DNS.Servers)
	out.Search = union(out.Search, p.DNS.Search)
	for _, option := range p.DNS.Options {
		name, _, _ := strings.Cut(option, ":")
		out.Options = slices.DeleteFunc(out.Options, func(o string) bool { have, _, _ := strings.Cut(o, ":"); return have == name })
		out.Options = append(out.Options, option)
	}
	return out
}

func union(a, b []string) []string {
	for _, x := range b {
		if !slices.Contains(a, x) {
			a = append(a, x)
		}
	}
	return a
}

// hostDNS reads a file of the form of resolv.conf(5). Servers on a loopback address are the node's alone and no use to a
// guest; that of systemd-resolved has a file beside it with the servers behind it.
func hostDNS(path string) types.DNS {
	text, err := os.ReadFile(path)
	if err != nil {
		return types.DNS{}
	}
	out, local := parseResolv(string(text))
	if len(out.Nameservers) == 0 && local {
		if text, err := os.ReadFile(behindStub); err == nil {
			behind, _ := parseResolv(string(text))
			out.Nameservers = behind.Nameservers
		}
	}
	return out
}

// behindStub is where systemd-resolved writes the servers that it asks (systemd-resolved.service(8)).
const behindStub = "/run/systemd/resolve/resolv.conf"

// parseResolv reads name servers and search list, and reports whether servers on loopback addresses were left out.
func parseResolv(text string) (out types.DNS, local bool) {
	for line := range strings.SplitSeq(text, "\n") {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		switch fields[0] {
		case "nameserver":
			a, err := netip.ParseAddr(fields[1])
			switch {
			case err != nil || a.Zone() != "": // a zone is an interface of the host
			case a.IsLoopback():
				local = true
			default:
				out.Nameservers = append(out.Nameservers, a.String())
			}
		case "search", "domain": // the last one counts
			out.Search = slices.DeleteFunc(fields[1:], func(s string) bool { return s == "." })
		}
	}
	return out, local
}
