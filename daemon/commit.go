package daemon

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/vmseed/vmseed/daemon/store"
	"github.com/vmseed/vmseed/diag"
)

// changer is a record that knows how it is written.
type changer interface {
	change() (store.Change, error)
}

// gone is a record that is removed.
type gone store.Change

func (g gone) change() (store.Change, error) { return store.Change{Kind: g.Kind, ID: g.ID}, nil }

// commit writes records and events in one transaction. When they are on disk, apply makes the same change in memory, in the
// order of the transactions; it is called with d.mutex held. So nobody may hold that while calling commit.
func (d *Daemon) commit(ctx context.Context, events []Event, apply func(), records ...changer) error {
	var changes []store.Change
	for _, r := range records {
		c, err := r.change()
		if err != nil {
			return err
		}
		changes = append(changes, c)
	}
	from := origin(ctx)
	for i := range events {
		e := &events[i]
		e.Time, e.Actor, e.Correlation = time.Now().UTC(), from.Actor, from.Correlation
		if e.Severity == "" {
			e.Severity = Normal
		}
		text, err := json.Marshal(e)
		if err != nil {
			return err
		}
		changes = append(changes, store.Change{Kind: store.Event, Value: text})
	}
	_, err := d.store.Apply(func(numbers []uint64) {
		for i := range events {
			events[i].ID = numbers[i]
		}
		d.mutex.Lock()
		apply()
		d.mutex.Unlock()
		d.feed.add(events...)
	}, changes...)
	d.unwritten.Store(err != nil)
	if err != nil {
		d.log.Error("the store cannot be written", "error", err)
		return err
	}
	for _, e := range events {
		d.log.Log(ctx, logLevel(e.Severity), e.Text, "event", e.ID, "kind", e.Kind, "object", e.Object, "name", e.Name)
	}
	return nil
}

func logLevel(s Severity) slog.Level {
	switch s {
	case Warning:
		return slog.LevelWarn
	case Error:
		return slog.LevelError
	}
	return slog.LevelInfo
}

// define makes events of the warnings and notes about a VM's definition that it did not get the last time.
func (s *state) define(l diag.List) []Event {
	before := s.said.Definition
	events := remarks(s.Machine, l)
	s.said.Definition = texts(events)
	return unsaid(events, before)
}

// begin makes events of the warnings and notes about a start that neither the definition nor the last start got.
func (s *state) begin(l diag.List) []Event {
	before := s.said
	events := remarks(s.Machine, l)
	s.said.Start = texts(events)
	return unsaid(events, before.Definition, before.Start)
}

func texts(events []Event) []string {
	var out []string
	for _, e := range events {
		out = append(out, e.saying())
	}
	return out
}

// saying is what makes an event about documents the same as another. Its place does not: each line that is put above moves it.
func (e Event) saying() string { return e.Code + " " + string(e.Severity) + " " + e.Text }

// unsaid are the events that none of the lists has. Of two that say the same of two places, each counts.
func unsaid(events []Event, lists ...[]string) []Event {
	times := map[string]int{}
	for _, l := range lists {
		here := map[string]int{}
		for _, text := range l {
			here[text]++
			times[text] = max(times[text], here[text])
		}
	}
	return slices.DeleteFunc(slices.Clone(events), func(e Event) bool {
		times[e.saying()]--
		return times[e.saying()] >= 0
	})
}

// remarks makes events of the warnings and notes about a VM's documents.
func remarks(m Machine, l diag.List) []Event {
	var out []Event
	for _, x := range l {
		e := m.event(MachineNote, x.Summary)
		if x.Field != "" && !strings.Contains(x.Summary, x.Field) {
			e.Text = x.Field + ": " + e.Text
		}
		if x.Remedy != "" {
			e.Text += "; " + x.Remedy
		}
		e.Code, e.Place = x.Code.String(), x.Range.String()
		switch x.Severity {
		case diag.Warning:
			e.Severity = Warning
		case diag.Error:
			e.Severity = Error
		}
		out = append(out, e)
	}
	return out
}

// event makes one about the VM.
func (m Machine) event(kind EventKind, text string) Event {
	return Event{Kind: kind, Object: m.ID, Name: m.Name, Text: text}
}
