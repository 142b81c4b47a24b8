package ovirtapi

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/vmseed/vmseed/daemon"
	"github.com/vmseed/vmseed/format/element"
)

func jobRef(id string) element.Element { return object("job", id, "jobs", id) }

func (a *API) jobView(_ *request, j daemon.Job) element.Element {
	path := []string{"jobs", j.ID}
	e := object("job", j.ID, path...).Append(
		element.Bool("auto_cleared", true), element.Text("description", j.Description), element.Bool("external", false),
		date("start_time", j.Started), element.Text("status", string(j.Status)))
	if !j.Ended.IsZero() {
		e = e.Append(date("end_time", j.Ended))
	}
	last := j.Started
	if j.Ended.After(last) {
		last = j.Ended
	}
	return e.Append(date("last_updated", last), link("steps", append(path, "steps")...))
}

func (a *API) jobs(*request) ([]daemon.Job, error) { return a.d.Jobs(), nil }

func (a *API) jobSearch() searchable[daemon.Job] {
	return searchable[daemon.Job]{noun: "jobs", text: []string{"description"}, fields: map[string]field[daemon.Job]{
		"id":             value(func(j daemon.Job) string { return j.ID }),
		"correlation_id": value(func(j daemon.Job) string { return j.Correlation }),
		"description":    value(func(j daemon.Job) string { return j.Description }),
		"status":         value(func(j daemon.Job) string { return string(j.Status) }),
		"start_time":     value(func(j daemon.Job) string { return date("", j.Started).Text }),
		"end_time":       value(func(j daemon.Job) string { return date("", j.Ended).Text }),
	}, absent: []string{"owner", "action_type", "external"}}
}

func (a *API) getJob(q *request) (reply, error) {
	j, err := a.d.Job(q.id(0))
	if err != nil {
		return reply{}, err
	}
	return ok(a.jobView(q, j)), nil
}

// steps are what a job consists of: one that is all of it.
func (a *API) steps(q *request) ([]element.Element, error) {
	j, err := a.d.Job(q.id(0))
	if err != nil {
		return nil, err
	}
	id := own("step", j.ID)
	e := object("step", id, "jobs", j.ID, "steps", id).Append(element.Text("description", j.Description), element.Bool("external", false),
		element.Int("number", 0), date("start_time", j.Started), element.Text("status", string(j.Status)), element.Text("type", "executing"), jobRef(j.ID))
	if !j.Ended.IsZero() {
		e = e.Append(date("end_time", j.Ended))
	}
	return []element.Element{e}, nil
}

// The codes of events that clients look for, out of those of an engine (type AuditLogType).
const (
	codeRunVM       = 32
	codeStopVM      = 33
	codeAddVM       = 34
	codeUpdateVM    = 35
	codeVMDown      = 61
	codeRemoveVM    = 113
	codeVMStarted   = 153
	codeNormal      = 9801
	codeWarning     = 9802
	codeError       = 9803
	engineOrigin    = "oVirt"
	maxEventText    = 4000
	noCustomEventID = -1
)

// eventCode is the number that an engine gives to what an event says; other events have the numbers that an engine has
// for those from outside.
func eventCode(e daemon.Event) int64 {
	switch e.Kind {
	case daemon.MachineAdded:
		return codeAddVM
	case daemon.MachineChanged:
		return codeUpdateVM
	case daemon.MachineRemoved:
		return codeRemoveVM
	case daemon.MachineStatus:
		switch e.Status {
		case daemon.WaitForLaunch:
			return codeVMStarted
		case daemon.Up:
			return codeRunVM
		case daemon.Down:
			return codeVMDown
		}
	}
	switch e.Severity {
	case daemon.Warning:
		return codeWarning
	case daemon.Error:
		return codeError
	}
	return codeNormal
}

func (a *API) eventView(_ *request, e daemon.Event) element.Element {
	id := strconv.FormatUint(e.ID, 10)
	text := e.Text
	if e.Code != "" {
		// The place is one in the definition as it is stored, which clients do not see.
		text += " (" + e.Code + ")"
	}
	view := object("event", id, "events", id).Append(
		element.Int("code", eventCode(e)), element.Text("correlation_id", e.Correlation), element.Int("custom_id", noCustomEventID), element.Text("description", text),
		element.Int("flood_rate", 0), element.Int("index", int64(e.ID)), element.Text("origin", engineOrigin), element.Text("severity", string(e.Severity)), date("time", e.Time))
	switch object := e.Object; {
	case object == "":
	case strings.HasPrefix(string(e.Kind), "machine."):
		view = view.Append(namedRef("vm", object, e.Name, "vms"))
	case strings.HasPrefix(string(e.Kind), "template."):
		view = view.Append(namedRef("template", object, e.Name, "templates"))
	}
	if e.Actor != "" {
		view = view.Append(namedRef("user", userID(e.Actor), e.Actor, "users"))
	}
	return view
}

// events are the newest first, as an engine gives them.
func (a *API) events(q *request) ([]daemon.Event, error) {
	from, bad := q.address.number("from", 0)
	if bad != nil {
		return nil, bad
	}
	events := slices.Clone(a.d.Events(uint64(max(from, 0))))
	slices.Reverse(events)
	return events, nil
}

func (a *API) eventSearch() searchable[daemon.Event] {
	kind := func(prefix string) field[daemon.Event] {
		return func(e daemon.Event) []string {
			if strings.HasPrefix(string(e.Kind), prefix) {
				return []string{e.Name}
			}
			return nil
		}
	}
	fields := map[string]field[daemon.Event]{
		"severity":       value(func(e daemon.Event) string { return string(e.Severity) }),
		"time":           value(func(e daemon.Event) string { return date("", e.Time).Text }),
		"message":        value(func(e daemon.Event) string { return e.Text }),
		"type":           value(func(e daemon.Event) string { return strconv.FormatInt(eventCode(e), 10) }),
		"correlation_id": value(func(e daemon.Event) string { return e.Correlation }),
		"usrname":        value(func(e daemon.Event) string { return e.Actor }),
		"event_vm":       kind("machine."),
		"event_template": kind("template."),
		"event_host":     func(daemon.Event) []string { return nil },
		"event_storage":  func(daemon.Event) []string { return nil },
		"origin":         value(func(daemon.Event) string { return engineOrigin }),
		"id":             value(func(e daemon.Event) string { return strconv.FormatUint(e.ID, 10) }),
	}
	fields["vm.name"], fields["vms.name"], fields["template.name"], fields["templates.name"] = fields["event_vm"], fields["event_vm"], fields["event_template"], fields["event_template"]
	fields["vm.id"] = func(e daemon.Event) []string {
		if strings.HasPrefix(string(e.Kind), "machine.") {
			return []string{e.Object}
		}
		return nil
	}
	fields["user.name"], fields["users.name"] = fields["usrname"], fields["usrname"]
	return searchable[daemon.Event]{noun: "events", fields: fields, text: []string{"message"},
		absent: []string{"event_datacenter", "event_vmpool", "event_quota", "event_volume", "custom_id", "data_center", "cluster"}}
}

func (a *API) getEvent(q *request) (reply, error) {
	id, err := strconv.ParseUint(q.id(0), 10, 64)
	if err != nil || id == 0 {
		return reply{}, notFound()
	}
	if events := a.d.Events(id - 1); len(events) > 0 && events[0].ID == id {
		return ok(a.eventView(q, events[0])), nil
	}
	return reply{}, notFound()
}

// addEvent takes in an event that a client wants to see among the others.
func (a *API) addEvent(q *request) (reply, error) {
	text := strings.TrimSpace(q.body.Child("description").Text)
	if text == "" {
		return reply{}, incomplete("Event", "add", "description")
	}
	if len(text) > maxEventText {
		return reply{}, badValue("description: more than " + strconv.Itoa(maxEventText) + " bytes")
	}
	e := daemon.Event{Kind: daemon.DaemonNote, Text: text, Severity: daemon.Normal}
	switch severity := cmp.Or(strings.TrimSpace(q.body.Child("severity").Text), "normal"); severity {
	case "normal":
	case "warning":
		e.Severity = daemon.Warning
	case "error", "alert":
		e.Severity = daemon.Error
	default:
		return reply{}, badValue("severity: " + severity + " is none of normal, warning, error and alert")
	}
	if id := q.body.Child("vm").Attr("id"); id != "" {
		v, err := a.vm(id)
		if err != nil {
			return reply{}, noEntity("VM", "id", id)
		}
		e.Kind, e.Object, e.Name = daemon.MachineNote, v.ID, v.Name
	}
	added, err := a.d.Note(q.ctx, e)
	if err != nil {
		return reply{}, err
	}
	return created(a.eventView(q, added), true), nil
}

// namedRef refers to another object and says its name as well.
func namedRef(kind, id, name, collection string) element.Element {
	return object(kind, id, collection, id).Append(element.Text("name", name))
}
