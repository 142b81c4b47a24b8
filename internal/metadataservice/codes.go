package metadataservice

import "github.com/vmseed/vmseed/diag"

// The diagnostics of this package.
const (
	// CodeSameAddress is for two machines with one address.
	CodeSameAddress diag.Code = 1450 + iota
	// CodeNoMachine is for an address that is given to a machine which is not there.
	CodeNoMachine
	// CodeSameMAC is for two machines whose leases cannot be told apart.
	CodeSameMAC
	// CodeNotServed is for machines whose data source no guest reads over HTTP.
	CodeNotServed
	// CodeConfigDrive is for machines that ask for a config drive.
	CodeConfigDrive
	// CodeTokensAlone is for machines that require tokens and name no data source.
	CodeTokensAlone
	// CodeNoAddress is for machines that no address leads to.
	CodeNoAddress
	// CodeUnknownNIC is for NICs that a guest would not find.
	CodeUnknownNIC
	// CodeSameInstance is for two machines that a proxy cannot tell apart.
	CodeSameInstance
)

// Own reports whether a diagnostic of a code is this package's, rather than one about a definition.
func Own(c diag.Code) bool { return c >= CodeSameAddress && c <= CodeSameInstance }

// Codes explains the diagnostics of this package.
func Codes() []diag.Explanation {
	return []diag.Explanation{
		{Code: CodeSameAddress, Title: "two machines with one address",
			Text: "The metadata service knows a guest by the address that it asks from. Two machines with the same address would read each " +
				"other's passwords and keys, so neither is served. Addresses come from the definitions, from `--address` and from leases."},
		{Code: CodeNoMachine, Title: "address of a machine that is not there",
			Text: "`--address [NAMESPACE/]NAME=IP` names a machine that none of the files defines, or that several do in different namespaces. At a " +
				"start that is an error. A machine that is gone at a reload is not served any more, and its address is nobody's, with a warning."},
		{Code: CodeSameMAC, Title: "two machines with one MAC",
			Text: "Leases say which MAC has which address. Where two machines state the same MAC, a lease does not say which of them asks, so " +
				"neither gets an address by it."},
		{Code: CodeNotServed, Title: "machine is not served over HTTP",
			Text: "The machine asks for a data source that its guest does not read over HTTP, or for none. The metadata service has nothing for " +
				"it. `--datasource` names another for all machines: ec2, openstack, nocloud or ignition."},
		{Code: CodeConfigDrive, Title: "config drive is served as OpenStack's metadata",
			Text: "The machine asks for a config drive. Its documents are those of OpenStack's metadata service, so the machine is served that " +
				"alone. Its guest has to be told that it is one of OpenStack's: by the SMBIOS product name `OpenStack Nova`."},
		{Code: CodeTokensAlone, Title: "only EC2 is served, because tokens are required",
			Text: "The machine requires session tokens and names no data source. OpenStack's, NoCloud's and Ignition's paths know no tokens: " +
				"next to them, a token would protect nothing, because the same user-data could be read without one. So EC2's paths alone are served. " +
				"Without `metadataOptions.httpTokens` all protocols are served, and tokens are optional."},
		{Code: CodeNoAddress, Title: "no address leads to the machine",
			Text: "The definition has no static address, and neither `--address` nor a lease names one. Until a lease does, the machine's " +
				"guest reads NoCloud by a URL of its own, or nothing. A start without `--leases` says so of each such machine."},
		{Code: CodeUnknownNIC, Title: "NIC whose MAC is not stated",
			Text: "Somebody else has made the guest's NICs, with MACs of his own, and the definition does not state that of one. A guest that is told of " +
				"a NIC which it does not have comes up without a network. So it is told of no NIC and uses DHCP on the first one that it has. " +
				"State the MACs, or `match: name` for NICs that have their names in the guest already. Where the guest was made of the output of " +
				"`vmseed convert --to libvirt`, state the MACs that stand there."},
		{Code: CodeSameInstance, Title: "two machines with one instance id",
			Text: "A proxy says whose a request is by namespace and instance id. Two machines of one namespace state the same `identity.instanceID`, so " +
				"requests that come through a proxy are answered for neither. By their addresses and signed paths they are served all the same."},
	}
}
