package supervisor

import (
	"context"
	"errors"
	"math"
	"net/http"

	"github.com/vmseed/vmseed/internal/qga"
)

// AwaitAgent returns when the guest agent answers. The error is ErrNotRunning when the VM ends before.
func (c *Client) AwaitAgent(ctx context.Context) error {
	for {
		answer, err := c.request(ctx, http.MethodGet, pathAgent, nil)
		if err == nil {
			return answer.Body.Close()
		}
		// A supervisor that ends says no; what it leaves is a VM with another one, or none that runs.
		var no *refusal
		if !errors.As(err, &no) {
			return err
		}
		if err := sleep(ctx, firstPause); err != nil {
			return err
		}
	}
}

// serveAgent answers when the guest agent has. Until then it asks again and again, as long as the client waits and the VM runs.
func (s *supervisor) serveAgent(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	go func() {
		defer cancel()
		_ = s.journal.follow(ctx, math.MaxInt, nil) // which ends with the VM
	}()
	for pause := agentPause; ; pause = min(2*pause, agentMaxPause) {
		conn, err := dialUntil(ctx, nil, s.dir, AgentSocket)
		if err != nil {
			break
		}
		first, end := context.WithTimeout(ctx, agentSilence)
		err = qga.New(conn).Sync(first)
		end()
		_ = conn.Close()
		if err == nil {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		if sleep(ctx, pause) != nil {
			break
		}
	}
	http.Error(w, "the guest agent did not answer", http.StatusServiceUnavailable)
}
