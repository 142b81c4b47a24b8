// Package cli is the command vmseed: its tree of subcommands, their flags and their exit status. The contract is in
// docs/reference/command.md.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/vmseed/vmseed"
	datasources "github.com/vmseed/vmseed/datasource/all"
	deliveries "github.com/vmseed/vmseed/delivery/all"
	"github.com/vmseed/vmseed/diag"
	frontends "github.com/vmseed/vmseed/frontend/all"
	hypervisors "github.com/vmseed/vmseed/hypervisor/all"
)

// The exit statuses of the command.
const (
	exitDone        = 0 // all is well
	exitInput       = 1 // the input is wrong; diagnostics say what
	exitUsage       = 2 // the command line is wrong
	exitEnvironment = 3 // something is missing or full on this machine
	exitGuest       = 4 // the guest failed its first boot, or did not report
)

// Streams are what the command reads and writes beside files.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// app is what the subcommands share.
type app struct {
	Streams
	engine      *vmseed.Engine
	diagnostics string
	stateDir    string
	// host is the daemon that a flag names, hostGiven that one does, and ca its certificate authority.
	host, ca  string
	hostGiven bool
	// noted is the command that shows the notes that this one leaves out.
	noted string
	// program is what this is called, and cluster reaches the clusters that it can speak to; nil means none. codes are those
	// that vmseed does not have.
	program string
	cluster ClusterFunc
	codes   []diag.Explanation
}

// exitError is an error with the status that the command ends with. A silent one has been reported already.
type exitError struct {
	status int
	err    error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// silent ends the command with a status; what happened has been said.
func silent(status int) error { return &exitError{status, nil} }

// Main runs the command line args, whose first element is the name of the program, and returns the exit status. Called
// as cloud-localds it is that command.
func Main(args []string, std Streams) int {
	a := newApp(std)
	if strings.TrimSuffix(filepath.Base(args[0]), ".exe") == "cloud-localds" {
		args = append([]string{args[0], "cloud-localds"}, args[1:]...)
	}
	return a.main(a.root(), args)
}

func newApp(std Streams) *app { return &app{Streams: std, engine: newEngine(), program: "vmseed"} }

// main runs a command line.
func (a *app) main(root *cobra.Command, args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second interrupt ends the program at once, whatever it is cleaning up.
	context.AfterFunc(ctx, stop)
	if name := firstWord(args[1:]); name != "" && !known(root, name) {
		err := noCommand(root, name)
		fmt.Fprintf(a.Err, "%s: %v\n", a.program, err)
		return statusOf(err)
	}
	root.SetArgs(args[1:])
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	err := root.ExecuteContext(ctx)
	status := statusOf(err)
	if err != nil && err.Error() != "" {
		fmt.Fprintf(a.Err, "%s: %v\n", a.program, err)
	}
	return status
}

// firstWord returns the name of the subcommand: the first argument, unless that is a flag.
func firstWord(args []string) string {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return ""
	}
	return args[0]
}

func known(root *cobra.Command, name string) bool {
	for _, c := range root.Commands() {
		if c.Name() == name || c.HasAlias(name) {
			return true
		}
	}
	return name == "help" || name == "completion" || strings.HasPrefix(name, cobra.ShellCompRequestCmd)
}

func newEngine() *vmseed.Engine {
	return &vmseed.Engine{
		Frontends:   frontends.Frontends(),
		DataSources: datasources.DataSources(),
		Deliveries:  deliveries.Deliveries(),
		Hypervisors: hypervisors.Hypervisors(),
		Writers:     frontends.Writers(),
	}
}

// statusOf finds the exit status for an error: its own, that of a trouble with this machine, or that of wrong usage.
func statusOf(err error) int {
	var e *exitError
	var pathError *fs.PathError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &e):
		return e.status
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.EISDIR):
		return exitUsage
	case errors.As(err, &pathError), errors.Is(err, syscall.ENOSPC), errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS),
		errors.Is(err, context.Canceled):
		return exitEnvironment
	}
	return exitUsage
}

const long = `vmseed turns the VM definitions you already have (KubeVirt VMs, Virtlet pods, oVirt's
XML and JSON, OVF and OVA, ovirt:// addresses of an engine's VMs, plain cloud-init
files, Ignition configs, Butane, its own YAML) into what a guest reads at its first
boot, and boots the VM with it.

Exit status: 0 done; 1 the input is wrong; 2 the command line is wrong; 3 something
on this machine is missing or full; 4 the guest failed its first boot.`

func (a *app) root() *cobra.Command {
	root := a.bare("vmseed", "Tell a VM who it is at its first boot", long)
	root.AddCommand(a.render(), a.show(), a.check(), a.explain(), a.diff(), a.convert(), a.localds(),
		a.run(), a.list(), a.inspect(), a.start(), a.stop(), a.restart(), a.removeVM(), a.waitFor(), a.logs(), a.console(),
		a.ssh(), a.sshConfig(), a.cp(), a.imageCommand(), a.metadata(), a.serve(), a.doctor(), a.supervise(), a.versionCommand())
	complete(root, a.words())
	return root
}

// bare is a command line without subcommands.
func (a *app) bare(name, short, long string) *cobra.Command {
	root := &cobra.Command{
		Use: name, Short: short, Long: long,
		SilenceErrors: true, SilenceUsage: true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
		Args:              cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return noCommand(cmd, args[0])
			}
			return cmd.Help()
		},
	}
	root.SetFlagErrorFunc(flagError)
	formats := make([]string, 0, 4)
	for _, f := range diag.Formats() {
		formats = append(formats, string(f))
	}
	root.PersistentFlags().StringVar(&a.diagnostics, "diagnostics", string(diag.Text),
		"how diagnostics are written: "+strings.Join(formats, ", "))
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		a.hostGiven = cmd.Flags().Changed("host")
		for _, f := range formats {
			if a.diagnostics == f {
				return nil
			}
		}
		return usagef("--diagnostics takes %s, not %q", strings.Join(formats, ", "), a.diagnostics)
	}
	return root
}

// report writes diagnostics to standard error. Notes are left out unless they are wanted, and their number is said.
func (a *app) report(l diag.List, notes bool) error {
	l = l.Sorted()
	if !notes {
		kept := diag.List{}
		for _, d := range l {
			if d.Severity > diag.Note {
				kept = append(kept, d)
			}
		}
		if hidden := len(l) - len(kept); hidden > 0 && !l.HasErrors() && a.diagnostics == string(diag.Text) {
			defer fmt.Fprintf(a.Err, "%s not shown; %s shows %s\n", count(hidden, "note"), cmp.Or(a.noted, cmp.Or(a.program, "vmseed")+" check"), them(hidden))
		}
		l = kept
	}
	if len(l) == 0 && a.diagnostics == string(diag.Text) {
		return nil
	}
	return diag.Write(a.Err, diag.Format(a.diagnostics), l, a.explanations()...)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func them(n int) string {
	if n == 1 {
		return "it"
	}
	return "them"
}

// failed reports diagnostics, and returns the error that ends the command when there is an error among them.
func (a *app) failed(l diag.List, notes bool) error {
	if err := a.report(l, notes); err != nil {
		return err
	}
	if l.HasErrors() {
		return silent(exitInput)
	}
	return nil
}

// version is that of this program.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(a.Out, "%s %s\n", a.program, version())
			return err
		},
	}
}
