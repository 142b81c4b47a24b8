package ec2

import "github.com/vmseed/vmseed/diag"

// The diagnostics of this package.
const (
	// CodeFirmware is for identifiers that the firmware cannot show.
	CodeFirmware diag.Code = 4350 + iota
	// CodeLarge is for user-data that is too large for EC2 itself.
	CodeLarge
	// CodePair is for two names of the host with different values.
	CodePair
	// CodeWindows is for what cloudbase-init needs of the service.
	CodeWindows
)

// Codes explains the diagnostics of this package.
func Codes() []diag.Explanation {
	return []diag.Explanation{
		{Code: CodeFirmware, Title: "firmware shows another identifier",
			Text: "A guest looks for EC2's service when the UUID of its firmware begins with ec2; cloud-init before 24.2 wants the serial number to be the same. " +
				"The first three digits of another UUID become ec2, and the serial number is replaced."},
		{Code: CodeLarge, Title: "user-data is too large for EC2",
			Text: "vmseed serves user-data of any size. EC2 itself takes 16384 bytes, so a definition that shall work there as well needs smaller ones. " +
				"What vmseed adds to the user-data counts: keys, files and the rest of the definition, and the reporter of the first boot."},
		{Code: CodePair, Title: "two host names",
			Text: "The meta-data sets `hostname` and `local-hostname` to different values. EC2 has one name under both keys, and guests go by `local-hostname`."},
		{Code: CodeWindows, Title: "cloudbase-init cannot read the service",
			Text: "cloudbase-init, the agent of most images of Windows, knows no session tokens, and takes EC2's service for absent where it tells no host name. Agents of " +
				"Amazon's own images know tokens. Let `metadataOptions.httpTokens` be optional and give the machine a host name."},
	}
}
