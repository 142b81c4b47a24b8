package cli

import "github.com/vmseed/vmseed/diag"

// The diagnostics of this package.
const (
	// CodeOverride is for values of the definition that a flag overrides.
	CodeOverride diag.Code = 1100 + iota
	// CodeNoPartition is for a mounted partition of a disk that has none.
	CodeNoPartition
	// CodeNoShare is for shares without a directory of this host.
	CodeNoShare
	// CodeRestart is for machines that should be restarted when they end.
	CodeRestart
)

// Codes explains the diagnostics of this package.
func Codes() []diag.Explanation {
	return []diag.Explanation{
		{Code: CodeOverride, Title: "flag overrides the definition", Text: "The definition states a value, and a flag of the command another. The flag wins."},
		{Code: CodeNoPartition, Title: "disk without a partition table",
			Text: "A volume of Virtlet's driver is mounted by its first partition unless its option `part` says otherwise. The file that `--volume` " +
				"names has no partition table, so the guest would not find anything to mount. Set `part: \"0\"` for a bare file system."},
		{Code: CodeNoShare, Title: "share without a directory",
			Text: "The machine mounts a directory of its host, and this host has none of that path, or the definition leaves it to the cluster which one it is. " +
				"Name one with `--volume NAME=DIRECTORY`."},
		{Code: CodeRestart, Title: "machine is not restarted",
			Text: "The definition wants the machine started again when it has ended. `vmseed run` boots it once; `vmseed start` boots it again."},
	}
}
