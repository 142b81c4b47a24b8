package machine

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
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
	m.adopt(f)
	m.placeMACs(&l, seedText)
	m.placeDisks(&l)
	m.placePCI(&l)
	return m, l
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

// adopt takes over the NICs that facts know.
func (m *Machine) adopt(f Facts) {
	for i, have := range f.NICs {
		if i < len(m.Network.NICs) {
			want := m.Network.NICs[i]
			have.Name, have.Model, have.Network = want.Name, want.Model, want.Network
			have.PCI, have.BootOrder, have.Tag, have.LinkDown = want.PCI, want.BootOrder, want.Tag, want.LinkDown
			if want.Rename != "" {
				have.Rename = want.Rename
			}
			m.Network.NICs[i] = have
		} else {
			m.Network.NICs = append(m.Network.NICs, have)
		}
	}
	if len(f.DNS.Servers)+len(f.DNS.Search)+len(f.DNS.Options) > 0 {
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
			n.Name = fmt.Sprintf("nic%d", i)
		}
		if !n.Physical() {
			continue
		}
		if n.MAC == "" {
			sum := sha256.Sum256([]byte("mac\x00" + seedText + "\x00" + n.Name))
			n.MAC = fmt.Sprintf("52:%02x:%02x:%02x:%02x:%02x", sum[0], sum[1], sum[2], sum[3], sum[4])
		}
		n.MAC = strings.ToLower(strings.ReplaceAll(n.MAC, "-", ":"))
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

func (m *Machine) placeDisks(l *diag.List) {
	bus := m.Hardware.DiskBus
	if bus == "" {
		bus = "virtio"
	}
	seen := map[string]string{}
	unit := 0
	for i := range m.Disks {
		d := &m.Disks[i]
		if d.Name == "" {
			d.Name = fmt.Sprintf("disk%d", i)
		}
		if d.Bus == "" {
			d.Bus = bus
		}
		if d.Serial == "" {
			d.Serial = serial(d.Name)
		}
		at := m.Places.Find(fmt.Sprintf("disks[%d]", i))
		if len(d.Serial) > maxSerial && d.Bus == "virtio" {
			l.Warnf(CodeSerialTooLong, at, "shorten it", "disk %q: a virtio disk shows the first %d bytes of its serial number only", d.Name, maxSerial)
		}
		if other, ok := seen[d.Serial]; ok {
			l.Errorf(CodeDuplicateSerial, at, "give each disk its own name and serial number",
				"disks %q and %q have the same serial number %q", other, d.Name, d.Serial)
		}
		seen[d.Serial] = d.Name
		if d.Bus == "scsi" {
			d.Unit = unit
			unit++
		}
	}
	for i := range m.Shares {
		if s := &m.Shares[i]; s.Tag == "" {
			s.Tag = serial(s.Name)
		}
	}
	for i := range m.Media {
		if x := &m.Media[i]; x.Serial == "" {
			x.Serial = serial(x.Name)
		}
	}
}

// placePCI gives slots of bus 0, in the order SCSI controller, virtio disks, NICs, around those that the document took.
func (m *Machine) placePCI(l *diag.List) {
	taken := map[string]bool{}
	for _, d := range m.Disks {
		taken[d.PCI] = true
	}
	for _, n := range m.Network.NICs {
		taken[n.PCI] = true
	}
	slot := firstSlot
	next := func(what string) string {
		for ; slot <= lastSlot; slot++ {
			if a := fmt.Sprintf("0000:00:%02x.0", slot); !taken[a] {
				slot++
				return a
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
