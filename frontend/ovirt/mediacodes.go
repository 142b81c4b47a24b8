package ovirt

import "github.com/vmseed/vmseed/diag"

// The diagnostics of what travels beside a seed: answer files of Windows, payloads, descriptions in OVF.
const (
	// CodeAnswer is for a member of the initialization that Windows would not take.
	CodeAnswer diag.Code = 2560 + iota
	// CodeAnswerFile is for a custom script that is no answer file.
	CodeAnswerFile
	// CodeNoAnswer is for members that an answer file has no place for.
	CodeNoAnswer
	// CodeUnanswered is for what Windows will ask for, or fail at, because nobody says it.
	CodeUnanswered
	// CodeClearText is for a password that is masked or hashed where Windows needs its clear text.
	CodeClearText
	// CodeOldWindows is for releases of Windows that know no answer file of this form.
	CodeOldWindows
	// CodePayload is for payloads that cannot be a volume.
	CodePayload
	// CodePayloadSize is for a file of a payload that no engine takes.
	CodePayloadSize
	// CodePayloadUse says where payloads are used and an engine uses none.
	CodePayloadUse
	// CodeOVF is for descriptions in OVF without a virtual machine, or with values that cannot be read.
	CodeOVF
	// CodeDisks says whose job the contents of the disks are.
	CodeDisks
)

// mediaCodes explains these diagnostics.
func mediaCodes() []diag.Explanation {
	return []diag.Explanation{
		{Code: CodeAnswer, Title: "Windows would not take this answer",
			Text: "A sysprep initialization becomes an answer file, and Windows' setup stops at a value it does not take. Computer names have at most " +
				"15 letters, digits and hyphens; time zones are names of Windows or of the tz database; languages are written as en-US; product keys have " +
				"five groups of five characters; the organizational unit is an LDAP name; account names have at most 20 characters."},
		{Code: CodeAnswerFile, Title: "the custom script is no answer file",
			Text: "The custom script of a sysprep initialization is a whole answer file: well-formed XML with the outermost element `unattend` and " +
				"without a document type declaration. oVirt's placeholders, such as `$ComputerName$`, are filled in from the other members. The form of Windows " +
				"XP, sysprep.inf, is not read."},
		{Code: CodeNoAnswer, Title: "the answer file has no place for this",
			Text: "The member belongs to cloud-init, or a custom script takes the place of the whole answer file and has no placeholder for it. oVirt " +
				"drops it without a word. Configure networks, name servers and keys in the image, or in a custom script."},
		{Code: CodeUnanswered, Title: "Windows will ask or fail",
			Text: "Without a password for the administrator Windows asks for one at the console of the machine, and without an account that may add " +
				"computers it cannot join a domain. State `root_password`; for the domain, state `domain/user` with `user_name` and `password` beside the " +
				"initialization, in the vm of the action. oVirt takes an account for domains from the configuration of its engine."},
		{Code: CodeClearText, Title: "Windows needs the password in clear text",
			Text: "Windows hashes passwords in its own way, so an answer file holds them readable. `******` is what an engine shows in the place of a " +
				"password, and a crypt hash cannot be turned back: state the password anew."},
		{Code: CodeOldWindows, Title: "Windows without answer files",
			Text: "Windows XP and Windows Server 2003 read sysprep.inf from a floppy disk, which vmseed does not write."},
		{Code: CodePayload, Title: "payload cannot be a volume",
			Text: "A payload is a volume with files: `type` is cdrom or floppy, `volume_id` a label of at most 32 characters (11 on a floppy), and each file has a " +
				"`name` that is a relative path without `..`, and `content`. Names are told apart without regard to case. A `type` of a file is " +
				"PLAINTEXT or BASE64."},
		{Code: CodePayloadSize, Title: "file of a payload is too long",
			Text: "An engine takes at most 8192 characters for each file of a payload (its setting PayloadSize; its message says 16K). Put larger files " +
				"into the `files` of the initialization, or onto an image of your own that is attached as a CD."},
		{Code: CodePayloadUse, Title: "payload that an engine would leave out",
			Text: "An engine uses the first payload only, and on a run with cloud-init it drops a payload of type cdrom because both want one drive. " +
				"vmseed gives each payload a drive of its own, beside the seed."},
		{Code: CodeOVF, Title: "OVF cannot be read",
			Text: "The document is an OVF envelope, but holds no virtual machine, several of them, or a value that is no number where one is needed. " +
				"vmseed reads the OVF that oVirt writes (with its VmInit), and of other programs' the hardware."},
		{Code: CodeDisks, Title: "the disks are not moved",
			Text: "vmseed reads the definition of a machine and what it is told at first boot. The contents of its disks are in an archive or in the storage of " +
				"oVirt, and virt-v2v copies them: `virt-v2v -i ova FILE -o kubevirt` for an OVA that an engine exported. State the copies as the sources of the disks afterwards."},
	}
}
