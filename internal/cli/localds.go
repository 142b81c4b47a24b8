package cli

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vmseed/vmseed/datasource/nocloud"
	"github.com/vmseed/vmseed/delivery"
	"github.com/vmseed/vmseed/frontend/plain"
	"github.com/vmseed/vmseed/internal/atomicfile"
	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

// localds is cloud-localds: it takes that tool's arguments and passes the files as they are.
func (a *app) localds() *cobra.Command {
	return &cobra.Command{
		Use: "cloud-localds OUT USER-DATA [META-DATA]", Short: "Make a NoCloud seed with the arguments of cloud-localds",
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := plain.ParseLocalds(args)
			switch {
			case err != nil:
				// The tool ends with 1 on every error, and scripts may look at that; its usage goes to standard error.
				fmt.Fprint(a.Err, plain.LocaldsUsage("cloud-localds"))
				return &exitError{1, err}
			case o.Help:
				_, err := fmt.Fprint(a.Out, plain.LocaldsUsage("cloud-localds"))
				return err
			}
			if err := a.localSeed(cmd.Context(), o); err != nil {
				return &exitError{1, err}
			}
			if o.Verbose > 0 && o.Output != "-" {
				fmt.Fprintf(a.Err, "wrote %s with file system %s and disk format %s\n", o.Output, o.Filesystem, o.DiskFormat)
			}
			return nil
		},
	}
}

func (a *app) localSeed(ctx context.Context, o plain.LocaldsOptions) error {
	docs, err := o.Documents(a.readFile)
	if err != nil {
		return err
	}
	v := seed.Volume{Label: nocloud.Label}
	for _, d := range docs {
		v.Files = append(v.Files, seed.File{Path: o.Path(d.Role), Content: secret.FromBytes(d.Data)})
	}
	write := func(w io.Writer) error { return a.localImage(ctx, w, o, v) }
	switch {
	case o.DiskFormat != "raw":
		return a.localDisk(ctx, o, write)
	case o.Output == "-":
		return write(a.Out)
	}
	return atomicfile.Write(o.Output, write)
}

// localImage writes the file system or archive.
func (a *app) localImage(ctx context.Context, w io.Writer, o plain.LocaldsOptions, v seed.Volume) error {
	format := map[string]string{"iso9660": "iso", "vfat": "vfat"}[o.Filesystem]
	if format != "" {
		_, err := a.engine.Deliver(ctx, seed.Seed{Volumes: []seed.Volume{v}}, format, delivery.Target{Writer: w})
		return err
	}
	t := tar.NewWriter(w)
	for _, f := range v.Files {
		text := f.Content.Reveal()
		if err := t.WriteHeader(&tar.Header{Name: f.Path, Mode: 0o644, Size: int64(len(text))}); err != nil {
			return err
		}
		if _, err := io.WriteString(t, text); err != nil {
			return err
		}
	}
	return t.Close()
}

// localDisk converts the image to another disk format, which only qemu-img can write.
func (a *app) localDisk(ctx context.Context, o plain.LocaldsOptions, write func(io.Writer) error) error {
	if o.Output == "-" {
		return fmt.Errorf("disk format %s cannot be written to standard output", o.DiskFormat)
	}
	tool, err := exec.LookPath("qemu-img")
	if err != nil {
		return errors.New("disk formats other than raw need qemu-img; install the package qemu-utils")
	}
	dir, err := os.MkdirTemp(filepath.Dir(o.Output), ".vmseed-localds-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	raw, disk := filepath.Join(dir, "raw"), filepath.Join(dir, "disk")
	if err := atomicfile.Write(raw, write); err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, tool, "convert", "-f", "raw", "-O", o.DiskFormat, raw, disk).CombinedOutput()
	if err != nil {
		return fmt.Errorf("qemu-img: %w: %s", err, strings.TrimSpace(string(out)))
	}
	if err := os.Chmod(disk, atomicfile.FileMode); err != nil {
		return err
	}
	return os.Rename(disk, o.Output)
}
