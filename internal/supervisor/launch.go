package supervisor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/vmseed/vmseed/internal/qmp"
	"github.com/vmseed/vmseed/internal/vmnet"
)

const (
	// startTime is how long QEMU may take until its monitor answers. It opens images and firmware first.
	startTime = 2 * time.Minute
	// defaultSilence is how long a guest on an accelerator that may be broken can go without a sign of life, while there is
	// another accelerator to try. Firmware and boot loader write to the console within seconds when the processor works.
	defaultSilence = time.Minute
)

// launch starts QEMU by the first attempt that works. An accelerator works when the guest shows a sign of life; while
// the guest has written to no disk, another start loses nothing.
func (s *supervisor) launch() (<-chan error, error) {
	for _, name := range s.plan.Fresh {
		if err := remove(filepath.Join(s.dir, name)); err != nil {
			return nil, err
		}
	}
	s.sweepSockets()
	if err := s.openService(); err != nil {
		return nil, err
	}
	now := time.Now().UTC()
	s.update(func(st *State) {
		// The port of the last run is kept, so that what users wrote down stays true.
		port := cmp.Or(s.plan.SSH.Port, st.SSHPort)
		if s.plan.SSH.None {
			port = 0
		}
		*st = State{Status: Starting, Started: &now, Supervisor: os.Getpid(), SSHPort: port, Credentials: st.Credentials,
			Password: st.Password, CID: st.CID}
	})
	s.journal.add(Event{Status: Starting})
	s.mark("the VM is started")
	s.forgetCredentials()
	if !s.networked {
		if err := s.startNetworks(s.plan.SSH.Port == 0); err != nil {
			return nil, err
		}
	}
	return s.launchFrom(0)
}

// launchFrom starts QEMU by the attempt of a number, or a later one when that does not work.
func (s *supervisor) launchFrom(first int) (<-chan error, error) {
	plan, err := LoadPlan(s.dir) // the first boot may be over since this supervisor read it
	if err != nil {
		return nil, err
	}
	for i := first; i < len(plan.Attempts); i++ {
		if i > 0 {
			s.clear()
		}
		ended, err := s.attempt(plan.Attempts[i])
		last := i == len(plan.Attempts)-1
		if err == nil && !last {
			err = s.prove(ended)
		}
		switch {
		case err == nil:
			s.attempted = i
			return ended, nil
		case last || s.ctx.Err() != nil || errors.Is(err, errWrote):
			return nil, err
		}
		s.another(i, err)
	}
	return nil, errors.New("the plan has no way to start the VM")
}

// another says that the next attempt follows, and why.
func (s *supervisor) another(i int, err error) {
	s.note("the accelerator %s does not work here: %v; starting again on %s", s.plan.Attempts[i].Accel, err, s.plan.Attempts[i+1].Accel)
}

// attempt starts QEMU, connects to it and lets the guest run.
func (s *supervisor) attempt(a Attempt) (<-chan error, error) {
	ctx, cancel := context.WithTimeout(s.ctx, startTime)
	defer cancel()
	s.quiet()
	for _, h := range s.plan.Helpers {
		if err := s.startHelper(ctx, h); err != nil {
			return nil, err
		}
	}
	// The guest waits until everything is connected to it.
	ended, err := s.spawn(s.plan.Program, append(slices.Concat(a.Args, s.notifyArgs()), "-S"))
	if err != nil {
		return nil, err
	}
	gone := make(chan struct{})
	result := make(chan error, 1)
	go func() {
		result <- <-ended
		close(gone)
	}()
	if err := s.startTaps(); err != nil {
		s.quit(result)
		return nil, err
	}
	if err := s.connect(ctx, gone); err != nil {
		s.quit(result)
		return nil, fmt.Errorf("%w%s", err, s.lastWords())
	}
	s.update(func(st *State) { st.Accel = a.Accel })
	s.looking.Lock()
	err = s.resume(ctx)
	s.looking.Unlock()
	if err != nil {
		s.quit(result)
		return nil, err
	}
	return result, nil
}

// environment leaves out of an environment what a guest that breaks out of its VM should not find there: the passwords and
// tokens for which the commands have variables.
func environment(all []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return strings.HasSuffix(name, "_PASSWORD") || strings.HasSuffix(name, "_TOKEN")
	})
}

// spawn starts a program in the VM's directory, with its words in QEMU's log.
func (s *supervisor) spawn(program string, args []string) (<-chan error, error) {
	log, err := os.OpenFile(filepath.Join(s.dir, QEMULog), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.Env = s.dir, log, log, environment(os.Environ())
	if program == s.plan.Program {
		taps, err := s.openTaps()
		defer closeAll(taps)
		if err != nil {
			return nil, err
		}
		cmd.ExtraFiles = taps
	}
	ended, err := startProcess(cmd, !s.plan.Detached)
	if err != nil {
		return nil, err
	}
	if program == s.plan.Program {
		s.update(func(st *State) { st.PID = cmd.Process.Pid })
	}
	return ended, nil
}

func (s *supervisor) startHelper(ctx context.Context, h Helper) error {
	if len(processesIn(s.dir, h.Program)) > 0 {
		return nil
	}
	if err := remove(filepath.Join(s.dir, h.Socket)); err != nil {
		return err
	}
	ended, err := s.spawn(h.Program, h.Args)
	if err != nil {
		return fmt.Errorf("%s: %w", h.Name, err)
	}
	for pause := firstPause; ; pause = min(2*pause, longPause) {
		if _, err := os.Lstat(filepath.Join(s.dir, h.Socket)); err == nil {
			return nil
		}
		select {
		case err := <-ended:
			return fmt.Errorf("%s ended: %w%s", h.Name, err, s.lastWords())
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", h.Name, ctx.Err())
		case <-time.After(pause):
		}
	}
}

// connect connects to QEMU's monitor, and everything else to QEMU.
func (s *supervisor) connect(ctx context.Context, gone <-chan struct{}) error {
	conn, err := dialUntil(ctx, gone, s.dir, MonitorSocket)
	if err != nil {
		return fmt.Errorf("QEMU does not start: %w", err)
	}
	monitor, err := qmp.New(ctx, conn, s.fromQEMU)
	if err != nil {
		return err
	}
	s.mutex.Lock()
	s.monitor = monitor
	s.mutex.Unlock()
	if !s.networked {
		// A VM that runs is not given up for a port.
		if err := s.startNetworks(true); err != nil {
			return err
		}
		if err := errors.Join(s.protectTaps(), s.startTaps()); err != nil {
			s.note("what the guest asks of its network by itself stays without an answer: %v", err)
		}
	}
	s.connectGuest()
	return nil
}

// dropMonitor forgets the monitor of an attempt that has ended.
func (s *supervisor) dropMonitor() {
	s.mutex.Lock()
	monitor := s.monitor
	s.monitor, s.shutdown = nil, ""
	s.mutex.Unlock()
	if monitor != nil {
		_ = monitor.Close()
	}
}

// connectGuest connects the console, the report port and the networks, once for all attempts: they connect again.
func (s *supervisor) connectGuest() {
	s.mutex.Lock()
	first := !s.serial.used
	s.serial.used = true
	s.mutex.Unlock()
	if !first {
		return
	}
	s.keep(SerialSocket, s.serial.serve)
	s.keep(ReportSocket, s.listenReports)
	for i, n := range s.plan.NICs {
		s.keep(n.Socket, func(conn net.Conn) error { return s.networks()[i].Serve(conn) })
	}
	s.working.Go(s.rotateLogs)
}

// networks are those of the NICs, as far as they are there: clients may ask while the VM starts.
func (s *supervisor) networks() []*vmnet.Network {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.links
}

// startNetworks makes the networks of the NICs and the forward to the guest's SSH server, on another port than planned
// when that is taken and anyPort allows it.
func (s *supervisor) startNetworks(anyPort bool) error {
	for _, n := range s.plan.NICs[len(s.networks()):] {
		network, err := vmnet.New(n.Network, s.log)
		if err != nil {
			return err
		}
		s.mutex.Lock()
		s.links = append(s.links, network)
		s.mutex.Unlock()
	}
	if err := s.startService(); err != nil {
		return err
	}
	s.networked = true
	ssh := s.plan.SSH
	if ssh.None || !ssh.Guest.IsValid() && (ssh.NIC < 0 || ssh.NIC >= len(s.networks())) {
		return nil
	}
	port := ssh.Port
	if s.state.SSHPort != 0 {
		port = s.state.SSHPort
	}
	l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil && anyPort && port != 0 {
		s.note("port %d of this host is taken by another program; the guest's SSH server gets another", port)
		l, err = net.Listen("tcp4", "127.0.0.1:0")
	}
	if err != nil {
		return fmt.Errorf("the forward to the guest's SSH server: %w", err)
	}
	if ssh.Guest.IsValid() {
		s.forwardTap(l, sshPort)
	} else {
		s.networks()[ssh.NIC].Forward(l, sshPort)
	}
	s.update(func(st *State) { st.SSHPort = l.Addr().(*net.TCPAddr).Port })
	return nil
}

// resume plugs the cables as planned and lets the guest run. The caller holds looking.
func (s *supervisor) resume(ctx context.Context) error {
	m := s.qemu()
	for _, id := range s.plan.LinksDown {
		if err := m.Execute(ctx, "set_link", map[string]any{"name": id, "up": false}, nil); err != nil {
			return err
		}
	}
	if len(s.plan.Once) > 0 {
		// A reset keeps the kernel's arguments, so the guest restarts in a new process without those of its first boot.
		if err := m.Execute(ctx, "set-action", map[string]any{"reboot": "shutdown"}, nil); err != nil {
			return err
		}
	}
	if err := m.Execute(ctx, "cont", nil, nil); err != nil {
		return err
	}
	s.status(Running, "")
	return nil
}

// restarts reports whether QEMU, which has ended, did so because the guest restarts.
func (s *supervisor) restarts() bool {
	if m := s.qemu(); m != nil {
		select { // its last event may be on the way
		case <-m.Done():
		case <-time.After(quitTime):
		}
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return !s.stopping && s.ctx.Err() == nil && (s.shutdown == "guest-reset" || s.shutdown == "host-qmp-system-reset")
}

// again starts QEMU by the attempt that worked, as the plan says now.
func (s *supervisor) again() (<-chan error, error) {
	plan, err := LoadPlan(s.dir)
	if err != nil {
		return nil, err
	}
	s.restarting()
	s.clear()
	return s.attempt(plan.Attempts[s.attempted])
}

// restarting tells that the guest begins another boot.
func (s *supervisor) restarting() {
	s.note("the guest restarts")
	s.mark("the guest restarts")
}

// clear ends what a QEMU that has ended leaves behind: helpers, which end by themselves a moment later, and sockets.
func (s *supervisor) clear() {
	s.dropMonitor()
	helpers := func() []int { return processesIn(s.dir, s.helpers()...) }
	if err := waitGone(s.ctx, helpers); err != nil {
		_ = endProcesses(helpers())
	}
	s.sweepSockets()
}

// quiet forgets the signs and troubles of an earlier attempt, and what was said in it.
func (s *supervisor) quiet() {
	if info, err := os.Stat(filepath.Join(s.dir, QEMULog)); err == nil {
		s.said = info.Size()
	}
	for {
		select {
		case <-s.signs:
		case <-s.trouble:
		default:
			return
		}
	}
}

// errWrote means that a guest cannot be started again without harm.
var errWrote = errors.New("the guest has written to its disk already")

// prove waits for the guest's first sign of life on an accelerator that may not work. On an error QEMU has ended.
func (s *supervisor) prove(ended <-chan error) error {
	silence := cmp.Or(s.plan.Silence, defaultSilence)
	limit := time.NewTimer(silence)
	defer limit.Stop()
	for {
		select {
		case <-s.signs:
			return nil
		case reason := <-s.trouble:
			return s.giveUp(ended, reason)
		case <-limit.C:
			if left := s.hope(silence); left > 0 {
				limit.Reset(left)
				continue
			}
			return s.giveUp(ended, fmt.Sprintf("no sign of life for %v", silence))
		case err := <-ended:
			return errors.Join(errors.New("QEMU ended"), err)
		case <-s.ctx.Done():
			if !s.plan.Detached {
				s.quit(ended)
			}
			return s.ctx.Err()
		}
	}
}

// hope is how much longer a guest without a sign of life may go on without one. A guest that a user has paused shows none, and
// has all its time when it goes on.
func (s *supervisor) hope(silence time.Duration) time.Duration {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.state.Status == Paused && s.state.Reason == ByUser {
		return silence
	}
	return time.Until(s.ran.Add(silence))
}

// giveUp ends a guest that cannot go on. The error wraps errWrote when another start would harm its disks.
func (s *supervisor) giveUp(ended <-chan error, reason string) error {
	wrote, err := s.wrote()
	s.quit(ended)
	switch {
	case err != nil:
		return errors.Join(errors.New(reason), err)
	case wrote:
		return fmt.Errorf("%s; %w, so it is not started again", reason, errWrote)
	}
	return errors.New(reason)
}

// wrote reports whether the guest has written to a disk.
func (s *supervisor) wrote() (bool, error) {
	ctx, cancel := context.WithTimeout(s.ctx, quitTime)
	defer cancel()
	var stats []struct {
		Stats struct {
			Writes int64 `json:"wr_operations"`
		} `json:"stats"`
	}
	m := s.qemu()
	if m == nil {
		return false, nil
	}
	if err := m.Execute(ctx, "query-blockstats", nil, &stats); err != nil {
		return false, err
	}
	for _, d := range stats {
		if d.Stats.Writes > 0 {
			return true, nil
		}
	}
	return false, nil
}

// fromQEMU handles an event of QEMU.
func (s *supervisor) fromQEMU(e qmp.Event) {
	switch e.Name {
	case "SHUTDOWN":
		var data struct {
			Reason string `json:"reason"`
		}
		_ = json.Unmarshal(e.Data, &data)
		s.mutex.Lock()
		s.shutdown = data.Reason
		s.mutex.Unlock()
	case "RESET":
		s.restarting()
	case "STOP", "RESUME":
		// Asking back from here would wait for itself.
		s.working.Go(s.look)
	}
}

// look finds out whether the guest's processors run, or why QEMU stopped them. What an event says may be over when it is read.
func (s *supervisor) look() {
	s.looking.Lock()
	defer s.looking.Unlock()
	m := s.qemu()
	if m == nil {
		return
	}
	var status struct {
		Status string `json:"status"`
	}
	if err := m.Execute(s.ctx, "query-status", nil, &status); err != nil {
		return
	}
	switch status.Status {
	case "running":
		s.status(Running, "")
	case "shutdown", "postmigrate":
	case "internal-error":
		s.broke()
	default:
		s.status(Paused, status.Status)
	}
}

// broke records that QEMU cannot go on with the guest.
func (s *supervisor) broke() {
	select {
	case s.trouble <- "QEMU stopped the guest with an internal error":
	default:
	}
}

// mostWords is how much of QEMU's log is in an error, in bytes.
const mostWords = 600

// lastWords returns the end of what QEMU and its helpers said since this attempt began, for an error.
func (s *supervisor) lastWords() string {
	f, err := os.Open(filepath.Join(s.dir, QEMULog))
	if err != nil {
		return ""
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil {
		from := max(info.Size()-mostWords, 0)
		if s.said <= info.Size() { // else the log was rotated
			from = max(from, s.said)
		}
		_, _ = f.Seek(from, io.SeekStart)
	}
	text, _ := io.ReadAll(f)
	lines := strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' })
	if len(lines) == 0 {
		return ""
	}
	return "; QEMU says: " + strings.Join(lines, " | ")
}
