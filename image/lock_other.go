//go:build !unix

package image

import "os"

// tryLock does nothing on systems without flock: two pulls of one image at a time both fetch it, and the later one
// replaces what the earlier one wrote by the same bytes.
func tryLock(*os.File, bool) (ok bool, err error) { return true, nil }
