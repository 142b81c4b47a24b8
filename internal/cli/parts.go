package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/vmseed/vmseed/delivery"
	"github.com/vmseed/vmseed/delivery/firmware"
	"github.com/vmseed/vmseed/delivery/metadata"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/seed"
)

// step is a part of a seed with its format and place.
type step struct {
	format string
	seed   seed.Seed
	target delivery.Target
	// note is what a user is told once it is written.
	note string
}

// formatOf is the format of a seed: what is asked for, or what fits it.
func formatOf(s seed.Seed, asked string, dir bool) string {
	switch {
	case asked != "":
		return asked
	case !hasVolume(s) && len(s.Firmware.Credentials) > 0:
		return "smbios"
	case dir:
		return "dir"
	case len(s.Trees) > 0:
		return "metadata"
	case !hasVolume(s) && len(s.Firmware.FwCfg) > 0:
		return "ign"
	}
	return "iso"
}

// hasVolume reports whether a seed has a volume that is the seed proper.
func hasVolume(s seed.Seed) bool { return len(s.Volumes) > 0 && s.Volumes[0].Name == "" }

// ofFirmware reports whether a format is one of what is in the firmware.
func ofFirmware(format string) bool {
	return format == "ign" || format == "fw_cfg" || format == "virtio-blk" || format == "smbios"
}

// steps gives every part of a seed a format. The part that the format is of gets the target; the other one is written
// beside it, under the machine's name.
func (a *app) steps(s seed.Seed, format string, t delivery.Target) []step {
	if len(s.Trees) > 0 {
		return treeSteps(s, format, t)
	}
	if format == "ign" && s.Firmware.IsZero() && hasVolume(s) {
		a.leaveOut(s)
	}
	split := len(s.Volumes) > 0 && !s.Firmware.IsZero() && format != "dir" && t.Writer == nil
	if !split || !ofFirmware(format) && !hasVolume(s) {
		only := step{format: format, seed: s, target: t}
		if format == "smbios" {
			only.note = firmware.SMBIOS().Uncertain(s)
		}
		return []step{only}
	}
	volumes, config := s, s
	volumes.Firmware, config.Volumes = seed.Firmware{}, nil
	beside := delivery.Target{Path: filepath.Dir(filepath.Clean(t.Path)), Dir: true}
	if t.Dir {
		beside = t
	}
	first, second := step{format: format, seed: volumes, target: t}, step{format: "ign", seed: config, target: beside}
	what := "Ignition config"
	if ofFirmware(format) {
		first.seed, second.seed, second.format, what = config, volumes, "iso", "volume"
	}
	second.note = "the " + what + " is written beside it, as " + beside.FilePath(s.Machine, "", second.format)
	return []step{first, second}
}

// treeSteps are the steps of a seed that its guest fetches. Where the format is one file of trees, further media and an Ignition
// config for the firmware are written beside it.
func treeSteps(s seed.Seed, format string, t delivery.Target) []step {
	first := step{format: format, seed: s, target: t, note: finds(s, format, t.Base)}
	if format != "metadata" || t.Writer != nil {
		return []step{first}
	}
	first.seed.Volumes, first.seed.Firmware.FwCfg = nil, nil
	out := []step{first}
	beside := delivery.Target{Path: filepath.Dir(filepath.Clean(t.Path)), Dir: true}
	if t.Dir {
		beside = t
	}
	rest := seed.Seed{Machine: s.Machine, DataSource: s.DataSource, Identity: s.Identity}
	if len(s.Volumes) > 0 {
		media := rest
		media.Volumes = s.Volumes
		out = append(out, step{format: "iso", seed: media, target: beside})
	}
	if len(s.Firmware.FwCfg) > 0 {
		rest.Firmware.FwCfg = s.Firmware.FwCfg
		out = append(out, step{format: "ign", seed: rest, target: beside,
			note: "the Ignition config is written beside it, as " + beside.FilePath(s.Machine, "", "ign")})
	}
	return out
}

// anywhere reports whether the guest of a seed is told where its server is, and does not look at a fixed address.
func anywhere(s seed.Seed) bool {
	return len(s.Trees) > 0 && (s.Trees[0].Name == "nocloud" || s.Trees[0].Name == "ignition")
}

// finds says what the guest of a seed that is fetched needs besides.
func finds(s seed.Seed, format, base string) string {
	var needs []string
	for _, row := range s.Firmware.SMBIOS {
		needs = append(needs, fmt.Sprintf("the SMBIOS string type=%d,%s=%s", row.Type, row.Field, row.Value))
	}
	if len(s.KernelArgs) > 0 {
		needs = append(needs, "the kernel arguments "+strings.Join(s.KernelArgs, " "))
	}
	text := s.Machine.String() + ": "
	if format == "dir" {
		const readable = " (its files are for their owner alone: let the web server's user read them)"
		switch {
		case anywhere(s):
			text += "the directory is what a web server has at " + base + readable
		case s.Trees[0].Name == "ec2":
			text += "the directory shows what the guest finds at " + base + ", but a web server of files cannot serve it, because it gives neither " +
				"session tokens nor EC2's listings and dated versions: serve it with vmseed metadata"
		default:
			text += "the directory is what a web server has at " + base + ", which has to list directories one name a line, as vmseed metadata does" + readable
		}
		text += "; "
	} else {
		text += "the guest looks for a server at " + base + "; "
	}
	return strings.ReplaceAll(text+"the VM needs "+strings.Join(needs, ", and "), seed.Base, base)
}

// checkPaths refuses parts that would be written over each other.
func checkPaths(steps []step) error {
	taken := map[string]bool{}
	for _, s := range steps {
		if s.format == "dir" || s.target.Writer != nil {
			continue
		}
		names := []string{""} // what is in the firmware
		if len(s.seed.Volumes) > 0 {
			names = nil
		}
		for _, v := range s.seed.Volumes {
			names = append(names, v.Name)
		}
		for _, name := range names {
			path := filepath.Clean(s.target.FilePath(s.seed.Machine, name, s.format))
			if taken[path] {
				return usagef("two parts of the seeds would be written to %s; choose another PATH", path)
			}
			taken[path] = true
		}
	}
	return nil
}

// leaveOut says what of a volume is not in the config that is taken out of it.
func (a *app) leaveOut(s seed.Seed) {
	if _, _, ok := s.Ignition(); !ok {
		return
	}
	for _, f := range s.Volumes[0].Files {
		if !seed.IsUserData(f.Path) && f.Content.Len() > 0 {
			var l diag.List
			l.Warnf(CodeLeftOut, diag.Range{}, "choose --format iso", "the volume labelled %s holds instance data beside the Ignition config, which alone is written", s.Volumes[0].Label)
			_ = a.report(l, false)
			return
		}
	}
}

// say tells the user something on standard error, unless a program reads that.
func (a *app) say(text string) {
	if a.diagnostics == string(diag.Text) {
		fmt.Fprintln(a.Err, text)
	}
}

// remedy adds to an error of a delivery which other one fits the seed.
func remedy(err error, s seed.Seed) error {
	switch {
	case (errors.Is(err, delivery.ErrNoVolume) || errors.Is(err, delivery.ErrPart)) && len(s.Trees) > 0:
		return fmt.Errorf("%w; choose --format metadata for a file that vmseed's server reads, or dir for another web server's root", err)
	case (errors.Is(err, delivery.ErrNoVolume) || errors.Is(err, delivery.ErrPart)) && len(s.Firmware.Credentials) > 0:
		return fmt.Errorf("%w; choose --format smbios for the credentials", err)
	case errors.Is(err, delivery.ErrNoVolume), errors.Is(err, delivery.ErrPart):
		return fmt.Errorf("%w; choose --format ign for an Ignition config", err)
	case errors.Is(err, metadata.ErrNoTree):
		return fmt.Errorf("%w; choose --datasource ec2, openstack or nocloud-net, or --http, to have one", err)
	case errors.Is(err, firmware.ErrNoConfig):
		return fmt.Errorf("%w; choose --datasource ignition to have one", err)
	case errors.Is(err, delivery.ErrNoFirmware):
		return fmt.Errorf("%w; choose --format iso", err)
	}
	return err
}
