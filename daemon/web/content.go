package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/vmseed/vmseed/daemon/client"
)

// firstMachines is how many machines the page of all machines is written with; its script gets the others.
const firstMachines = 200

// refusal is an answer that says no.
type refusal struct{ status int }

// Error says it in words.
func (e *refusal) Error() string { return http.StatusText(e.status) }

// answer keeps what the API answers.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header is that of the answer.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader keeps the status.
func (a *answer) WriteHeader(status int) { a.status = status }

// Write keeps the body.
func (a *answer) Write(p []byte) (int, error) { return a.body.Write(p) }

// ask asks the API in the name of whoever asks for a page, and returns its answer, read and as it came.
func ask[T any](s *site, r *http.Request, path string, query url.Values) (T, json.RawMessage, error) {
	var out T
	u := &url.URL{Path: client.Prefix + path, RawQuery: query.Encode()}
	q, err := http.NewRequestWithContext(r.Context(), http.MethodGet, u.String(), nil)
	if err != nil {
		return out, nil, err
	}
	q.RemoteAddr, q.RequestURI = r.RemoteAddr, u.RequestURI()
	a := &answer{header: http.Header{}, status: http.StatusOK}
	s.options.API.ServeHTTP(a, q)
	switch {
	case a.status == http.StatusNotFound || a.status == http.StatusBadRequest:
		return out, nil, &refusal{http.StatusNotFound}
	case a.status != http.StatusOK:
		return out, nil, fmt.Errorf("%s: the API answers %d", path, a.status)
	}
	return out, a.body.Bytes(), json.Unmarshal(a.body.Bytes(), &out)
}

// items is the answer to a listing.
type items[T any] struct {
	Items []T `json:"items"`
}

// listed asks for a listing, and returns its items both ways.
func listed[T any](s *site, r *http.Request, path string) ([]T, json.RawMessage, error) {
	_, raw, err := ask[struct{}](s, r, path, nil)
	if err != nil {
		return nil, nil, err
	}
	var list items[json.RawMessage]
	var out items[T]
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, nil, err
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		return nil, nil, err
	}
	items, err := json.Marshal(list.Items)
	return out.Items, items, err
}

// machinesView is what the page of all machines shows without its script.
type machinesView struct {
	Machines       []client.Machine
	Search, Status string
	Statuses       []string
	// More is the address of the machines behind these.
	More string
}

// machines is the page of all machines, the newest first: what was made just now is what its user looks for.
func (s *site) machines(r *http.Request) (page, error) {
	last := s.options.LastEvent()
	asked := r.URL.Query()
	v := machinesView{Search: asked.Get("search"), Status: asked.Get("status"), Statuses: statuses()}
	q := url.Values{}
	for from, to := range map[string]string{"search": "q", "status": "status"} {
		if text := asked.Get(from); text != "" {
			q.Set(to, text)
		}
	}
	list, _, err := ask[struct{ Machines []json.RawMessage }](s, r, "/machines", q)
	if err != nil {
		return page{}, err
	}
	shown, more, err := newest(list.Machines, asked.Get("before"))
	if err != nil {
		return page{}, err
	}
	for _, raw := range slices.Backward(shown) {
		var m client.Machine
		if err := json.Unmarshal(raw, &m); err != nil {
			return page{}, err
		}
		v.Machines = append(v.Machines, m)
	}
	if more {
		asked.Set("before", v.Machines[len(v.Machines)-1].ID)
		v.More = pathMachines + "?" + asked.Encode()
	}
	return page{template: "machines", Name: "machines", Title: "machines", Nav: "machines", View: v,
		Data: map[string]any{"machines": shown, "more": more, "lastEvent": last}}, nil
}

// newest returns the youngest of the machines that were made before one of them, or of all, in the order of their creation, and whether there are older ones.
func newest(all []json.RawMessage, before string) (shown []json.RawMessage, more bool, err error) {
	if before != "" {
		end := slices.IndexFunc(all, func(raw json.RawMessage) bool {
			var m struct{ ID string }
			return json.Unmarshal(raw, &m) == nil && m.ID == before
		})
		if end < 0 {
			return nil, false, &refusal{http.StatusNotFound}
		}
		all = all[:end]
	}
	from := max(0, len(all)-firstMachines)
	return append([]json.RawMessage{}, all[from:]...), from > 0, nil
}

// machine is the page of one machine.
func (s *site) machine(r *http.Request) (page, error) {
	last := s.options.LastEvent()
	m, raw, err := ask[client.Machine](s, r, "/machines/"+url.PathEscape(r.PathValue("id")), nil)
	if err != nil {
		return page{}, err
	}
	return page{template: "machine", Name: "machine", Title: m.Name, Own: true, Nav: "machines", View: m,
		Data: map[string]any{"machine": raw, "lastEvent": last}}, nil
}

func (s *site) newMachine(r *http.Request) (page, error) { return s.compose(r, "new", "newMachine") }
func (s *site) edit(r *http.Request) (page, error)       { return s.compose(r, "edit", "edit") }
func (s *site) runOnce(r *http.Request) (page, error)    { return s.compose(r, "run", "runOnce") }

// compose is the page on which a machine is defined: a new one, one that there is, or one for a single run.
func (s *site) compose(r *http.Request, mode, title string) (page, error) {
	p := page{template: "compose", Name: "compose", Title: title, Nav: "newMachine", Data: map[string]any{"mode": mode}}
	if id := r.PathValue("id"); id != "" {
		m, raw, err := ask[client.Machine](s, r, "/machines/"+url.PathEscape(id), nil)
		if err != nil {
			return page{}, err
		}
		p.Title, p.Own, p.Nav, p.Data["machine"] = s.pages.text(title+"Named", "name", m.Name), true, "machines", raw
	}
	_, templates, err := listed[client.Template](s, r, "/templates")
	if err != nil {
		return page{}, err
	}
	_, version, err := ask[client.Version](s, r, "/version", nil)
	p.Data["templates"], p.Data["version"] = templates, version
	return p, err
}

// imagesView is what the page of images shows without its script.
type imagesView struct {
	Images    []client.Image
	Templates []client.Template
	Disks     []client.Disk
}

// images is the page of images, templates and disks.
func (s *site) images(r *http.Request) (page, error) {
	last := s.options.LastEvent()
	images, rawImages, err := listed[client.Image](s, r, "/images")
	if err != nil {
		return page{}, err
	}
	templates, rawTemplates, err := listed[client.Template](s, r, "/templates")
	if err != nil {
		return page{}, err
	}
	disks, rawDisks, err := listed[client.Disk](s, r, "/disks")
	if err != nil {
		return page{}, err
	}
	_, domains, err := listed[client.StorageDomain](s, r, "/storagedomains")
	if err != nil {
		return page{}, err
	}
	_, jobs, err := listed[client.Job](s, r, "/jobs")
	templates = slices.DeleteFunc(templates, func(t client.Template) bool { return t.Disk == "" }) // Blank is there always
	return page{template: "images", Name: "images", Title: "images", Nav: "images", View: imagesView{images, templates, disks},
		Data: map[string]any{"images": rawImages, "templates": rawTemplates, "disks": rawDisks, "domains": domains, "jobs": jobs, "lastEvent": last}}, err
}
