package ovirt

import (
	"slices"

	"github.com/vmseed/vmseed/diag"
)

// The diagnostics of this package. Those of sysprep, payloads and OVF are beside their code.
const (
	// CodeNotVM is for documents that describe no machine.
	CodeNotVM diag.Code = 2500 + iota
	// CodeNotActedUpon is for members that change nothing here.
	CodeNotActedUpon
	// CodeName is for the name and id of a machine.
	CodeName
	// CodeInvalidValue is for values that a member cannot have.
	CodeInvalidValue
	// CodeTwice is for what is said twice.
	CodeTwice
	// CodeKindConflict is for documents that ask for first boots of two kinds.
	CodeKindConflict
	// CodeNotRequested is for an initialization that the flags switch off.
	CodeNotRequested
	// CodeNoSeed is for machines without an initialization.
	CodeNoSeed
	// CodeOS is for what the type of the operating system means.
	CodeOS
	// CodeHostName is for host names.
	CodeHostName
	// CodeTimezone is for time zones.
	CodeTimezone
	// CodeUser is for users and their passwords.
	CodeUser
	// CodeMasked is for passwords that an engine has masked.
	CodeMasked
	// CodeKey is for lines that are no SSH keys.
	CodeKey
	// CodeScript is for custom scripts.
	CodeScript
	// CodeFile is for files of the deprecated form.
	CodeFile
	// CodeNIC is for NICs.
	CodeNIC
	// CodeAddress is for addresses, name servers and search domains.
	CodeAddress
	// CodeSysprepOnly is for members that only Windows is told.
	CodeSysprepOnly
	// CodeOtherForm is for VMs of a daemon whose definition is none of oVirt's.
	CodeOtherForm
)

// Codes explains the diagnostics of this package.
func Codes() []diag.Explanation { return slices.Concat(documentCodes(), guestCodes(), mediaCodes()) }

func documentCodes() []diag.Explanation {
	return []diag.Explanation{
		{Code: CodeNotVM, Title: "not a machine of oVirt",
			Text: "The outermost element should be `vm`, `vms`, `template`, `templates`, `action` (as the body of a start) or `initialization`, or the `Envelope` " +
				"of an OVF that an engine wrote. In JSON the outermost element has no name and is told by its members."},
		{Code: CodeNotActedUpon, Title: "member that is not acted upon",
			Text: "The member is about the engine, its clusters and users, or about how the machine is run, or oVirt does not have it at all. A note says that " +
				"the guest is the same without it; a warning says that something is missing. `vmseed serve` keeps such members and returns them to clients."},
		{Code: CodeName, Title: "name and id of a machine",
			Text: "Names of VMs consist of letters, digits and `-_.+`. The id is the machine's SMBIOS UUID and its instance id. Without a name the machine is called " +
				"as its guest is, else `vm`."},
		{Code: CodeInvalidValue, Title: "invalid value",
			Text: "The member takes the values that the message names: booleans are `true`, `false`, `1` and `0`, the words of enumerations count in any case. " +
				"An engine answers with the fault `Invalid value`."},
		{Code: CodeTwice, Title: "said twice",
			Text: "One thing is said in two places that differ, such as `host_name` and the deprecated `cloud_init/host/address`, or an element that " +
				"stands once in oVirt stands more than once. An engine takes one of them without a word. Keep one."},
		{Code: CodeKindConflict, Title: "first boots of two kinds",
			Text: "How the guest is set up follows from the custom script (a JSON object with the member `ignition` is for Ignition), else from the flags " +
				"`use_cloud_init`, `use_ignition` and `use_sysprep` of the action, else from `os/type`: `windows…` is sysprep, `rhcos…` is Ignition, everything " +
				"else cloud-init. Here they contradict each other. An engine then starts the machine without what was asked for; vmseed does not start it."},
		{Code: CodeNotRequested, Title: "initialization is switched off",
			Text: "All flags of the action are false, which asks for no initialization. What the document says about the guest is not used."},
		{Code: CodeNoSeed, Title: "no initialization",
			Text: "The machine has no `initialization`, or an empty one. An engine then attaches no drive, so that the guest's cloud-init waits for another data " +
				"source. vmseed always makes a seed."},
		{Code: CodeOS, Title: "what the operating system means",
			Text: "The type of the operating system decides how the guest is set up, unless the custom script or a flag says so. Nothing else follows from it."},
	}
}

func guestCodes() []diag.Explanation {
	return []diag.Explanation{
		{Code: CodeHostName, Title: "host name",
			Text: "`host_name` has letters, digits, dashes and underscores, with or without a domain behind a dot. An engine checks it in the web form only, and guests pass over names that they do not like."},
		{Code: CodeTimezone, Title: "time zone",
			Text: "Linux takes names of the time zone database, such as `Europe/Prague`. Names such as `GMT Standard Time` are those of Windows."},
		{Code: CodeUser, Title: "users and passwords",
			Text: "Names of users are those that `useradd` takes. A password is one line of text, or a hash of crypt(5) such as `$6$…`, which is taken as it is. " +
				"`root_password` is the password of `user_name`, else of the image's default user."},
		{Code: CodeMasked, Title: "password is masked",
			Text: "An engine never shows a password: `******` stands for one that it has stored. A document that was fetched from an engine has to get its " +
				"passwords anew. Sent back to `vmseed serve` it keeps the stored one."},
		{Code: CodeKey, Title: "line that is no SSH key",
			Text: "Each line of `authorized_ssh_keys` is a public key as in `authorized_keys`: a type, the key in base64, and a comment. Lines in which the middle " +
				"of the key is replaced by dots are common in examples."},
		{Code: CodeScript, Title: "custom script",
			Text: "A custom script is YAML with keys of cloud-init, with or without the line `#cloud-config`, or any other kind of user-data: a script that begins with `#!`, " +
				"a MIME message, a jinja template, an include file, gzip data in base64. An engine writes everything into one YAML document, so that anything but YAML " +
				"destroys all of it; vmseed joins them by kind. For Ignition it is a JSON config, or Butane, from which one is made."},
		{Code: CodeFile, Title: "files of the deprecated form",
			Text: "`files/file` holds a path in `name`, a text in `content`, and in `type` `PLAINTEXT` or `BASE64`. Since 3.4 an engine carries out the content of the first file as a " +
				"custom script and forgets the rest. vmseed writes all files at their paths, but for content that is a cloud-config."},
		{Code: CodeNIC, Title: "NICs",
			Text: "`nic_configuration/name` is the interface in the guest. The first one is for the first NIC of the machine and so on; names `eth0`, `eth1` … go by their number. " +
				"A NIC without `on_boot` comes up; only `false` leaves it down, where an engine takes a missing one for false and then refuses it. An address counts with the " +
				"protocol `static`, or without any."},
		{Code: CodeAddress, Title: "addresses",
			Text: "A static configuration has an `address`, a `netmask` (IPv4: `255.255.255.0` or a prefix length; IPv6: a prefix length) and perhaps a `gateway` of the same family, within the " +
				"network of the address. Name servers are addresses, search domains are names, each with white space between several."},
		{Code: CodeSysprepOnly, Title: "only Windows is told",
			Text: "The member is written into the answer file of sysprep. A guest of cloud-init or Ignition is not told. Put what you mean into the custom script."},
		{Code: CodeOtherForm, Title: "definition is of another form",
			Text: "`vmseed serve` shows each of its VMs in oVirt's API. Of one that is defined in another form, such as a KubeVirt `VirtualMachine`, that is the " +
				"hardware alone, and its custom property `vmseed_form` names the form: users, keys, scripts and networks of the guest are not in what you convert. " +
				"Convert the documents that define it instead, which `GET /api/v1/machines/ID/documents` returns."},
	}
}
