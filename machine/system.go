package machine

import "github.com/vmseed/vmseed/secret"

// Unit is a systemd unit of the guest.
type Unit struct {
	// Name is the unit's file name, such as web.service.
	Name string `field:"name"`
	// Content is the text of the unit. It is empty for a unit of the image that is enabled, masked or given drop-ins.
	Content secret.Text `field:"content"`
	// Enabled enables or disables the unit; nil leaves it as it is.
	Enabled *bool    `field:"enabled"`
	Mask    bool     `field:"mask"`
	DropIns []DropIn `field:"dropIns"`
}

// DropIn changes some settings of a unit.
type DropIn struct {
	// Name is the file name, which ends in .conf.
	Name    string      `field:"name"`
	Content secret.Text `field:"content"`
}

// Storage is what the guest makes of its blank disks at its first boot. Mounts say where the result is mounted.
type Storage struct {
	Disks       []DiskLayout `field:"disks"`
	Filesystems []Filesystem `field:"filesystems"`
}

// DiskLayout is the partition table of a disk. Exactly one of Disk and Device is set.
type DiskLayout struct {
	// Disk is the name of one of the machine's disks, Device a name that is passed to the guest as it is.
	Disk   string `field:"disk"`
	Device string `field:"device"`
	// Table is gpt (default) or mbr.
	Table string `field:"table"`
	// Wipe destroys a partition table that the disk has already.
	Wipe       bool        `field:"wipe"`
	Partitions []Partition `field:"partitions"`
}

// Partition is a partition of a disk.
type Partition struct {
	// Number counts from 1; 0 takes the next free one.
	Number int    `field:"number"`
	Label  string `field:"label"`
	// Size in bytes, 0 for all that is left; Start in bytes from the disk's beginning, 0 for the first free place. Both
	// are whole MiB.
	Size  Bytes `field:"size"`
	Start Bytes `field:"start"`
	// Type is linux (default), swap, efi, or the GUID of a partition type.
	Type string `field:"type"`
}

// Filesystem is a file system that is made on a disk or partition. Exactly one of Disk and Device is set.
type Filesystem struct {
	Disk   string `field:"disk"`
	Device string `field:"device"`
	// Partition of the disk, from 1; 0 is the whole disk.
	Partition int `field:"partition"`
	// Type is ext4, xfs, btrfs, vfat or swap.
	Type  string `field:"type"`
	Label string `field:"label"`
	// Wipe makes it anew even if there is one of this type and label.
	Wipe bool `field:"wipe"`
	// Options are given to the tool that makes the file system.
	Options []string `field:"options"`
}

// AgentUser is a user of the guest whose credentials the guest agent sets.
type AgentUser struct {
	Name              string      `field:"name"`
	Password          secret.Text `field:"password"`
	SSHAuthorizedKeys []string    `field:"sshAuthorizedKeys"`
}
