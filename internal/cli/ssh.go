package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/vmseed/vmseed/hypervisor"
	"github.com/vmseed/vmseed/internal/atomicfile"
	"github.com/vmseed/vmseed/internal/supervisor"
)

// knownHosts is the file in a VM's directory that pins the host keys which the guest reported.
const knownHosts = "known_hosts"

// sshFlags are the login's.
type sshFlags struct{ user, identity string }

func (f *sshFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&f.user, "user", "u", "", "user to log in as (default the one that run took from the definition, else that of ssh)")
	cmd.Flags().StringVarP(&f.identity, "identity", "i", "", "private key to log in with")
}

// options returns ssh's options for a VM: its port, and its host keys as the guest reported them.
func (f sshFlags) options(ctx context.Context, c *supervisor.Client) ([][2]string, error) {
	s, err := c.State(ctx)
	if err != nil {
		return nil, err
	}
	if !s.Status.Alive() {
		return nil, supervisor.ErrNotRunning
	}
	if s.SSHPort == 0 {
		return nil, errors.New("the VM has no forward to its SSH server; it was started with --net none")
	}
	out := [][2]string{{"HostName", "127.0.0.1"}, {"Port", fmt.Sprint(s.SSHPort)}}
	file := filepath.Join(c.Dir, knownHosts)
	strict := "accept-new"
	if s.FirstBoot != nil && s.FirstBoot.Result != nil && len(s.FirstBoot.Result.HostKeys) > 0 {
		var b strings.Builder
		for _, key := range s.FirstBoot.Result.HostKeys {
			fmt.Fprintf(&b, "[127.0.0.1]:%d %s\n", s.SSHPort, key)
		}
		if err := atomicfile.WriteBytes(file, []byte(b.String())); err != nil {
			return nil, err
		}
		strict = "yes"
	}
	out = append(out, [2]string{"UserKnownHostsFile", file}, [2]string{"StrictHostKeyChecking", strict})
	user := f.user
	if plan, err := c.Plan(); user == "" && err == nil {
		user = plan.Login
	}
	if user != "" {
		out = append(out, [2]string{"User", user})
	}
	if f.identity != "" {
		// Whoever reads the section of a configuration file stands in another directory.
		key, err := filepath.Abs(f.identity)
		if err != nil {
			return nil, err
		}
		out = append(out, [2]string{"IdentityFile", key}, [2]string{"IdentitiesOnly", "yes"})
	}
	return out, nil
}

// sshValue quotes the value of an option as ssh_config(5) wants it.
func sshValue(s string) string {
	if strings.ContainsAny(s, " \t") {
		return `"` + s + `"`
	}
	return s
}

// exec runs a program of OpenSSH with the VM's options, and ends with its status.
func (a *app) exec(ctx context.Context, program string, options [][2]string, args []string) error {
	path, err := exec.LookPath(program)
	if err != nil {
		return &hypervisor.EnvironmentError{What: program + " is not installed", Remedy: "install the package openssh-client", Err: err}
	}
	var all []string
	for _, o := range options {
		all = append(all, "-o", o[0]+"="+sshValue(o[1]))
	}
	cmd := exec.CommandContext(ctx, path, append(all, args...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.In, a.Out, a.Err
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return silent(exit.ExitCode())
	}
	return err
}

// sshFailed is the status with which OpenSSH says that there was no connection or no log-in.
const sshFailed = 255

// early adds to the failure of a log-in that the guest may not be ready for it.
func (a *app) early(ctx context.Context, c *supervisor.Client, err error) error {
	var exit *exitError
	if !errors.As(err, &exit) || exit.status != sshFailed {
		return err
	}
	s, problem := c.State(ctx)
	if plan, planless := c.Plan(); problem == nil && planless == nil && s.Status.Alive() && s.FirstBoot == nil {
		fmt.Fprintf(a.Err, "vmseed: the first boot is not over; vmseed wait %s waits for it\n", plan.Name)
	}
	return err
}

func (a *app) ssh() *cobra.Command {
	var f sshFlags
	cmd := a.onVMHere("ssh NAME [-- COMMAND]", "Log in to a VM; the host keys that the guest reported are pinned", func(ctx context.Context, c *supervisor.Client, args []string) error {
		o, err := f.options(ctx, c)
		if err != nil {
			return err
		}
		line := []string{"vmseed"}
		if len(args) > 0 {
			line = append(append(line, "--"), args...)
		}
		return a.early(ctx, c, a.exec(ctx, "ssh", o, line))
	})
	f.register(cmd)
	return cmd
}

func (a *app) sshConfig() *cobra.Command {
	var f sshFlags
	cmd := a.onVMHere("ssh-config NAME", "Print a section for ~/.ssh/config", func(ctx context.Context, c *supervisor.Client, _ []string) error {
		o, err := f.options(ctx, c)
		if err != nil {
			return err
		}
		plan, err := c.Plan()
		if err != nil {
			return err
		}
		var b strings.Builder
		fmt.Fprintf(&b, "Host %s\n", plan.Name)
		for _, x := range o {
			fmt.Fprintf(&b, "    %s %s\n", x[0], sshValue(x[1]))
		}
		_, err = io.WriteString(a.Out, b.String())
		return err
	})
	f.register(cmd)
	return cmd
}

func (a *app) cp() *cobra.Command {
	var f sshFlags
	cmd := &cobra.Command{Use: "cp SRC... NAME:DST | NAME:SRC DST", Short: "Copy files to or from a VM",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usagef("cp needs a source and a destination, one of them as NAME:PATH")
			}
			name := ""
			for i, arg := range args {
				vm, path, remote := strings.Cut(arg, ":")
				if !remote || vm == "" || vm[0] == '.' || vm[0] == '/' || strings.Count(vm, "/") > 1 {
					continue
				}
				if name != "" && name != vm {
					return usagef("cp copies to or from one VM, not between %q and %q", name, vm)
				}
				name, args[i] = vm, "vmseed:"+path
			}
			if name == "" {
				return usagef("cp needs a source or destination as NAME:PATH")
			}
			c, err := a.findOnlyHere(name)
			if err != nil {
				return err
			}
			o, err := f.options(cmd.Context(), c)
			if err != nil {
				return hostTrouble(err)
			}
			return hostTrouble(a.early(cmd.Context(), c, a.exec(cmd.Context(), "scp", o, append([]string{"-r", "--"}, args...))))
		}}
	f.register(cmd)
	a.stateDirFlag(cmd)
	return cmd
}

func (a *app) console() *cobra.Command {
	return a.onVM("console NAME", "Connect to a VM's serial console; Ctrl-] disconnects, the end of the input does not", func(ctx context.Context, v vm, _ []string) error {
		return a.attach(ctx, v)
	})
}

// escape is the character that disconnects from a console: Ctrl-], as in telnet.
const escape = 0x1d

// attach connects the terminal to the console until the user disconnects or the VM ends.
func (a *app) attach(ctx context.Context, v vm) error {
	conn, err := v.Console(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if f, ok := a.In.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		old, err := term.MakeRaw(int(f.Fd()))
		if err != nil {
			return err
		}
		defer func() { _ = term.Restore(int(f.Fd()), old) }()
	}
	ended := make(chan error, 2)
	go func() {
		_, err := io.Copy(a.Out, conn)
		ended <- err
	}()
	go func() {
		// Input that is not a terminal may end long before the guest has answered, which is no reason to leave.
		if err := typed(conn, a.In); !errors.Is(err, io.EOF) {
			ended <- err
		}
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return nil
	}
}

// typed passes on what the user types until the escape character.
func typed(w io.Writer, r io.Reader) error {
	buffer := make([]byte, 256)
	for {
		n, err := r.Read(buffer)
		for i, c := range buffer[:n] {
			if c == escape {
				_, err := w.Write(buffer[:i])
				return err
			}
		}
		if _, writeErr := w.Write(buffer[:n]); writeErr != nil {
			return writeErr
		}
		if err != nil {
			return err
		}
	}
}
