// Package seed holds the second of vmseed's two nouns: what a guest reads at its first boot, before it is known how the
// guest gets at it. Data sources make seeds, deliveries bring them to the guest.
package seed

import (
	"slices"

	"github.com/vmseed/vmseed/secret"
)

// Seed is everything one guest reads. Most data sources fill one of its parts only.
type Seed struct {
	// Machine is the namespace and name of the machine, DataSource the name of the data source that made the seed.
	Machine    Name
	DataSource string
	Identity   Identity
	// Volumes are file systems that the guest finds by their labels. The first is the seed proper, others are further
	// media.
	Volumes []Volume
	// Trees are what the guest fetches by HTTP.
	Trees []Tree
	// Firmware is what the guest reads out of its firmware.
	Firmware Firmware
	// KernelArgs are for the guest's kernel command line. Like those of the firmware, they may hold {{base}}.
	KernelArgs []string
	// Seal withdraws the sealable blobs of the trees when the guest's first boot is over.
	Seal bool
}

// Name identifies a machine.
type Name struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// String returns namespace_name, the stem of file names.
func (n Name) String() string { return n.Namespace + "_" + n.Name }

// Identity is who the guest will think it is.
type Identity struct {
	InstanceID string `json:"instance-id"`
	UUID       string `json:"uuid,omitempty"`
	Hostname   string `json:"hostname,omitempty"`
}

// Volume is a labelled file system.
type Volume struct {
	// Name tells the volumes of one seed apart. It is empty for the seed proper.
	Name string
	// Label is the volume label, such as cidata or config-2.
	Label string
	// Format is iso or vfat where the volume must be one of them, else empty.
	Format string
	// Files are in the order of their writing.
	Files []File
	// Path is a prepared image that is used unchanged; Files is then empty.
	Path string
	// Serial and Bus are how the machine wants the medium attached. Empty means as the hypervisor likes.
	Serial, Bus string
}

// File is a file of a volume or of a directory tree.
type File struct {
	// Path is relative, with slashes.
	Path    string
	Content secret.Text
	// Mode is the permission bits; 0 means 0644 inside a volume.
	Mode uint32
}

// File returns the content of the file at path, and whether it exists.
func (v Volume) File(path string) (secret.Text, bool) {
	i := slices.IndexFunc(v.Files, func(f File) bool { return f.Path == path })
	if i < 0 {
		return secret.Text{}, false
	}
	return v.Files[i].Content, true
}

// Tree is what an HTTP server answers, path by path.
type Tree struct {
	// Name says which protocol the tree belongs to: ec2, openstack, nocloud or ignition.
	Name string
	// Roots are the directories of the server in which the whole tree stands, without slashes around them: latest and
	// 2021-07-15, openstack/latest. The first is the one that is written to a disk. An empty root is the server's own.
	Roots []string
	// Tokens says whether readers need a session token, and HopLimit how many routers the answer with such a token may
	// pass plus one; 0 means 1.
	Tokens   Tokens
	HopLimit int
	// Blobs are the files. A path that ends in a slash is the listing of a directory, where that is not the names in it.
	Blobs []Blob
}

// Tokens says whether a tree is read with the session tokens of EC2's IMDSv2. The words are those of EC2's HttpTokens.
type Tokens string

// The ways to read a tree.
const (
	// NoTokens is for protocols that know no session.
	NoTokens       Tokens = ""
	TokensOptional Tokens = "optional"
	TokensRequired Tokens = "required"
)

// Blob is one answer.
type Blob struct {
	// Path is relative to the roots of the tree, with slashes between its parts.
	Path        string
	ContentType string
	Content     secret.Text
	// Sealable means that the guest needs it for its first boot alone; see Seed.Seal.
	Sealable bool
}

// Base is what values of Firmware and KernelArgs hold in the place of the URL that a delivery serves the trees at. That
// URL ends in a slash.
const Base = "{{base}}"

// Firmware is what a guest reads without a driver for disks or networks.
type Firmware struct {
	FwCfg  []FwCfg
	SMBIOS []SMBIOS
	// Credentials are for the guest's systemd (systemd.system-credentials(7)), which finds them in OEM strings or in
	// files of the firmware configuration device.
	Credentials []Credential
	// Systemd is the release that reads them, such as 257, or 0 for one that is not known.
	Systemd int
}

// Credential is a credential of systemd.
type Credential struct {
	// Name is such as ssh.authorized_keys.root.
	Name    string
	Content secret.Text
}

// FwCfg is a file of QEMU's firmware configuration device.
type FwCfg struct {
	// Name is the full name, such as opt/com.coreos/config.
	Name    string
	Content secret.Text
}

// SMBIOS is a string of the SMBIOS tables.
type SMBIOS struct {
	// Type is the structure type: 1 is the system, 11 OEM strings.
	Type int
	// Field is QEMU's name of the field, such as serial or product.
	Field string
	Value string
}

// AttachmentKind is the kind of an Attachment.
type AttachmentKind string

// The kinds of attachments.
const (
	Drive     AttachmentKind = "drive"
	FwCfgFile AttachmentKind = "fw_cfg"
	SMBIOSRow AttachmentKind = "smbios"
	KernelArg AttachmentKind = "kernel-argument"
	Endpoint  AttachmentKind = "endpoint"
)

// Attachment is what a delivery asks of the hypervisor.
type Attachment struct {
	Kind AttachmentKind `json:"kind"`
	// Path is the image of a drive or the file of a firmware configuration item, on the host.
	Path string `json:"path,omitempty"`
	// Label, Serial and Bus are those of a drive. Drives are read-only.
	Label  string `json:"label,omitempty"`
	Serial string `json:"serial,omitempty"`
	Bus    string `json:"bus,omitempty"`
	// Name is that of a firmware configuration item.
	Name string `json:"name,omitempty"`
	// Type, Field and Value are an SMBIOS row; Value is also a kernel argument or an endpoint.
	Type  int    `json:"type,omitempty"`
	Field string `json:"field,omitempty"`
	Value string `json:"value,omitempty"`
}
