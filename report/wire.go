package report

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Bounds of what a guest may say. It is not trusted: its words end in terminals, logs and other programs.
const (
	// MaxLine is the longest line that is read, in bytes.
	MaxLine  = 256 << 10
	maxText  = 2000
	maxItems = 200
	// maxUptime is longer than any boot, in seconds.
	maxUptime = 1e9
)

// Message is a line of the reporter. The host answers each with Ack, and the guest repeats what is not answered, so
// that nothing is lost when the host's end of the port is replaced.
type Message struct {
	// Boot and Sequence identify the line.
	Boot     string
	Sequence int
	Event    Event
}

// Ack returns the answer to a message.
func (m Message) Ack() []byte { return fmt.Appendf(nil, "ack %d\n", m.Sequence) }

// wire is a line of the reporter as it stands on the port.
type wire struct {
	Boot     string   `json:"boot"`
	Sequence int      `json:"seq"`
	Stage    Stage    `json:"stage"`
	Module   string   `json:"module"`
	Error    string   `json:"error"`
	Modules  []Module `json:"modules"`
	Uptime   float64  `json:"uptime"`
	Result   *Result  `json:"result"`
}

// Parse reads a line of the reporter in the guest of a machine. now is when it came: the guest's clock is not asked.
func Parse(line []byte, machine string, now time.Time) (Message, error) {
	var w wire
	if err := json.Unmarshal(line, &w); err != nil {
		return Message{}, fmt.Errorf("the guest's report is no JSON: %w", jsonError(err))
	}
	if !slices.Contains([]Stage{Booting, Local, Init, Config, Final, Done, Failed}, w.Stage) {
		return Message{}, fmt.Errorf("the guest reports no known stage")
	}
	if w.Result != nil {
		w.Result.clean()
	}
	if !w.Stage.Ended() {
		w.Result = nil
	}
	boot := clean(w.Boot)
	e := Event{Machine: machine, Source: Agent, Stage: w.Stage, Module: clean(w.Module), Error: clean(w.Error), Boot: boot, Time: now,
		Modules: cleanModules(w.Modules), Result: w.Result}
	if w.Uptime > 0 && w.Uptime < maxUptime {
		e.Uptime = w.Uptime
	}
	return Message{Boot: boot, Sequence: w.Sequence, Event: e.sober()}, nil
}

// sober turns done into failed where there were errors. The guest's agent calls a first boot done that dropped the
// user's document.
func (e Event) sober() Event {
	if e.Stage == Done && e.Result != nil && len(e.Result.Errors) > 0 {
		e.Stage = Failed
		if e.Error == "" {
			e.Error = e.Result.Errors[0]
		}
	}
	return e
}

// clean makes a text of the guest fit for a terminal: no control characters, no more than maxText bytes.
func clean(s string) string {
	s = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, s)
	if len(s) > maxText {
		cut := maxText
		for !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut] + "…"
	}
	return strings.TrimSpace(s)
}

// cleanModules drops what is no part of a boot.
func cleanModules(in []Module) []Module {
	var out []Module
	for _, m := range in[:min(len(in), maxItems)] {
		known := slices.Contains(cloudInitStages, m.Stage) && slices.Contains([]Outcome{Success, Warn, Fail}, m.Outcome)
		if m.Name = clean(m.Name); known && m.Name != "" && m.Start >= 0 && m.Seconds >= 0 && m.Start+m.Seconds < maxUptime {
			out = append(out, m)
		}
	}
	return out
}

func (r *Result) clean() {
	for _, s := range []*string{&r.Instance, &r.DataSource, &r.Agent, &r.Hostname} {
		*s = clean(*s)
	}
	for _, list := range []*[]string{&r.Errors, &r.Warnings, &r.Deprecations, &r.HostKeys, &r.Addresses} {
		if len(*list) > maxItems {
			*list = (*list)[:maxItems]
		}
		for i, s := range *list {
			(*list)[i] = clean(s)
		}
	}
	for i, a := range r.Addresses {
		// The kernel writes an IPv6 address with all its zeros.
		if ip, err := netip.ParseAddr(a); err == nil {
			r.Addresses[i] = ip.String()
		}
	}
	if len(r.Mounts) > maxItems {
		r.Mounts = r.Mounts[:maxItems]
	}
	for i, m := range r.Mounts {
		r.Mounts[i] = Mount{clean(m.Device), clean(m.Path), clean(m.Type)}
	}
	for stage := range r.Seconds {
		if !slices.Contains([]Stage{Local, Init, Config, Final}, stage) {
			delete(r.Seconds, stage)
		}
	}
}
