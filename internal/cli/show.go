package cli

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/vmseed/vmseed/delivery"
	"github.com/vmseed/vmseed/delivery/metadata"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/internal/boot"
	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

func (a *app) show() *cobra.Command {
	var in inputFlags
	var asJSON, forRun bool
	cmd := &cobra.Command{
		Use: "show SEED|FILE...", Short: "Print what a guest would read",
		Long: `Show prints the files of a seed: an ISO or FAT image, a directory, an Ignition config,
a file for the metadata service, or what would be rendered from definitions. Of an
Ignition config it prints what the data: URLs hold as well; what a service answers
below several versions is printed once. The output holds the seed's secrets.`,
		Example: `  vmseed show seed.iso
  vmseed show --datasource openstack machine.yaml
  vmseed show --datasource nocloud-net --run --json machine.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if forRun {
				in.extra = boot.Reporters()
			}
			seeds, l, err := a.open(cmd.Context(), &in, args)
			if err != nil {
				return errors.Join(err, a.report(l, false))
			}
			if err := a.failed(l, false); err != nil {
				return err
			}
			if asJSON {
				return a.showJSON(seeds)
			}
			var text strings.Builder
			for i, s := range seeds {
				if i > 0 {
					fmt.Fprintln(&text)
				}
				showText(&text, s)
			}
			_, err = io.WriteString(a.Out, text.String())
			return err
		},
	}
	in.register(cmd)
	in.httpFlag(cmd)
	a.renderFlags(cmd, "run")
	cmd.Flags().BoolVar(&forRun, "run", false, "with what vmseed run adds: the part by which the guest reports")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// open reads the seeds that the arguments name, or renders them from definitions.
func (a *app) open(ctx context.Context, in *inputFlags, args []string) ([]seed.Seed, diag.List, error) {
	if err := in.checkPlatform(); err != nil {
		return nil, nil, err
	}
	if len(args) == 1 && len(in.files) == 0 && args[0] != "-" && !isAddress(args[0]) {
		s, err := a.engine.Open(args[0])
		info, statErr := os.Stat(args[0])
		isDir := statErr == nil && info.IsDir()
		switch {
		case err == nil && len(s.Volumes)+len(s.Trees) == 0 && !isDir && in.changes():
			// An Ignition config is a definition as well, which flags can add to.
		case err == nil:
			return []seed.Seed{s}, nil, nil
		case errors.Is(err, os.ErrNotExist):
			return nil, nil, usagef("%w", err)
		case !errors.Is(err, delivery.ErrNotSeed):
			return nil, nil, err
		}
		if isDir {
			return nil, nil, &exitError{exitInput, fmt.Errorf("%s holds no seed: it has neither meta-data nor openstack/latest/meta_data.json, nor latest/meta-data, nor %s alone", args[0], seed.IgnitionFile)}
		}
	}
	return a.seeds(ctx, in, args)
}

func showText(w io.Writer, s seed.Seed) {
	if s.Machine.Name != "" {
		fmt.Fprintf(w, "# machine %s/%s\n", s.Machine.Namespace, s.Machine.Name)
	}
	for _, f := range s.Firmware.FwCfg {
		name := "fw_cfg " + f.Name
		if f.Name == "" {
			name = "Ignition config"
		}
		showFile(w, name, f.Content.Reveal())
	}
	for _, c := range s.Firmware.Credentials {
		showFile(w, "credential "+c.Name, c.Content.Reveal())
	}
	for _, f := range s.Firmware.SMBIOS {
		fmt.Fprintf(w, "# SMBIOS type %d %s=%s\n", f.Type, f.Field, f.Value)
	}
	if len(s.KernelArgs) > 0 {
		fmt.Fprintf(w, "# kernel arguments, where the image's boot loader does not give them: %s\n", strings.Join(s.KernelArgs, " "))
	}
	if way := fmt.Sprint(s.Firmware.SMBIOS, s.KernelArgs); len(s.Trees) > 0 && strings.Contains(way, seed.Base) {
		fmt.Fprintf(w, "# %s is the URL of the server: %s unless render's --base says otherwise\n", seed.Base, metadata.DefaultBase)
	}
	for i, t := range s.Trees {
		if i > 0 {
			fmt.Fprintln(w)
		}
		showTree(w, t, s.Seal)
	}
	for _, v := range s.Volumes {
		head := "# volume"
		if v.Label != "" {
			head += " labelled " + v.Label
		}
		if v.Name == "" && s.DataSource != "" {
			head += ", for the data source " + s.DataSource
		}
		fmt.Fprintln(w, head)
		if v.Path != "" {
			fmt.Fprintf(w, "# prepared image %s\n", v.Path)
		}
		for _, f := range v.Files {
			showFile(w, f.Path, f.Content.Reveal())
		}
	}
}

// showFile shows one of the things that a guest reads under a heading.
func showFile(w io.Writer, name, text string) {
	fmt.Fprintf(w, "\n## %s (%d bytes)\n", name, len(text))
	if !printable(text) {
		fmt.Fprintln(w, "(binary)")
		return
	}
	if seed.IgnitionVersion(secret.New(text)) != "" {
		showIgnition(w, text)
		return
	}
	fmt.Fprint(w, text)
	if text != "" && !strings.HasSuffix(text, "\n") {
		fmt.Fprintln(w)
	}
}

// printable reports whether a text can be shown on a terminal without harm.
func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return r < 0x20 && r != '\n' && r != '\t' && r != '\r' || r == 0x7f || r >= 0x80 && r < 0xa0
	})
}

type shownFile struct {
	Path    string  `json:"path"`
	Size    int     `json:"size"`
	Mode    string  `json:"mode,omitempty"`
	Content *string `json:"content,omitempty"`
	Base64  string  `json:"base64,omitempty"`
}

type shownVolume struct {
	Name   string      `json:"name,omitempty"`
	Label  string      `json:"label,omitempty"`
	Format string      `json:"format,omitempty"`
	Image  string      `json:"image,omitempty"`
	Files  []shownFile `json:"files"`
}

type shownRow struct {
	Type  int    `json:"type"`
	Field string `json:"field"`
	Value string `json:"value"`
}

type shownFirmware struct {
	// FwCfg has the items of the firmware configuration device by their names.
	FwCfg  []shownFile `json:"fwCfg,omitempty"`
	SMBIOS []shownRow  `json:"smbios,omitempty"`
	// Credentials are those of systemd by their names.
	Credentials []shownFile `json:"credentials,omitempty"`
}

type shownSeed struct {
	Machine    *seed.Name     `json:"machine,omitempty"`
	DataSource string         `json:"dataSource,omitempty"`
	Identity   *seed.Identity `json:"identity,omitempty"`
	Firmware   *shownFirmware `json:"firmware,omitempty"`
	KernelArgs []string       `json:"kernelArguments,omitempty"`
	Trees      []shownTree    `json:"trees,omitempty"`
	// Seal says that what is sealable is withdrawn when the first boot is over.
	Seal    bool          `json:"seal,omitempty"`
	Volumes []shownVolume `json:"volumes"`
}

// shown describes a file for a program.
func shown(path string, content secret.Text, mode uint32) shownFile {
	text := content.Reveal()
	out := shownFile{Path: path, Size: len(text)}
	if mode != 0 {
		out.Mode = fmt.Sprintf("%04o", mode)
	}
	if utf8.ValidString(text) {
		out.Content = &text
	} else {
		out.Base64 = base64.StdEncoding.EncodeToString([]byte(text))
	}
	return out
}

func (a *app) showJSON(seeds []seed.Seed) error {
	var out []shownSeed
	for _, s := range seeds {
		x := shownSeed{DataSource: s.DataSource, KernelArgs: s.KernelArgs, Trees: shownTrees(s.Trees), Seal: s.Seal, Volumes: []shownVolume{}}
		if !s.Firmware.IsZero() {
			x.Firmware = &shownFirmware{}
			for _, f := range s.Firmware.FwCfg {
				x.Firmware.FwCfg = append(x.Firmware.FwCfg, shown(f.Name, f.Content, 0))
			}
			for _, c := range s.Firmware.Credentials {
				x.Firmware.Credentials = append(x.Firmware.Credentials, shown(c.Name, c.Content, 0))
			}
			for _, r := range s.Firmware.SMBIOS {
				x.Firmware.SMBIOS = append(x.Firmware.SMBIOS, shownRow(r))
			}
		}
		if s.Machine.Name != "" {
			x.Machine, x.Identity = &s.Machine, &s.Identity
		}
		for _, v := range s.Volumes {
			sv := shownVolume{Name: v.Name, Label: v.Label, Format: v.Format, Image: v.Path, Files: []shownFile{}}
			for _, f := range v.Files {
				sv.Files = append(sv.Files, shown(f.Path, f.Content, f.Mode))
			}
			x.Volumes = append(x.Volumes, sv)
		}
		out = append(out, x)
	}
	e := json.NewEncoder(a.Out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(struct {
		Seeds []shownSeed `json:"seeds"`
	}{out})
}
