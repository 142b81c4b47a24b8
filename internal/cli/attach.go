package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vmseed/vmseed"
	"github.com/vmseed/vmseed/delivery"
	"github.com/vmseed/vmseed/delivery/firmware"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/cloudconfig"
	"github.com/vmseed/vmseed/hypervisor"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/report"
	"github.com/vmseed/vmseed/seed"
)

// runWays are the values of run's --delivery.
func runWays() []string { return []string{"auto", "iso", "vfat", "fw_cfg", "virtio-blk"} }

// reporters are the parts by which a guest reports: each data source takes the one that its guests understand.
func reporters() []machine.Layer {
	return []machine.Layer{report.Reporter(), report.IgnitionReporter()}
}

// attachSeed has the machine's seed delivered below dir and attached to the VM.
func (a *app) attachSeed(ctx context.Context, f *runFlags, m machine.Machine, vm *hypervisor.VM, l *diag.List, dir string) error {
	o := f.inputFlags.options()
	if f.seed == "" {
		o.Extra = reporters()
	} else if done, err := a.prepared(f, vm, &m); done || err != nil {
		return err
	} else {
		o.DataSource = "ignition"
	}
	s, problems := a.engine.Render(m, o)
	*l = append(*l, problems...)
	if l.HasErrors() {
		return nil
	}
	if s.DataSource != "ignition" {
		*l = append(*l, vendorDataOff(m)...)
	}
	ways, problems, err := a.ways(f.delivery, m, s)
	*l = append(*l, problems...)
	if err != nil {
		return err
	}
	receipts, err := a.engine.DeliverAll(ctx, s, ways, dir)
	for _, r := range receipts {
		vm.Attachments = append(vm.Attachments, r.Attachments...)
	}
	if err != nil && ctx.Err() == nil && isInputError(err) {
		err = &exitError{exitInput, err}
	}
	return err
}

// prepared attaches the seed of --seed. An image is attached as it is, and that is done then. A file or directory with an
// Ignition config is made the only thing that the machine's guest is told: its platform decides how it gets that.
func (a *app) prepared(f *runFlags, vm *hypervisor.VM, m *machine.Machine) (done bool, err error) {
	path, err := filepath.Abs(f.seed)
	if err == nil {
		err = f.checkPlatform()
	}
	if err != nil {
		return true, err
	}
	s, err := a.engine.Open(f.seed)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return true, usagef("--seed: %w", err)
	case err != nil && !errors.Is(err, delivery.ErrNotSeed):
		return true, err
	case err == nil && s.DataSource != "" && len(s.Volumes) > 0 && s.Volumes[0].Label != "":
		if f.dataSource+f.ignitionPlatform != "" || f.delivery != "" && f.delivery != "auto" {
			return true, usagef("--seed attaches the image %s as it is, so --delivery, --datasource and --ignition-platform would change nothing", f.seed)
		}
		vm.Attachments = []seed.Attachment{{Kind: seed.Drive, Path: path, Label: s.Volumes[0].Label}}
		return true, nil
	}
	config, _, ok := s.Ignition()
	if !ok || len(s.Volumes) > 0 {
		return true, &exitError{exitInput, fmt.Errorf("--seed: %s is no image of a seed and no Ignition config", f.seed)}
	}
	if f.dataSource != "" && f.dataSource != "ignition" {
		return true, usagef("--seed: %s is an Ignition config, which --datasource %s does not read", f.seed, f.dataSource)
	}
	*m = machine.Machine{Name: m.Name, Namespace: m.Namespace, Hardware: m.Hardware, Identity: machine.Identity{UUID: m.Identity.UUID},
		Guest:    machine.Guest{IgnitionPlatform: m.Guest.IgnitionPlatform},
		Ignition: []machine.Layer{{Name: "the prepared seed " + f.seed, Data: config}}}
	return false, nil
}

// ways decides how the parts of a seed reach the guest: as the user asks, and as the machine's architecture can.
func (a *app) ways(asked string, m machine.Machine, s seed.Seed) (vmseed.Ways, diag.List, error) {
	var l diag.List
	ways := vmseed.Ways{Volumes: "iso", Firmware: "fw_cfg"}
	h, ok := a.engine.Hypervisors[0].(hypervisor.FirmwareConfigurer)
	fwCfg := ok && h.HasFwCfg(m)
	if !fwCfg {
		ways.Firmware = "virtio-blk"
	}
	switch asked {
	case "iso", "vfat":
		if len(s.Volumes) == 0 {
			return ways, l, usagef("--delivery %s: the seed has no volume, because Ignition's platform reads the firmware; leave --delivery out, or choose another --ignition-platform", asked)
		}
		ways.Volumes = asked
	case "fw_cfg", "virtio-blk":
		if s.Firmware.IsZero() {
			return ways, l, usagef("--delivery %s: the seed has nothing for the firmware; leave --delivery out, or choose --datasource ignition with the platform qemu", asked)
		}
		ways.Firmware = asked
		if asked == "virtio-blk" && fwCfg {
			l.Warnf(CodeNotRead, m.Places.Find("hardware.arch"), "leave --delivery out",
				"where there is a firmware configuration device Ignition reads that, and no block device")
		}
	}
	return ways, l, nil
}

// describeSeed says which way every part of the seed goes.
func describeSeed(f *runFlags, m machine.Machine, attached []seed.Attachment) string {
	source := "nocloud"
	switch {
	case f.seed != "":
		source = f.seed
	case f.dataSource != "":
		source = f.dataSource
	case m.DataSource != "":
		source = m.DataSource
	}
	var parts []string
	for _, x := range attached {
		switch {
		case x.Kind == seed.FwCfgFile:
			parts = append(parts, x.Name+" by fw_cfg")
		case x.Kind == seed.Drive && x.Serial == firmware.Serial:
			parts = append(parts, "Ignition config by virtio-blk")
		case x.Kind == seed.Drive && x.Label != "":
			parts = append(parts, x.Label+" by "+strings.TrimPrefix(filepath.Ext(x.Path), "."))
		case x.Kind == seed.Drive:
			parts = append(parts, filepath.Base(x.Path))
		case x.Kind == seed.SMBIOSRow:
			parts = append(parts, fmt.Sprintf("%s of SMBIOS type %d", x.Field, x.Type))
		}
	}
	return source + ": " + strings.Join(slices.Compact(parts), ", ")
}

// vendorDataOff warns of user-data that switches off the vendor-data, with which the guest reports.
func vendorDataOff(m machine.Machine) diag.List {
	var l diag.List
	for _, x := range m.UserData.Layers {
		doc, _ := cloudconfig.Parse(x.Origin, []byte(x.Data.Reveal()))
		if doc == nil {
			continue
		}
		setting := doc.Get("vendor_data")
		for i := 0; setting != nil && i+1 < len(setting.Content); i += 2 {
			if on, ok := cloudconfig.Truth(setting.Content[i+1]); setting.Content[i].Value == "enabled" && ok && !on {
				l.Warnf(report.CodeVendorDataOff, doc.Range(setting), "leave vendor_data out",
					"vendor-data is switched off, so the guest cannot report; its console is read instead, which shows less")
			}
		}
	}
	return l
}
