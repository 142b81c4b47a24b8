package qemu

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/internal/autoconf"
	"github.com/vmseed/vmseed/internal/supervisor"
	"github.com/vmseed/vmseed/seed"
)

// endpoints has the supervisor serve what the guest fetches by HTTP, on the networks of its NICs.
func (b *builder) endpoints() {
	for _, a := range b.vm.Attachments {
		if a.Kind != seed.Endpoint {
			continue
		}
		at, err := listenAddress(a.Value)
		if err == nil && b.metadata != nil {
			err = fmt.Errorf("it is the second")
		}
		if err != nil {
			b.list.Add(diag.Diagnostic{Code: CodeNoService, Severity: diag.Error, Range: b.at("dataSource"), Field: "dataSource",
				Summary: fmt.Sprintf("no network of the VM can serve %s: %v", a.Value, err)})
			continue
		}
		m := b.vm.Machine
		b.metadata = &supervisor.Metadata{File: a.Path, Listen: at, Instance: m.Identity.Instance(), Seal: m.MetadataOptions.Seal}
		b.reachable(at)
	}
}

// reachable complains when the guest cannot get at the service.
func (b *builder) reachable(at netip.AddrPort) {
	unserved := func(path, remedy, format string, args ...any) {
		b.list.Add(diag.Diagnostic{Code: CodeNoService, Severity: diag.Error, Range: b.at(path), Field: path,
			Summary: fmt.Sprintf(format, args...), Remedy: remedy})
	}
	served := len(b.nics) + len(b.taps)
	switch mode := b.vm.Options.Net; {
	case served == 0 && (mode == "user" || mode == "none"):
		unserved("network", "use --net stack", "the guest fetches its seed from %s, which --net %s does not lead to", at, mode)
	case served == 0:
		unserved("network.nics", "give it a NIC, or choose a data source on a volume", "the guest fetches its seed from %s, and the machine has no NIC", at)
	case b.plugged == 0:
		unserved("network.nics", "plug a cable in (linkDown: false), or choose a data source on a volume",
			"the guest fetches its seed from %s, and no NIC of it has its cable plugged in", at)
	}
	if len(b.taps) > 0 && at.Addr() != autoconf.Address {
		unserved("network.nics", "choose "+autoconf.Address.String(), "the guest fetches its seed from %s, which no tap device of the host leads to", at)
	}
	for i, n := range b.nics {
		if n.Network.Guest == at.Addr() {
			unserved("network.nics", "give the guest another address", "NIC %q (network %d) has the address of the metadata service, %s", n.Name, i, at.Addr())
		}
	}
}

// listenAddress is where the server of a URL listens.
func listenAddress(base string) (netip.AddrPort, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" || !slices.Contains([]string{"", "/"}, u.Path) {
		return netip.AddrPort{}, fmt.Errorf("it is no URL of the form http://ADDRESS/")
	}
	port := u.Port()
	if port == "" {
		port = "80"
	}
	at, err := netip.ParseAddrPort(u.Hostname() + ":" + port)
	if err != nil || !at.Addr().Is4() {
		return netip.AddrPort{}, fmt.Errorf("it has no IPv4 address")
	}
	return at, nil
}
