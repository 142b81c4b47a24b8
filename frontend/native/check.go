package native

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/machine"
)

// check looks at what several fields say together. Values that were reported already are left alone.
func (d *decoder) check(m *machine.Machine) {
	d.checkUsers(m)
	d.checkMounts(m)
	d.checkSystem(m)
	d.checkDisks(m)
	d.checkNICs(m)
	d.checkMedia(m)
	d.checkHardware(m)
	if m.UserData.Raw && len(m.UserData.Layers) == 0 {
		d.report("userData.raw", CodeMissing, "add a layer", "raw user-data needs a layer")
	}
}

// report adds an error about a path of the machine, unless something there was reported before.
func (d *decoder) report(path string, code diag.Code, remedy, format string, args ...any) {
	if d.brokenAt(path) {
		return
	}
	d.broken[path] = true
	field := "spec." + path
	if slices.Contains(inMetadata, path) {
		field = "metadata." + path
	}
	d.list.Add(diag.Diagnostic{Code: code, Severity: diag.Error, Range: d.places.Find(path), Field: field,
		Summary: fmt.Sprintf(format, args...), Remedy: remedy})
}

// unique reports the second of two members of a list that have the same name. Members without a name are passed over.
func unique[T any](d *decoder, list []T, path, key string, name func(T) string) {
	seen := map[string]int{}
	for i, x := range list {
		n := name(x)
		if n == "" {
			continue
		}
		if first, ok := seen[n]; ok {
			before := len(*d.list)
			at := fmt.Sprintf("%s[%d]", path, i)
			d.report(below(at, key), CodeDuplicate, "give it another name", "%q is used twice", n)
			if len(*d.list) > before {
				last := &(*d.list)[before]
				*last = last.With(d.places.Find(fmt.Sprintf("%s[%d].%s", path, first, key)), "the first one is here")
			}
			continue
		}
		seen[n] = i
	}
}

// only counts the alternatives that are set and reports when they are not as many as they should be.
func (d *decoder) only(path string, least int, set map[string]bool) {
	var have, all []string
	for name, is := range set {
		all = append(all, name)
		if is {
			have = append(have, name)
		}
	}
	slices.Sort(all)
	slices.Sort(have)
	switch {
	case len(have) > 1:
		d.report(path, CodeExclusive, "remove all but one", "the fields %s exclude each other", strings.Join(have, ", "))
	case len(have) < least:
		d.report(path, CodeExclusive, "add one of them", "one of the fields %s must be here", strings.Join(all, ", "))
	}
}

func (d *decoder) checkUsers(m *machine.Machine) {
	first := -1
	for i, u := range m.Users {
		at := fmt.Sprintf("users[%d]", i)
		if u.Name == "" && !u.Default {
			d.report(at, CodeMissing, "add a name, or default: true", "a user has a name, or is the default user")
		}
		d.only(at, 0, map[string]bool{"password": !u.Password.IsZero(), "passwordHash": !u.PasswordHash.IsZero()})
		switch {
		case u.Default && first >= 0:
			d.report(at+".default", CodeDuplicate, "merge the two", "there is one default user only")
		case u.Default:
			first = i
		}
	}
	unique(d, m.Users, "users", "name", func(u machine.User) string { return u.Name })
	unique(d, m.Groups, "groups", "name", func(g machine.Group) string { return g.Name })
	unique(d, m.Environment, "environment", "name", func(v machine.Variable) string { return v.Name })
	unique(d, m.Scripts, "scripts", "name", func(s machine.Script) string { return s.Name })
	unique(d, m.SSH.HostKeys, "ssh.hostKeys", "type", func(k machine.HostKey) string { return k.Type })
}

// names collects the names of a list's members.
func names[T any](list []T, name func(T) string) []string {
	var out []string
	for _, x := range list {
		out = append(out, name(x))
	}
	return out
}

// refer reports a name that is not among those there are.
func (d *decoder) refer(path, what, name string, have []string) {
	if name == "" || slices.Contains(have, name) {
		return
	}
	remedy := "the document has none"
	if len(have) > 0 {
		remedy = "there are " + strings.Join(have, ", ")
	}
	d.report(path, CodeReference, remedy, "there is no %s %q", what, name)
}

func (d *decoder) checkMounts(m *machine.Machine) {
	disks := names(m.Disks, func(x machine.Disk) string { return x.Name })
	shares := names(m.Shares, func(x machine.Share) string { return x.Name })
	for i, x := range m.Mounts {
		at := fmt.Sprintf("mounts[%d]", i)
		d.only(at, 1, map[string]bool{"disk": x.Disk != "", "share": x.Share != "", "device": x.Device != ""})
		d.refer(at+".disk", "disk", x.Disk, disks)
		d.refer(at+".share", "share", x.Share, shares)
		if x.Partition != 0 && x.Disk == "" {
			d.report(at+".partition", CodeConflict, "remove it", "only a disk has partitions")
		}
	}
	for i, x := range m.DeviceLinks {
		d.refer(fmt.Sprintf("deviceLinks[%d].disk", i), "disk", x.Disk, disks)
	}
}

func (d *decoder) checkSystem(m *machine.Machine) {
	for i, x := range m.Units {
		at := fmt.Sprintf("units[%d]", i)
		if x.Mask && (!x.Content.IsZero() || x.Enabled != nil && *x.Enabled) {
			d.report(at+".mask", CodeConflict, "remove it, or content and enabled", "a masked unit is never started")
		}
		unique(d, x.DropIns, at+".dropIns", "name", func(x machine.DropIn) string { return x.Name })
	}
	disks := names(m.Disks, func(x machine.Disk) string { return x.Name })
	for i, x := range m.Storage.Disks {
		at := fmt.Sprintf("storage.disks[%d]", i)
		d.only(at, 1, map[string]bool{"disk": x.Disk != "", "device": x.Device != ""})
		d.refer(at+".disk", "disk", x.Disk, disks)
		for j, p := range x.Partitions {
			if (p.Size|p.Start)%(1<<20) != 0 {
				d.report(fmt.Sprintf("%s.partitions[%d]", at, j), CodeConflict, "give sizes such as 512Mi", "partitions begin and end at whole MiB")
			}
		}
	}
	for i, x := range m.Storage.Filesystems {
		at := fmt.Sprintf("storage.filesystems[%d]", i)
		d.only(at, 1, map[string]bool{"disk": x.Disk != "", "device": x.Device != ""})
		d.refer(at+".disk", "disk", x.Disk, disks)
		if x.Partition != 0 && x.Disk == "" {
			d.report(at+".partition", CodeConflict, "remove it", "only a disk has partitions")
		}
	}
	unique(d, m.Units, "units", "name", func(x machine.Unit) string { return x.Name })
	unique(d, m.AgentUsers, "agentUsers", "name", func(x machine.AgentUser) string { return x.Name })
}

func (d *decoder) checkDisks(m *machine.Machine) {
	root := -1
	for i, x := range m.Disks {
		at := fmt.Sprintf("disks[%d]", i)
		s := x.Source
		ceph := s.Ceph.Volume != "" || s.Ceph.Pool != "" || len(s.Ceph.Monitors) > 0
		d.only(at+".source", 0, map[string]bool{"image": s.Image != "", "path": s.Path != "", "claim": s.Claim != "", "ceph": ceph, "blank": s.Blank})
		switch {
		case s.Filesystem != "" && !s.Blank:
			d.report(at+".source.filesystem", CodeConflict, "add blank: true, or remove it", "only a blank disk gets a new file system")
		case s.Blank && x.Size == 0:
			d.report(at, CodeMissing, "add it", "a blank disk needs the field \"size\"")
		case x.Root && root >= 0:
			d.report(at+".root", CodeDuplicate, "mark one disk only", "there is one root disk only")
		}
		if x.Root && root < 0 {
			root = i
		}
	}
	unique(d, m.Disks, "disks", "name", func(x machine.Disk) string { return x.Name })
	unique(d, m.Shares, "shares", "name", func(x machine.Share) string { return x.Name })
	unique(d, m.Media, "media", "name", func(x machine.Media) string { return x.Name })
}

func (d *decoder) checkNICs(m *machine.Machine) {
	nics := m.Network.NICs
	all := names(nics, func(n machine.NIC) string { return n.Name })
	for i, n := range nics {
		at := fmt.Sprintf("network.nics[%d]", i)
		for _, group := range []struct {
			kind string
			set  bool
		}{
			{"bond", len(n.Bond.Links)+len(n.Bond.Params) > 0 || n.Bond.Mode != ""},
			{"bridge", len(n.Bridge.Links)+len(n.Bridge.Params) > 0},
			{"vlan", n.VLAN != machine.VLAN{}},
		} {
			if group.set && n.Kind != group.kind {
				d.report(at+"."+group.kind, CodeConflict, "write kind: "+group.kind, "this belongs to a NIC of another kind")
			}
		}
		switch {
		case n.Kind == "bond" && len(n.Bond.Links) == 0:
			d.report(at, CodeMissing, "add bond.links", "a bond needs NICs to bind together")
		case n.Kind == "vlan" && (n.VLAN.Link == "" || n.VLAN.ID == 0):
			d.report(at, CodeMissing, "add vlan.link and vlan.id", "a VLAN needs a NIC and an id")
		}
		for j, link := range n.Bond.Links {
			d.refer(fmt.Sprintf("%s.bond.links[%d]", at, j), "NIC", link, all)
		}
		for j, link := range n.Bridge.Links {
			d.refer(fmt.Sprintf("%s.bridge.links[%d]", at, j), "NIC", link, all)
		}
		d.refer(at+".vlan.link", "NIC", n.VLAN.Link, all)
		d.checkRoutes(at, n)
	}
	unique(d, nics, "network.nics", "name", func(n machine.NIC) string { return n.Name })
}

func (d *decoder) checkRoutes(at string, n machine.NIC) {
	for i, r := range n.Routes {
		if r.Via.IsValid() && r.To.IsValid() && r.Via.Is4() != r.To.Addr().Is4() {
			d.report(fmt.Sprintf("%s.routes[%d].via", at, i), CodeConflict, "use one family for both",
				"a route and its gateway are of the same family of addresses")
		}
	}
	seen := map[netip.Addr]bool{}
	for i, a := range n.Addrs {
		if a.IsValid() && seen[a.Addr()] {
			d.report(fmt.Sprintf("%s.addresses[%d]", at, i), CodeDuplicate, "remove it", "the address %s is listed twice", a.Addr())
		}
		seen[a.Addr()] = true
	}
}

func (d *decoder) checkMedia(m *machine.Machine) {
	for i, x := range m.Media {
		at := fmt.Sprintf("media[%d]", i)
		switch {
		case x.Kind == "prepared" && x.Path == "":
			d.report(at, CodeMissing, "add it", "a prepared medium needs the field \"path\"")
		case x.Kind != "prepared" && x.Path != "":
			d.report(at+".path", CodeConflict, "write kind: prepared, or list files", "only a prepared medium has a path")
		case x.Kind == "prepared" && len(x.Files) > 0:
			d.report(at+".files", CodeConflict, "remove them", "a prepared medium is attached as it is")
		}
		unique(d, x.Files, at+".files", "path", func(f machine.File) string { return f.Path })
	}
}

func (d *decoder) checkHardware(m *machine.Machine) {
	h := m.Hardware
	if n := h.Sockets * h.Cores * h.Threads; h.CPUs > 0 && n > 0 && n != h.CPUs {
		d.report("hardware.cpus", CodeConflict, "correct one of them", "sockets, cores and threads make %d CPUs, not %d", n, h.CPUs)
	}
	if h.SecureBoot && h.Firmware == "bios" {
		d.report("hardware.secureBoot", CodeConflict, "write firmware: uefi", "secure boot needs the firmware uefi")
	}
}
