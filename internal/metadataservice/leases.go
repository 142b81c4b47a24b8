package metadataservice

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/vmseed/vmseed/internal/bounded"
)

// maxLeases is the size of the largest file of leases that is read.
const maxLeases = 16 << 20

// lease is an address that a DHCP server gave to a MAC.
type lease struct {
	mac     string // in lower case, with colons
	address netip.Addr
	// expires is zero for a lease that never does.
	expires time.Time
}

func (l lease) valid(now time.Time) bool { return l.expires.IsZero() || now.Before(l.expires) }

// parseLeases reads the leases of dnsmasq (dhcp-leasefile, dnsmasq(8)) or the status file that libvirt keeps of a network's
// leases (/var/lib/libvirt/dnsmasq/BRIDGE.status). bad says what could not be read, one text a lease; the others hold.
// Leases of DHCPv6 name a client by an id of its own choice rather than by its MAC, so they are left out.
func parseLeases(data []byte) (leases []lease, bad []string) {
	data = bytes.TrimSpace(data)
	if len(data) > 0 && data[0] == '[' {
		return parseLibvirt(data)
	}
	for i, line := range strings.Split(string(data), "\n") {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if fields[0] == "duid" {
			break // what follows is DHCPv6's
		}
		l, err := dnsmasqLease(fields)
		if err != nil {
			bad = append(bad, fmt.Sprintf("line %d: %v", i+1, err))
			continue
		}
		if l.mac != "" {
			leases = append(leases, l)
		}
	}
	return leases, bad
}

// dnsmasqLease reads expiry, MAC, address, name and client id. A MAC of another hardware than Ethernet, which dnsmasq writes with
// its type in front, makes no lease and no error.
func dnsmasqLease(fields []string) (lease, error) {
	if len(fields) < 4 {
		return lease{}, fmt.Errorf("a lease has an expiry time, a MAC, an address and a name, this has %d fields", len(fields))
	}
	seconds, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil || seconds < 0 {
		return lease{}, fmt.Errorf("the expiry time is no number of seconds")
	}
	address, err := netip.ParseAddr(fields[2])
	if err != nil {
		return lease{}, fmt.Errorf("the third field is no address")
	}
	mac, ok := ethernet(fields[1])
	if !ok && !strings.Contains(fields[1], "-") {
		return lease{}, fmt.Errorf("the second field is no MAC")
	}
	return lease{mac: mac, address: address.Unmap(), expires: expiry(seconds)}, nil
}

func parseLibvirt(data []byte) (leases []lease, bad []string) {
	var entries []struct {
		Address string `json:"ip-address"`
		MAC     string `json:"mac-address"`
		Expiry  int64  `json:"expiry-time"`
	}
	if err := json.Unmarshal(data, &entries); err != nil {
		return nil, []string{err.Error()}
	}
	for i, e := range entries {
		address, err := netip.ParseAddr(e.Address)
		if err == nil && address.Is6() && !address.Is4In6() {
			continue // as with dnsmasq's own file
		}
		mac, ok := ethernet(e.MAC)
		if err != nil || !ok {
			bad = append(bad, fmt.Sprintf("lease %d has no address or no MAC", i+1))
			continue
		}
		leases = append(leases, lease{mac: mac, address: address.Unmap(), expires: expiry(e.Expiry)})
	}
	return leases, bad
}

func expiry(seconds int64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0)
}

// ethernet returns a MAC of six bytes in lower case.
func ethernet(s string) (string, bool) {
	s = strings.ToLower(s)
	parts := strings.Split(s, ":")
	if len(parts) != 6 {
		return "", false
	}
	for _, p := range parts {
		if _, err := strconv.ParseUint(p, 16, 8); err != nil || len(p) != 2 {
			return "", false
		}
	}
	return s, true
}

// leaseFiles are files of leases and what was last read of them.
type leaseFiles struct {
	log   *slog.Logger
	paths []string

	mutex sync.Mutex
	files []leaseFile
	// next is when the first of the leases expires; zero means never.
	next time.Time
}

type leaseFile struct {
	mark   mark
	read   bool
	leases []lease
	// said is the complaint about the file that the log has.
	said string
}

func newLeaseFiles(paths []string, log *slog.Logger) leaseFiles {
	return leaseFiles{log: log, paths: paths, files: make([]leaseFile, len(paths))}
}

// changed looks at the files, reads those that are not what they were, and reports whether there may be other leases than before.
func (f *leaseFiles) changed(now time.Time) bool {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	changed := !f.next.IsZero() && !now.Before(f.next)
	for i, path := range f.paths {
		x := &f.files[i]
		if m := markOf(path); !x.read || !m.same(x.mark) {
			x.read, x.mark, changed = true, m, true
			f.load(path, x)
		}
	}
	f.next = time.Time{}
	for _, x := range f.files {
		for _, l := range x.leases {
			if l.valid(now) && !l.expires.IsZero() && (f.next.IsZero() || l.expires.Before(f.next)) {
				f.next = l.expires
			}
		}
	}
	return changed
}

// load reads a file. A server that has given no lease yet may have none, so that is no trouble.
func (f *leaseFiles) load(path string, x *leaseFile) {
	data, err := bounded.ReadFile(path, maxLeases)
	var bad []string
	if err == nil {
		x.leases, bad = parseLeases(data)
	} else {
		x.leases = nil
	}
	complaint := ""
	switch {
	case err != nil:
		complaint = err.Error()
	case len(bad) > 0:
		complaint = fmt.Sprintf("%s: %s", path, bad[0])
	}
	if complaint != "" && complaint != x.said {
		f.log.Warn("leases cannot be read", "error", complaint, "unread", max(len(bad), 1))
	}
	x.said = complaint
}

// valid returns the leases that hold.
func (f *leaseFiles) valid(now time.Time) []lease {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	var out []lease
	for _, x := range f.files {
		for _, l := range x.leases {
			if l.valid(now) {
				out = append(out, l)
			}
		}
	}
	return out
}
