package supervisor

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vmseed/vmseed/report"
)

// TestHearLater: what the console says of a boot whose seed was sealed before does not take the place of the first boot's
// word, and what the reporter says of a first boot does.
func TestHearLater(t *testing.T) {
	for source, replaced := range map[report.Source]bool{report.SerialConsole: false, report.Systemd: false, report.Agent: true, report.HTTP: true} {
		t.Run(string(source), func(t *testing.T) {
			s := &supervisor{dir: t.TempDir(), log: slog.New(slog.DiscardHandler), service: &service{later: true}}
			s.ctx = t.Context()
			s.state.FirstBoot = &report.Event{Stage: report.Done, Source: "earlier"}
			var err error
			if s.journal, err = openJournal(s.dir, true); err != nil {
				t.Fatal(err)
			}
			defer s.journal.close()
			word := &report.Result{FirstBoot: true}
			s.firstBoot(report.Event{Source: source, Stage: report.Failed, Result: word})
			if got := s.state.FirstBoot.Source == source; got != replaced || !word.FirstBoot {
				t.Errorf("the first boot's word is now that of %q: %v, want %v", s.state.FirstBoot.Source, got, replaced)
			}
			if last := s.journal.events[len(s.journal.events)-1].Report; last == nil || last.Result.FirstBoot != replaced {
				t.Errorf("those who follow the VM are told %+v", last)
			}
		})
	}
}

// TestHear: the word of the best source is taken, and that of a worse one when no better has come in time.
func TestHear(t *testing.T) {
	const agent, http, console, systemd = report.Agent, report.HTTP, report.SerialConsole, report.Systemd
	type word struct {
		source report.Source
		stage  report.Stage
		pause  time.Duration // before it
	}
	result := &report.Result{FirstBoot: true, Agent: "cloud-init 24.4"}
	for _, c := range []struct {
		name  string
		words []word
		ends  bool // the VM ends at once
		// taken are the sources and stages in the journal, in order, and final is the source of the first boot's word.
		taken []string
		final report.Source
	}{
		{"agent alone", []word{{agent, report.Init, 0}, {agent, report.Done, 0}}, false, []string{"agent init-network", "agent done"}, agent},
		{"console alone", []word{{console, report.Init, 0}, {console, report.Done, 0}}, false, []string{"console init-network", "console done"}, console},
		{"http alone", []word{{http, report.Init, 0}, {http, report.Done, 0}}, false, []string{"http init-network", "http done"}, http},
		{"http before agent", []word{{http, report.Init, 0}, {http, report.Done, 0}, {agent, report.Done, time.Second}}, false,
			[]string{"http init-network", "agent done"}, agent},
		{"http after agent", []word{{agent, report.Init, 0}, {http, report.Done, 0}, {agent, report.Done, time.Hour}}, false,
			[]string{"agent init-network", "agent done"}, agent},
		{"console before http", []word{{console, report.Done, 0}, {http, report.Failed, time.Second}}, false, []string{"http failed"}, http},
		{"console after http", []word{{http, report.Init, 0}, {console, report.Failed, 0}, {http, report.Done, time.Hour}}, false,
			[]string{"http init-network", "http done"}, http},
		{"all", []word{{console, report.Local, 0}, {console, report.Done, 0}, {http, report.Done, time.Second}, {agent, report.Failed, time.Second}}, false,
			[]string{"console init-local", "agent failed"}, agent},
		{"too late", []word{{http, report.Done, 0}, {agent, report.Failed, time.Hour}}, false, []string{"http done", "agent failed"}, agent},
		{"nobody else follows", []word{{http, report.Done, 0}}, true, []string{"http done"}, http},
		{"the agent was about to speak", []word{{http, report.Done, 0}, {agent, report.Final, 0}}, true, []string{"agent modules-final"}, ""},
		{"systemd is up, and cloud-init failed", []word{{systemd, report.Booting, 0}, {console, report.Failed, 0}, {systemd, report.Done, time.Second}}, false,
			[]string{"systemd booting", "console failed"}, console},
		{"systemd before the console", []word{{systemd, report.Done, 0}, {console, report.Failed, time.Second}}, false, []string{"console failed"}, console},
		{"systemd alone", []word{{systemd, report.Done, 0}}, false, []string{"systemd done"}, systemd},
		{"credentials: the console", []word{{systemd, report.Booting, 0}, {console, report.Done, 0}, {systemd, report.Failed, time.Second}}, false,
			[]string{"systemd booting", "systemd failed"}, systemd},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &supervisor{dir: t.TempDir(), log: slog.New(slog.DiscardHandler), answered: map[string]int{}}
				s.plan.Plain = strings.HasPrefix(c.name, "credentials")
				s.serial = newSerial(s.dir, func([]byte) {})
				s.ctx, s.cancel = context.WithCancel(t.Context())
				var err error
				if s.journal, err = openJournal(s.dir, true); err != nil {
					t.Fatal(err)
				}
				defer s.journal.close()
				for _, w := range c.words {
					time.Sleep(w.pause)
					e := report.Event{Source: w.source, Stage: w.stage}
					if w.stage.Ended() {
						e.Result = result
					}
					s.hear(e)
				}
				if !c.ends {
					time.Sleep(time.Hour)
				}
				s.finish(nil)
				var taken []string
				for _, e := range s.journal.events {
					if e.Report != nil {
						taken = append(taken, string(e.Report.Source)+" "+string(e.Report.Stage))
					}
				}
				if !slices.Equal(taken, c.taken) {
					t.Errorf("taken %q, want %q", taken, c.taken)
				}
				final := report.Source("")
				if s.state.FirstBoot != nil {
					final = s.state.FirstBoot.Source
				}
				if final != c.final {
					t.Errorf("the first boot's word is that of %q, want %q", final, c.final)
				}
			})
		})
	}
}
