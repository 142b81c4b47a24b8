package daemon

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"slices"
	"strings"

	"github.com/vmseed/vmseed"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/crypt"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

// read loads the machines of documents.
func (d *Daemon) read(ctx context.Context, documents []Document) ([]machine.Machine, diag.List) {
	inputs := make([]vmseed.Input, len(documents))
	for i, x := range documents {
		inputs[i] = vmseed.Input{File: x.Name, Data: []byte(x.Text.Reveal())}
	}
	machines, l := d.options.Engine.Load(ctx, inputs, vmseed.LoadOptions{})
	return machines, Worded(l)
}

// readOne loads the machine of a VM's documents, and sees that it asks for nothing of the host that it may not have.
func (d *Daemon) readOne(ctx context.Context, documents []Document) (machine.Machine, diag.List) {
	m, l := d.one(ctx, documents)
	if l.HasErrors() {
		return m, l
	}
	problems := d.host.check(&m)
	return m, append(l, problems...)
}

// one loads the machine of a VM's documents.
func (d *Daemon) one(ctx context.Context, documents []Document) (machine.Machine, diag.List) {
	machines, l := d.read(ctx, documents)
	if l.HasErrors() {
		return machine.Machine{}, l
	}
	if len(machines) != 1 {
		l.Errorf(CodeNotOneMachine, diag.Range{File: documents[0].Name}, "give each VM the documents of one", "the documents define %d machines", len(machines))
		return machine.Machine{}, l
	}
	return machines[0], l
}

// ofNextStart is what there is to say about the documents that the next start takes: those for the first boot, where there are
// any, have what the others lack. l is about the others.
func (d *Daemon) ofNextStart(ctx context.Context, m Machine, l diag.List) diag.List {
	if len(m.FirstBootDocuments) == 0 {
		return l
	}
	_, first := d.readOne(ctx, m.FirstBootDocuments)
	return first
}

// owned says whose machine it is that documents define.
type owned struct {
	id, namespace, name string
	// template is the id of the VM's template; disk means that the daemon made the VM a root disk.
	template   string
	disk       bool
	generation int
}

func (s *state) owned() owned {
	return owned{s.ID, s.Namespace, s.Name, s.Template, len(s.Disks) > 0, s.Generation}
}

// machine returns the machine that a VM's documents make, complete and placed.
func (d *Daemon) machine(ctx context.Context, o owned, documents []Document) (machine.Machine, diag.List) {
	m, l := d.readOne(ctx, documents)
	if l.HasErrors() {
		return m, l
	}
	placed, problems := d.place(m, o)
	return placed, append(l, problems...)
}

// place completes a machine with what its VM, its template and the daemon give it.
func (d *Daemon) place(m machine.Machine, o owned) (machine.Machine, diag.List) {
	var l diag.List
	m.Namespace, m.Name = o.namespace, o.name
	if o.id != "" {
		if u := m.Identity.UUID; u != "" && !equalUUID(u, o.id) {
			l.Add(diag.Diagnostic{Code: CodeOtherUUID, Severity: diag.Warning, Range: m.Places.Find("identity.uuid"), Field: "identity.uuid",
				Summary: "the VM keeps its own UUID, " + o.id, Remedy: "leave it out"})
		}
		m.Identity.UUID = o.id
	}
	m.Identity.Revision += o.generation
	d.defaults(o.template).apply(&m)
	if !slices.ContainsFunc(m.Disks, func(x machine.Disk) bool { return x.Root }) && (o.disk || o.template == "") {
		m.Disks = slices.Insert(slices.Clone(m.Disks), 0, machine.Disk{Name: "root", Root: true})
	}
	if o.template == "" && len(m.Network.NICs) == 0 {
		m.Network.NICs = []machine.NIC{{Name: "nic0"}}
	}
	m.Network.NICs = slices.Clone(m.Network.NICs)
	for i := range m.Network.NICs {
		m.Network.NICs[i].Match = "" // they are made here, so their MACs are known
	}
	if o.id != "" {
		// MACs come from the id, not from the name, so that a VM keeps them when it is renamed.
		same := m
		same.Name = o.id
		same, _ = machine.Place(same, machine.Facts{})
		for i, n := range same.Network.NICs {
			m.Network.NICs[i].Name, m.Network.NICs[i].MAC = n.Name, n.MAC
		}
	}
	m, problems := d.options.Engine.Place(m, machine.Facts{})
	revise(&m, 0)
	return m, append(l, Worded(problems)...)
}

// defaults are those of a template; none has none.
func (d *Daemon) defaults(template string) Defaults {
	d.mutex.RLock()
	defer d.mutex.RUnlock()
	return d.templates[template].Defaults
}

// firstRevision ends the instance id of VMs whose first boot was not asked for again, where those of others have -r1 and on.
const firstRevision = "-r0"

// revise raises the revision of a placed machine. cloud-init's ConfigDrive goes on with what it has in its cache, and does
// not look at the drive, when the instance id of that is the UUID of the firmware, so VMs of the daemon never have such an id.
func revise(m *machine.Machine, by int) {
	id := &m.Identity
	id.Revision += by
	id.InstanceID = strings.TrimSuffix(id.InstanceID, firstRevision)
	if id.Revision == 0 && equalUUID(id.InstanceID, id.UUID) {
		id.InstanceID += firstRevision
	}
}

// apply fills in what a machine does not say.
func (x Defaults) apply(m *machine.Machine) {
	fill(&m.Guest.OS, x.OS)
	fill(&m.Guest.Release, x.Release)
	fill(&m.Guest.IgnitionPlatform, x.IgnitionPlatform)
	fill(&m.Hardware.Memory, x.Memory)
	fill(&m.Hardware.Firmware, x.Firmware)
	fill(&m.Boot, x.Boot)
	if h := m.Hardware; h.Sockets+h.Cores+h.Threads == 0 {
		fill(&m.Hardware.CPUs, x.CPUs)
	}
	m.Network.NICs = slices.Clone(m.Network.NICs)
	for n := len(m.Network.NICs) + 1; n <= x.NICs; n++ {
		m.Network.NICs = append(m.Network.NICs, machine.NIC{Name: fmt.Sprint("nic", n)})
	}
}

func fill[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// content is a keyed hash of what a machine's guest takes in at its first boot, whichever generation of it that is. The key
// keeps who has seen the hash from trying passwords.
func (d *Daemon) content(m machine.Machine) (string, diag.List) {
	m.Identity.Revision, m.Identity.InstanceID = 0, strings.TrimSuffix(m.Identity.InstanceID, firstRevision)
	s, l := d.options.Engine.Render(m, vmseed.RenderOptions{})
	if l.HasErrors() {
		return "", Worded(l)
	}
	sum := d.hasher("first-boot content")
	sum.add(s.DataSource)
	for _, v := range s.Volumes {
		if v.Path == "" { // an image in a drive is no part of it
			sum.add("volume", v.Label)
			sum.files(v.Files)
		}
	}
	for _, t := range s.Trees {
		sum.add("tree", t.Name)
		for _, b := range t.Blobs {
			sum.add(b.Path, b.Content.Reveal())
		}
	}
	for _, f := range s.Firmware.FwCfg {
		sum.add("fw_cfg", f.Name, f.Content.Reveal())
	}
	for _, r := range s.Firmware.SMBIOS {
		sum.add("smbios", fmt.Sprint(r.Type), r.Field, r.Value)
	}
	sum.add(s.KernelArgs...)
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// hasher makes a keyed one, under a key that is derived from the daemon's for a purpose.
func (d *Daemon) hasher(purpose string) hasher {
	own := hmac.New(sha256.New, []byte(d.key.Reveal()))
	own.Write([]byte(purpose))
	return hasher{hmac.New(sha256.New, own.Sum(nil))}
}

// PasswordHash hashes the password of a user of a VM or template for the guest's /etc/shadow, by sha512-crypt. The salt is the
// same each time: a request that comes again must make the same definition, or first boot would run again for it. The daemon's
// key keeps others from computing hashes before they see the salt.
func (d *Daemon) PasswordHash(id, user string, clear secret.Text) (secret.Text, error) {
	sum := d.hasher("password salt")
	sum.add(id, user)
	hash, err := crypt.SHA512(clear.Reveal(), crypt.Salt(hex.EncodeToString(sum.Sum(nil))))
	return secret.New(hash), err
}

// hasher hashes texts so that no two lists of texts look the same.
type hasher struct{ hash.Hash }

func (h hasher) add(texts ...string) {
	for _, t := range texts {
		_ = binary.Write(h, binary.BigEndian, uint64(len(t)))
		_, _ = h.Write([]byte(t))
	}
}

func (h hasher) files(files []seed.File) {
	for _, f := range files {
		h.add("file", f.Path, fmt.Sprint(f.Mode), f.Content.Reveal())
	}
}
