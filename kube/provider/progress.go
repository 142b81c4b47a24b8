package provider

import (
	"context"
	"time"

	"github.com/vmseed/vmseed/report"
)

// The pauses between what is told of a first boot while it goes on. Each word is three calls of the API server, for the pod,
// its instance and its machine, so a boot of a quarter of an hour has a handful of them, and a short one has none.
const (
	progressFirst = 10 * time.Second
	progressMost  = 4 * time.Minute
)

// booting is the latest word of a guest that boots for the first time.
type booting struct {
	stage  report.Stage
	module string
	// at is when it came.
	at time.Time
	// problem is the first thing that went wrong on the way.
	problem string
}

// String says how far the first boot has come; it is empty for a guest that has said nothing yet.
func (b booting) String() string {
	if b.stage == "" {
		return ""
	}
	text := "the first boot is at the stage " + string(b.stage)
	if b.module != "" {
		text += ", module " + b.module
	}
	if b.problem != "" {
		text += "; so far: " + b.problem
	}
	return clip(text, maxCondition)
}

// passes takes in a word of a guest that boots. It is told when the next word is due.
func (v *vm) passes(e report.Event) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	if v.rec.Run.Up || v.rec.FirstBoot.ended() {
		return
	}
	b := &v.booting
	if e.Error != "" && b.problem == "" {
		b.problem = e.Error
	}
	b.stage, b.module, b.at = e.Stage, e.Module, e.Time
	signal(v.passed)
}

// progressive tells of a first boot while it goes on, until ctx ends.
func (v *vm) progressive(ctx context.Context) {
	for pause := progressFirst; v.p.sleep(ctx, pause); pause = min(2*pause, progressMost) {
		select {
		case <-v.passed:
			v.change(func() { v.now.booting = v.booting.String() })
		case <-ctx.Done():
			return
		}
	}
}
