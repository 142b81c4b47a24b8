package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vmseed/vmseed"
	"github.com/vmseed/vmseed/daemon/client"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

// renderer is the daemon that renders for commands which need none; it is empty for this program. The environment does not
// count: what is on this host stays here unless the command line says otherwise.
func (a *app) renderer() string {
	if a.hostGiven {
		return a.host
	}
	return ""
}

// notThere refuses flags that a daemon has no use for.
func notThere(cmd *cobra.Command, names ...string) error {
	for _, name := range names {
		if cmd.Flags().Changed(name) {
			return usagef("--%s does not go with --host", name)
		}
	}
	return nil
}

// inputHere are the flags of input that only this program honours.
var inputHere = []string{"cni-result", "no-multipart", "feature-gates", "userdata-limit", "dsmode", "hostname", "http"}

// renderFlags give a command the flags for a daemon that renders in this program's place. A program that has a cluster for that
// knows no daemons.
func (a *app) renderFlags(cmd *cobra.Command, here ...string) {
	if a.cluster != nil {
		return
	}
	a.hostFlags(cmd)
	cmd.Flags().Lookup("host").Usage = "let this daemon do it: https://HOST:PORT"
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if a.renderer() != "" {
			if err := notThere(cmd, append(here, inputHere...)...); err != nil {
				return err
			}
		}
		return run(cmd, args)
	}
}

// documents are files of the command line as a daemon takes them.
func documents(inputs []vmseed.Input) []client.Document {
	out := make([]client.Document, len(inputs))
	for i, in := range inputs {
		out[i] = client.Document{Name: in.File, Role: string(in.Role), Text: secret.FromBytes(in.Data)}
	}
	return out
}

// request asks a daemon for what guests would read.
func (a *app) request(ctx context.Context, in *inputFlags, args []string) (there, client.RenderRequest, error) {
	var none client.RenderRequest
	if err := errors.Join(in.checkPlatform(), checkGuest(in.guest)); err != nil {
		return there{}, none, err
	}
	inputs, err := a.read(ctx, in, args)
	if err != nil {
		return there{}, none, err
	}
	c, err := a.client()
	return there{a, c}, client.RenderRequest{Documents: documents(inputs), Settings: in.settings(), Generation: in.revision}, err
}

// settings are what the flags state beside the documents.
func (in *inputFlags) settings() client.Settings {
	return client.Settings{Pick: in.name, DataSource: in.dataSource, IgnitionPlatform: in.ignitionPlatform, Guest: in.guest}
}

// remarks takes the diagnostics out of a daemon's error. What is left is another error.
func (t there) remarks(err error) (diag.List, error) {
	var no *client.Error
	if errors.As(err, &no) && len(no.Diagnostics) > 0 {
		return client.List(no.Diagnostics), nil
	}
	return nil, t.trouble(err)
}

// seedsThere has a daemon render the machines of the command line.
func (a *app) seedsThere(ctx context.Context, in *inputFlags, args []string) ([]seed.Seed, diag.List, error) {
	t, r, err := a.request(ctx, in, args)
	if err != nil {
		return nil, nil, err
	}
	r.Reveal = true
	result, err := t.client.Render(ctx, r)
	if err != nil {
		l, err := t.remarks(err)
		return nil, l, err
	}
	var out []seed.Seed
	for _, s := range result.Seeds {
		x, err := received(s)
		if err != nil {
			return nil, nil, err
		}
		out = append(out, x)
	}
	return out, client.List(result.Diagnostics), nil
}

// checkThere has a daemon say what is wrong with the definitions of the command line.
func (a *app) checkThere(ctx context.Context, in *inputFlags, args []string) (diag.List, error) {
	t, r, err := a.request(ctx, in, args)
	if err != nil {
		return nil, err
	}
	found, err := t.client.Check(ctx, r)
	if err != nil {
		return t.remarks(err)
	}
	return client.List(found), nil
}

// received is a seed that a daemon has sent.
func received(in client.Seed) (seed.Seed, error) {
	out := seed.Seed{Machine: seed.Name{Namespace: in.Namespace, Name: in.Name}, DataSource: in.DataSource, KernelArgs: in.KernelArgs,
		Identity: seed.Identity{InstanceID: in.InstanceID, UUID: in.UUID, Hostname: in.Hostname}, Seal: in.Seal}
	whole := func(f client.File) error {
		if f.Truncated || f.Masked {
			return fmt.Errorf("the daemon did not send the whole of %s", f.Path)
		}
		return nil
	}
	var errs []error
	for _, v := range in.Volumes {
		x := seed.Volume{Name: v.Name, Label: v.Label, Format: v.Format, Path: v.Image}
		for _, f := range v.Files {
			mode := uint64(0)
			if f.Mode != "" {
				var err error
				if mode, err = strconv.ParseUint(f.Mode, 8, 32); err != nil {
					errs = append(errs, fmt.Errorf("%s: %w", f.Path, err))
				}
			}
			errs = append(errs, whole(f))
			x.Files = append(x.Files, seed.File{Path: f.Path, Content: f.Content, Mode: uint32(mode)})
		}
		out.Volumes = append(out.Volumes, x)
	}
	for _, t := range in.Trees {
		x := seed.Tree{Name: t.Name, Roots: t.Roots, Tokens: seed.Tokens(t.Tokens), HopLimit: t.HopLimit}
		for _, f := range t.Files {
			errs = append(errs, whole(f))
			x.Blobs = append(x.Blobs, seed.Blob{Path: f.Path, Content: f.Content, ContentType: f.ContentType, Sealable: f.Sealable})
		}
		out.Trees = append(out.Trees, x)
	}
	for _, f := range in.Firmware {
		errs = append(errs, whole(f))
		out.Firmware.FwCfg = append(out.Firmware.FwCfg, seed.FwCfg{Name: f.Path, Content: f.Content})
	}
	for _, f := range in.Credentials {
		errs = append(errs, whole(f))
		out.Firmware.Credentials = append(out.Firmware.Credentials, seed.Credential{Name: f.Path, Content: f.Content})
	}
	for _, row := range in.SMBIOS {
		var x seed.SMBIOS
		head, value, _ := strings.Cut(row, "=")
		if _, err := fmt.Sscanf(head, "type %d %s", &x.Type, &x.Field); err != nil {
			errs = append(errs, fmt.Errorf("the daemon sent an SMBIOS string that is none: %w", err))
		}
		x.Value = value
		out.Firmware.SMBIOS = append(out.Firmware.SMBIOS, x)
	}
	return out, errors.Join(errs...)
}
