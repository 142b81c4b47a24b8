package ignconfig

import "github.com/vmseed/vmseed/diag"

// The diagnostics of this package.
const (
	// CodeForeign is for texts of another kind.
	CodeForeign diag.Code = 3400 + iota
	// CodeSyntax is for texts that are not JSON, or another JSON than a config.
	CodeSyntax
	// CodeVersion is for versions that are missing, unreadable or not supported.
	CodeVersion
	// CodeType is for values of a wrong type.
	CodeType
	// CodeInvalid is for configs that Ignition refuses for what they say.
	CodeInvalid
	// CodeUnknownKey is for keys that Ignition ignores.
	CodeUnknownKey
	// CodeDoubtful is for what Ignition itself warns about.
	CodeDoubtful
	// CodeMode is for modes in octal digits.
	CodeMode
	// CodeUser is for users that cannot be made.
	CodeUser
	// CodeSSHKey is for keys that let nobody in.
	CodeSSHKey
	// CodePasswordHash is for password hashes that are none.
	CodePasswordHash
	// CodeOverwrite is for files that the image has already.
	CodeOverwrite
	// CodeEmpty is for configs that do nothing.
	CodeEmpty
	// CodeContent is for data: URLs that a guest cannot unpack or whose hash is wrong.
	CodeContent
	// CodeOldSpecification is for configs of specification 2, which are translated.
	CodeOldSpecification
	// CodeNotTranslated is for what specification 2 says and specification 3 cannot.
	CodeNotTranslated
	// CodeButane is for what Butane refuses or doubts.
	CodeButane
	// CodeGuestVersion is for configs that are newer than the guest's Ignition.
	CodeGuestVersion
	// CodeGuestLacks is for what the guest's distribution cannot do or does not have.
	CodeGuestLacks
)

// Codes explains the diagnostics of this package.
func Codes() []diag.Explanation {
	return []diag.Explanation{
		{Code: CodeForeign, Title: "not an Ignition config",
			Text: "Ignition reads one JSON object. It stops the boot at anything else, with its JSON parser's complaint about the " +
				"first character: cloud-configs, scripts, base64, compressed data, a byte order mark. An empty text is the " +
				"exception: the guest boots as if there were no config."},
		{Code: CodeSyntax, Title: "not the JSON that Ignition reads",
			Text: "JSON has no comments, no comma behind the last value, and each key once. Ignition stops the boot at a syntax " +
				"error. Of a key that stands twice it silently takes the last; vmseed refuses it."},
		{Code: CodeVersion, Title: "version of the specification",
			Text: "`ignition.version` says which specification a config follows. Versions 3.0.0 to 3.6.0 are read, and 2.0.0 to " +
				"2.4.0, which are translated. An Ignition refuses every version newer than itself, so state the lowest one that " +
				"has what you use. Experimental versions are accepted by the one release that introduced them."},
		{Code: CodeType, Title: "value of a wrong type",
			Text: "Ignition stops the boot at a value of a wrong type. The most common one is a mode in quotes: JSON has no octal " +
				"numbers, so 0644 is written 420, and 0755 is 493."},
		{Code: CodeInvalid, Title: "Ignition refuses the config",
			Text: "The official library refuses this, and so does every guest: it stops at first boot, usually in an emergency " +
				"shell. Checking here costs nothing."},
		{Code: CodeUnknownKey, Title: "key is ignored",
			Text: "Ignition warns about a key that it does not know, in a journal that nobody reads, and goes on without it. It may " +
				"be misspelt, of a newer version than the config states, or of specification 2 or Butane."},
		{Code: CodeDoubtful, Title: "Ignition accepts this with a warning",
			Text: "The official library accepts the config, but doubts that this has the effect that its author wanted."},
		{Code: CodeMode, Title: "mode in octal digits",
			Text: "Modes are decimal numbers in JSON. `\"mode\": 644` is octal 1204: nobody may read the file, and the sticky bit is " +
				"set. Write 420 for 0644, 384 for 0600, 493 for 0755, 448 for 0700."},
		{Code: CodeUser, Title: "user cannot be made",
			Text: "Ignition calls useradd and usermod. When one of them fails, the boot stops."},
		{Code: CodeSSHKey, Title: "SSH key is not a public key",
			Text: "Ignition writes `sshAuthorizedKeys` as they stand, and the SSH server skips lines that it cannot read. An item is " +
				"one line of authorized_keys (sshd(8)): options if wanted, a type such as `ssh-ed25519`, the key in base64, a comment."},
		{Code: CodePasswordHash, Title: "password hash is none",
			Text: "`passwordHash` goes into /etc/shadow as it stands; nothing hashes or checks it. Hashes of crypt(5) begin with " +
				"`$y$` (yescrypt), `$6$` (sha512-crypt), `$5$` or `$2b$`. Guests with an older libcrypt, such as EL 8, do not know yescrypt."},
		{Code: CodeOverwrite, Title: "file may exist already",
			Text: "Since specification 3, Ignition does not replace a file of the image unless `overwrite` is true: it stops the boot. " +
				"The image of one distribution has /etc/hostname, that of another has not."},
		{Code: CodeEmpty, Title: "config does nothing",
			Text: "The config is valid and asks for nothing. The guest boots without users, keys or files."},
		{Code: CodeContent, Title: "content cannot be used",
			Text: "A guest unpacks contents that state `\"compression\": \"gzip\"` and then compares their hash with the one that is " +
				"given. It stops the boot when either fails."},
		{Code: CodeOldSpecification, Title: "specification 2 is translated",
			Text: "Specification 2 belongs to the old CoreOS Container Linux. No Ignition since 2.0 accepts it. vmseed translates such " +
				"a config with the official converter, after it has made files below /etc/systemd/network of the networkd section, " +
				"which specification 3 does not have. Write new configs by specification 3, or in Butane."},
		{Code: CodeNotTranslated, Title: "not expressible in specification 3",
			Text: "Specification 3 names file systems by path, has no entry twice and lets no path lead through a link of the same " +
				"config. Where a config of specification 2 relies on one of these, its meaning has to be decided by its author."},
		{Code: CodeButane, Title: "Butane document",
			Text: "Butane is YAML that is translated to Ignition. Its `variant` and `version` decide the specification of the result: " +
				"fcos 1.0.0 gives 3.0.0, fcos 1.7.0 gives 3.6.0, flatcar 1.0.0 gives 3.3.0. vmseed reads no files for it: " +
				"contents stand inline, or the document is translated with the `butane` command first."},
		{Code: CodeGuestVersion, Title: "config is newer than the guest's Ignition",
			Text: "An Ignition accepts its own version of the specification and older ones, and stops the boot at a newer one with " +
				"`unsupported config version`. Write the version that the message names, take an image with a newer Ignition, or leave out " +
				"what only the newer version has. If the guest is not the one that you meant, name another with `--guest`."},
		{Code: CodeGuestLacks, Title: "guest cannot do this",
			Text: "The specification allows it, the guest's distribution does not: a group that its image lacks makes useradd fail, " +
				"kernel arguments need a boot loader that Ignition can change. Either stops the boot."},
	}
}
