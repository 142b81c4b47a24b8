package devices

import (
	"testing"

	"github.com/vmseed/vmseed/machine"
)

// TestByID has the names under which Linux finds QEMU's disks, with serial numbers that do not fit or are no names.
func TestByID(t *testing.T) {
	for _, x := range []struct{ bus, serial, want string }{
		{"virtio", "data", "/dev/disk/by-id/virtio-data"},
		{"", "data", "/dev/disk/by-id/virtio-data"},
		{"virtio", "0123456789abcdef0123456789", "/dev/disk/by-id/virtio-0123456789abcdef0123"},
		{"sata", "0123456789abcdef0123456789", "/dev/disk/by-id/ata-QEMU_HARDDISK_0123456789abcdef0123"},
		{"scsi", "0123456789abcdef0123456789", "/dev/disk/by-id/scsi-0QEMU_QEMU_HARDDISK_0123456789abcdef0123456789"},
		{"usb", "a", "/dev/disk/by-id/usb-QEMU_QEMU_HARDDISK_a-0:0"},
		{"virtio", " my  disk ", "/dev/disk/by-id/virtio-my_disk"},
		{"virtio", "b%c", "/dev/disk/by-id/virtio-b_c"},
	} {
		if got := ByID(machine.Disk{Bus: x.bus, Serial: x.serial}); got != x.want {
			t.Errorf("%s %q: %s, want %s", x.bus, x.serial, got, x.want)
		}
	}
}

// TestPartition counts partitions as udev and the kernel do.
func TestPartition(t *testing.T) {
	for _, x := range []struct {
		disk   string
		number int
		want   string
	}{
		{"/dev/disk/by-id/virtio-0", 1, "/dev/disk/by-id/virtio-0-part1"}, {"/dev/vdb", 2, "/dev/vdb2"}, {"/dev/nvme0n1", 3, "/dev/nvme0n1p3"}, {"/dev/vdb", 0, "/dev/vdb"},
	} {
		if got := Partition(x.disk, x.number); got != x.want {
			t.Errorf("%s: %s, want %s", x.disk, got, x.want)
		}
	}
}
