package metadata

import (
	"net/http"
	"net/netip"
	"sync/atomic"

	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

// Only says that every request is of one site: for a listener that nobody else reaches.
func Only(s *Site) func(*http.Request) *Site {
	return func(*http.Request) *Site { return s }
}

// Table knows machines by their source addresses. The zero value knows nobody. A network on which machines can take the
// addresses of others needs a filter that keeps them from it.
type Table struct {
	sites atomic.Pointer[map[netip.Addr]*Site]
}

// Set replaces all addresses at once. IPv4 addresses that are mapped into IPv6 are those of IPv4; a link-local address
// has the zone of the server's interface.
func (t *Table) Set(sites map[netip.Addr]*Site) {
	own := make(map[netip.Addr]*Site, len(sites))
	for a, s := range sites {
		own[a.Unmap()] = s
	}
	t.sites.Store(&own)
}

// Identify returns the site of the address that a request comes from, or nil.
func (t *Table) Identify(r *http.Request) *Site { return nil }

// Proxy knows machines by what a proxy says of them, in the form of OpenStack's metadata proxies: X-Instance-ID,
// X-Instance-ID-Signature, which is the hexadecimal HMAC-SHA256 of it under a shared secret, and X-Tenant-ID, which is the
// machine's namespace. Each of them must be there exactly once. It is for listeners that guests do not reach.
type Proxy struct {
	secret secret.Text
	sites  atomic.Pointer[map[string]*Site]
}

// NewProxy returns a Proxy that knows nobody yet. The secret is metadata_proxy_shared_secret of OpenStack.
func NewProxy(shared secret.Text) *Proxy { return &Proxy{secret: shared} }

// Set replaces the sites at once. Their instance ids tell them apart.
func (p *Proxy) Set(sites ...*Site) {
	own := make(map[string]*Site, len(sites))
	for _, s := range sites {
		own[s.identity.InstanceID] = s
	}
	p.sites.Store(&own)
}

// Identify returns the site that a proxy has signed a request for, or nil.
func (p *Proxy) Identify(r *http.Request) *Site { return nil }

// Directories knows machines by a part of the path that only they have been told: TREE/<namespace>_<name>.<signature>/…
// where TREE is nocloud or ignition, and the signature is made with a key of the server. Whoever has the path has the
// machine's data: it stands in an SMBIOS string or a kernel argument, and in no log.
type Directories struct {
	key   secret.Text
	sites atomic.Pointer[map[string]*Site]
}

// NewDirectories returns Directories that know nobody yet. The paths are good for as long as the key stays the same.
func NewDirectories(key secret.Text) *Directories { return &Directories{key: key} }

// Set replaces the sites at once.
func (d *Directories) Set(sites ...*Site) {
	own := make(map[string]*Site, len(sites))
	for _, s := range sites {
		own[s.machine.String()] = s
	}
	d.sites.Store(&own)
}

// Path returns the directory of a machine, relative to the server's URL and with a slash at its end: for the tree
// nocloud it is nocloud/<namespace>_<name>.<signature>/, which stands where the tree is served as nocloud/ otherwise.
func (d *Directories) Path(tree string, machine seed.Name) string { return "" }
