package openstack

import "github.com/vmseed/vmseed/diag"

// The diagnostics of this package.
const (
	// CodeRevision is for a first boot that is asked for again of a guest that may not notice.
	CodeRevision diag.Code = 4375 + iota
	// CodeSealed is for a secret that stays readable when the rest is withdrawn.
	CodeSealed
)

// Codes explains the diagnostics of this package.
func Codes() []diag.Explanation {
	return []diag.Explanation{
		{Code: CodeRevision, Title: "guest may not ask the service",
			Text: "cloud-init's OpenStack compares the instance id in the guest's cache with the system UUID of the firmware. Where they are the same, as after a first " +
				"boot without a revision, the guest goes on with its cache and does not ask the metadata service. Run `cloud-init clean` in the guest, or give the " +
				"machine an `identity.instanceID` other than its UUID before it boots for the first time; VMs of `vmseed serve` have such a one."},
		{Code: CodeSealed, Title: "admin_pass is not withdrawn",
			Text: "`metadataOptions.seal` withdraws user-data and vendor-data when the first boot is over. meta_data.json stays, because a guest that boots again reads " +
				"its instance id there, and with it the administrator's password. Leave `adminPassword` out: cloudbase-init then makes a password of its own and " +
				"posts it, encrypted, to the service."},
	}
}
