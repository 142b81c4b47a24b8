package cli

import "github.com/vmseed/vmseed/diag"

// The diagnostics of this package.
const (
	// CodeOverride is for values of the definition that a flag overrides.
	CodeOverride diag.Code = 1100 + iota
	// CodeNoPartition is for a mounted partition of a disk that has none.
	CodeNoPartition
)

// Codes explains the diagnostics of this package.
func Codes() []diag.Explanation {
	return []diag.Explanation{
		{Code: CodeOverride, Title: "flag overrides the definition", Text: "The definition states a value, and a flag of the command another. The flag wins."},
		{Code: CodeNoPartition, Title: "disk without a partition table",
			Text: "A volume of Virtlet's driver is mounted by its first partition unless its option `part` says otherwise. The file that `--volume` " +
				"names has no partition table, so the guest would not find anything to mount. Set `part: \"0\"` for a bare file system."},
	}
}
