//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// file checks a file's mode, owner and contents.
func file(path, mode, owner, content string) check {
	return check{"file " + path, "stat -c '%a %U:%G' " + path + "; cat " + path, mode + " " + owner + "\n" + content}
}

// mounted checks that a file system is that of a disk, or of its first partition, by the disk's serial number.
func mounted(path, device string) check {
	return check{"mount " + path, `findmnt -n -o FSTYPE ` + path + `
		[ "$(findmnt -n -o SOURCE ` + path + `)" = "$(readlink -f ` + device + `)" ] && echo its disk`, "ext4\nits disk"}
}

// cniNetwork is what examples/virtlet/cni-result.json comes to, with an MTU.
func cniNetwork() []check {
	const nic = "virtlet-eth0"
	return []check{
		{"NICs", "ls /sys/class/net", "lo\n" + nic},
		{"MAC", "cat /sys/class/net/" + nic + "/address", "0a:58:0a:f4:03:0b"},
		{"MTU", "cat /sys/class/net/" + nic + "/mtu", "1420"},
		{"IPv4 address", "ip -o -4 address show dev " + nic + " | awk '{print $4}'", "10.244.3.11/24"},
		{"IPv6 address", "ip -o -6 address show dev " + nic + " scope global | awk '{print $4}'", "fd00:10:244:3::11/64"},
		{"IPv4 routes", "ip -4 route | awk '{print $1, $2, $3}' | sort",
			"10.244.3.0/24 dev " + nic + "\n10.96.0.0/12 via 10.244.3.1\ndefault via 10.244.3.1"},
		{"IPv6 default route", "ip -6 route show default | awk '{print $1, $2, $3}'", "default via fd00:10:244:3::1"},
		{"DNS server", "resolvectl --no-pager dns " + nic + " | sed 's/.*: //'", "10.244.3.1"},
		{"DNS search", "resolvectl --no-pager domain " + nic + " | sed 's/.*: //'", "default.svc.cluster.local svc.cluster.local"},
	}
}

// virtioIDs are the device types of virtio, by QEMU's name (Virtual I/O Device specification 1.2, section 5).
var virtioIDs = map[string]int{"virtio-net-pci": 1, "virtio-blk-pci": 2, "virtio-serial-pci": 3, "virtio-rng-pci": 4, "virtio-scsi-pci": 8}

// placed checks that the guest finds the hardware where vmseed inspect says that it was put.
func placed(t *testing.T, v *vm) []check {
	var pci, disks []string
	for _, d := range v.devices(t) {
		driver, _ := d["driver"].(string)
		serial, _ := d["serial"].(string)
		address, _ := d["addr"].(string)
		address = "0000:00:" + address
		if id := virtioIDs[driver]; id != 0 {
			pci = append(pci, fmt.Sprintf("%s 0x%04x", address, id))
		}
		switch {
		case serial == "":
		case driver == "virtio-blk-pci":
			disks = append(disks, serial+" "+address)
		case driver == "scsi-hd":
			disks = append(disks, fmt.Sprintf("%s 0:%v:%v", serial, d["scsi-id"], d["lun"]))
		}
	}
	slices.Sort(pci)
	slices.Sort(disks)
	if len(disks) == 0 {
		t.Error("no disk has a serial number")
	}
	return []check{
		{"PCI addresses", `for d in /sys/bus/pci/devices/*/virtio*; do
			echo "$(basename "$(dirname "$d")") $(cat "$d/device")"; done | sort`, strings.Join(pci, "\n")},
		// A disk on a SCSI bus is sdX at host:bus:target:unit, one with a PCI address of its own vdX.
		{"disks by serial number", `for d in /dev/disk/by-id/virtio-* /dev/disk/by-id/scsi-0QEMU_QEMU_HARDDISK_*; do
			case $d in *-part*|*'*') continue;; esac
			at=$(readlink -f /sys/block/$(basename "$(readlink -f "$d")")/device)
			case $d in *virtio*) at=$(basename "$(dirname "$at")");; *) at=$(basename "$at" | cut -d: -f2-);; esac
			echo "${d##*[-_]} $at"; done | sort`, strings.Join(disks, "\n")},
		{"processors", "nproc", "2"},
		{"memory", `awk '/^MemTotal/ {print ($2 > 0.9*1048576 && $2 <= 1048576) ? "about 1 GiB" : $0}' /proc/meminfo`, "about 1 GiB"},
	}
}

// onceOnly holds the boots after the first to leaving everything as it is.
func onceOnly() []check {
	return []check{
		{"instances", "ls /var/lib/cloud/instances", "foobar"},
		// cloud-init would write the file again.
		{"files are not written again", "cat /foobar.txt", "changed by hand"},
		{"modules ran before", "grep -q 'config-write-files already ran (freq=once-per-instance)' /var/log/cloud-init.log && echo so", "so"},
		{"contents of the disks", "cat /var/lib/docker/mark /var/lib/postgresql/mark /cephdata/mark", "extra\nraw\nceph"},
	}
}
