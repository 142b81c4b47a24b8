package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Record is what a guest of cloud-init has said over HTTP of its first boot so far. It can be kept as JSON. The zero value
// is a guest that has said nothing.
//
// cloud-init tells less this way than the reporter does: of a failure not the reason, of its log nothing, so neither
// warnings nor deprecations nor a document that it dropped, and of what came before it read its user-data nothing at
// all.
type Record struct {
	// Stage is the last one that was heard of; it is final when the record is at its end.
	Stage Stage  `json:"stage,omitempty"`
	Agent string `json:"agent,omitempty"`
	// Errors and Warnings are about parts of stages that failed or warned, in order.
	Errors   []string `json:"errors,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	Instance string   `json:"instance,omitempty"`
	Hostname string   `json:"hostname,omitempty"`
	HostKeys []string `json:"hostKeys,omitempty"`
	// Fresh means that something ran which runs at an instance's first boot only. Nothing else makes a boot a first one:
	// a guest that boots again has its modules say that they "previously ran", and one that tells neither may be either.
	Fresh bool `json:"fresh,omitempty"`
	// Seconds is how long each stage took, of releases that say so.
	Seconds map[Stage]float64 `json:"seconds,omitempty"`

	// once is the part that started last if it runs once for an instance.
	once string
}

// PhoneHome takes what phone_home posted.
func (r *Record) PhoneHome(p PhoneHome) {
	r.Fresh = true // cloud-init calls the module once for an instance
	r.Instance, r.Hostname = p.Instance, p.Hostname
	if r.Hostname == "" {
		r.Hostname = p.FQDN
	}
	r.HostKeys = p.HostKeys
}

// Webhook takes an event of cloud-init's. It returns what is worth passing on: a new stage, the start of a part, a failure,
// and at the end of the last stage the final word, with everything that was heard. now is when it came: the guest's
// clock is not asked.
func (r *Record) Webhook(w Webhook, machine string, now time.Time) (Event, bool) {
	if w.Stage == "" {
		return Event{}, false
	}
	if slices.Index(cloudInitStages, w.Stage) < slices.Index(cloudInitStages, r.Stage) || r.Stage.Ended() {
		// The guest booted again before it was done, or after it.
		r.Seconds = nil
		if r.Stage.Ended() {
			r.Errors, r.Warnings, r.Fresh = nil, nil, false
		}
	}
	e := Event{Machine: machine, Source: HTTP, Stage: w.Stage, Module: w.module(), Time: now}
	worth := w.Stage != r.Stage || !w.Finish && w.Part != ""
	r.Stage = w.Stage
	if !w.Finish {
		r.once = ""
		if w.oncePerInstance() {
			r.once = w.Part
		}
		return e, worth
	}
	if w.Part != "" && (w.Part == r.once && !w.ranBefore() || w.oncePerInstance()) {
		r.Fresh = true
	}
	r.once = ""
	switch w.Outcome {
	case Fail:
		if e.Error = r.problem(w, "failed", r.Errors); e.Error != "" {
			noteBriefly(&r.Errors, e.Error)
			worth = true
		}
	case Warn:
		if text := r.problem(w, "warned", r.Warnings); text != "" {
			noteBriefly(&r.Warnings, text)
		}
	}
	if w.Part != "" {
		return e, worth
	}
	if w.Seconds > 0 {
		if r.Seconds == nil {
			r.Seconds = map[Stage]float64{}
		}
		r.Seconds[w.Stage] = w.Seconds
	}
	if w.Stage == Final {
		return r.end(machine, now), true
	}
	return e, worth
}

// maxRecord is how many bytes each list of a record has at most: there may be thousands of guests.
const maxRecord = 16 << 10

// noteBriefly adds a text to a list of a record, within bounds.
func noteBriefly(list *[]string, text string) {
	size := len(text)
	for _, s := range *list {
		size += len(s)
	}
	if size <= maxRecord {
		note(list, text)
	}
}

// problem says in words what did not go well. A stage has the outcome of its worst part, so it is named only when its parts
// said nothing: it came to an exception of its own, or an event was lost.
func (r *Record) problem(w Webhook, how string, told []string) string {
	where := string(w.Stage) + ": "
	switch {
	case w.Part != "":
		kind := ""
		if strings.HasPrefix(w.Part, "config-") {
			kind = "the module "
		}
		text := where + kind + w.module() + " " + how
		if w.Text != "" && !strings.HasPrefix(w.Text, "running "+w.Part+" ") {
			text += ": " + w.Text
		}
		return clean(text)
	case slices.ContainsFunc(told, func(s string) bool { return strings.HasPrefix(s, where) }):
		return ""
	}
	return fmt.Sprintf("%sthe stage %s; cloud-init did not say where", where, how)
}

// end makes the final word.
func (r *Record) end(machine string, now time.Time) Event {
	e := Event{Machine: machine, Source: HTTP, Stage: Done, Time: now, Result: &Result{
		Instance: r.Instance, FirstBoot: r.Fresh, Agent: r.Agent, Hostname: r.Hostname,
		Errors: slices.Clone(r.Errors), Warnings: slices.Clone(r.Warnings), HostKeys: slices.Clone(r.HostKeys),
		Seconds: maps.Clone(r.Seconds),
	}}
	e.Result.clean()
	e = e.sober()
	r.Stage = e.Stage
	return e
}

// Clone returns a copy that shares nothing with the record.
func (r *Record) Clone() Record {
	c := *r
	c.Errors, c.Warnings, c.HostKeys = slices.Clone(r.Errors), slices.Clone(r.Warnings), slices.Clone(r.HostKeys)
	c.Seconds = maps.Clone(r.Seconds)
	return c
}

// Clean drops what no guest could have said in words, so that a record that was kept elsewhere is as bounded as one that
// was heard.
func (r *Record) Clean() {
	as := Result{Agent: r.Agent, Instance: r.Instance, Hostname: r.Hostname, Errors: r.Errors, Warnings: r.Warnings,
		HostKeys: r.HostKeys, Seconds: r.Seconds}
	as.clean()
	r.Agent, r.Instance, r.Hostname = as.Agent, as.Instance, as.Hostname
	r.Errors, r.Warnings, r.HostKeys, r.Seconds = as.Errors, as.Warnings, as.HostKeys, as.Seconds
	if !r.Stage.Ended() && !slices.Contains(cloudInitStages, r.Stage) {
		r.Stage = ""
	}
}
