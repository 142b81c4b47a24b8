package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/vmseed/vmseed/report"
)

// Version returns what runs there.
func (c *Client) Version(ctx context.Context) (Version, error) {
	return get[Version](ctx, c, call{method: http.MethodGet, path: "/version"})
}

// MachineList is the answer to a listing. Next is what Filter.After is for the rest; it is empty at the end.
type MachineList struct {
	Machines []Machine `json:"machines"`
	Next     string    `json:"next,omitempty"`
}

// Machines returns the machines that a filter picks, in the order of their creation. Without a limit it returns all.
func (c *Client) Machines(ctx context.Context, f Filter) ([]Machine, error) {
	var out []Machine
	for {
		q := url.Values{}
		for key, value := range map[string]string{"namespace": f.Namespace, "name": f.Name, "status": f.Status, "q": f.Text, "after": f.After} {
			if value != "" {
				q.Set(key, value)
			}
		}
		if f.Limit > 0 {
			q.Set("limit", strconv.Itoa(f.Limit-len(out)))
		}
		page, err := get[MachineList](ctx, c, call{method: http.MethodGet, path: "/machines", query: q})
		if err != nil {
			return nil, err
		}
		out = append(out, page.Machines...)
		if page.Next == "" || f.Limit > 0 && len(out) >= f.Limit {
			return out, nil
		}
		f.After = page.Next
	}
}

// Find returns the machine that a user names: by [NAMESPACE/]NAME or by id.
func (c *Client) Find(ctx context.Context, name string) (Machine, error) {
	namespace, short, ok := strings.Cut(name, "/")
	if !ok {
		namespace, short = "", name
	}
	found, err := c.Machines(ctx, Filter{Namespace: namespace, Name: short})
	switch {
	case err != nil:
		return Machine{}, err
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		var names []string
		for _, m := range found {
			names = append(names, m.Namespace+"/"+m.Name)
		}
		return Machine{}, fmt.Errorf("several VMs are called %q; name one as NAMESPACE/NAME: %s", name, strings.Join(names, ", "))
	case ok:
		return Machine{}, notFound(name)
	}
	m, err := c.Machine(ctx, name)
	if IsNotFound(err) {
		return Machine{}, notFound(name)
	}
	return m, err
}

func notFound(name string) error {
	return &Error{Status: http.StatusNotFound, Title: http.StatusText(http.StatusNotFound), Detail: fmt.Sprintf("there is no VM %q", name)}
}

func machinePath(id, more string) string { return "/machines/" + url.PathEscape(id) + more }

// Machine returns the machine of an id.
func (c *Client) Machine(ctx context.Context, id string) (Machine, error) {
	return get[Machine](ctx, c, call{method: http.MethodGet, path: machinePath(id, "")})
}

// Documents returns a machine's definition, which may hold secrets.
func (c *Client) Documents(ctx context.Context, id string) ([]Document, error) {
	out, err := get[DocumentList](ctx, c, call{method: http.MethodGet, path: machinePath(id, "/documents")})
	return out.Documents, err
}

// Run returns what the last run of a machine was started with. The error says that it is not found for one that never ran.
func (c *Client) Run(ctx context.Context, id string, reveal bool) (RunResult, error) {
	q := url.Values{"reveal": {strconv.FormatBool(reveal)}}
	return get[RunResult](ctx, c, call{method: http.MethodGet, path: machinePath(id, "/run"), query: q})
}

// RunResult is what the last run of a machine was started with: its definition as it was then or, when Own, documents that were
// given for this run alone.
type RunResult struct {
	Documents []Document `json:"documents"`
	Own       bool       `json:"own,omitempty"`
	// MaskedOnly means that the run is over: the documents are kept without their secrets, and nothing reveals them.
	MaskedOnly bool `json:"maskedOnly,omitempty"`
}

// DocumentList is a machine's definition.
type DocumentList struct {
	Documents []Document `json:"documents"`
}

// Create makes machines of documents.
func (c *Client) Create(ctx context.Context, r CreateRequest) (CreateResult, error) {
	return get[CreateResult](ctx, c, call{method: http.MethodPost, path: "/machines", body: r})
}

// Update changes a machine for its next start. The error is one of IsStale when it has another revision than the request.
func (c *Client) Update(ctx context.Context, id string, r UpdateRequest) (Machine, error) {
	return get[Machine](ctx, c, call{method: http.MethodPatch, path: machinePath(id, ""), body: r, revision: r.Revision})
}

// Remove removes a machine with its disks. One that runs is refused unless forced.
func (c *Client) Remove(ctx context.Context, id string, force bool) error {
	q := url.Values{}
	if force {
		q.Set("force", "true")
	}
	return c.do(ctx, call{method: http.MethodDelete, path: machinePath(id, ""), query: q}, nil)
}

func (c *Client) act(ctx context.Context, id, action string, body any) (Machine, error) {
	return get[Machine](ctx, c, call{method: http.MethodPost, path: machinePath(id, "/"+action), body: body})
}

// Start starts a machine and returns when its guest runs.
func (c *Client) Start(ctx context.Context, id string, r StartRequest) (Machine, error) {
	return c.act(ctx, id, "start", r)
}

// Stop ends a machine at once.
func (c *Client) Stop(ctx context.Context, id string) (Machine, error) {
	return c.act(ctx, id, "stop", struct{}{})
}

// Shutdown asks the guest to shut down and returns at once. After grace it is cut off; 0 means never.
func (c *Client) Shutdown(ctx context.Context, id string, grace time.Duration) (Machine, error) {
	return c.act(ctx, id, "shutdown", GraceRequest{grace.Seconds()})
}

// Reboot asks the guest to shut down, and starts it again. It returns at once.
func (c *Client) Reboot(ctx context.Context, id string, grace time.Duration) (Machine, error) {
	return c.act(ctx, id, "reboot", GraceRequest{grace.Seconds()})
}

// Reset restarts the guest at once.
func (c *Client) Reset(ctx context.Context, id string) (Machine, error) {
	return c.act(ctx, id, "reset", struct{}{})
}

// Render returns what guests would read.
func (c *Client) Render(ctx context.Context, r RenderRequest) (RenderResult, error) {
	return get[RenderResult](ctx, c, call{method: http.MethodPost, path: "/render", body: r})
}

// Given returns what a machine's guest was given at its last start. The error says that it is not found for one that never ran.
func (c *Client) Given(ctx context.Context, id string, reveal bool) (RenderResult, error) {
	q := url.Values{"reveal": {strconv.FormatBool(reveal)}}
	return get[RenderResult](ctx, c, call{method: http.MethodGet, path: "/machines/" + url.PathEscape(id) + "/seed", query: q})
}

// Boot returns what a machine's guest has said of its current or last run, each module of it.
func (c *Client) Boot(ctx context.Context, id string) ([]report.Event, error) {
	out, err := get[BootReports](ctx, c, call{method: http.MethodGet, path: "/machines/" + url.PathEscape(id) + "/boot"})
	return out.Reports, err
}

// RenderMachine returns what a machine's guest would read at its next start, or with documents for one run at that.
func (c *Client) RenderMachine(ctx context.Context, id string, r RenderRequest) (RenderResult, error) {
	return get[RenderResult](ctx, c, call{method: http.MethodPost, path: machinePath(id, "/render"), body: r})
}

// Check says what is wrong with documents.
func (c *Client) Check(ctx context.Context, r RenderRequest) ([]Diagnostic, error) {
	out, err := get[CheckResult](ctx, c, call{method: http.MethodPost, path: "/check", body: r})
	return out.Diagnostics, err
}

// Convert writes documents in another form.
func (c *Client) Convert(ctx context.Context, r ConvertRequest) (ConvertResult, error) {
	return get[ConvertResult](ctx, c, call{method: http.MethodPost, path: "/convert", body: r})
}

// list is the answer to a listing of a few objects.
type list[T any] struct {
	Items []T `json:"items"`
}

// Templates returns the templates: Blank, then the others in the order of their creation.
func (c *Client) Templates(ctx context.Context) ([]Template, error) {
	return items[Template](ctx, c, "/templates", nil)
}

// RemoveTemplate removes a template from which no machine is made.
func (c *Client) RemoveTemplate(ctx context.Context, id string) error {
	return c.do(ctx, call{method: http.MethodDelete, path: "/templates/" + url.PathEscape(id)}, nil)
}

// StorageDomains returns the directories of images and disks.
func (c *Client) StorageDomains(ctx context.Context) ([]StorageDomain, error) {
	return items[StorageDomain](ctx, c, "/storagedomains", nil)
}

// Images returns what can be imported.
func (c *Client) Images(ctx context.Context) ([]Image, error) {
	return items[Image](ctx, c, "/images", nil)
}

// Disks returns the disks in the order of their creation.
func (c *Client) Disks(ctx context.Context) ([]Disk, error) {
	return items[Disk](ctx, c, "/disks", nil)
}

// Import makes an image a template or a disk. It returns at once.
func (c *Client) Import(ctx context.Context, r ImportRequest) (Import, error) {
	return get[Import](ctx, c, call{method: http.MethodPost, path: "/imports", body: r})
}

// Jobs returns what goes on, and what ended lately, newest first.
func (c *Client) Jobs(ctx context.Context) ([]Job, error) { return items[Job](ctx, c, "/jobs", nil) }

// Job returns a job.
func (c *Client) Job(ctx context.Context, id string) (Job, error) {
	return get[Job](ctx, c, call{method: http.MethodGet, path: "/jobs/" + url.PathEscape(id)})
}

// get sends a request and returns the answer.
func get[T any](ctx context.Context, c *Client, r call) (T, error) {
	var out T
	err := c.do(ctx, r, &out)
	return out, err
}

// items returns a listing.
func items[T any](ctx context.Context, c *Client, path string, q url.Values) ([]T, error) {
	out, err := get[list[T]](ctx, c, call{method: http.MethodGet, path: path, query: q})
	return out.Items, err
}
