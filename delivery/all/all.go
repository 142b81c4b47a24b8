// Package all lists every delivery that vmseed has.
package all

import (
	"github.com/vmseed/vmseed/delivery"
	"github.com/vmseed/vmseed/delivery/dir"
	"github.com/vmseed/vmseed/delivery/firmware"
	"github.com/vmseed/vmseed/delivery/metadata"
	"github.com/vmseed/vmseed/delivery/volume"
)

// Deliveries returns the deliveries, the default one first.
func Deliveries() []delivery.Delivery {
	return []delivery.Delivery{
		volume.ISO(),
		volume.VFAT(),
		dir.New(),
		firmware.Ign(),
		firmware.FwCfg(),
		firmware.VirtioBlk(),
		firmware.SMBIOS(),
		metadata.New(),
	}
}
