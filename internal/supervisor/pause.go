package supervisor

import (
	"context"
	"errors"
	"net/http"
)

// Paths of what stops the guest's processors and lets them go on.
const (
	pathPause  = "/pause"
	pathResume = "/resume"
)

// ByUser is the reason of the status Paused when a client asked for it (QEMU's QMP reference, RunState: paused).
const ByUser = "paused"

// ErrTooOld means that the VM's supervisor is of a release that cannot do what it is asked. The next start brings another.
var ErrTooOld = errors.New("the VM runs under a supervisor of an older release, which cannot do that; restart the VM")

// Reset restarts the guest at once, as a reset button does.
func (c *Client) Reset(ctx context.Context) error { return c.order(ctx, pathReset) }

// Pause stops the guest's processors: the status becomes Paused, with the reason ByUser. To pause a guest that is paused is no
// error.
func (c *Client) Pause(ctx context.Context) error { return c.order(ctx, pathPause) }

// Resume lets the guest's processors go on, whatever stopped them.
func (c *Client) Resume(ctx context.Context) error { return c.order(ctx, pathResume) }

// order posts to a path.
func (c *Client) order(ctx context.Context, path string) error {
	answer, err := c.request(ctx, http.MethodPost, path, nil)
	var no *refusal
	if errors.As(err, &no) && no.code == http.StatusNotFound {
		return ErrTooOld
	}
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

// monitored hands an order on to QEMU's monitor as a command.
func (s *supervisor) monitored(command string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mutex.Lock()
		m, status := s.monitor, s.state.Status
		s.mutex.Unlock()
		if m == nil || status == Starting {
			http.Error(w, "the VM does not run yet", http.StatusServiceUnavailable)
			return
		}
		if err := m.Execute(r.Context(), command, nil, nil); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}
}

// wake lets a guest go on that is to shut down: a paused one hears no power button.
func (s *supervisor) wake(ctx context.Context) {
	s.mutex.Lock()
	m, status := s.monitor, s.state.Status
	s.mutex.Unlock()
	if m == nil || status != Paused {
		return
	}
	if err := m.Execute(ctx, "cont", nil, nil); err != nil {
		s.log.Warn("a paused guest does not go on", "error", err)
	}
}
