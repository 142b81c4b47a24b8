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
	// KernelArgs are for the guest's kernel command line.
	KernelArgs []string
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
	// Name says which protocol the tree belongs to, such as nocloud or ec2.
	Name  string
	Blobs []Blob
}

// Blob is one answer.
type Blob struct {
	Path        string
	ContentType string
	Content     secret.Text
}

// Firmware is what a guest reads without a driver for disks or networks. Values may hold {{base}}, which the delivery
// replaces by the URL that it serves the seed's tree at.
type Firmware struct {
	FwCfg  []FwCfg
	SMBIOS []SMBIOS
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
