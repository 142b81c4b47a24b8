package lint

import "github.com/vmseed/vmseed/diag"

// The diagnostics of this package.
const (
	// CodeUnknownKey is for top-level keys that no module of cloud-init reads.
	CodeUnknownKey diag.Code = 3100 + iota
	// CodeUnknownField is for keys inside a value that cloud-init does not know there.
	CodeUnknownField
	// CodeType is for values of a wrong type.
	CodeType
	// CodeMissing is for values without a key that they need.
	CodeMissing
	// CodeValue is for values outside of what is allowed.
	CodeValue
	// CodeDeprecated is for forms that cloud-init deprecates.
	CodeDeprecated
	// CodeRelease is for what the named release does not know.
	CodeRelease
	// CodeIgnored is for user-data that cloud-init ignores as a whole.
	CodeIgnored
	// CodeEmpty is for documents without content.
	CodeEmpty
	// CodeVariable is for values that look like an unrendered template.
	CodeVariable
	// CodeHow is for a way to merge that cloud-init does not understand.
	CodeHow
	// CodeJinja is for templates of kinds that cloud-init does not render.
	CodeJinja
	// CodeInclude is for parts that are fetched by the guest.
	CodeInclude
	// CodeDefaultUser is for user lists that leave out the distribution's user.
	CodeDefaultUser
	// CodePassword is for passwords that will not work.
	CodePassword
	// CodeFile is for files that will not be as their author means.
	CodeFile
	// CodeSixty is for texts that YAML 1.1 reads as numbers to the base 60.
	CodeSixty
	// CodeMount is for mounts that are skipped.
	CodeMount
	// CodeMetaData is for meta-data that does not do what it seems to.
	CodeMetaData
	// CodeVendor is for vendor-data that user-data hides or switches off.
	CodeVendor
	// CodeHeader is for MIME headers that cloud-init does not read.
	CodeHeader
	// CodeScript is for scripts that the guest cannot run.
	CodeScript
)

// Codes explains the diagnostics of this package.
func Codes() []diag.Explanation {
	return []diag.Explanation{
		{Code: CodeUnknownKey, Title: "unknown top-level key",
			Text: "No module of cloud-init reads this key of a cloud-config, so that it has no effect. Often it is misspelt, " +
				"belongs one level deeper, or belongs into meta-data or network-config instead."},
		{Code: CodeUnknownField, Title: "unknown key inside a value",
			Text: "cloud-init does not know this key at this place. Most modules ignore it; newer releases report it as a " +
				"schema error, which makes `cloud-init status` say *degraded*."},
		{Code: CodeType, Title: "wrong type",
			Text: "The value has a type that cloud-init does not expect here. Some modules convert it, some skip it, some fail. " +
				"A common cause is YAML 1.1: unquoted `yes`, `0644`, `12:30` and `2030-01-01` are no strings."},
		{Code: CodeMissing, Title: "required key is missing",
			Text: "The module needs this key and skips the entry, or fails, without it."},
		{Code: CodeValue, Title: "value is not allowed",
			Text: "The value has the right type, but is not among those that cloud-init accepts here."},
		{Code: CodeDeprecated, Title: "deprecated form",
			Text: "cloud-init still accepts this form but announces its end. Since 23.4 that makes `cloud-init status` exit with " +
				"2 instead of 0, which breaks scripts that wait for 0."},
		{Code: CodeRelease, Title: "unknown to this release",
			Text: "Another release of cloud-init knows this, the one that was named with `--guest` does not: it is newer, or it was removed."},
		{Code: CodeIgnored, Title: "user-data is ignored",
			Text: "cloud-init tells the kind of user-data by its first line, such as `#cloud-config` or `#!/bin/sh`. Text without " +
				"such a line, base64, Ignition configs and text behind a byte order mark are ignored with one line in a log."},
		{Code: CodeEmpty, Title: "document is empty",
			Text: "The document has a header line and nothing else. cloud-init drops it with a warning."},
		{Code: CodeVariable, Title: "value looks like an unrendered template",
			Text: "The value has the form of a variable, `${name}` or `{{ name }}`, and nothing will replace it: cloud-init " +
				"renders jinja only, and only in documents whose first line is `## template: jinja`."},
		{Code: CodeHow, Title: "cannot be merged",
			Text: "`merge_how`, `merge_type` or a `Merge-Type` header asks for a merger that cloud-init does not have. It drops " +
				"the whole part then."},
		{Code: CodeJinja, Title: "template of an unsupported kind",
			Text: "cloud-init renders jinja templates of cloud-configs, scripts and boothooks. What else a template renders to is ignored."},
		{Code: CodeInclude, Title: "the guest fetches this",
			Text: "An include makes the guest fetch user-data over the network while it boots. When a URL cannot be fetched after " +
				"ten tries, all user-data is lost, not only that part."},
		{Code: CodeDefaultUser, Title: "default user is left out",
			Text: "With a `users` list that lacks the item `default`, the distribution's own user is not created. Top-level keys " +
				"such as `ssh_authorized_keys` and `password`, and the SSH keys of the meta-data, belong to that user. " +
				"Add `- default` as the first item, or give the keys to one of the users."},
		{Code: CodePassword, Title: "password will not work",
			Text: "`passwd`, `hashed_passwd` and `chpasswd` entries of type hash need a hash as `mkpasswd` makes it, not the password " +
				"itself. An account stays locked for passwords unless `lock_passwd` is false."},
		{Code: CodeFile, Title: "file will not be as it seems",
			Text: "`write_files` needs absolute paths and octal permissions in quotes, writes files before users exist unless " +
				"`defer` is true, and of two entries for one path only the last survives."},
		{Code: CodeSixty, Title: "number to the base 60",
			Text: "YAML 1.1 reads digits with colons, such as `12:30:45` or a MAC address without letters, as one number to the " +
				"base 60. Put it into quotes."},
		{Code: CodeMount, Title: "mount is skipped",
			Text: "An entry of `mounts` needs a device and a mount point at least. Others are skipped with a line in a log."},
		{Code: CodeMetaData, Title: "meta-data without effect",
			Text: "NoCloud reads few keys of meta-data: `instance-id`, `local-hostname`, `public-keys`, `dsmode`, `seedfrom`, " +
				"`network-interfaces`, `launch-index` and the description of the cloud. Anything else is there for templates only. " +
				"Without `instance-id` all machines share the id `nocloud`."},
		{Code: CodeVendor, Title: "vendor-data is hidden",
			Text: "cloud-init unites the mappings of user-data and vendor-data. Of anything else that both have, lists included, it " +
				"takes what the user-data says and leaves out what the vendor-data says."},
		{Code: CodeHeader, Title: "MIME header is not read",
			Text: "cloud-init looks for the fields `Merge-Type` and `X-Merge-Type` in exactly this spelling, and not in parts that " +
				"are compressed."},
		{Code: CodeScript, Title: "script cannot run",
			Text: "The first line of a script names its interpreter. Without `#!` the kernel does not run it."},
	}
}
