package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/vmseed/vmseed/format/kubeobject"
	"github.com/vmseed/vmseed/image"
	"github.com/vmseed/vmseed/internal/boot"
	"github.com/vmseed/vmseed/internal/supervisor"
)

// imageStore is where images are kept that were fetched.
func imageStore() (*image.Store, error) {
	store, err := boot.UserImages()
	if err != nil {
		return nil, &exitError{exitEnvironment, err}
	}
	return store, nil
}

// imageTrouble gives errors about an image that the command line names their exit status.
func imageTrouble(err error) error {
	if err == nil {
		return nil
	}
	status := map[image.Fault]int{image.BadReference: exitUsage, image.BadImage: exitInput}[image.FaultOf(err)]
	if status == 0 {
		status = exitEnvironment
	}
	return &exitError{status, err}
}

// pulling returns a callback that shows a fetch: on a terminal as a bar, else by one line at its beginning.
func (p *progress) pulling(ref image.Reference) func(image.Progress) {
	start, begun := time.Now(), false
	return func(s image.Progress) {
		if s.Waiting {
			p.phase("image", "waiting for another vmseed that pulls "+ref.String())
			return
		}
		if !begun {
			p.phase("image", "pulling "+ref.String())
			p.end()
			begun = true
		}
		if p.live {
			fmt.Fprintf(p.out, "\r%7s  %-10s %-60s", time.Since(p.start).Round(100*time.Millisecond), "", bar(s, time.Since(start)))
			p.open = true
		}
	}
}

// bar draws how far a fetch has come.
func bar(s image.Progress, since time.Duration) string {
	const width = 24
	rate := ""
	if seconds := since.Seconds(); seconds > 0.5 {
		rate = fmt.Sprintf("  %s/s", megabytes(int64(float64(s.Done)/seconds)))
	}
	if s.Total <= 0 {
		return megabytes(s.Done) + rate
	}
	share := min(float64(s.Done)/float64(s.Total), 1)
	full := int(share * width)
	return fmt.Sprintf("[%s%s] %3.0f%%  %s of %s%s", strings.Repeat("#", full), strings.Repeat("-", width-full), 100*share,
		megabytes(s.Done), megabytes(s.Total), rate)
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

func (a *app) imageCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "image", Short: "Fetch, list and remove guest images",
		Long: `Image keeps the guest images that run and definitions name: files behind URLs with a
checksum, container images that hold a disk (KubeVirt's containerDisk), and the short
names ` + strings.Join(image.Names(), ", ") + `.
They lie in the user's cache directory, by their hash.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("there is no command image %q; see vmseed image --help", args[0])
			}
			return cmd.Help()
		}}
	cmd.AddCommand(a.imageList(), a.imagePull(), a.imagePrune())
	return cmd
}

func (a *app) imageList() *cobra.Command {
	var output string
	var verify bool
	cmd := &cobra.Command{Use: "ls", Aliases: []string{"list"}, Short: "List the images on this host", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output != "" && output != "json" {
				return usagef("-o takes json, not %q", output)
			}
			store, err := imageStore()
			if err != nil {
				return err
			}
			entries, err := store.List(cmd.Context(), verify)
			if err != nil {
				return hostTrouble(err)
			}
			if output == "json" {
				return a.printJSON(append([]image.Entry{}, entries...))
			}
			w := tabwriter.NewWriter(a.Out, 0, 8, 2, ' ', 0)
			fmt.Fprintln(w, "IMAGE\tARCH\tFORMAT\tSIZE\tHASH\tUSED\tSTATE")
			for _, e := range entries {
				state := "ok"
				if e.Broken {
					state = "broken"
				}
				names := e.Names
				if len(names) == 0 {
					names = []image.Name{{Reference: "-"}}
				}
				for _, n := range names {
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", n.Reference, orDash(n.Arch), orDash(string(e.Format)), megabytes(e.Size), e.SHA256[:12],
						e.Used.Local().Format("2006-01-02 15:04"), state)
				}
			}
			return w.Flush()
		}}
	cmd.Flags().StringVarP(&output, "output", "o", "", "json")
	cmd.Flags().BoolVar(&verify, "verify", false, "compute the hash of every image, instead of trusting size and time of change")
	return cmd
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s takes no arguments, not %q", cmd.CommandPath(), args[0])
	}
	return nil
}

func (a *app) imagePull() *cobra.Command {
	var checksum, arch, maxSize string
	cmd := &cobra.Command{Use: "pull REF", Short: "Fetch an image and print where it is",
		Long: `Pull fetches an image, or asks whether the one on this host is still what REF means, and
prints the path of the image. REF is one of

    https://HOST/FILE#sha256=HEX           or sha512=HEX, or --checksum
    https://HOST/FILE#checksum=SHA256SUMS  a list of checksums, beside the file or at a URL
    REGISTRY/REPOSITORY:TAG                or @sha256:HEX: a container image with a disk
    docker://NAME                          the same, when NAME means something else here
    oci:DIRECTORY[:TAG]                    a container image on this host
    oci-archive:FILE[:TAG]                 the same as a tar archive
    docker-archive:FILE                    what docker save writes
    ` + strings.Join(image.Names(), ", "),
		Example: `  vmseed image pull quay.io/containerdisks/debian:13
  vmseed image pull https://example.org/web.qcow2 --checksum https://example.org/SHA256SUMS`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("image pull needs one REF; see vmseed image pull --help")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			ref, err := image.Parse(args[0])
			if err == nil && checksum != "" {
				ref, err = ref.SetChecksum(checksum)
			}
			if err != nil {
				return imageTrouble(err)
			}
			store, err := imageStore()
			if err != nil {
				return err
			}
			if maxSize != "" {
				q, err := kubeobject.ParseQuantity(maxSize)
				n, whole := q.Whole()
				if err != nil || !whole || n <= 0 {
					return usagef("--max-size takes a size such as 100Gi, not %q", maxSize)
				}
				store.MaxBytes = n
			}
			p := a.progress("")
			defer p.end()
			i, err := store.Pull(cmd.Context(), ref, image.Options{Arch: arch, Progress: p.pulling(ref)})
			p.end()
			switch {
			case err != nil && cmd.Context().Err() != nil:
				return interrupted()
			case err != nil:
				return imageTrouble(err)
			}
			fmt.Fprintln(a.Out, i.Path)
			return i.Close()
		}}
	cmd.Flags().StringVar(&checksum, "checksum", "", "checksum of the file at a URL: sha256:HEX, sha512:HEX, or a list of checksums at an https URL")
	cmd.Flags().StringVar(&arch, "arch", "", "architecture: amd64, arm64 and so on (default that of this host)")
	cmd.Flags().StringVar(&maxSize, "max-size", "", "size of the largest image that is taken, unpacked (default 64Gi)")
	return cmd
}

func (a *app) imagePrune() *cobra.Command {
	var all bool
	var olderThan string
	cmd := &cobra.Command{Use: "prune", Short: "Remove images that nothing needs", Args: noArguments,
		Long: `Prune removes images that are broken or that no name leads to any more, and with a flag
others as well. Images that a VM's disk is an overlay on are kept, whatever the flags.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o := image.PruneOptions{All: all}
			if olderThan != "" {
				var err error
				if o.Unused, err = age(olderThan); err != nil || o.Unused <= 0 {
					return usagef("--older-than takes a time such as 30d or 12h, not %q", olderThan)
				}
				if all {
					return usagef("--all and --older-than exclude each other")
				}
			}
			store, err := imageStore()
			if err != nil {
				return err
			}
			used, err := a.imagesInUse(store)
			if err != nil {
				return hostTrouble(err)
			}
			// The name of an image is its hash, so the name says which one it is from wherever it is looked at.
			o.InUse = func(path string) bool { return slices.Contains(used, filepath.Base(path)) }
			gone, err := store.Prune(cmd.Context(), o)
			var freed int64
			for _, e := range gone {
				freed += e.Size
				var names []string
				for _, n := range e.Names {
					names = append(names, n.Reference)
				}
				fmt.Fprintf(a.Out, "%s  %s\n", e.SHA256[:12], orDash(strings.Join(names, ", ")))
			}
			if err != nil {
				return hostTrouble(err)
			}
			fmt.Fprintf(a.Err, "%s removed, %s\n", count(len(gone), "image"), megabytes(freed))
			return nil
		}}
	cmd.Flags().BoolVar(&all, "all", false, "remove every image that no VM needs")
	cmd.Flags().StringVar(&olderThan, "older-than", "", "also remove images that were not used for so long, such as 30d or 12h")
	a.stateDirFlag(cmd)
	return cmd
}

// age reads a time with days.
func age(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * 24 * time.Hour, err
	}
	return time.ParseDuration(text)
}

// imagesInUse returns the names of the files that disks of VMs are overlays on, in every directory of VMs that is known.
func (a *app) imagesInUse(store *image.Store) ([]string, error) {
	roots, err := store.Users()
	if err != nil {
		return nil, err
	}
	root, err := a.vmRoot()
	if err != nil {
		return nil, err
	}
	usual, err := supervisor.Root()
	if err != nil {
		return nil, err
	}
	roots = append(roots, root, usual)
	slices.Sort(roots)
	var out []string
	for _, root := range slices.Compact(roots) {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				var base string
				if base, err = image.Backing(path); base != "" {
					out = append(out, filepath.Base(base))
				}
			}
			// VMs are removed while this goes on.
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}
