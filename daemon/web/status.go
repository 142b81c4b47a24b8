package web

import (
	"github.com/vmseed/vmseed/daemon"
	"github.com/vmseed/vmseed/daemon/client"
)

// status is how a machine's status is told: by a shape, a word and a colour.
type status struct {
	// Kind is ok, busy, warn, bad or idle.
	Kind, Word string
}

// statuses are those that a machine can have, those first that most machines have.
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

// state is how a template or a disk is.
func (p *pages) state(s string) status {
	kind := "bad"
	switch daemon.TemplateStatus(s) {
	case daemon.OK:
		kind = "ok"
	case daemon.Locked:
		kind = "busy"
	}
	return status{Kind: kind, Word: p.text("state_" + s)}
}

// boot is how a machine's first boot stands.
type boot struct {
	// Kind is none, going, ok or failed. Text is the stage of a boot that goes on, or the first reason of a failure.
	Kind, Text, Module string
}

// boot judges as the script does: a boot that goes on counts before the one that was.
func (p *pages) boot(m client.Machine) boot {
	s := daemon.Status(m.Status)
	switch {
	case m.FirstBootRunning || s == daemon.PoweringUp || s == daemon.WaitForLaunch:
		if m.Progress == nil {
			return boot{Kind: "going", Text: p.text("machines.waiting")}
		}
		return boot{Kind: "going", Text: p.stage(string(m.Progress.Stage)), Module: m.Progress.Module}
	case m.FirstBoot != nil && !m.FirstBoot.OK:
		b := boot{Kind: "failed"}
		if len(m.FirstBoot.Reasons) > 0 {
			b.Text = m.FirstBoot.Reasons[0]
		}
		return b
	case m.FirstBoot != nil, m.Initialized:
		return boot{Kind: "ok"}
	}
	return boot{Kind: "none"}
}

// stage is the word for a stage of a boot. A guest may have stages of its own.
func (p *pages) stage(name string) string {
	if word, ok := p.texts["machines.stage_"+name]; ok {
		return word
	}
	return name
}
