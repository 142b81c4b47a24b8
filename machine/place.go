package machine

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/vmseed/vmseed/diag"
)

// Facts are what only the place where a machine runs can know.
type Facts struct {
	// NICs are the interfaces that the network plugins of a host made (CNI result). They take the place of the NICs of
	// the document, in order: addresses, routes, MAC and MTU are theirs, names and hardware stay those of the document.
	NICs []NIC
	// DNS is the name resolution that comes with them.
	DNS DNS
}

// The slots of PCI bus 0. Slots 0 to 2 belong to the chipset and a display, 0x1f to the chipset of q35. The devices that
// vmseed itself adds sit behind those of the document, so that the seed never moves a data disk.
const (
	firstSlot = 0x03
	lastSlot  = 0x1a
	// SlotSeed is the slot of the first seed medium; further media follow on the functions of that slot.
	SlotSeed = 0x1b
	// SlotRNG, SlotSerial and SlotShares are those of the random number generator, of the serial ports that carry the
	// guest's reports, and of shared directories.
	SlotRNG    = 0x1c
	SlotSerial = 0x1d
	SlotShares = 0x1e
)

// uuidSpace is the name space of the UUIDs that Place derives: the UUIDv5 of the URL https://vmseed.dev/machine.
const uuidSpace = "\x90\x60\x3f\x55\xf2\x98\x57\xa9\xbd\x68\xc2\xfe\x90\x15\x0c\x90"

// Place completes a machine with everything that its guest and its hypervisor must agree on and that the document
// leaves open: UUID, instance id, MACs, disk serial numbers and PCI addresses. The host name is the front end's to give:
// plain files may leave it to the image. It is pure: the same machine
// and facts give the same result on every host. Values of the document and of facts are never changed.
func Place(m Machine, f Facts) (Machine, diag.List) {
	var l diag.List
	m = m.clone()
	if m.Namespace == "" {
		m.Namespace = "default"
	}
	seedText := m.Namespace + "/" + m.Name
	if m.Identity.UUID == "" {
		m.Identity.UUID = NameUUID(uuidSpace, seedText)
	}
	if m.Identity.InstanceID == "" {
		m.Identity.InstanceID = m.Identity.UUID
	}
	m.checkHostname(&l)
	m.adopt(f)
	m.placeMACs(&l, seedText)
	m.placeDisks(&l)
	m.placePCI(&l)
	return m, l
}

// dnsName is the name of a host in DNS (RFC 1123, section 2.1).
var dnsName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*\.?$`)

// checkHostname tells of a host name by which nobody else may find the guest.
func (m *Machine) checkHostname(l *diag.List) {
	const at = "identity.hostname"
	if name := m.Identity.Hostname; name != "" && !dnsName.MatchString(name) {
		l.Add(diag.Diagnostic{Code: CodeHostName, Severity: diag.Warning, Range: m.Places.Find(at), Field: at,
			Summary: fmt.Sprintf("the host name %q is no name that DNS takes", name), Remedy: "write it with letters, digits, dots and hyphens alone"})
	}
}

// Instance returns the instance id with the revision appended when first boot was asked to run again.
func (id Identity) Instance() string {
	if id.Revision == 0 {
		return id.InstanceID
	}
	return fmt.Sprintf("%s-r%d", id.InstanceID, id.Revision)
}

// NameUUID returns the UUIDv5 (RFC 9562, section 5.5) of a name in a name space of 16 bytes.
func NameUUID(space, name string) string {
	sum := sha1.Sum([]byte(space + name))
	u := sum[:16]
	u[6] = u[6]&0x0f | 0x50
	u[8] = u[8]&0x3f | 0x80
	h := hex.EncodeToString(u)
	return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")
}

// clone copies the slices that Place writes to.
func (m Machine) clone() Machine {
	m.Network.NICs = slices.Clone(m.Network.NICs)
	m.Disks = slices.Clone(m.Disks)
	m.Shares = slices.Clone(m.Shares)
	m.Media = slices.Clone(m.Media)
	return m
}

// adopt takes over the NICs that facts know, and their DNS unless the document has its own. NICs that the guest builds from others are not among them.
func (m *Machine) adopt(f Facts) {
	at := 0
	for _, have := range f.NICs {
		for at < len(m.Network.NICs) && !m.Network.NICs[at].Physical() {
			at++
		}
		if at < len(m.Network.NICs) {
			want := m.Network.NICs[at]
			have.Name, have.Model, have.Network = want.Name, want.Model, want.Network
			have.PCI, have.BootOrder, have.Tag, have.LinkDown = want.PCI, want.BootOrder, want.Tag, want.LinkDown
			if want.Rename != "" {
				have.Rename = want.Rename
			}
			if have.MAC == "" {
				have.MAC = want.MAC
			}
			if have.MTU == 0 {
				have.MTU = want.MTU
			}
			m.Network.NICs[at] = have
		} else {
			m.Network.NICs = append(m.Network.NICs, have)
		}
		at++
	}
	if own := m.Network.DNS; len(own.Servers)+len(own.Search)+len(own.Options) == 0 {
		m.Network.DNS = f.DNS
	}
}

// Physical reports whether the NIC is hardware of the machine rather than built by the guest.
func (n NIC) Physical() bool { return n.Kind == "" || n.Kind == "physical" }

func (m *Machine) placeMACs(l *diag.List, seedText string) {
	seen := map[string]int{}
	for i := range m.Network.NICs {
		n := &m.Network.NICs[i]
		if n.Name == "" {
			n.Name = freeName("nic", i, func(name string) bool {
				return slices.ContainsFunc(m.Network.NICs, func(o NIC) bool { return o.Name == name })
			})
		}
		n.MAC = strings.ToLower(strings.ReplaceAll(n.MAC, "-", ":"))
		if !n.Physical() {
			continue
		}
		if n.MAC == "" {
			sum := sha256.Sum256([]byte("mac\x00" + seedText + "\x00" + n.Name))
			n.MAC = fmt.Sprintf("52:%02x:%02x:%02x:%02x:%02x", sum[0], sum[1], sum[2], sum[3], sum[4])
		}
		if first, ok := seen[n.MAC]; ok {
			l.Errorf(CodeDuplicateMAC, m.Places.Find(fmt.Sprintf("network.nics[%d].mac", i)), "give each NIC its own MAC",
				"NICs %q and %q have the same MAC %s", m.Network.NICs[first].Name, n.Name, n.MAC)
		}
		seen[n.MAC] = i
	}
}

// maxSerial is how much of a serial number virtio-blk carries (virtio 1.2, section 5.2.6: 20 bytes).
const maxSerial = 20

// serial makes a serial number of a name: the name itself where it fits, else its head and a hash. Dots are replaced,
// because cloud-init takes what follows a dot in a device name for a partition.
func serial(name string) string {
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, name)
	if clean == name && len(name) <= maxSerial {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return clean[:min(len(clean), 11)] + "-" + hex.EncodeToString(sum[:4])
}

// freeName returns prefix and number, with the number raised until nothing has that name.
func freeName(prefix string, number int, taken func(string) bool) string {
	for {
		if name := fmt.Sprintf("%s%d", prefix, number); !taken(name) {
			return name
		}
		number++
	}
}

func (m *Machine) placeDisks(l *diag.List) {
	bus := m.Hardware.DiskBus
	if bus == "" {
		bus = "virtio"
	}
	serials := serialNumbers{l: l, owner: map[string]string{}}
	for i := range m.Disks {
		d := &m.Disks[i]
		if d.Name == "" {
			d.Name = freeName("disk", i, func(name string) bool {
				return slices.ContainsFunc(m.Disks, func(o Disk) bool { return o.Name == name })
			})
		}
		if d.Bus == "" {
			d.Bus = bus
		}
		if d.Serial == "" {
			d.Serial = serial(d.Name)
		}
		serials.add(m.Places.Find(fmt.Sprintf("disks[%d]", i)), "disk "+strconv.Quote(d.Name), d.Serial, d.Bus)
	}
	for i := range m.Shares {
		s := &m.Shares[i]
		if s.Name == "" {
			s.Name = freeName("share", i, func(name string) bool {
				return slices.ContainsFunc(m.Shares, func(o Share) bool { return o.Name == name })
			})
		}
		if s.Tag == "" {
			s.Tag = serial(s.Name)
		}
	}
	for i := range m.Media {
		x := &m.Media[i]
		if x.Name == "" {
			x.Name = freeName("media", i, func(name string) bool {
				return slices.ContainsFunc(m.Media, func(o Media) bool { return o.Name == name })
			})
		}
		if x.Serial == "" {
			x.Serial = serial(x.Name)
		}
		serials.add(m.Places.Find(fmt.Sprintf("media[%d]", i)), "medium "+strconv.Quote(x.Name), x.Serial, x.Bus)
	}
	m.placeUnits()
}

// serialNumbers notices disks and media that the guest could not tell apart.
type serialNumbers struct {
	l     *diag.List
	owner map[string]string
}

func (s serialNumbers) add(at diag.Range, what, number, bus string) {
	seen := number
	if len(number) > maxSerial && bus == "virtio" {
		s.l.Warnf(CodeSerialTooLong, at, "shorten it", "%s: a virtio disk shows the first %d bytes of its serial number only", what, maxSerial)
		seen = number[:maxSerial]
	}
	for _, n := range []string{number, seen} {
		if other, ok := s.owner[n]; ok {
			s.l.Errorf(CodeDuplicateSerial, at, "give each its own name and serial number",
				"%s and %s have the same serial number %q", other, what, n)
			break
		}
	}
	s.owner[number], s.owner[seen] = what, what
}

// placeUnits numbers the disks of each SCSI controller that have no number, around those that have one.
func (m *Machine) placeUnits() {
	type address struct {
		controller string
		unit       int
	}
	taken := map[address]bool{}
	for _, d := range m.Disks {
		if d.Bus == "scsi" && d.Unit != 0 {
			taken[address{d.PCI, d.Unit}] = true
		}
	}
	for i := range m.Disks {
		d := &m.Disks[i]
		if d.Bus != "scsi" || d.Unit != 0 {
			continue
		}
		for taken[address{d.PCI, d.Unit}] {
			d.Unit++
		}
		taken[address{d.PCI, d.Unit}] = true
	}
}

// slotOf returns an address without its function, in the form that placePCI gives.
func slotOf(address string) string {
	a := strings.ToLower(address)
	if strings.Count(a, ":") == 1 {
		a = "0000:" + a
	}
	slot, _, _ := strings.Cut(a, ".")
	return slot
}

// placePCI gives slots of bus 0, in the order SCSI controller, virtio disks, NICs, around those that the document took.
func (m *Machine) placePCI(l *diag.List) {
	taken := map[string]bool{}
	for _, d := range m.Disks {
		taken[slotOf(d.PCI)] = true
	}
	for _, n := range m.Network.NICs {
		taken[slotOf(n.PCI)] = true
	}
	slot := firstSlot
	next := func(what string) string {
		for ; slot <= lastSlot; slot++ {
			if a := fmt.Sprintf("0000:00:%02x", slot); !taken[a] {
				slot++
				return a + ".0"
			}
		}
		l.Errorf(CodeNoSlot, m.Places.Find(""), "use the scsi bus for disks, which needs one slot for all of them",
			"there is no PCI slot left for %s", what)
		return ""
	}
	controller := ""
	for i := range m.Disks {
		d := &m.Disks[i]
		switch {
		case d.Bus == "scsi" && d.PCI == "":
			if controller == "" {
				controller = next("the SCSI controller")
			}
			d.PCI = controller
		case d.Bus == "virtio" && d.PCI == "":
			d.PCI = next("disk " + d.Name)
		}
	}
	for i := range m.Network.NICs {
		if n := &m.Network.NICs[i]; n.Physical() && n.PCI == "" {
			n.PCI = next("NIC " + n.Name)
		}
	}
}
