package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// errKept means that a VM which runs could not be taken over; the next supervisor tries again.
var errKept = errors.New("the VM runs, but cannot be taken over")

// adopt takes over a running QEMU, whose processes are given where the system tells. QEMU is then no child of this
// process, so its end shows in its monitor's.
func (s *supervisor) adopt(pids []int) (<-chan error, error) {
	gone := make(chan struct{})
	if len(pids) == 0 {
		close(gone) // one try to connect is enough to know
	}
	ctx, cancel := context.WithTimeout(s.ctx, startTime)
	defer cancel()
	if err := s.openService(); err != nil {
		s.note("the guest finds no metadata service any more: %v", err) // which is no reason to end it
	}
	if err := s.connect(ctx, gone); err != nil {
		if len(pids) == 0 {
			return nil, errNotRunning
		}
		return nil, fmt.Errorf("%w: %w", errKept, err)
	}
	if cid := s.state.CID; cid != 0 {
		if err := s.listenNotify(cid); err != nil {
			s.log.Debug("the guest's systemd is not heard any more", "error", err)
		}
	}
	s.update(func(st *State) {
		st.Supervisor = os.Getpid()
		if len(pids) > 0 {
			st.PID = pids[0]
		}
	})
	var status struct {
		Status string `json:"status"`
	}
	s.looking.Lock()
	defer s.looking.Unlock()
	m := s.qemu()
	if err := m.Execute(ctx, "query-status", nil, &status); err != nil {
		return nil, fmt.Errorf("%w: %w", errKept, err)
	}
	for i, a := range s.plan.Attempts {
		if a.Accel == s.state.Accel {
			s.attempted = i
		}
	}
	switch status.Status {
	case "prelaunch", "inmigrate":
		if err := s.resume(ctx); err != nil {
			return nil, fmt.Errorf("%w: %w", errKept, err)
		}
	case "running":
		s.status(Running, "")
	case "internal-error":
		s.broke()
	default:
		s.status(Paused, status.Status)
	}
	s.note("a new supervisor took the VM over")
	s.forgetCredentials()
	ended := make(chan error, 1)
	s.working.Go(func() {
		select {
		case <-m.Done():
			// The process ends a moment after its monitor.
			ended <- waitGone(s.ctx, s.processes)
		case <-s.ctx.Done():
			if !s.plan.Detached {
				ended <- nil
			}
		}
	})
	return ended, nil
}

// waitGone waits until there are no processes of a kind any more.
func waitGone(ctx context.Context, find func() []int) error {
	ctx, cancel := context.WithTimeout(ctx, quitTime)
	defer cancel()
	for pause := firstPause; len(find()) > 0; pause = min(2*pause, longPause) {
		if err := sleep(ctx, pause); err != nil {
			return fmt.Errorf("QEMU or a helper of it does not end: %w", err)
		}
	}
	return nil
}

// endProcesses kills processes and waits until they are gone.
func endProcesses(pids []int) error {
	for _, pid := range pids {
		p, err := os.FindProcess(pid)
		if err != nil {
			continue
		}
		if err := p.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("cannot end process %d: %w", pid, err)
		}
	}
	return nil
}
