package metadata

import "github.com/vmseed/vmseed/diag"

// The diagnostics of this package.
const (
	// CodeValue is for meta-data values that JSON cannot hold.
	CodeValue diag.Code = 4050 + iota
	// CodeTag is for tags of devices that the guest cannot find by them.
	CodeTag
)

// Codes explains the diagnostics of this package.
func Codes() []diag.Explanation {
	return []diag.Explanation{
		{Code: CodeValue, Title: "meta-data value has no form in JSON",
			Text: "vmseed writes meta-data as JSON, which every guest agent reads. Binary values, infinities and YAML's sets have no form in it. " +
				"Write the value as text."},
		{Code: CodeTag, Title: "tag leads to no device",
			Text: "Tags of devices reach the guest in the member `devices` of the meta-data, as in OpenStack: NICs with address and MAC, disks with " +
				"serial number. A device of the host has no address before the hypervisor gives it one, and an interface that the guest builds from " +
				"others is no device of the machine."},
	}
}
