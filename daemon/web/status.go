package web

import "github.com/vmseed/vmseed/daemon"

// status is how a machine's status is told: by a shape, a word and a colour.
type status struct {
	// Kind is ok, busy, warn, bad or idle.
	Kind, Word string
}

// statuses are those that a machine can have, in the order of its life.
func statuses() []string {
	return []string{string(daemon.Up), string(daemon.Down), string(daemon.WaitForLaunch), string(daemon.PoweringUp), string(daemon.Paused),
		string(daemon.PoweringDown), string(daemon.Rebooting), string(daemon.NotResponding), string(daemon.ImageLocked)}
}

func (p *pages) status(s string) status {
	kind := "busy"
	switch daemon.Status(s) {
	case daemon.Up:
		kind = "ok"
	case daemon.Down:
		kind = "idle"
	case daemon.Paused:
		kind = "warn"
	case daemon.NotResponding:
		kind = "bad"
	}
	return status{Kind: kind, Word: p.text("status_" + s)}
}
