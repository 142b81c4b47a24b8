package kubevirt

import (
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/tree"
)

// mediaVolume reads a volume that becomes a medium of its own: a secret, configMap, sysprep, serviceAccount or downwardAPI.
// disk is the entry of the disk that names it, or absent.
func (r *reader) mediaVolume(kind string, volume, disk tree.Value) {}

// mediaCodes explains the diagnostics VS2440 to VS2469.
func mediaCodes() []diag.Explanation { return nil }
