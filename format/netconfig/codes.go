package netconfig

import "github.com/vmseed/vmseed/diag"

// The diagnostics of this package.
const (
	// CodeModel is for a network that contradicts itself.
	CodeModel diag.Code = 3200 + iota
	// CodeReference is for a link that refers to one that does not exist or cannot be used so.
	CodeReference
	// CodeName is for interface names that no kernel takes, or that two links want.
	CodeName
	// CodeMAC is for MAC addresses that are malformed, unusable or given twice.
	CodeMAC
	// CodeMTU is for MTUs out of range.
	CodeMTU
	// CodeAddress is for addresses that a guest cannot use.
	CodeAddress
	// CodeGateway is for routers that the guest cannot reach or that compete.
	CodeGateway
	// CodeRoute is for routes that cannot be installed.
	CodeRoute
	// CodeDNS is for resolvers and search domains that cannot be used.
	CodeDNS
	// CodeParam is for parameters of bonds, bridges and VLANs.
	CodeParam
	// CodeInexpressible is for what the wanted form has no words for.
	CodeInexpressible
	// CodePartly is for what reaches some guests only.
	CodePartly
	// CodeUnknownForm is for documents that are in none of the known forms.
	CodeUnknownForm
	// CodeStructure is for a value of the wrong type or shape in a document.
	CodeStructure
	// CodeUnknownKey is for keys that cloud-init does not know.
	CodeUnknownKey
	// CodeNotHeld is for what a document says and the model cannot hold.
	CodeNotHeld
	// CodeGuestFails is for documents that make cloud-init give up the whole network.
	CodeGuestFails
	// CodeGuestLoses is for parts of a document that cloud-init leaves out.
	CodeGuestLoses
	// CodeGuestMisreads is for values that cloud-init reads differently from what they say.
	CodeGuestMisreads
	// CodeDeprecated is for what works, with a complaint by the guest.
	CodeDeprecated
	// CodeConvert is for documents in the wrong form for their data source.
	CodeConvert
)

// Codes explains the diagnostics of this package.
func Codes() []diag.Explanation {
	return []diag.Explanation{
		{Code: CodeModel, Title: "the network contradicts itself",
			Text: "A link is described in a way that no guest can set up: its kind and its parts differ, nothing says which NIC is " +
				"meant, or two settings exclude each other. The message names the link and the field."},
		{Code: CodeReference, Title: "a link refers to one that does not fit",
			Text: "Bonds, bridges and VLANs name other links by ID. The named link must exist, may belong to one bond or bridge " +
				"only, must not be built upon itself, and has no addresses of its own while it is a member."},
		{Code: CodeName, Title: "unusable interface name",
			Text: "Linux takes interface names of up to 15 characters. vmseed allows letters, digits, dots, hyphens, underscores " +
				"and `@`, since other characters mean something to the tools that read the guest's network files. Each name " +
				"belongs to one link; `lo`, `all` and `default` are taken."},
		{Code: CodeMAC, Title: "unusable MAC address",
			Text: "A MAC address is six octets such as `52:54:00:12:34:56`. Its second digit is even (odd ones are group " +
				"addresses), and no two NICs of a machine share one: the guest finds its NICs by them."},
		{Code: CodeMTU, Title: "MTU out of range",
			Text: "IPv4 needs an MTU of at least 68 bytes, IPv6 one of at least 1280. The largest possible is 65535."},
		{Code: CodeAddress, Title: "unusable address",
			Text: "A fixed address is that of a host with the prefix length of its network, such as `10.0.0.5/24`. Without a " +
				"prefix length cloud-init silently assumes /24 or /64, so vmseed asks for it."},
		{Code: CodeGateway, Title: "router that cannot be used",
			Text: "The router of a default route is another host of the same family that the link reaches directly. Two links " +
				"with default routes of one family compete; give metrics to the routes, or keep one."},
		{Code: CodeRoute, Title: "route that cannot be installed",
			Text: "A route leads to a network (no host bits set) through a router of the same family. cloud-init's " +
				"interfaces(5) renderer fails on routes without a router."},
		{Code: CodeDNS, Title: "unusable resolver or search domain",
			Text: "Resolvers are addresses, search domains are names such as `example.org`."},
		{Code: CodeParam, Title: "wrong parameter of a bond, bridge or VLAN",
			Text: "Parameters are named as netplan names them, such as `mii-monitor-interval`. cloud-init fails on the whole " +
				"network when it meets one it does not know."},
		{Code: CodeInexpressible, Title: "the form has no words for it",
			Text: "The forms of a guest's network differ in what they can say: network_data.json has no bridges, version 1 no " +
				"DHCP overrides, interfaces(5) text as cloud-init reads it only NICs with addresses. What is named here is left " +
				"out of the product. Use another data source or form, or drop the setting."},
		{Code: CodePartly, Title: "some guests lose it",
			Text: "The setting is written, but cloud-init's renderers treat it differently: what netplan takes may be lost in " +
				"sysconfig files, and the other way round. If the guest is known to render with the right one, ignore this."},
		{Code: CodeUnknownForm, Title: "unknown form of network document",
			Text: "Network documents are network-config version 1 or 2 (with or without a top-level `network:`), " +
				"`config: disabled`, or OpenStack's network_data.json. cloud-init fails on a document without `version`."},
		{Code: CodeStructure, Title: "wrong type or shape",
			Text: "A value is of another type than the form has at this place: a list instead of a mapping, a text instead of a " +
				"number. cloud-init usually fails on the whole network then, or reads something else."},
		{Code: CodeUnknownKey, Title: "unknown key",
			Text: "cloud-init does not look at this key; it may be misspelt. On guests that render with netplan an unknown key of " +
				"version 2 makes netplan refuse the whole file."},
		{Code: CodeNotHeld, Title: "cannot be carried over",
			Text: "The document says something that vmseed's network model does not hold, so it would be lost in a conversion. " +
				"A document that is passed on unchanged keeps it."},
		{Code: CodeGuestFails, Title: "cloud-init gives up the network",
			Text: "cloud-init raises an error on this document and configures no network at all, or boots with DHCP on one NIC " +
				"instead. The message says which releases and renderers are concerned."},
		{Code: CodeGuestLoses, Title: "cloud-init leaves it out",
			Text: "cloud-init accepts the document but ignores this part. The message says which releases and renderers are " +
				"concerned and what to write instead."},
		{Code: CodeGuestMisreads, Title: "cloud-init reads something else",
			Text: "The value means something else to cloud-init than it says: YAML 1.1 reads a bare MAC address of digits as a " +
				"number in base 60, and the text \"no\" counts as true."},
		{Code: CodeDeprecated, Title: "works, with a complaint by the guest",
			Text: "cloud-init accepts this but logs a deprecation or a schema warning, which makes `cloud-init status` report a " +
				"degraded boot."},
		{Code: CodeConvert, Title: "document in the wrong form for its data source",
			Text: "A ConfigDrive or OpenStack metadata service holds network_data.json. cloud-init reads a netplan document there " +
				"as an empty network, so vmseed converts it where nothing is lost, and refuses it otherwise."},
	}
}
