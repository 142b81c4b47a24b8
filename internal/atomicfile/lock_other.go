//go:build !unix || solaris || aix

package atomicfile

import "os"

const exclusive, common, atOnce = 0, 0, 0

func flock(*os.File, int) (ok bool, err error) { return true, nil }
