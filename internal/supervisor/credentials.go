package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/vmseed/vmseed/internal/qga"
	"github.com/vmseed/vmseed/machine"
)

// CredentialsSynchronized is the condition that the guest agent has set every credential, under KubeVirt's name for it.
const CredentialsSynchronized = "AccessCredentialsSynchronized"

// What is said while there is nothing better to say.
const (
	agentAwaited    = "the guest agent has not answered yet"
	agentOffline    = "the guest agent does not answer; an image needs the package qemu-guest-agent for it"
	credentialsLost = "the supervisor that held the credentials ended before the guest agent took them, and they are in no file; " +
		"set them in the guest, or hand them over again, as vmseed run --replace does to a new VM"
)

// Times of the conversation with the guest agent.
const (
	// agentTime is how long the agent may take for one command.
	agentTime = 2 * time.Minute
	// agentSilence is how long the agent may take to answer for the first time, before it is asked once more.
	agentSilence = time.Minute
	// agentBoot is how long a guest that has not reported the end of its first boot may take to start the agent.
	agentBoot = 10 * time.Minute
	// The pauses between attempts: a user may not be there yet, because the guest makes it at its first boot.
	agentPause    = time.Second
	agentMaxPause = 15 * time.Second
)

// maxCredentials bounds what a client hands over.
const maxCredentials = 4 << 20

// credential is what the agent sets for one user, as it goes over the control socket.
type credential struct {
	User     string   `json:"user"`
	Password string   `json:"password,omitempty"`
	Keys     []string `json:"keys,omitempty"`
}

// SetCredentials hands over passwords and SSH keys that the guest agent shall set as soon as it answers, instead of those
// handed over before. The condition CredentialsSynchronized tells when it has. Nothing of them is written to a file.
func (c *Client) SetCredentials(ctx context.Context, users []machine.AgentUser) error {
	var list []credential
	for _, u := range users {
		list = append(list, credential{User: u.Name, Password: u.Password.Reveal(), Keys: u.SSHAuthorizedKeys})
	}
	body, err := json.Marshal(list)
	if err != nil {
		return err
	}
	answer, err := c.request(ctx, http.MethodPost, pathCredentials, body)
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

// WaitCredentials returns when the guest agent has set every credential, calling f (which may be nil) with each event on
// the way. The error wraps ErrEnded when the VM ends before.
func (c *Client) WaitCredentials(ctx context.Context, f func(Event)) error {
	done := errors.New("done")
	err := c.Events(ctx, 0, func(e Event) error {
		if f != nil {
			f(e)
		}
		if e.Condition == nil || e.Condition.Type != CredentialsSynchronized || !e.Condition.Status {
			return nil
		}
		// The event may be of credentials that were handed over earlier.
		if now, err := c.State(ctx); err != nil || now.Credentials == nil || !now.Credentials.Status {
			return err
		}
		return done
	})
	switch {
	case errors.Is(err, done):
		return nil
	case err != nil:
		return err
	}
	return ErrEnded
}

// serveCredentials takes credentials from a client.
func (s *supervisor) serveCredentials(w http.ResponseWriter, r *http.Request) {
	var list []credential
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxCredentials)).Decode(&list); err != nil {
		http.Error(w, "these are no credentials", http.StatusBadRequest) // the error could quote them
		return
	}
	ctx, cancel := context.WithCancel(s.ctx)
	s.mutex.Lock()
	if s.credentials != nil {
		s.credentials()
	}
	s.credentials = cancel
	s.mutex.Unlock()
	s.condition(ctx, false, agentAwaited)
	s.working.Go(func() {
		defer cancel()
		s.synchronize(ctx, list)
	})
	w.WriteHeader(http.StatusAccepted)
}

// condition records how far the credentials have come, and tells those who follow when that has changed. What is said of
// credentials whose ctx has ended is about those that others took the place of.
func (s *supervisor) condition(ctx context.Context, status bool, message string) {
	c := Condition{Type: CredentialsSynchronized, Status: status, Message: message}
	s.mutex.Lock()
	same := s.state.Credentials != nil && *s.state.Credentials == c
	s.mutex.Unlock()
	if same {
		return
	}
	changed := false
	s.update(func(st *State) {
		if ctx.Err() == nil {
			st.Credentials, changed = &c, true
		}
	})
	if changed {
		s.journal.add(Event{Condition: &c})
	}
}

// forgetCredentials says that credentials which an earlier supervisor did not get set are lost. Those that were set are
// on the guest's disk.
func (s *supervisor) forgetCredentials() {
	s.mutex.Lock()
	c, mine := s.state.Credentials, s.credentials != nil
	s.mutex.Unlock()
	switch {
	case c == nil || mine:
	case c.Status:
		s.journal.add(Event{Condition: c})
	default:
		s.condition(s.ctx, false, credentialsLost)
	}
}

// synchronize has the guest agent set credentials, again and again until it has set all.
func (s *supervisor) synchronize(ctx context.Context, list []credential) {
	start := time.Now()
	for pause := agentPause; ; pause = min(2*pause, agentMaxPause) {
		err := s.agent.use(ctx, s.dir, agentSilence, func(agent *qga.Client) (err error) {
			list, err = setCredentials(ctx, agent, list)
			return err
		})
		switch {
		case ctx.Err() != nil:
			return
		case len(list) == 0:
			s.condition(ctx, true, "")
			return
		case errors.Is(err, errSilent):
			s.condition(ctx, false, s.silent(time.Since(start)))
		default:
			s.condition(ctx, false, err.Error())
		}
		if sleep(ctx, pause) != nil {
			return
		}
	}
}

// silent says what the silence of the agent means. A guest starts it during its first boot, which may take minutes.
func (s *supervisor) silent(since time.Duration) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.state.FirstBoot == nil && since < agentBoot {
		return agentAwaited
	}
	return agentOffline
}

// errSilent means that the agent does not answer.
var errSilent = errors.New("the guest agent is silent")

// setCredentials sets what it can, and returns what is left with the first reason.
func setCredentials(ctx context.Context, agent *qga.Client, list []credential) (left []credential, err error) {
	for _, c := range list {
		if problem := setCredential(ctx, agent, &c); problem != nil {
			left = append(left, c)
			if err == nil {
				err = fmt.Errorf("user %q: %w", c.User, problem)
			}
		}
	}
	return left, err
}

// setCredential sets what is left to set for one user.
func setCredential(ctx context.Context, agent *qga.Client, c *credential) error {
	ctx, cancel := context.WithTimeout(ctx, agentTime)
	defer cancel()
	if c.Password != "" {
		if err := agent.SetPassword(ctx, c.User, c.Password); err != nil {
			return err
		}
		c.Password = ""
	}
	if len(c.Keys) > 0 {
		if err := agent.SetAuthorizedKeys(ctx, c.User, c.Keys); err != nil {
			return err
		}
		c.Keys = nil
	}
	return nil
}
