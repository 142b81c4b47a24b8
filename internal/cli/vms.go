package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/vmseed/vmseed/internal/supervisor"
	"github.com/vmseed/vmseed/report"
)

// stateDirFlag gives a command the flag for where VMs are kept.
func (a *app) stateDirFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&a.stateDir, "state-dir", "", "where VMs are kept (default $XDG_STATE_HOME/vmseed/vms)")
}

func (a *app) vmRoot() (string, error) {
	if a.stateDir != "" {
		return filepath.Abs(a.stateDir)
	}
	root, err := supervisor.Root()
	if err != nil {
		return "", &exitError{exitEnvironment, err}
	}
	return root, nil
}

// vmCommand makes a command about one VM, whose NAME is NAME or NAMESPACE/NAME.
func (a *app) vmCommand(use, short string, run func(ctx context.Context, args []string) error) *cobra.Command {
	return &cobra.Command{Use: use, Short: short,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("%s needs the NAME of a VM; see vmseed list", cmd.Name())
			}
			// Only a usage with more than NAME takes more than one.
			if len(args) > 1 && cmd.Use == cmd.Name()+" NAME" {
				return usagef("%s takes one VM, not %s as well", cmd.Name(), strings.Join(args[1:], " "))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			err := run(cmd.Context(), args)
			if errors.Is(err, supervisor.ErrNotRunning) || errors.Is(err, supervisor.ErrRunning) {
				return usagef("%s: %w", args[0], err)
			}
			return hostTrouble(err)
		},
		ValidArgsFunction: a.completeVM,
	}
}

// onVM makes a command about a VM of this host or of a daemon's.
func (a *app) onVM(use, short string, run func(ctx context.Context, v vm, args []string) error) *cobra.Command {
	cmd := a.vmCommand(use, short, func(ctx context.Context, args []string) error {
		v, err := a.find(ctx, args[0])
		if err != nil {
			return err
		}
		return run(ctx, v, args[1:])
	})
	a.placeFlags(cmd)
	return cmd
}

// onVMHere makes a command about a VM of this host.
func (a *app) onVMHere(use, short string, run func(ctx context.Context, c *supervisor.Client, args []string) error) *cobra.Command {
	cmd := a.vmCommand(use, short, func(ctx context.Context, args []string) error {
		c, err := a.findOnlyHere(args[0])
		if err != nil {
			return err
		}
		return run(ctx, c, args[1:])
	})
	a.stateDirFlag(cmd)
	return cmd
}

func (a *app) printJSON(v any) error {
	e := json.NewEncoder(a.Out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

func (a *app) list() *cobra.Command {
	var output string
	cmd := &cobra.Command{Use: "list", Aliases: []string{"ls", "ps"}, Short: "List the VMs of this host", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output != "" && output != "json" {
				return usagef("-o takes json, not %q", output)
			}
			p, err := a.where()
			if err != nil {
				return err
			}
			all, err := p.list(cmd.Context())
			if err != nil {
				return err
			}
			if output == "json" {
				return a.printJSON(all)
			}
			w := tabwriter.NewWriter(a.Out, 0, 8, 2, ' ', 0)
			// On which accelerator a VM runs a daemon tells in its events alone.
			_, remote := p.(there)
			row := func(columns ...string) {
				if remote {
					columns = columns[:len(columns)-1]
				}
				fmt.Fprintln(w, strings.Join(columns, "\t"))
			}
			row("NAMESPACE", "NAME", "STATUS", "FIRST BOOT", "SSH", "ACCEL")
			for _, vm := range all {
				row(vm.Namespace, vm.Name, string(vm.State.Status), firstBoot(vm.State), vm.sshAddress(), vm.State.Accel)
			}
			return w.Flush()
		}}
	cmd.Flags().StringVarP(&output, "output", "o", "", "json")
	a.placeFlags(cmd)
	return cmd
}

func firstBoot(s supervisor.State) string {
	if s.FirstBoot == nil {
		return "-"
	}
	ok, _ := report.Judge(*s.FirstBoot, report.FailOnWarning)
	switch r := s.FirstBoot.Result; {
	case r != nil && !r.FirstBoot:
		return "done earlier"
	case !ok:
		return "failed"
	}
	return string(s.FirstBoot.Stage)
}

func (a *app) inspect() *cobra.Command {
	var output string
	cmd := a.onVM("inspect NAME", "Print everything that is known of a VM", func(ctx context.Context, v vm, _ []string) error {
		if output != "json" {
			return usagef("-o takes json, not %q", output)
		}
		info, err := v.describe(ctx)
		if err != nil {
			return err
		}
		return a.printJSON(info)
	})
	cmd.Flags().StringVarP(&output, "output", "o", "json", "json")
	return cmd
}

func (a *app) start() *cobra.Command {
	return a.onVM("start NAME", "Start a VM that was stopped, in the background", func(ctx context.Context, v vm, _ []string) error {
		if err := v.Start(ctx, true); err != nil {
			return err
		}
		return a.sayRunning(ctx, v, a.progress(""))
	})
}

func (a *app) stop() *cobra.Command {
	var force bool
	var grace time.Duration
	cmd := a.onVM("stop NAME", "Shut a VM down", func(ctx context.Context, v vm, _ []string) error {
		switch {
		case force:
			return v.Stop(ctx, 0)
		case grace < 0:
			return usagef("--grace takes a time such as 90s, not %s", grace)
		case grace == 0:
			var err error
			if grace, err = stopGrace(v); err != nil {
				return err
			}
		}
		return v.Stop(ctx, grace)
	})
	cmd.Flags().BoolVar(&force, "force", false, "cut it off at once")
	cmd.Flags().DurationVar(&grace, "grace", 0, "how long the guest may take before it is cut off (default what the definition says, else 2m)")
	return cmd
}

// stopGrace is how long a guest may take to shut down: what its definition says, else two minutes.
func stopGrace(v vm) (time.Duration, error) {
	plan, err := v.Plan()
	if plan.StopGrace > 0 {
		return plan.StopGrace, err
	}
	return 2 * time.Minute, err
}

func (a *app) restart() *cobra.Command {
	var force bool
	cmd := a.onVM("restart NAME", "Shut a VM down and start it again", func(ctx context.Context, v vm, _ []string) error {
		if force {
			return v.Reset(ctx)
		}
		grace, err := stopGrace(v)
		if err != nil {
			return err
		}
		if err := v.Stop(ctx, grace); err != nil && !errors.Is(err, supervisor.ErrNotRunning) {
			return err
		}
		return v.Start(ctx, true)
	})
	cmd.Flags().BoolVar(&force, "force", false, "reset it at once")
	return cmd
}

func (a *app) removeVM() *cobra.Command {
	cmd := a.onVM("remove NAME...", "Remove VMs with their disks and seeds; a running one is cut off", func(ctx context.Context, v vm, more []string) error {
		if err := v.Remove(ctx); err != nil {
			return err
		}
		for _, name := range more {
			next, err := a.find(ctx, name)
			if err != nil {
				return err
			}
			if err := next.Remove(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	cmd.Aliases = []string{"rm", "delete"}
	return cmd
}

func (a *app) logs() *cobra.Command {
	var followed, qemu bool
	cmd := a.onVM("logs NAME", "Print what the guest wrote to its serial console", func(ctx context.Context, v vm, _ []string) error {
		return v.log(ctx, a.Out, followed, qemu)
	})
	cmd.Flags().BoolVarP(&followed, "follow", "f", false, "go on with what comes")
	cmd.Flags().BoolVar(&qemu, "qemu", false, "print what QEMU itself said instead")
	return cmd
}

func (a *app) waitFor() *cobra.Command {
	var timeout time.Duration
	var failOn string
	cmd := a.onVM("wait NAME", "Wait for the guest's own word that its first boot is over", func(ctx context.Context, v vm, _ []string) error {
		threshold, err := report.ParseFailOn(failOn)
		if err != nil {
			return usagef("--fail-on: %w", err)
		}
		if timeout <= 0 {
			return usagef("--timeout takes a time such as 15m, not %s", timeout)
		}
		p := a.progress("")
		defer p.end()
		last, err := awaitFirstBoot(ctx, v, p, timeout)
		if err != nil {
			return err
		}
		if err := a.withLogs(a.verdict(p, last, threshold), v, false); err != nil {
			return err
		}
		return awaitCredentials(ctx, v, p, agentPatience)
	})
	cmd.Flags().DurationVar(&timeout, "timeout", 15*time.Minute, "how long to wait")
	cmd.Flags().StringVar(&failOn, "fail-on", "warning", "what makes a first boot a failure: error, warning or deprecated")
	return cmd
}

// supervise is the process that owns one VM; clients start it.
func (a *app) supervise() *cobra.Command {
	var dir string
	cmd := &cobra.Command{Use: "supervise", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return hostTrouble(supervisor.Main(cmd.Context(), dir, a.In))
		}}
	cmd.Flags().StringVar(&dir, "state-dir", "", "the VM's state directory")
	return cmd
}
