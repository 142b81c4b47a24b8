package metadata

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"net/netip"
	"strings"
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

// Set replaces all addresses at once. IPv4 addresses that are mapped into IPv6 are those of IPv4, and one that leads to two
// sites by that leads to neither; a link-local address has the zone of the server's interface.
func (t *Table) Set(sites map[netip.Addr]*Site) {
	own := make(map[netip.Addr]*Site, len(sites))
	for a, s := range sites {
		claim(own, a.Unmap(), s)
	}
	t.sites.Store(&own)
}

// claim gives a site what it is known by. What two sites have is nobody's: neither gets an answer for the other.
func claim[K comparable](own map[K]*Site, by K, s *Site) {
	if other, taken := own[by]; taken && other != s {
		s = nil
	}
	own[by] = s
}

// Identify returns the site of the address that a request comes from, or nil.
func (t *Table) Identify(r *http.Request) *Site {
	sites := t.sites.Load()
	if sites == nil {
		return nil
	}
	if c := connOf(r); c != nil {
		return (*sites)[c.remote.Addr()]
	}
	return (*sites)[parseAddr(r.RemoteAddr).Addr()]
}

// parseAddr reads an address and port; the zero value stands for what is none.
func parseAddr(text string) netip.AddrPort {
	a, err := netip.ParseAddrPort(text)
	if err != nil {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
}

// Proxy knows machines by what a proxy says of them, in the form of OpenStack's metadata proxies: X-Instance-ID,
// X-Instance-ID-Signature, which is the hexadecimal HMAC-SHA256 of it under a shared secret, and X-Tenant-ID, which is the
// machine's namespace. Each of them must be there exactly once. It is for listeners that guests do not reach.
type Proxy struct {
	secret secret.Text
	sites  atomic.Pointer[map[instance]*Site]
}

// instance is what a proxy calls a machine.
type instance struct{ tenant, id string }

// NewProxy returns a Proxy that knows nobody yet. The secret is metadata_proxy_shared_secret of OpenStack; an empty one
// is no secret, and with it nobody is ever known.
func NewProxy(shared secret.Text) *Proxy { return &Proxy{secret: shared} }

// Set replaces the sites at once. Namespace and instance id tell them apart; those without an instance id are not known, and
// neither are those that have one together.
func (p *Proxy) Set(sites ...*Site) {
	own := make(map[instance]*Site, len(sites))
	for _, s := range sites {
		claim(own, instance{s.machine.Namespace, s.identity.InstanceID}, s)
	}
	p.sites.Store(&own)
}

// Identify returns the site that a proxy has signed a request for, or nil.
func (p *Proxy) Identify(r *http.Request) *Site {
	id, signature, tenant := r.Header["X-Instance-Id"], r.Header["X-Instance-Id-Signature"], r.Header["X-Tenant-Id"]
	sites := p.sites.Load()
	if sites == nil || p.secret.IsZero() || len(id) != 1 || len(signature) != 1 || len(tenant) != 1 || id[0] == "" {
		return nil
	}
	if !hmac.Equal([]byte(hex.EncodeToString(sign(p.secret, id[0]))), []byte(signature[0])) {
		return nil
	}
	return (*sites)[instance{tenant[0], id[0]}]
}

func sign(key secret.Text, text string) []byte {
	m := hmac.New(sha256.New, []byte(key.Reveal()))
	_, _ = m.Write([]byte(text))
	return m.Sum(nil)
}

// Directories knows machines by a part of the path that only they have been told: TREE/<namespace>_<name>.<signature>/…
// where TREE is a root such as nocloud or ignition, of a tree that is read without tokens, and the signature is made with
// a key of the server. Whoever has the path has the machine's data: it stands in an SMBIOS string or a kernel argument, and
// in no log. A machine that is known by its address cannot use the path of another.
type Directories struct {
	key   secret.Text
	sites atomic.Pointer[map[string]directory]
}

// directory is a site with its signature.
type directory struct {
	site      *Site
	signature string
}

// NewDirectories returns Directories that know nobody yet. The paths are good for as long as the key stays the same. An
// empty key is none, and with it nobody is ever known.
func NewDirectories(key secret.Text) *Directories { return &Directories{key: key} }

// Set replaces the sites at once.
func (d *Directories) Set(sites ...*Site) {
	own := make(map[string]directory, len(sites))
	for _, s := range sites {
		own[s.machine.String()] = directory{s, d.signature(s.machine)}
	}
	d.sites.Store(&own)
}

// Path returns the directory of a machine, relative to the server's URL and with a slash at its end: for the tree
// nocloud it is nocloud/<namespace>_<name>.<signature>/, which stands for nocloud/ where the machine is known by its
// address.
func (d *Directories) Path(tree string, machine seed.Name) string {
	return tree + "/" + machine.String() + "." + d.signature(machine) + "/"
}

// signature is 43 letters of base64url.
func (d *Directories) signature(machine seed.Name) string {
	return base64.RawURLEncoding.EncodeToString(sign(d.key, "directory of "+machine.String()))
}

// resolve finds the site of a signed path, and the path as a machine has it that is known by its address. Other paths
// stay as they are.
func (d *Directories) resolve(site *Site, path string, ok bool) (*Site, string, bool) {
	root, rest, _ := strings.Cut(path, "/")
	label, rest, inside := strings.Cut(rest, "/")
	dot := strings.LastIndexByte(label, '.')
	sites := d.sites.Load()
	if dot < 0 || !inside || !ok || sites == nil || d.key.IsZero() {
		return site, path, ok
	}
	found, known := (*sites)[label[:dot]]
	if !known || !hmac.Equal([]byte(found.signature), []byte(label[dot+1:])) {
		return site, path, ok
	}
	if site != nil && site.machine != found.site.machine {
		return site, "", false
	}
	if b := found.site.view.Load().at(root); b == nil || b.tokens != seed.NoTokens {
		return site, "", false
	}
	return found.site, root + "/" + rest, true
}
