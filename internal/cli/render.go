package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vmseed/vmseed/delivery"
	deliveries "github.com/vmseed/vmseed/delivery/all"
	"github.com/vmseed/vmseed/delivery/metadata"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/internal/boot"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/seed"
)

func (a *app) render() *cobra.Command {
	var in inputFlags
	var output, format, base string
	cmd := &cobra.Command{
		Use: "render -o PATH FILE...", Short: "Write what a guest reads at its first boot",
		Long: `Render writes the seed of every machine in the files.

With one machine, PATH is the file to write, or an existing directory that gets
<namespace>_<name>.iso; --format dir writes the tree into PATH. With several
machines PATH is a directory. - writes a single image to standard output.

An Ignition config that the guest finds in its firmware is a file: --format ign, which
is the default for a seed without a volume. Where a machine has a volume as well, the
config is written beside it as <namespace>_<name>.ign. Credentials of systemd are files
as well, one for each: --format smbios, which is the default for them.

What a guest fetches by HTTP (--datasource ec2, openstack or nocloud-net, or --http) is
one file for vmseed's own server: --format metadata, which is the default for it; or
with --format dir the root of another web server's directories. What the VM needs to
find the server is printed.`,
		Example: `  vmseed render -o seed.iso pod.yaml objects.yaml
  vmseed render -o seed.iso --user-data user-data --meta-data meta-data
  vmseed render -o tree/ --datasource configdrive machine.yaml
  vmseed render -o config.ign --datasource ignition machine.yaml
  vmseed render -o www/ --datasource nocloud-net --base http://192.0.2.1:8000/ machine.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if output == "" {
				return usagef("render needs -o PATH")
			}
			if err := checkBase(base); err != nil {
				return err
			}
			in.http = in.http || format == "metadata"
			seeds, l, err := a.seeds(cmd.Context(), &in, args)
			if err != nil {
				return errors.Join(err, a.report(l, false))
			}
			if err := a.failed(l, false); err != nil {
				return err
			}
			return a.write(cmd.Context(), seeds, written{output, format, base})
		},
	}
	in.register(cmd)
	in.httpFlag(cmd)
	a.renderFlags(cmd)
	cmd.Flags().StringVar(&base, "base", metadata.DefaultBase, "URL, with a slash at its end, at which the guest reaches the server of what it fetches")
	cmd.Flags().StringVarP(&output, "output", "o", "", "file, directory, or - for standard output")
	cmd.Flags().StringVar(&format, "format", "", listed(deliveries.Deliveries())+" (default: dir when PATH ends in / or is a directory, else metadata for what is fetched by HTTP, ign for an Ignition config in the firmware, smbios for credentials, iso for a volume)")
	return cmd
}

// seeds loads the machines of the command line and renders each. With errors in the list there are no seeds.
func (a *app) seeds(ctx context.Context, in *inputFlags, args []string) ([]seed.Seed, diag.List, error) {
	if a.renderer() != "" {
		return a.seedsThere(ctx, in, args)
	}
	machines, l, err := a.load(ctx, in, args)
	if err != nil || l.HasErrors() {
		return nil, l, err
	}
	if known := a.dataSources(); in.dataSource != "" && !slices.Contains(known, in.dataSource) {
		return nil, l, usagef("there is no data source %q; there are %s", in.dataSource, strings.Join(known, ", "))
	}
	out, problems := a.renderAll(machines, in)
	for _, s := range out {
		if in.http && len(s.Trees) == 0 && s.DataSource != "" && !problems.HasErrors() {
			return nil, l, usagef("guests of the data source %s fetch nothing by HTTP; choose --datasource openstack, ec2, nocloud or ignition", s.DataSource)
		}
	}
	return out, append(l, problems...), nil
}

// dataSources are the words for data sources. The last is the name that cloud-init had for NoCloud over HTTP.
func (a *app) dataSources() []string { return append(names(a.engine.DataSources), "nocloud-net") }

func (a *app) renderAll(machines []machine.Machine, in *inputFlags) ([]seed.Seed, diag.List) {
	var l diag.List
	var out []seed.Seed
	for _, m := range machines {
		s, problems := a.engine.Render(m, in.options())
		l = append(l, problems...)
		for i := range m.AgentUsers {
			at := fmt.Sprintf("agentUsers[%d]", i)
			l.Add(diag.Diagnostic{Code: CodeAgentUsers, Severity: diag.Warning, Range: m.Places.Find(at), Field: at,
				Summary: "no seed carries this: the guest agent sets it while vmseed run owns the machine"})
		}
		out = append(out, s)
	}
	return out, l
}

func names[P interface{ Name() string }](plugins []P) []string {
	var out []string
	for _, p := range plugins {
		out = append(out, p.Name())
	}
	return out
}

// written is where seeds are written, in which format, and the URL of the server of those that are fetched.
type written struct{ output, format, base string }

// write delivers the seeds to PATH.
func (a *app) write(ctx context.Context, seeds []seed.Seed, w written) (err error) {
	output, format := w.output, w.format
	slash := strings.HasSuffix(output, "/")
	info, statErr := os.Stat(output)
	isDir := statErr == nil && info.IsDir()
	if format != "" && !slices.Contains(names(a.engine.Deliveries), format) {
		return usagef("--format takes %s, not %q", strings.Join(names(a.engine.Deliveries), ", "), format)
	}
	var stream io.Writer
	switch {
	case output == "-" && len(seeds) > 1:
		return usagef("standard output takes one machine, the input has %d; pick one with --name", len(seeds))
	case output == "-" && format == "dir":
		return usagef("a directory does not fit on standard output; choose another --format")
	case output == "-":
		stream = a.Out
	case statErr == nil && !isDir && !info.Mode().IsRegular():
		// A pipe or device is written through; it must not be replaced by a file.
		f, err := os.OpenFile(output, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		stream = f
	case len(seeds) > 1 && statErr == nil && !isDir:
		return usagef("%s is a file, and the input has %d machines; name a directory, or pick one machine with --name", output, len(seeds))
	case !slash:
		// A directory that PATH itself names is made; one that it only leads through is rather misspelt.
		if dir := filepath.Dir(output); isMissing(dir) {
			return usagef("there is no directory %s; make it, or choose another PATH", dir)
		}
	}
	var steps []step
	for _, s := range seeds {
		if s.DataSource == "" && len(s.Volumes) == 0 {
			return &exitError{exitInput, fmt.Errorf("%s: nothing is to be written: the machine brings a medium of its own, or asks for no first boot", s.Machine.Name)}
		}
		format := formatOf(s, format, slash || isDir)
		if stream != nil && len(s.Volumes) > 0 && len(s.Firmware.FwCfg) > 0 {
			return usagef("%s takes one file, and the seed is a volume and an Ignition config; name a file, and the other is written beside it", output)
		}
		target := delivery.Target{Path: output, Dir: len(seeds) > 1 || format != "dir" && (isDir || slash), Writer: stream, Base: w.base}
		if target.Dir && format == "dir" && anywhere(s) {
			target.Base += s.Machine.String() + "/" // so that one web server has them all
		}
		steps = append(steps, a.steps(s, format, target)...)
	}
	if err := checkPaths(steps); err != nil {
		return err
	}
	written, err := a.deliver(ctx, steps)
	if err != nil {
		if errors.Is(statErr, fs.ErrNotExist) {
			_ = os.Remove(output) // a directory that was made for nothing
		}
		return err
	}
	if format == "" && stream == nil && !slash && !isDir && len(seeds) == 1 && steps[0].format == "smbios" {
		note := fmt.Sprintf("%s is an OEM string with a credential, for QEMU's -smbios type=11,path=%s", output, output)
		if others := len(steps[0].seed.Firmware.Credentials) - 1; others > 0 {
			note += fmt.Sprintf("; %s beside it with the others, as %s.N.smbios", count(others, "file"), steps[0].seed.Machine)
		}
		a.say(note)
	}
	if len(seeds) > 1 && !slash && !isDir {
		a.say(fmt.Sprintf("the input has %d machines, so %s is a directory; in it are %s", len(seeds), output, strings.Join(written, ", ")))
	}
	return nil
}

func isMissing(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// deliver carries the steps out and returns the names of what it wrote. When one fails, those before it are taken back.
func (a *app) deliver(ctx context.Context, steps []step) (written []string, err error) {
	var done []delivery.Receipt
	for _, s := range steps {
		receipt, err := a.engine.Deliver(ctx, s.seed, s.format, s.target)
		if err != nil {
			err = errors.Join(remedy(err, s.seed), a.engine.Remove(context.WithoutCancel(ctx), done...))
			if ctx.Err() == nil && boot.OfInput(err) {
				return nil, &exitError{exitInput, err}
			}
			return nil, &exitError{exitEnvironment, err}
		}
		done = append(done, receipt)
		for _, path := range receipt.Paths {
			written = append(written, filepath.Base(path))
		}
	}
	for _, s := range steps {
		if s.note != "" {
			a.say(s.note)
		}
	}
	return written, nil
}
