package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/kubeobject"
	"github.com/vmseed/vmseed/hypervisor"
	"github.com/vmseed/vmseed/image"
	"github.com/vmseed/vmseed/internal/boot"
	"github.com/vmseed/vmseed/internal/supervisor"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/report"
)

// runFlags are those of run beside the input's.
type runFlags struct {
	inputFlags
	image, pull, seed, delivery, memory, arch, firmware, failOn string
	kernel, initrd, append                                      string
	volumes                                                     []string
	cpus                                                        int
	tpm, wait, dryRun, replace, remove                          bool
	timeout                                                     time.Duration
	options                                                     hypervisor.Options
}

func (a *app) run() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use: "run FILE... --image IMG", Short: "Boot a machine on this host with QEMU",
		Long: `Run boots one machine with its seed attached, and follows its first boot.

Without --detach the VM runs until its guest shuts down, or until vmseed is told to
stop. With --wait vmseed returns on the guest's own word that its first boot is over:
status 0 when all went well, 4 when something that the definition asks for failed.
A VM that is not detached is shut down then. The VM stays in the list until it is
removed; --rm does that at the end.

With --host a daemon keeps the VM and runs it: the definitions are sent there, and
--image names one of its templates or of the images in its repository.`,
		Example: `  vmseed run pod.yaml objects.yaml --image debian-12.qcow2 --memory 1Gi --wait
  vmseed run --user-data user-data --hostname web --image debian-12.qcow2 --detach`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if a.remote() != "" {
				if err := notThere(cmd, append(runHere, inputHere...)...); err != nil {
					return err
				}
			}
			return a.runMachine(cmd.Context(), &f, args)
		},
	}
	f.register(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.image, "image", "", "guest image of the root disk: a file, or what vmseed image pull takes; it is never written to")
	fl.StringVar(&f.pull, "pull", string(image.Missing), "when to ask the registry or web server of an image: missing, always or never")
	fl.StringArrayVar(&f.volumes, "volume", nil, "contents of a disk, or the directory of a share: NAME=PATH (repeatable)")
	fl.StringVar(&f.seed, "seed", "", "attach a prepared seed, unchanged, instead of rendering one")
	fl.StringVar(&f.delivery, "delivery", "auto", "how the guest gets the seed: "+strings.Join(boot.Ways(), ", "))
	fl.StringVar(&f.memory, "memory", "", "memory, such as 2Gi, instead of what the definition says")
	fl.IntVar(&f.cpus, "cpus", 0, "number of processors instead of what the definition says")
	fl.StringVar(&f.arch, "arch", "", "architecture of the guest: amd64 or arm64 (default that of this host)")
	fl.StringVar(&f.firmware, "firmware", "", "bios or uefi")
	fl.BoolVar(&f.tpm, "tpm", false, "give the machine a TPM (needs swtpm)")
	fl.StringVar(&f.options.Accel, "accel", "auto", "auto, kvm, hvf or tcg")
	fl.StringVar(&f.options.Net, "net", "stack", "network: stack (in vmseed, IPv4), user (QEMU's, with IPv6) or none")
	fl.IntVar(&f.options.SSHPort, "ssh-port", 0, "port on 127.0.0.1 that leads to the guest's SSH server (default a free one)")
	fl.BoolVar(&f.options.Console, "console", false, "connect this terminal to the serial console; Ctrl-] disconnects")
	fl.BoolVarP(&f.options.Detach, "detach", "d", false, "let the VM run on in the background")
	fl.StringVar(&f.kernel, "kernel", "", "boot this kernel instead of the image's own boot loader")
	fl.StringVar(&f.initrd, "initrd", "", "initial RAM disk for --kernel")
	fl.StringVar(&f.append, "append", "", "kernel command line for --kernel")
	fl.BoolVar(&f.wait, "wait", false, "return on the guest's own word that its first boot is over")
	fl.DurationVar(&f.timeout, "timeout", 15*time.Minute, "how long --wait waits")
	fl.StringVar(&f.failOn, "fail-on", "warning", "what makes a first boot a failure: error, warning or deprecated")
	fl.BoolVar(&f.dryRun, "dry-run", false, "print the command that would be run, and how the guest would get its seed")
	fl.BoolVar(&f.replace, "replace", false, "remove a VM of the same name first")
	fl.BoolVar(&f.remove, "rm", false, "remove the VM when it has ended")
	a.placeFlags(cmd)
	return cmd
}

func (a *app) runMachine(ctx context.Context, f *runFlags, args []string) error {
	failOn, err := report.ParseFailOn(f.failOn)
	if err != nil {
		return usagef("--fail-on: %w", err)
	}
	if !slices.Contains(boot.Ways(), f.delivery) {
		return usagef("--delivery takes %s, not %q", strings.Join(boot.Ways(), ", "), f.delivery)
	}
	if _, err := boot.ParseImage(f.image); err != nil && a.remote() == "" {
		return &exitError{exitUsage, err}
	}
	if !slices.Contains(image.Policies(), image.Policy(f.pull)) {
		return usagef("--pull takes missing, always or never, not %q", f.pull)
	}
	if !slices.Contains(accels(), f.options.Accel) {
		return usagef("--accel takes %s, not %q", strings.Join(accels(), ", "), f.options.Accel)
	}
	if !slices.Contains(networks(), f.options.Net) {
		return usagef("--net takes %s, not %q", strings.Join(networks(), ", "), f.options.Net)
	}
	switch {
	case f.timeout <= 0:
		return usagef("--timeout takes a time such as 15m, not %s", f.timeout)
	case f.options.Console && f.options.Detach:
		return usagef("--console and --detach exclude each other; use vmseed console afterwards")
	case f.seed != "" && f.userData+f.metaData+f.networkConfig+f.vendorData != "":
		return usagef("--seed attaches a prepared seed, so --user-data and the like would reach nobody")
	}
	if f.remove && f.options.Detach {
		return usagef("--rm and --detach exclude each other; remove the VM with vmseed rm")
	}
	if a.remote() != "" {
		return a.runThere(ctx, f, args, failOn)
	}
	a.noted = "vmseed run --dry-run"
	m, l, err := a.runInput(ctx, f, args)
	if err != nil || l.HasErrors() {
		return errors.Join(err, a.failed(l, f.dryRun))
	}
	root, err := a.vmRoot()
	if err != nil {
		return err
	}
	if err := supervisor.Sweep(root); err != nil {
		return &exitError{exitEnvironment, err}
	}
	o, err := f.boot()
	if err != nil {
		return err
	}
	if f.dryRun {
		return a.plan(ctx, a.launcher(root), o, m, l)
	}
	p := a.progress(m.Namespace + "/" + m.Name)
	defer p.end()
	client, err := a.launch(ctx, a.launcher(root), o, m, l, f.replace, p)
	if err != nil {
		return err
	}
	return a.follow(ctx, here{a}.vm(client), p, f, failOn)
}

// runInput loads the one machine that is run, with the flags' changes made before it is placed.
func (a *app) runInput(ctx context.Context, f *runFlags, args []string) (machine.Machine, diag.List, error) {
	var none machine.Machine
	for _, file := range []*string{&f.kernel, &f.initrd} {
		if abs, err := filepath.Abs(*file); err == nil && *file != "" {
			*file = abs
		}
	}
	memory, err := f.bytes()
	if err != nil {
		return none, nil, err
	}
	if memory != 0 {
		f.stated = f.stated.Union(machine.NewFieldSet("hardware.memory"))
	}
	if f.cpus != 0 {
		f.stated = f.stated.Union(machine.NewFieldSet("hardware.cpus"))
	}
	f.adjust = func(m *machine.Machine, l *diag.List) {
		override(l, m, "hardware.memory", &m.Hardware.Memory, memory, "--memory")
		override(l, m, "hardware.cpus", &m.Hardware.CPUs, f.cpus, "--cpus")
		override(l, m, "hardware.arch", &m.Hardware.Arch, f.arch, "--arch")
		override(l, m, "hardware.firmware", &m.Hardware.Firmware, f.firmware, "--firmware")
		override(l, m, "boot.kernel", &m.Boot.Kernel, f.kernel, "--kernel")
		override(l, m, "boot.initrd", &m.Boot.Initrd, f.initrd, "--initrd")
		override(l, m, "boot.append", &m.Boot.Append, f.append, "--append")
		m.Hardware.TPM = m.Hardware.TPM || f.tpm
		if !slices.ContainsFunc(m.Disks, func(d machine.Disk) bool { return d.Root }) {
			m.Disks = slices.Insert(slices.Clone(m.Disks), 0, machine.Disk{Name: "root", Root: true})
		}
		if len(m.Network.NICs) == 0 {
			m.Network.NICs = []machine.NIC{{Name: "nic0"}}
		}
	}
	if f.seed != "" && len(args)+len(f.files) == 0 {
		if err := f.checkPlatform(); err != nil {
			return none, nil, err
		}
		m := machine.Machine{Name: strings.TrimSuffix(filepath.Base(f.seed), filepath.Ext(f.seed)), Namespace: "default"}
		if namespace, name, ok := strings.Cut(f.name, "/"); ok {
			m.Namespace, m.Name = namespace, name
		} else if f.name != "" {
			m.Name = f.name
		}
		var l diag.List
		f.adjust(&m, &l)
		m, problems := a.engine.Place(m, machine.Facts{})
		return m, append(l, problems...), nil
	}
	machines, l, err := a.load(ctx, &f.inputFlags, args)
	if err != nil || l.HasErrors() {
		return none, l, err
	}
	if len(machines) != 1 {
		var have []string
		for _, m := range machines {
			have = append(have, m.Namespace+"/"+m.Name)
		}
		return none, l, usagef("run boots one machine, the input has %s; pick one with --name", strings.Join(have, ", "))
	}
	return machines[0], l, nil
}

// bytes is the memory that a flag states, or 0.
func (f *runFlags) bytes() (machine.Bytes, error) {
	if f.memory == "" {
		return 0, nil
	}
	q, err := kubeobject.ParseQuantity(f.memory)
	n, whole := q.Whole()
	if err != nil || !whole || n <= 0 {
		return 0, usagef("--memory takes a size such as 2Gi, not %q", f.memory)
	}
	return machine.Bytes(n), nil
}

// override sets a field that a flag states, and says so when the definition states it otherwise.
func override[T comparable](l *diag.List, m *machine.Machine, path string, field *T, value T, flag string) {
	var zero T
	if value == zero {
		return
	}
	if *field != zero && *field != value {
		l.Add(diag.Diagnostic{Code: CodeOverride, Severity: diag.Note, Range: m.Places.Find(path), Field: path,
			Summary: "the flag " + flag + " overrides this"})
	}
	*field = value
}

// boot are the wishes of the flags for the VM.
func (f *runFlags) boot() (boot.Options, error) {
	o := boot.Options{Image: f.image, Pull: image.Policy(f.pull), Seed: f.seed, Delivery: f.delivery, Render: f.inputFlags.options(),
		VM: f.options, DryRun: f.dryRun}
	for _, v := range f.volumes {
		name, path, ok := strings.Cut(v, "=")
		if !ok || name == "" || path == "" {
			return o, usagef("--volume takes NAME=PATH, not %q", v)
		}
		o.Volumes = append(o.Volumes, boot.Volume{Name: name, Volume: hypervisor.Volume{Path: path}})
	}
	return o, nil
}

// launcher starts VMs below a directory, and shows the images that are fetched for them.
func (a *app) launcher(root string) *boot.Launcher {
	return &boot.Launcher{Engine: a.engine, Root: root, Pulling: func(ref image.Reference) (func(image.Progress), func()) {
		p := a.progress("")
		return p.pulling(ref), p.end
	}}
}

// unbounded says what of a machine is for others than vmseed run.
func unbounded(m machine.Machine) (l diag.List) {
	if m.RestartPolicy == "Always" || m.RestartPolicy == "OnFailure" {
		l.Notef(CodeRestart, m.Places.Find("restartPolicy"), "", "vmseed run boots the machine once and does not start it again when it has ended")
	}
	if h := m.Hardware; h.CPUShares+h.CPUQuota != 0 {
		l.Notef(CodeProcessorTime, m.Places.Find("hardware.cpuShares"), "", "vmseed run does not limit the processor time of the machine")
	}
	return l
}

// plan prints the command that run would start.
func (a *app) plan(ctx context.Context, l *boot.Launcher, o boot.Options, m machine.Machine, list diag.List) error {
	p, problems, err := l.Try(ctx, m, o)
	if list = append(list, problems...); err != nil || list.HasErrors() {
		return errors.Join(bootTrouble(ctx, err), a.failed(list, true))
	}
	defer p.Discard()
	for _, ref := range p.Absent {
		fmt.Fprintf(a.Err, "%s is not on this host; it would be pulled\n", ref)
	}
	list = append(list, l.Check(p.VM)...)
	if !list.HasErrors() {
		list = append(list, unbounded(p.VM.Machine)...)
	}
	if err := a.failed(list, true); err != nil {
		return err
	}
	a.say("seed " + p.Seed)
	args, err := p.Plan(ctx)
	if err != nil {
		return hostTrouble(err)
	}
	for i, arg := range args {
		args[i] = shellWord(arg)
	}
	_, err = fmt.Fprintln(a.Out, strings.Join(args, " "))
	return err
}

// shellWord quotes an argument for a POSIX shell.
func shellWord(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// launch makes the VM's directory, its seed and disks, and starts it.
func (a *app) launch(ctx context.Context, l *boot.Launcher, o boot.Options, m machine.Machine, list diag.List, replace bool, p *progress) (*supervisor.Client, error) {
	if replace {
		// An old VM is not removed for one that cannot take its place.
		problems, err := l.Rehearse(ctx, m, o)
		if all := slices.Concat(list, problems); err != nil || all.HasErrors() {
			return nil, errors.Join(hostTrouble(bootTrouble(ctx, err)), a.failed(all, false))
		}
		if old, err := supervisor.Open(l.Dir(m, o)); err == nil {
			if err := old.Remove(ctx); err != nil {
				return nil, &exitError{exitEnvironment, err}
			}
		}
	}
	vm, problems, err := l.New(ctx, m, o)
	if errors.Is(err, supervisor.ErrExists) {
		return nil, usagef("%w; start it with vmseed start, or replace it with --replace", err)
	}
	if list = append(list, problems...); err == nil && !list.HasErrors() {
		list = append(list, unbounded(vm.VM.Machine)...)
	}
	if failed := a.failed(list, false); err != nil || failed != nil {
		return nil, errors.Join(hostTrouble(bootTrouble(ctx, err)), failed)
	}
	p.phase("seed", vm.Seed)
	client, err := vm.Start(ctx)
	return client, hostTrouble(err)
}

// bootTrouble gives errors of a VM's making their exit status, unless they are of this host.
func bootTrouble(ctx context.Context, err error) error {
	var option *boot.OptionError
	var input *boot.InputError
	var picture *image.Error
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return interrupted()
	case errors.As(err, &option):
		return &exitError{exitUsage, err}
	case errors.As(err, &input):
		return &exitError{exitInput, err}
	case errors.As(err, &picture):
		return imageTrouble(err)
	}
	return err
}

// hostTrouble gives errors of this host their exit status, and the input's diagnostics theirs.
func hostTrouble(err error) error {
	var diagnostics diag.List
	var exit *exitError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &exit):
		return err
	case errors.As(err, &diagnostics):
		return &exitError{exitInput, err}
	}
	return &exitError{exitEnvironment, err}
}
