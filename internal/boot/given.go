package boot

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/vmseed/vmseed/delivery"
	"github.com/vmseed/vmseed/internal/supervisor"
	"github.com/vmseed/vmseed/seed"
)

// Given reads back what the guest of a VM was given at its last start: all that the plan names of the VM's directory, as one
// seed. Images that a definition names elsewhere are not read. The error is os.ErrNotExist for a VM that has no directory.
func (l *Launcher) Given(dir string) (seed.Seed, error) {
	plan, err := supervisor.LoadPlan(dir)
	if err != nil {
		return seed.Seed{}, err
	}
	out := seed.Seed{Machine: seed.Name{Namespace: plan.Namespace, Name: plan.Name}}
	entries, err := os.ReadDir(dir)
	errs := []error{err}
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), seedMark) && names(plan, "/"+e.Name()+"/") {
			below, err := os.ReadDir(filepath.Join(dir, e.Name()))
			errs = append(errs, err)
			for _, x := range below {
				errs = append(errs, l.readBack(filepath.Join(dir, e.Name(), x.Name()), &out))
			}
		} else if names(plan, "/"+e.Name()) {
			errs = append(errs, l.readBack(filepath.Join(dir, e.Name()), &out))
		}
	}
	return out, errors.Join(errs...)
}

// readBack adds what a delivery wrote to a path. Of a VM's other files, such as its disks, there is nothing to add.
func (l *Launcher) readBack(path string, to *seed.Seed) error {
	medium, isMedium := strings.CutPrefix(filepath.Base(path), to.Machine.String()+".")
	if !isMedium && !strings.HasPrefix(filepath.Base(path), "seed.") {
		return nil
	}
	part, err := l.Engine.Open(path)
	if errors.Is(err, delivery.ErrNotSeed) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, v := range part.Volumes {
		if isMedium {
			v.Name = strings.TrimSuffix(medium, filepath.Ext(medium))
		} else {
			to.DataSource = part.DataSource
		}
		to.Volumes = append(to.Volumes, v)
	}
	if to.DataSource == "" {
		to.DataSource = part.DataSource
	}
	to.Trees = append(to.Trees, part.Trees...)
	to.Firmware.FwCfg = append(to.Firmware.FwCfg, part.Firmware.FwCfg...)
	to.Firmware.Credentials = append(to.Firmware.Credentials, part.Firmware.Credentials...)
	to.Firmware.SMBIOS = append(to.Firmware.SMBIOS, part.Firmware.SMBIOS...)
	return nil
}
