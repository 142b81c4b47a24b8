package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/vmseed/vmseed/internal/supervisor"
)

// here is this host, whose VMs have supervisors.
type here struct{ app *app }

// list describes the VMs of this host, after sweeping what crashed processes left.
func (h here) list(ctx context.Context) ([]vmInfo, error) {
	root, err := h.app.vmRoot()
	if err != nil {
		return nil, err
	}
	dirs, err := supervisor.List(root)
	if err = errors.Join(supervisor.Sweep(root), err); err != nil {
		return nil, &exitError{exitEnvironment, err}
	}
	all := []vmInfo{}
	for _, dir := range dirs {
		c, err := supervisor.Open(dir)
		if err != nil {
			return nil, hostTrouble(err)
		}
		info, err := h.vm(c).describe(ctx)
		if err != nil {
			return nil, hostTrouble(err)
		}
		info.Plan = nil
		all = append(all, info)
	}
	return all, nil
}

func (h here) find(_ context.Context, name string) (vm, error) {
	c, err := h.app.findHere(name)
	if err != nil {
		return nil, err
	}
	return h.vm(c), nil
}

// vm is the VM of a client.
func (h here) vm(c *supervisor.Client) localVM { return localVM{c, h.app.stateDirWords()} }

// findHere returns the client of a VM of this host by its name.
func (a *app) findHere(name string) (*supervisor.Client, error) {
	root, err := a.vmRoot()
	if err != nil {
		return nil, err
	}
	if err := supervisor.Sweep(root); err != nil {
		return nil, &exitError{exitEnvironment, err}
	}
	dirs, err := supervisor.List(root)
	if err != nil {
		return nil, &exitError{exitEnvironment, err}
	}
	var found []string
	var have []string
	for _, dir := range dirs {
		plan, err := supervisor.LoadPlan(dir)
		if err != nil {
			return nil, &exitError{exitEnvironment, err}
		}
		full := plan.Namespace + "/" + plan.Name
		have = append(have, full)
		if name == plan.Name || name == full {
			found = append(found, dir)
		}
	}
	switch len(found) {
	case 1:
		return supervisor.Open(found[0])
	case 0:
		if len(have) == 0 {
			return nil, usagef("there is no VM %q; there are none", name)
		}
		return nil, usagef("there is no VM %q; there are %s", name, strings.Join(have, ", "))
	}
	return nil, usagef("several VMs are called %q; name one as NAMESPACE/NAME: %s", name, strings.Join(have, ", "))
}

// findOnlyHere is findHere for the commands of OpenSSH, which daemons cannot serve.
func (a *app) findOnlyHere(name string) (*supervisor.Client, error) {
	c, err := a.findHere(name)
	if err != nil && os.Getenv(envHost) != "" && statusOf(err) == exitUsage {
		err = usagef("%w; this command is for VMs of this host, whatever $%s says; to log in to a VM of the daemon, run on the daemon's host: "+
			"ssh -p PORT USER@127.0.0.1, with the PORT that vmseed list shows under SSH (from afar, add -J and that host)", err, envHost)
	}
	return c, err
}

// localVM is a VM of this host.
type localVM struct {
	*supervisor.Client
	// flags are the words that a command about it needs.
	flags string
}

func (v localVM) words() string { return v.flags }

func (v localVM) describe(ctx context.Context) (vmInfo, error) {
	plan, err := v.Plan()
	if err != nil {
		return vmInfo{}, err
	}
	state, err := v.State(ctx)
	return vmInfo{Namespace: plan.Namespace, Name: plan.Name, Dir: v.Dir, State: state, Plan: &plan}, err
}

func (v localVM) way(plan supervisor.Plan, port int) string {
	user := ""
	if plan.Login == "" {
		user = " -u USER"
	}
	return fmt.Sprintf("SSH on 127.0.0.1:%d (vmseed ssh %s%s%s)", port, plan.Name, user, v.flags)
}

func (v localVM) log(ctx context.Context, out io.Writer, follow, qemu bool) error {
	if qemu {
		return copyFile(out, filepath.Join(v.Dir, supervisor.QEMULog))
	}
	var conn io.ReadWriteCloser
	if follow {
		// Connected before the log is read, so that nothing is missed between the two.
		var err error
		if conn, err = v.Console(ctx); err != nil && !errors.Is(err, supervisor.ErrNotRunning) {
			return err
		}
	}
	if conn != nil {
		defer conn.Close()
		defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	}
	for _, name := range []string{supervisor.SerialLog + ".1", supervisor.SerialLog} {
		if err := copyFile(out, filepath.Join(v.Dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if conn == nil {
		return nil
	}
	_, err := io.Copy(out, conn)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func copyFile(out io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(out, f)
	return err
}
