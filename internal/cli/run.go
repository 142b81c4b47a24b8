package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/kubeobject"
	"github.com/vmseed/vmseed/hypervisor"
	"github.com/vmseed/vmseed/image"
	"github.com/vmseed/vmseed/internal/supervisor"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/report"
	"github.com/vmseed/vmseed/seed"
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
removed; --rm does that at the end.`,
		Example: `  vmseed run pod.yaml objects.yaml --image debian-12.qcow2 --memory 1Gi --wait
  vmseed run --user-data user-data --hostname web --image debian-12.qcow2 --detach`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.runMachine(cmd.Context(), &f, args) },
	}
	f.register(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.image, "image", "", "guest image of the root disk: a file, or what vmseed image pull takes; it is never written to")
	fl.StringVar(&f.pull, "pull", string(image.Missing), "when to ask the registry or web server of an image: missing, always or never")
	fl.StringArrayVar(&f.volumes, "volume", nil, "contents of a disk, or the directory of a share: NAME=PATH (repeatable)")
	fl.StringVar(&f.seed, "seed", "", "attach a prepared seed, unchanged, instead of rendering one")
	fl.StringVar(&f.delivery, "delivery", "auto", "how the guest gets the seed: "+strings.Join(runWays(), ", "))
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
	a.stateDirFlag(cmd)
	return cmd
}

func (a *app) runMachine(ctx context.Context, f *runFlags, args []string) error {
	failOn, err := report.ParseFailOn(f.failOn)
	if err != nil {
		return usagef("--fail-on: %w", err)
	}
	if !slices.Contains(runWays(), f.delivery) {
		return usagef("--delivery takes %s, not %q", strings.Join(runWays(), ", "), f.delivery)
	}
	if _, err := imageFlag(f.image); err != nil {
		return err
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
	a.noted = "vmseed run --dry-run"
	if f.remove && f.options.Detach {
		return usagef("--rm and --detach exclude each other; remove the VM with vmseed rm")
	}
	m, l, err := a.runInput(ctx, f, args)
	if err != nil || l.HasErrors() {
		return errors.Join(err, a.failed(l, false))
	}
	root, err := a.vmRoot()
	if err != nil {
		return err
	}
	if err := supervisor.Sweep(root); err != nil {
		return &exitError{exitEnvironment, err}
	}
	if f.dryRun {
		return a.plan(ctx, f, m, l, root)
	}
	p := a.progress(m.Namespace + "/" + m.Name)
	defer p.end()
	client, err := a.launch(ctx, f, m, l, root, p)
	if err != nil {
		return err
	}
	return a.follow(ctx, client, p, f, failOn)
}

// runInput loads the one machine that is run, with the flags' changes made before it is placed.
func (a *app) runInput(ctx context.Context, f *runFlags, args []string) (machine.Machine, diag.List, error) {
	var none machine.Machine
	for _, file := range []*string{&f.kernel, &f.initrd} {
		if abs, err := filepath.Abs(*file); err == nil && *file != "" {
			*file = abs
		}
	}
	memory := machine.Bytes(0)
	if f.memory != "" {
		q, err := kubeobject.ParseQuantity(f.memory)
		n, whole := q.Whole()
		if err != nil || !whole || n <= 0 {
			return none, nil, usagef("--memory takes a size such as 2Gi, not %q", f.memory)
		}
		memory = machine.Bytes(n)
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

// vm assembles what is started, with the seed written below dir.
func (a *app) vm(ctx context.Context, f *runFlags, m machine.Machine, l *diag.List, dir string) (hypervisor.VM, error) {
	vm := hypervisor.VM{Machine: m, StateDir: dir, Options: f.options, Volumes: map[string]hypervisor.Volume{}}
	if err := volumes(f, m, &vm, l); err != nil {
		return vm, err
	}
	if err := a.images(ctx, f, &vm, l, dir); err != nil || l.HasErrors() {
		return vm, err
	}
	vm.Machine.Network.NICs = documented(m, l)
	vm.Login = login(m, rootImage(f, m))
	return vm, a.attachSeed(ctx, f, m, &vm, l, dir)
}

// volumes resolves the contents of the machine's disks and the directories of its shares that flags name.
func volumes(f *runFlags, m machine.Machine, vm *hypervisor.VM, l *diag.List) error {
	vm.Machine.Shares = slices.Clone(m.Shares)
	var have []string
	for _, d := range m.Disks {
		have = append(have, d.Name)
		if d.Root && f.image != "" {
			path, err := filepath.Abs(f.image)
			if err != nil {
				return err
			}
			vm.Volumes[d.Name] = hypervisor.Volume{Path: path, Overlay: true}
		}
	}
	for _, v := range f.volumes {
		name, path, ok := strings.Cut(v, "=")
		if !ok || name == "" || path == "" {
			return usagef("--volume takes NAME=PATH, not %q", v)
		}
		path, err := filepath.Abs(path)
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(m.Shares, func(s machine.Share) bool { return s.Name == name }); i >= 0 {
			if info, err := os.Stat(path); err != nil || !info.IsDir() {
				return usagef("--volume %s: a share is a directory, and this is none", v)
			}
			vm.Machine.Shares[i].HostPath = path
			continue
		}
		if !slices.Contains(have, name) {
			for _, s := range m.Shares {
				have = append(have, s.Name)
			}
			return usagef("--volume: the machine has no disk or share %q; it has %s", name, strings.Join(have, ", "))
		}
		vm.Volumes[name] = hypervisor.Volume{Path: path}
		if err := partitioned(m, name, path, l); err != nil {
			return err
		}
	}
	return nil
}

// unshared complains of shares whose directory is not on this host.
func unshared(m machine.Machine) (l diag.List) {
	for i, s := range m.Shares {
		if info, err := os.Stat(s.HostPath); err == nil && info.IsDir() {
			continue
		}
		at, what := fmt.Sprintf("shares[%d]", i), s.HostPath+" is no directory on this host"
		if s.HostPath == "" {
			what = "no directory of this host is named for it"
		}
		l.Add(diag.Diagnostic{Code: CodeNoShare, Severity: diag.Error, Range: m.Places.Find(at), Field: at,
			Summary: fmt.Sprintf("share %q: %s", s.Name, what), Remedy: fmt.Sprintf("give one with --volume %s=DIRECTORY", s.Name)})
	}
	return l
}

// checkVM says what of a VM cannot be as asked.
func (a *app) checkVM(vm hypervisor.VM) diag.List {
	h, l := a.engine.Hypervisors[0], unshared(vm.Machine)
	if c, ok := h.(hypervisor.Checker); ok && !l.HasErrors() {
		l = append(l, c.Check(vm)...)
	}
	if l.HasErrors() {
		return l
	}
	if m := vm.Machine; m.RestartPolicy == "Always" || m.RestartPolicy == "OnFailure" {
		l.Notef(CodeRestart, m.Places.Find("restartPolicy"), "", "vmseed run boots the machine once and does not start it again when it has ended")
	}
	if h := vm.Machine.Hardware; h.CPUShares+h.CPUQuota != 0 {
		l.Notef(CodeProcessorTime, vm.Machine.Places.Find("hardware.cpuShares"), "", "vmseed run does not limit the processor time of the machine")
	}
	return append(l, a.engine.CheckHardware(h, left(vm))...)
}

// left is the machine that remains for the hypervisor to build. Where flags name the contents of a disk, it does not
// matter that the document has them elsewhere; what vmseed makes in the VM's directory goes away with the VM; and the
// rest is for the command itself: whether the machine runs, its share of the processors, how long it may take to stop, and
// how messages call it.
func left(vm hypervisor.VM) machine.Machine {
	m := vm.Machine
	m.Running, m.RestartPolicy, m.StopGrace, m.Guest.OS, m.Guest.Release = nil, "", 0, "", ""
	m.Hardware.CPUShares, m.Hardware.CPUQuota, m.Hardware.CPUPeriod = 0, 0, 0
	m.Shares = slices.Clone(m.Shares)
	for i := range m.Shares {
		m.Shares[i].Name = ""
	}
	m.Disks = slices.Clone(m.Disks)
	for i, d := range m.Disks {
		v, given := vm.Volumes[d.Name]
		if given {
			m.Disks[i].Source = machine.DiskSource{}
		}
		if given && v.Overlay || !given && d.Source.Blank {
			m.Disks[i].Ephemeral = false
		}
	}
	// What is attached with the seed is there. A prepared seed has no other media with it.
	m.Media = slices.DeleteFunc(slices.Clone(m.Media), func(x machine.Media) bool {
		return slices.ContainsFunc(vm.Attachments, func(a seed.Attachment) bool {
			return a.Kind == seed.Drive && a.Label == x.Label && a.Serial == x.Serial
		})
	})
	return m
}

// partitioned complains when a partition of a disk is mounted and the disk has none.
func partitioned(m machine.Machine, disk, path string, l *diag.List) error {
	i := slices.IndexFunc(m.Mounts, func(x machine.Mount) bool { return x.Disk == disk && x.Partition > 0 })
	if i < 0 {
		return nil
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	head := make([]byte, 512)
	if _, err := io.ReadFull(file, head); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return err
	}
	qcow := bytes.HasPrefix(head, []byte("QFI\xfb"))
	if !qcow && (head[510] != 0x55 || head[511] != 0xaa) {
		at := fmt.Sprintf("mounts[%d]", i)
		l.Add(diag.Diagnostic{Code: CodeNoPartition, Severity: diag.Error, Range: m.Places.Find(at), Field: at,
			Summary: fmt.Sprintf("partition %d of disk %q is mounted, but %s has no partition table", m.Mounts[i].Partition, disk, path),
			Remedy:  `set the volume's option part to "0" for a file system without one, or partition the file`})
	}
	return nil
}

// plan prints the command that run would start.
func (a *app) plan(ctx context.Context, f *runFlags, m machine.Machine, l diag.List, root string) error {
	dir, err := os.MkdirTemp("", "vmseed-plan-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	vm, err := a.vm(ctx, f, m, &l, dir)
	if err != nil || l.HasErrors() {
		return errors.Join(err, a.failed(l, false))
	}
	final := filepath.Join(root, supervisor.DirName(m.Namespace, m.Name))
	vm.StateDir = final
	for i, x := range vm.Attachments {
		vm.Attachments[i].Path = strings.Replace(x.Path, dir, final, 1)
	}
	if err := a.failed(append(l, a.checkVM(vm)...), true); err != nil {
		return err
	}
	a.say("seed " + describeSeed(f, m, vm.Attachments))
	args, err := a.engine.Hypervisors[0].(hypervisor.Planner).Plan(ctx, vm)
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
func (a *app) launch(ctx context.Context, f *runFlags, m machine.Machine, l diag.List, root string, p *progress) (*supervisor.Client, error) {
	if f.replace {
		if err := a.rehearse(ctx, f, m, l); err != nil {
			return nil, err
		}
		if old, err := supervisor.Open(filepath.Join(root, supervisor.DirName(m.Namespace, m.Name))); err == nil {
			if err := old.Remove(ctx); err != nil {
				return nil, &exitError{exitEnvironment, err}
			}
		}
	}
	dir, keep, discard, err := supervisor.Create(root, m.Namespace, m.Name)
	if errors.Is(err, supervisor.ErrExists) {
		return nil, usagef("%w; start it with vmseed start, or replace it with --replace", err)
	}
	if err != nil {
		return nil, &exitError{exitEnvironment, err}
	}
	vm, err := a.vm(ctx, f, m, &l, dir)
	if err == nil && !l.HasErrors() {
		l = append(l, a.checkVM(vm)...)
	}
	if failed := a.failed(l, false); err != nil || failed != nil {
		return nil, errors.Join(hostTrouble(err), failed, discard())
	}
	p.phase("seed", describeSeed(f, m, vm.Attachments))
	handle, err := a.engine.Hypervisors[0].Start(ctx, vm)
	if err != nil {
		return nil, errors.Join(hostTrouble(err), discard())
	}
	if err := keep(); err != nil {
		return nil, &exitError{exitEnvironment, err}
	}
	return handle.(interface{ Client() *supervisor.Client }).Client(), nil
}

// rehearse does all that can go wrong with a definition in a directory of its own, so that an old VM is not removed for
// one that cannot take its place.
func (a *app) rehearse(ctx context.Context, f *runFlags, m machine.Machine, l diag.List) error {
	dir, err := os.MkdirTemp("", "vmseed-plan-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	vm, err := a.vm(ctx, f, m, &l, dir)
	if err == nil && !l.HasErrors() {
		l = append(l, a.checkVM(vm)...)
	}
	if err != nil || l.HasErrors() {
		return errors.Join(hostTrouble(err), a.failed(l, false))
	}
	return nil
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
