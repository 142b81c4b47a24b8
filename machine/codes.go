package machine

import "github.com/vmseed/vmseed/diag"

// The diagnostics of this package.
const (
	// CodeDuplicateMAC is for two NICs with one MAC.
	CodeDuplicateMAC diag.Code = 1300 + iota
	// CodeDuplicateSerial is for two disks with one serial number.
	CodeDuplicateSerial
	// CodeSerialTooLong is for a serial number that the guest sees cut off.
	CodeSerialTooLong
	// CodeNoSlot is for a machine with more devices than PCI slots.
	CodeNoSlot
	// CodeHostName is for a host name that DNS cannot have.
	CodeHostName
)

// Codes explains the diagnostics of this package.
func Codes() []diag.Explanation {
	return []diag.Explanation{
		{Code: CodeDuplicateMAC, Title: "two NICs with one MAC",
			Text: "The guest finds its NICs by their MACs. Two with the same MAC cannot be told apart, and a switch delivers " +
				"frames of one to the other. Give each its own MAC, or none: vmseed derives one from the machine's and the NIC's name."},
		{Code: CodeDuplicateSerial, Title: "two disks with one serial number",
			Text: "Mounts and links find their disk in the guest by its serial number. Give each disk its own name, and its own serial number where you state one."},
		{Code: CodeSerialTooLong, Title: "serial number is cut off",
			Text: "virtio-blk carries 20 bytes of a serial number. The guest sees the first 20 bytes, so `/dev/disk/by-id` shows those."},
		{Code: CodeNoSlot, Title: "no PCI slot left",
			Text: "vmseed places devices on PCI bus 0, which has 24 slots for disks and NICs. Disks on the scsi bus share one slot."},
		{Code: CodeHostName, Title: "host name that is none of DNS",
			Text: "The guest takes the name, but the name of a host in DNS is made of labels of at most 63 letters, digits and hyphens, joined by dots (RFC 1123, " +
				"section 2.1). Other hosts may not find the guest by it, and certificates for it may be refused. Write a hyphen for an underscore."},
	}
}
