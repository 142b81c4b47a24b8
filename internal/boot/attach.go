package boot

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
	"github.com/vmseed/vmseed/delivery/metadata"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/cloudconfig"
	"github.com/vmseed/vmseed/hypervisor"
	"github.com/vmseed/vmseed/internal/supervisor"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/report"
	"github.com/vmseed/vmseed/report/intake"
	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

// Ways are the values of Options.Delivery: how the guest gets its seed.
func Ways() []string {
	return []string{"auto", "iso", "vfat", "fw_cfg", "virtio-blk", "smbios", byHTTP}
}

// byHTTP is the way of what the guest fetches, and the name of the delivery.
const byHTTP = "metadata"

// Reporters are the parts by which a guest reports: each data source takes the one that its guests understand.
func Reporters() []machine.Layer {
	return []machine.Layer{report.Reporter(), report.IgnitionReporter()}
}

// attach has the machine's seed delivered below dir and attached to the VM.
func (p *Prepared) attach(ctx context.Context, m machine.Machine, o Options, l *diag.List, dir string) error {
	e, render := p.launcher.Engine, o.Render
	render.HTTP = render.HTTP || o.Delivery == byHTTP
	var s seed.Seed
	var problems diag.List
	var err error
	if o.Seed == "" {
		s, problems, err = p.launcher.Render(m, render, func() (secret.Text, error) { return supervisor.ReportKey(p.VM.StateDir) })
	} else {
		var done bool
		if done, err = p.prepared(o, &m); done || err != nil {
			return err
		}
		render.DataSource = "ignition"
		s, problems = e.Render(m, render)
	}
	if err != nil {
		return err
	}
	*l = append(*l, problems...)
	if l.HasErrors() {
		return nil
	}
	switch {
	case o.NoSeed && o.VM.Booted && len(s.Trees) > 0:
		// A service is no drive that can be pulled out: a guest that was set up by one asks for it at each boot, and would
		// do so for minutes. It is told who it is, and nothing that is for a first boot.
		s.Volumes, s.Seal = slices.DeleteFunc(s.Volumes, func(v seed.Volume) bool { return v.Name == "" }), true
	case o.NoSeed && s.DataSource != "": // else the first volume is a medium of the machine's own
		s = seed.Seed{Machine: s.Machine, Volumes: slices.DeleteFunc(s.Volumes, func(v seed.Volume) bool { return v.Name == "" })}
	case s.DataSource != "" && s.DataSource != "ignition" && s.DataSource != "ec2":
		*l = append(*l, vendorDataOff(m)...)
	}
	if nothing(s) {
		return nil
	}
	ways, problems, err := p.launcher.ways(o.Delivery, m, s)
	*l = append(*l, problems...)
	if err != nil {
		return err
	}
	receipts, err := e.DeliverAll(ctx, s, ways, dir)
	for _, r := range receipts {
		p.VM.Attachments = append(p.VM.Attachments, r.Attachments...)
	}
	if err == nil && s.Seal && o.VM.Booted {
		err = sealed(receipts)
	}
	if err != nil && ctx.Err() == nil && OfInput(err) {
		err = &InputError{err}
	}
	return err
}

// Render makes the seed that a run of a machine has: with what makes its guest report how the first boot goes. Where that is by
// HTTP, the URL is signed with the key, which is asked for then only. Its error is the only one.
func (l *Launcher) Render(m machine.Machine, o vmseed.RenderOptions, key func() (secret.Text, error)) (seed.Seed, diag.List, error) {
	o.Extra = slices.Concat(o.Extra, Reporters())
	s, problems := l.Engine.Render(m, o)
	if len(s.Trees) == 0 || problems.HasErrors() {
		return s, problems, nil
	}
	signer, err := key()
	if err != nil {
		return s, problems, err
	}
	path := intake.Path(signer, m.Namespace+"/"+m.Name, m.Identity.Instance())
	o.Extra = slices.Concat(o.Extra, intake.Layers(secret.New(metadata.DefaultBase+path.Reveal())))
	s, problems = l.Engine.Render(m, o)
	return s, append(problems, intake.Lost(m, false)...), nil
}

// sealed withdraws from a guest whose first boot is over what it needed for that alone.
func sealed(receipts []delivery.Receipt) error {
	for _, r := range receipts {
		for _, a := range r.Attachments {
			if a.Kind != seed.Endpoint {
				continue
			}
			if err := metadata.SealFile(a.Path); err != nil {
				return err
			}
		}
	}
	return nil
}

// OfInput tells errors of a delivery that the content of the seed causes from those that the disk does: a name that no
// volume can hold, a directory that holds something else.
func OfInput(err error) bool {
	var pathError *os.PathError
	var system interface{ Timeout() bool } // syscall.Errno
	return !errors.As(err, &pathError) && !errors.As(err, &system)
}

// prepared attaches the prepared seed. An image is attached as it is, and that is done then. A file or directory with an
// Ignition config is made the only thing that the machine's guest is told: its platform decides how it gets that.
func (p *Prepared) prepared(o Options, m *machine.Machine) (done bool, err error) {
	path, err := filepath.Abs(o.Seed)
	if err != nil {
		return true, err
	}
	s, err := p.launcher.Engine.Open(o.Seed)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return true, optionf("--seed: %w", err)
	case err != nil && !errors.Is(err, delivery.ErrNotSeed):
		return true, err
	case err == nil && s.DataSource != "" && len(s.Volumes) > 0 && s.Volumes[0].Label != "":
		if o.Render.DataSource+o.Render.IgnitionPlatform != "" || o.Delivery != "" && o.Delivery != "auto" {
			return true, optionf("--seed attaches the image %s as it is, so --delivery, --datasource and --ignition-platform would change nothing", o.Seed)
		}
		p.VM.Attachments = []seed.Attachment{{Kind: seed.Drive, Path: path, Label: s.Volumes[0].Label}}
		return true, nil
	}
	config, _, ok := s.Ignition()
	switch {
	case !ok && len(s.Trees) > 0:
		return true, &InputError{fmt.Errorf("--seed: %s is what a metadata service serves, and not attached to a machine; run the definition with --delivery metadata, or serve it with vmseed metadata", o.Seed)}
	case !ok || len(s.Volumes) > 0:
		return true, &InputError{fmt.Errorf("--seed: %s is no image of a seed and no Ignition config", o.Seed)}
	}
	if o.Render.DataSource != "" && o.Render.DataSource != "ignition" {
		return true, optionf("--seed: %s is an Ignition config, which --datasource %s does not read", o.Seed, o.Render.DataSource)
	}
	*m = machine.Machine{Name: m.Name, Namespace: m.Namespace, Hardware: m.Hardware, Identity: machine.Identity{UUID: m.Identity.UUID},
		Guest:    machine.Guest{IgnitionPlatform: m.Guest.IgnitionPlatform},
		Ignition: []machine.Layer{{Name: "the prepared seed " + o.Seed, Data: config}}}
	return false, nil
}

// nothing reports whether a seed has no part that is delivered.
func nothing(s seed.Seed) bool {
	return len(s.Volumes) == 0 && len(s.Trees) == 0 && s.Firmware.IsZero()
}

// Fits returns an *UnfitError when the guest of a machine cannot get a seed in one of Ways.
func (l *Launcher) Fits(way string, m machine.Machine, s seed.Seed) error {
	if nothing(s) {
		return nil
	}
	_, _, err := l.ways(way, m, s)
	return err
}

// UnfitError means that a guest cannot get its seed in the way that was asked for. It is inside an OptionError. The remedy names
// the flags of vmseed run.
type UnfitError struct{ Way, Reason, Remedy string }

// Error says why, and what to do.
func (e *UnfitError) Error() string {
	return fmt.Sprintf("--delivery %s: %s; %s", e.Way, e.Reason, e.Remedy)
}

// ways decides how the parts of a seed reach the guest: as the user asks, and as the machine's architecture can.
func (l *Launcher) ways(asked string, m machine.Machine, s seed.Seed) (vmseed.Ways, diag.List, error) {
	var list diag.List
	ways := vmseed.Ways{Volumes: "iso", Firmware: "fw_cfg"}
	h, ok := l.Engine.Hypervisors[0].(hypervisor.FirmwareConfigurer)
	fwCfg := ok && h.HasFwCfg(m)
	if !fwCfg {
		ways.Firmware = "virtio-blk"
	}
	if len(s.Firmware.Credentials) > 0 {
		ways.Firmware = credentialsWay(m, s)
	}
	if len(s.Trees) > 0 {
		ways.Trees = byHTTP
	}
	unfit := func(remedy, reason string, args ...any) (vmseed.Ways, diag.List, error) {
		return ways, list, &OptionError{&UnfitError{Way: asked, Reason: fmt.Sprintf(reason, args...), Remedy: remedy}}
	}
	switch asked {
	case byHTTP:
		if len(s.Trees) == 0 {
			return unfit("choose --datasource nocloud, ec2, openstack or ignition", "the guests of the data source %s fetch nothing by HTTP", s.DataSource)
		}
	case "iso", "vfat":
		if len(s.Trees) > 0 {
			return unfit("leave --delivery out, choose metadata, or --datasource nocloud or configdrive",
				"the seed has no volume, because the guests of the data source %s fetch theirs by HTTP", s.DataSource)
		}
		if len(s.Volumes) == 0 && len(s.Firmware.Credentials) > 0 {
			return unfit("leave --delivery out, or choose smbios or fw_cfg", "the seed has no volume, because systemd reads its credentials from the firmware")
		}
		if len(s.Volumes) == 0 {
			return unfit("leave --delivery out, or choose another --ignition-platform", "the seed has no volume, because Ignition's platform reads the firmware")
		}
		ways.Volumes = asked
	case "smbios":
		if len(s.Firmware.Credentials) == 0 {
			return unfit("leave --delivery out, or choose --datasource credentials", "the seed has no credentials of systemd")
		}
		ways.Firmware = asked
	case "fw_cfg", "virtio-blk":
		if s.Firmware.IsZero() {
			return unfit("leave --delivery out, or choose --datasource ignition with the platform qemu", "the seed has nothing for the firmware")
		}
		ways.Firmware = asked
		if asked == "virtio-blk" && fwCfg {
			list.Warnf(CodeNotRead, m.Places.Find("hardware.arch"), "leave --delivery out",
				"where there is a firmware configuration device Ignition reads that, and no block device")
		}
	}
	list = append(list, uncertain(m, s, ways.Firmware)...)
	return ways, list, nil
}

// describe says what kind of seed a guest gets, and which way every part of it goes.
func describe(o Options, m machine.Machine, attached []seed.Attachment) string {
	source := "nocloud"
	switch {
	case o.Seed != "":
		source = o.Seed
	case o.Render.DataSource != "":
		source = o.Render.DataSource
	case m.DataSource != "":
		source = m.DataSource
	}
	var parts []string
	for _, x := range attached {
		switch {
		case x.Kind == seed.FwCfgFile && strings.HasPrefix(x.Name, seed.CredentialItem):
			parts = append(parts, "credentials by fw_cfg")
		case x.Kind == seed.FwCfgFile:
			parts = append(parts, x.Name+" by fw_cfg")
		case x.Kind == seed.Drive && x.Serial == firmware.Serial:
			parts = append(parts, "Ignition config by virtio-blk")
		case x.Kind == seed.Drive && x.Label != "":
			parts = append(parts, x.Label+" by "+strings.TrimPrefix(filepath.Ext(x.Path), "."))
		case x.Kind == seed.Drive:
			parts = append(parts, filepath.Base(x.Path))
		case x.Kind == seed.Endpoint:
			parts = append(parts, "HTTP at "+x.Value)
		case x.Kind == seed.SMBIOSRow && x.Name != "":
			parts = append(parts, "credentials by SMBIOS")
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
