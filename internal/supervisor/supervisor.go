package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/vmseed/vmseed/internal/atomicfile"
	"github.com/vmseed/vmseed/internal/qmp"
	"github.com/vmseed/vmseed/internal/vmnet"
	"github.com/vmseed/vmseed/report"
)

// ErrBusy means that the VM has a supervisor already.
var ErrBusy = errors.New("the VM has a supervisor already")

// supervisor is the state of a supervisor process.
type supervisor struct {
	dir  string
	plan Plan
	log  *slog.Logger

	journal *journal
	serial  *serial
	console *report.Console
	// networked means that the networks are there, tapped is at how many of its tap devices the guest is answered.
	networked bool
	tapped    int
	// service is what answers the guest's requests by HTTP; nil means that nothing does.
	service *service
	// agent is the line to the guest agent.
	agent agentLine
	// attempted is the number of the attempt that QEMU runs by.
	attempted int
	// said is how long QEMU's log was when the attempt began, in bytes.
	said int64
	// working are the goroutines that belong to the run; they end when ctx does.
	ctx     context.Context
	cancel  context.CancelFunc
	working sync.WaitGroup

	// looking is held by who asks QEMU for its status and writes down the answer, so that the last who asks has the last word.
	looking sync.Mutex

	mutex   sync.Mutex
	state   State
	monitor *qmp.Client
	// ran is when the guest's processors began to run, or went on.
	ran time.Time
	// links are the networks of the NICs, as far as they are there.
	links []*vmnet.Network
	// stopping means that someone asked for the end.
	stopping bool
	// shutdown is the reason of QEMU's last SHUTDOWN event.
	shutdown string
	// heard is the best of the sources that reported so far; see the method rank.
	heard report.Source
	// answered are the numbers of the reporter's last lines, by boot.
	answered map[string]int
	// credentials ends the attempts to set credentials in the guest; nil means that there are none.
	credentials context.CancelFunc
	// rough is a word on the first boot that is kept until it is sure that there is no better.
	rough *report.Event

	// notified is the number of the guest whose systemd is listened to; 0 means that it is not.
	notified uint32

	// ready is closed when the state is true: what an earlier supervisor wrote down may be long over.
	ready chan struct{}
	// signs gets a value at the guest's first sign of life, trouble one when QEMU stopped the guest.
	signs   chan struct{}
	trouble chan string
}

// Main supervises the VM in a state directory until it has ended: it starts the VM when a client asked for that, else it
// takes over the running one. A foreground VM ends when lifeline does, which is the end of a pipe that the starting
// process holds. When ctx ends, a detached VM runs on.
func Main(ctx context.Context, dir string, lifeline io.Reader) error {
	private()
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	held, busy, err := atomicfile.Hold(filepath.Join(dir, lockFile))
	if err != nil {
		return err
	}
	if busy {
		return ErrBusy
	}
	defer held.Close()
	if err := atomicfile.Sweep(dir); err != nil {
		return err
	}
	plan, err := LoadPlan(dir)
	if err != nil {
		return err
	}
	state, err := loadState(dir)
	if err != nil {
		return err
	}
	s := &supervisor{dir: dir, plan: plan, state: state, log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		answered: map[string]int{}, ready: make(chan struct{}), signs: make(chan struct{}, 1), trouble: make(chan string, 1)}
	s.ctx, s.cancel = context.WithCancel(ctx)
	defer s.cancel()
	if !plan.Detached && lifeline != nil {
		go func() {
			_, _ = io.Copy(io.Discard, lifeline)
			s.log.Info("the process that started the VM has ended")
			s.cancel()
		}()
	}
	return s.run()
}

// run is the life of the supervisor.
func (s *supervisor) run() error {
	asked := s.state.Status == Starting && s.state.PID == 0
	s.state.Supervisor = os.Getpid()
	var err error
	if s.journal, err = openJournal(s.dir, asked); err != nil {
		return err
	}
	defer s.journal.close()
	s.replay()
	s.console = report.NewConsole(s.name(), time.Now, s.hear)
	if s.plan.Plain {
		s.console.Plain()
	}
	s.serial = newSerial(s.dir, s.fromGuest)

	server, err := s.listenControl()
	if err != nil {
		return err
	}
	settled := sync.OnceFunc(func() { close(s.ready) })
	defer settled()
	if asked {
		settled()
	}
	ended, err := s.begin(asked)
	if err == nil {
		settled()
		err = s.watch(ended)
	}
	if ctx := s.ctx.Err(); ctx != nil && s.plan.Detached && errors.Is(err, ctx) {
		err = nil
	}
	s.finish(err)
	settled()
	s.journal.close()
	server.end()
	return errors.Join(err, remove(filepath.Join(s.dir, controlSocket)))
}

// name is that of the machine in reports.
func (s *supervisor) name() string { return s.plan.Namespace + "/" + s.plan.Name }

// replay learns from the events of earlier supervisors what the guest said already.
func (s *supervisor) replay() {
	for _, e := range s.journal.events {
		if e.Report != nil && s.rank(e.Report.Source) > s.rank(s.heard) {
			s.heard = e.Report.Source
		}
	}
}

// begin starts QEMU, or takes over the one that runs. The channel gets a value when QEMU has ended.
func (s *supervisor) begin(asked bool) (<-chan error, error) {
	pids := processesIn(s.dir, s.plan.Program)
	if len(pids) > 0 || !asked && s.state.Status.Alive() {
		ended, err := s.adopt(pids)
		if err == nil || !asked {
			return ended, err
		}
		s.log.Warn("QEMU of an earlier start cannot be taken over and is ended", "error", err)
		if err := endProcesses(pids); err != nil {
			return nil, err
		}
		if err := waitGone(s.ctx, s.processes); err != nil {
			return nil, err
		}
	}
	if !asked {
		return nil, errNotRunning
	}
	return s.launch()
}

// errNotRunning means that QEMU ended while nobody watched.
var errNotRunning = errors.New("QEMU ended while it had no supervisor, as when the host goes down")

// watch waits for the end of QEMU, or of this supervisor's own time.
func (s *supervisor) watch(ended <-chan error) error {
	for {
		select {
		case err := <-ended:
			if !s.restarts() {
				return s.verdict(err)
			}
			if ended, err = s.again(); err != nil {
				return err
			}
		case reason := <-s.trouble:
			err := s.giveUp(ended, reason)
			if errors.Is(err, errWrote) || s.attempted+1 >= len(s.plan.Attempts) {
				return err
			}
			s.another(s.attempted, err)
			if ended, err = s.launchFrom(s.attempted + 1); err != nil {
				return err
			}
		case <-s.ctx.Done():
			if s.plan.Detached {
				return nil
			}
			s.mutex.Lock()
			s.stopping = true
			s.mutex.Unlock()
			s.quit(ended)
			return nil
		}
	}
}

// quitTime is how long QEMU may take to end when told to. It writes its caches.
const quitTime = 20 * time.Second

// quit tells QEMU to end, and kills it when it does not.
func (s *supervisor) quit(ended <-chan error) {
	ctx, cancel := context.WithTimeout(context.Background(), quitTime)
	defer cancel()
	if m := s.qemu(); m != nil {
		_ = m.Execute(ctx, "quit", nil, nil)
	}
	select {
	case <-ended:
		return
	case <-ctx.Done():
	}
	_ = endProcesses(s.processes())
	<-ended
}

// verdict turns the end of QEMU into nil when it was asked for, by the guest or a client.
func (s *supervisor) verdict(err error) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	switch {
	case s.stopping, s.shutdown == "guest-shutdown", s.shutdown == "host-qmp-quit" && err == nil:
		return nil
	case err != nil:
		return fmt.Errorf("QEMU failed: %w%s", err, s.lastWords())
	case s.shutdown != "":
		return fmt.Errorf("QEMU ended: %s", s.shutdown)
	}
	return nil
}

// finish records how the VM ended and closes what belongs to the run.
func (s *supervisor) finish(err error) {
	kept := s.ctx.Err() != nil && s.plan.Detached && err == nil ||
		errors.Is(err, errKept) && len(s.processes()) > 0
	s.cancel()
	s.mutex.Lock()
	monitor := s.monitor
	s.monitor = nil
	rough, heard := s.rough, s.heard
	s.mutex.Unlock()
	if monitor != nil {
		_ = monitor.Close()
	}
	s.serial.close()
	for _, n := range s.networks() {
		if err := n.Close(); err != nil {
			s.log.Warn("closing a network", "error", err)
		}
	}
	s.working.Wait()
	if kept {
		return // QEMU runs on, and the next client starts a new supervisor
	}
	if rough != nil && s.rank(rough.Source) >= s.rank(heard) {
		s.firstBoot(*rough)
	}
	_ = endProcesses(processesIn(s.dir, s.helpers()...))
	s.sweepSockets()
	status, reason := Stopped, "it was shut down"
	switch {
	case errors.Is(err, errNotRunning):
		reason = err.Error()
	case err != nil:
		status, reason = Failed, err.Error()
	}
	s.update(func(st *State) {
		now := time.Now().UTC()
		st.Status, st.Reason, st.PID, st.Supervisor, st.Ended = status, reason, 0, 0, &now
	})
	s.journal.add(Event{Status: status, Reason: reason})
}

// processes are those of QEMU that run in the VM's directory. Where the system does not tell, the state says.
func (s *supervisor) processes() []int {
	if pids := processesIn(s.dir, s.plan.Program); len(pids) > 0 || runtime.GOOS == "linux" {
		return pids
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.state.PID == 0 || !runs(strconv.Itoa(s.state.PID)) {
		return nil
	}
	return []int{s.state.PID}
}

// helpers are the programs that run beside QEMU.
func (s *supervisor) helpers() []string {
	var out []string
	for _, h := range s.plan.Helpers {
		out = append(out, h.Program)
	}
	return out
}

// sweepSockets removes the sockets of a run that has ended.
func (s *supervisor) sweepSockets() {
	names := []string{MonitorSocket, SerialSocket, ReportSocket, AgentSocket, TPMSocket}
	for _, n := range s.plan.NICs {
		names = append(names, n.Socket)
	}
	for _, name := range names {
		if err := remove(filepath.Join(s.dir, name)); err != nil {
			s.log.Warn("removing a socket", "error", err)
		}
	}
}

// update changes the state and saves it.
func (s *supervisor) update(change func(*State)) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	change(&s.state)
	if err := s.state.save(s.dir); err != nil {
		s.log.Error("saving the state", "error", err)
	}
}

// status records a new status and tells those who follow.
func (s *supervisor) status(status Status, reason string) {
	s.mutex.Lock()
	same := s.state.Status == status
	s.mutex.Unlock()
	s.update(func(st *State) {
		st.Status, st.Reason = status, reason
		if status == Running && !same {
			s.ran = time.Now()
		}
	})
	if !same {
		s.journal.add(Event{Status: status, Reason: reason})
	}
}

// note tells those who follow something.
func (s *supervisor) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	s.log.Info(text)
	s.journal.add(Event{Note: text})
}

// qemu returns the connection to QEMU's monitor, or nil.
func (s *supervisor) qemu() *qmp.Client {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.monitor
}

// keep connects to one of QEMU's sockets and calls use with the connection, again and again, until the run ends. QEMU
// listens again when a connection has ended.
func (s *supervisor) keep(name string, use func(net.Conn) error) {
	s.working.Go(func() {
		for s.ctx.Err() == nil {
			conn, err := dialUntil(s.ctx, nil, s.dir, name)
			if err != nil {
				return
			}
			stop := context.AfterFunc(s.ctx, func() { _ = conn.Close() })
			err = use(conn)
			stop()
			_ = conn.Close()
			if s.ctx.Err() == nil {
				s.log.Debug("a connection to QEMU ended", "socket", name, "error", err)
			}
		}
	})
}
