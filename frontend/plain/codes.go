package plain

import "github.com/vmseed/vmseed/diag"

// The diagnostics of this package.
const (
	// CodeTwice is for a second file of a role that takes one.
	CodeTwice diag.Code = 2000 + iota
	// CodeMetaData is for meta-data that a guest cannot read.
	CodeMetaData
	// CodeConflict is for a flag and a file that state the same thing.
	CodeConflict
	// CodeHostname is for a host name that no guest accepts.
	CodeHostname
	// CodeDSMode is for an unknown dsmode.
	CodeDSMode
	// CodeRole is for a file that nothing is known to do with.
	CodeRole
)

// Codes explains the diagnostics of this package.
func Codes() []diag.Explanation {
	return []diag.Explanation{
		{Code: CodeTwice, Title: "two files for one purpose",
			Text: "A guest reads one meta-data and one network-config. Several files of user-data or vendor-data are fine: they " +
				"become parts that cloud-init merges."},
		{Code: CodeMetaData, Title: "meta-data is not a mapping of texts",
			Text: "meta-data is a YAML or JSON mapping. cloud-init meets any other text with no more than a warning and gives " +
				"the machine the instance id `nocloud`, which all such machines then share. The values of `instance-id` and " +
				"`local-hostname` are texts: quote them where YAML would read a number or a date."},
		{Code: CodeConflict, Title: "flag and meta-data disagree",
			Text: "The same thing is stated by a flag and, with another value, by the meta-data file. Remove one of the two."},
		{Code: CodeHostname, Title: "not a host name",
			Text: "A host name is made of labels of at most 63 letters, digits, hyphens and underscores, joined by dots, 253 characters in all."},
		{Code: CodeDSMode, Title: "unknown dsmode",
			Text: "cloud-init knows the modes `local` (run before the network is up), `net` (the default) and `disabled`, and " +
				"treats everything else as `net`."},
		{Code: CodeRole, Title: "nothing to do with this file",
			Text: "vmseed takes user-data, meta-data, vendor-data and network-config, each by the flag of its name, and " +
				"user-data without a flag when its first line says what it is, such as `#cloud-config` or `#!/bin/sh`. Ignition " +
				"configs are told by their member `ignition`, Butane documents by `variant` and `version`."},
	}
}
