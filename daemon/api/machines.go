package api

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vmseed/vmseed/daemon"
	"github.com/vmseed/vmseed/daemon/client"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/report"
)

// show is a machine as clients see it.
func show(m daemon.Machine) client.Machine {
	out := client.Machine{ID: m.ID, Namespace: m.Namespace, Name: m.Name, Status: string(m.Status), Reason: m.Reason, Template: m.Template, Delivery: m.Delivery, Disks: m.Disks,
		Created: m.Created, Started: m.Started, Ended: m.Ended, Initialized: m.Initialized, SSHPort: m.SSHPort, RunOnce: m.RunOnce,
		FirstBootRunning: m.FirstBootRunning, Login: m.Login, Revision: strconv.Itoa(m.Revision), Generation: m.Generation, Jobs: m.Jobs, PostedPassword: m.PostedPassword}
	out.Addresses = m.Addresses
	if m.Progress != nil {
		out.Progress = &client.Progress{Stage: m.Progress.Stage, Module: m.Progress.Module, Time: m.Progress.Time}
	}
	if m.FirstBoot != nil {
		out.FirstBoot = &client.FirstBoot{Event: *m.FirstBoot}
		out.FirstBoot.OK, out.FirstBoot.Reasons = report.Judge(*m.FirstBoot, report.FailOnWarning)
	}
	return out
}

// listMachines picks machines by the query, in the order of their creation.
func (a *api) listMachines(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	limit := 0
	if text := q.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return bad("the parameter limit is a number from 1")
		}
		limit = n
	}
	statuses := strings.FieldsFunc(q.Get("status"), func(r rune) bool { return r == ',' })
	out := client.MachineList{Machines: []client.Machine{}}
	after := q.Get("after")
	all := a.daemon.List()
	if after != "" {
		i := slices.IndexFunc(all, func(m daemon.Machine) bool { return m.ID == after })
		if i < 0 {
			return &daemon.NotFoundError{Kind: "machine", ID: after}
		}
		all = all[i+1:]
	}
	for _, m := range all {
		switch {
		case q.Has("namespace") && !strings.EqualFold(m.Namespace, q.Get("namespace")), q.Has("name") && !strings.EqualFold(m.Name, q.Get("name")),
			len(statuses) > 0 && !slices.Contains(statuses, string(m.Status)),
			!found(m, q.Get("q")):
			continue
		}
		if limit > 0 && len(out.Machines) == limit {
			out.Next = out.Machines[limit-1].ID
			break
		}
		out.Machines = append(out.Machines, show(m))
	}
	return answer(w, http.StatusOK, out)
}

// found reports whether a machine has a text in its name, in an address or in its id, whatever the case of the letters.
func found(m daemon.Machine, text string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(append([]string{m.Namespace + "/" + m.Name, m.ID}, m.Addresses...), func(s string) bool {
		return strings.Contains(strings.ToLower(s), text)
	})
}

// createMachines makes machines of documents: all of them, or none.
func (a *api) createMachines(w http.ResponseWriter, r *http.Request) error {
	var q client.CreateRequest
	if err := read(w, r, &q, false); err != nil {
		return err
	}
	template, err := a.template(q.Template)
	if err != nil {
		return err
	}
	prepared, l, err := a.prepare(r.Context(), q.Documents, q.Settings, forKeeps)
	if err != nil {
		return err
	}
	if len(prepared.machines) > 1 && (q.ID != "" || q.Name != "") {
		return bad("the documents hold %d machines, which cannot have one id or name", len(prepared.machines))
	}
	for _, documents := range prepared.machines {
		l = append(l, prepared.place(a.daemon.Check(r.Context(), documents, daemon.RenderOptions{Template: template, Delivery: q.Delivery}))...)
	}
	if l.HasErrors() {
		return l
	}
	var made []daemon.Machine
	for _, documents := range prepared.machines {
		m, err := a.daemon.Add(r.Context(), daemon.Machine{ID: q.ID, Namespace: q.Namespace, Name: q.Name, Template: template, Delivery: q.Delivery, Documents: documents})
		if err != nil {
			a.undo(r.Context(), made)
			return prepared.placed(err)
		}
		made = append(made, m)
	}
	out := client.CreateResult{Machines: []client.Machine{}, Diagnostics: client.Diagnostics(l.Sorted())}
	for _, m := range made {
		if q.Start {
			if err := a.startNew(r.Context(), m.ID); err != nil {
				a.undo(r.Context(), made)
				return prepared.placed(err)
			}
		}
		if now, err := a.daemon.Get(m.ID); err == nil {
			m = now
		}
		out.Machines = append(out.Machines, show(m))
	}
	w.Header().Set("Location", client.Prefix+"/machines/"+made[0].ID)
	return answer(w, http.StatusCreated, out)
}

// undo removes machines of a request that could not be carried out as a whole.
func (a *api) undo(ctx context.Context, made []daemon.Machine) {
	for _, m := range made {
		_ = a.daemon.Remove(context.WithoutCancel(ctx), m.ID, daemon.RemoveOptions{Force: true})
	}
}

// startNew starts a machine as soon as its disks are made.
func (a *api) startNew(ctx context.Context, id string) error {
	if _, err := a.await(ctx, id, func(m daemon.Machine) bool { return m.Status != daemon.ImageLocked }); err != nil {
		return err
	}
	return a.daemon.Start(ctx, id, daemon.StartOptions{})
}

// await looks at a machine after each event, and returns it when it is as wished.
func (a *api) await(ctx context.Context, id string, wished func(daemon.Machine) bool) (m daemon.Machine, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	look := func() (bool, error) {
		m, err = a.daemon.Get(id)
		return err == nil && wished(m), err
	}
	since := a.daemon.LastEvent()
	if ok, err := look(); ok || err != nil {
		return m, err
	}
	met := false
	err = a.daemon.Watch(ctx, since, func(e daemon.Event) error {
		if e.Object != id {
			return nil
		}
		var err error
		if met, err = look(); met {
			cancel()
		}
		return err
	})
	if met {
		return m, nil
	}
	return m, err
}

func (a *api) getMachine(w http.ResponseWriter, r *http.Request) error {
	m, err := a.daemon.Get(r.PathValue("id"))
	if err != nil {
		return err
	}
	return answerMachine(w, m)
}

// answerMachine answers with a machine and, as its entity tag, its revision.
func answerMachine(w http.ResponseWriter, m daemon.Machine) error {
	out := show(m)
	w.Header().Set("ETag", strconv.Quote(out.Revision))
	return answer(w, http.StatusOK, out)
}

// match complains when a request is for another revision of a machine (RFC 9110, 13.1.1).
func match(r *http.Request, m *daemon.Machine) error {
	conditions := r.Header.Values("If-Match")
	if len(conditions) == 0 {
		return nil
	}
	for tag := range strings.SplitSeq(strings.Join(conditions, ","), ",") {
		if tag = strings.TrimSpace(tag); tag == "*" || tag == strconv.Quote(strconv.Itoa(m.Revision)) {
			return nil
		}
	}
	return &badRequest{http.StatusPreconditionFailed, "VM " + m.Name + " was changed meanwhile; look at what it is now"}
}

func (a *api) machineDocuments(w http.ResponseWriter, r *http.Request) error {
	m, err := a.daemon.Get(r.PathValue("id"))
	if err != nil {
		return err
	}
	out := client.DocumentList{Documents: []client.Document{}}
	for _, d := range m.Documents {
		out.Documents = append(out.Documents, client.Document{Name: d.Name, Text: d.Text})
	}
	return answer(w, http.StatusOK, out)
}

// updateMachine changes a machine's name and documents.
func (a *api) updateMachine(w http.ResponseWriter, r *http.Request) error {
	var q client.UpdateRequest
	if err := read(w, r, &q, false); err != nil {
		return err
	}
	var prepared prepared
	if len(q.Documents) > 0 {
		var err error
		if prepared, err = a.one(r.Context(), q.Documents); err != nil {
			return err
		}
	}
	id := r.PathValue("id")
	if err := a.checkUpdate(r, id, q, prepared); err != nil {
		return err
	}
	m, err := a.daemon.Update(r.Context(), id, func(m *daemon.Machine) error {
		if err := match(r, m); err != nil {
			return err
		}
		if q.Name != "" {
			m.Name = q.Name
		}
		if q.Delivery != "" {
			m.Delivery = q.Delivery
		}
		if len(prepared.machines) == 1 {
			m.Documents, m.FirstBootDocuments = prepared.machines[0], nil
		}
		return nil
	})
	if err != nil {
		return prepared.placed(err)
	}
	return answerMachine(w, m)
}

// checkUpdate refuses what createMachines would. What a machine has already is not held against a change of something else.
func (a *api) checkUpdate(r *http.Request, id string, q client.UpdateRequest, p prepared) error {
	m, err := a.daemon.Get(id)
	if err == nil {
		err = match(r, &m)
	}
	if err != nil {
		return err
	}
	changed := len(p.machines) == 1 && !daemon.SameDocuments(p.machines[0], m.Documents)
	if !changed && (q.Delivery == "" || q.Delivery == m.Delivery) {
		return nil
	}
	documents := m.Documents
	if changed {
		documents = p.machines[0]
	}
	var l diag.List
	for _, d := range a.daemon.Check(r.Context(), documents, daemon.RenderOptions{Machine: id, Delivery: q.Delivery}) {
		if changed || d.Code == daemon.CodeDelivery {
			l = append(l, d)
		}
	}
	if l.HasErrors() {
		return p.place(l)
	}
	return nil
}

func (a *api) removeMachine(w http.ResponseWriter, r *http.Request) error {
	force, err := flag(r, "force")
	if err != nil {
		return err
	}
	keep, err := flag(r, "keepDisks")
	if err != nil {
		return err
	}
	if err := a.daemon.Remove(r.Context(), r.PathValue("id"), daemon.RemoveOptions{Force: force, KeepDisks: keep}); err != nil {
		return err
	}
	return done(w)
}

func (a *api) start(w http.ResponseWriter, r *http.Request) error {
	var q client.StartRequest
	if err := read(w, r, &q, true); err != nil {
		return err
	}
	o := daemon.StartOptions{Initialize: q.Initialize, NewGeneration: q.NewGeneration, NoSeed: q.NoSeed, Volatile: q.Volatile, Delivery: q.Delivery}
	var prepared prepared
	if len(q.Documents) > 0 {
		var err error
		if prepared, err = a.one(r.Context(), q.Documents); err != nil {
			return err
		}
		o.Documents = prepared.machines[0]
	}
	id := r.PathValue("id")
	return a.acted(w, id, prepared.placed(a.daemon.Start(r.Context(), id, o)))
}

func (a *api) stop(w http.ResponseWriter, r *http.Request) error {
	if err := read(w, r, &struct{}{}, true); err != nil {
		return err
	}
	id := r.PathValue("id")
	return a.acted(w, id, a.daemon.Stop(r.Context(), id))
}

func (a *api) shutdown(w http.ResponseWriter, r *http.Request) error {
	grace, err := graceOf(w, r)
	if err != nil {
		return err
	}
	id := r.PathValue("id")
	return a.acted(w, id, a.daemon.Shutdown(r.Context(), id, grace))
}

func (a *api) reboot(w http.ResponseWriter, r *http.Request) error {
	grace, err := graceOf(w, r)
	if err != nil {
		return err
	}
	id := r.PathValue("id")
	return a.acted(w, id, a.daemon.Reboot(r.Context(), id, grace))
}

func (a *api) reset(w http.ResponseWriter, r *http.Request) error {
	if err := read(w, r, &struct{}{}, true); err != nil {
		return err
	}
	id := r.PathValue("id")
	return a.acted(w, id, a.daemon.Reset(r.Context(), id))
}

// maxGrace is the longest that a guest can be given, in seconds.
const maxGrace = 24 * 60 * 60

func graceOf(w http.ResponseWriter, r *http.Request) (time.Duration, error) {
	var q client.GraceRequest
	if err := read(w, r, &q, true); err != nil {
		return 0, err
	}
	if q.Grace < 0 || q.Grace > maxGrace {
		return 0, bad("grace is a number of seconds from 0 to %d", maxGrace)
	}
	return time.Duration(q.Grace * float64(time.Second)), nil
}

// acted answers an action with the machine as it is then.
func (a *api) acted(w http.ResponseWriter, id string, err error) error {
	if err != nil {
		return err
	}
	m, err := a.daemon.Get(id)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, show(m))
}
