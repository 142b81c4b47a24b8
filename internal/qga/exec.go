package qga

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrBlocked means that the agent has no leave to run programs. Distributions of Red Hat's family block guest-exec until
// FILTER_RPC_ARGS in the guest's /etc/sysconfig/qemu-ga lets it through.
var ErrBlocked = errors.New("the guest agent is not allowed to run programs; unblock guest-exec and guest-exec-status in the guest's configuration of qemu-guest-agent")

// Program is what shall run in the guest, as the user of the agent, which is root.
type Program struct {
	// Path is the program's file, or a name that the guest finds in its PATH.
	Path string
	Args []string
	// Env are entries NAME=VALUE. They take the place of the agent's whole environment when there is one.
	Env []string
	// Input is the program's standard input.
	Input []byte
}

// Outcome is how a program ended.
type Outcome struct {
	// Code is the exit status; Signal is the number of the signal that ended the program, or 0.
	Code, Signal   int
	Stdout, Stderr []byte
	// Truncated means that the agent dropped a part of the output: it keeps 16 MiB of each stream.
	Truncated bool
}

// Pauses between questions whether a program has ended. The agent does not tell by itself.
const (
	firstPause = 50 * time.Millisecond
	longPause  = time.Second
)

// Run runs a program in the guest and waits for its end. Others may use the client meanwhile. When ctx ends, the program
// goes on: the protocol has no word to end it. The error is ErrBlocked when the agent may not run programs.
func (c *Client) Run(ctx context.Context, p Program) (Outcome, error) {
	arguments := struct {
		Path   string   `json:"path"`
		Args   []string `json:"arg,omitempty"`
		Env    []string `json:"env,omitempty"`
		Input  []byte   `json:"input-data,omitempty"`
		Output bool     `json:"capture-output"`
	}{p.Path, p.Args, p.Env, p.Input, true}
	var started struct {
		PID int64 `json:"pid"`
	}
	if err := c.Execute(ctx, "guest-exec", arguments, &started); err != nil {
		return Outcome{}, blocked(err)
	}
	for pause := firstPause; ; pause = min(2*pause, longPause) {
		var status struct {
			Exited bool   `json:"exited"`
			Code   int    `json:"exitcode"`
			Signal int    `json:"signal"`
			Out    []byte `json:"out-data"`
			Err    []byte `json:"err-data"`
			OutCut bool   `json:"out-truncated"`
			ErrCut bool   `json:"err-truncated"`
		}
		if err := c.execute(ctx, "guest-exec-status", map[string]int64{"pid": started.PID}, &status, maxOutput); err != nil {
			return Outcome{}, blocked(err)
		}
		if status.Exited {
			return Outcome{Code: status.Code, Signal: status.Signal, Stdout: status.Out, Stderr: status.Err, Truncated: status.OutCut || status.ErrCut}, nil
		}
		select {
		case <-ctx.Done():
			return Outcome{}, context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

// blocked turns the refusal of a command that is not there, or not allowed, into ErrBlocked: both have the same class.
func blocked(err error) error {
	if unknown(err) {
		return fmt.Errorf("%w: %w", ErrBlocked, err)
	}
	return err
}
