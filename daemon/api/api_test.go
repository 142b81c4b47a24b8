//go:build linux

package api_test

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vmseed/vmseed/daemon"
	"github.com/vmseed/vmseed/daemon/api"
	"github.com/vmseed/vmseed/daemon/auth"
	"github.com/vmseed/vmseed/daemon/client"
	"github.com/vmseed/vmseed/daemon/daemontest"
	"github.com/vmseed/vmseed/internal/supervisor/supervisortest"
	"github.com/vmseed/vmseed/secret"
)

// TestDocument holds the routes and the document equal.
func TestDocument(t *testing.T) {
	d, compiler := readDocument(t)
	var described []string
	for path, methods := range d.Paths {
		for method, op := range methods {
			described = append(described, strings.ToUpper(method)+" "+path)
			for _, c := range op.RequestBody.Content {
				if _, err := compiler.Compile("https://vmseed.example/openapi.json" + c.Schema.Ref); err != nil {
					t.Error(err)
				}
			}
		}
	}
	routes := api.Routes()
	slices.Sort(routes)
	slices.Sort(described)
	if !slices.Equal(routes, described) {
		t.Errorf("routes: %q\ndocument: %q", routes, described)
	}
	ids := map[string]bool{}
	for _, methods := range d.Paths {
		for op := range maps.Values(methods) {
			if ids[op.OperationID] || op.OperationID == "" {
				t.Errorf("the id %q is not unique", op.OperationID)
			}
			ids[op.OperationID] = true
		}
	}
}

// documents are a native definition as clients send it.
func documents(name, behaviour, userData string) []client.Document {
	var out []client.Document
	for _, d := range daemontest.Definition(name, behaviour, userData) {
		out = append(out, client.Document{Name: d.Name, Text: d.Text})
	}
	return out
}

func status(err error) int {
	var e *client.Error
	if errors.As(err, &e) {
		return e.Status
	}
	return 0
}

// watch returns the kinds and statuses of a machine's events once it is removed.
func (s *service) watch(t *testing.T, id string) <-chan []string {
	t.Helper()
	removed := errors.New("removed")
	out := make(chan []string, 1)
	go func() {
		var kinds []string
		err := s.Events(t.Context(), client.EventFilter{Machine: id}, func(e client.Event) error {
			kinds = append(kinds, e.Kind+" "+e.Status)
			if e.Kind == "machine.removed" {
				return removed
			}
			return nil
		})
		if !errors.Is(err, removed) {
			t.Error(err)
		}
		out <- kinds
	}()
	return out
}

// refuses holds that a machine which is down is not asked for what only a running one can do.
func (s *service) refuses(t *testing.T, id string) {
	t.Helper()
	ctx := t.Context()
	for name, act := range map[string]func() (client.Machine, error){
		"stop":     func() (client.Machine, error) { return s.Stop(ctx, id) },
		"shutdown": func() (client.Machine, error) { return s.Shutdown(ctx, id, 0) },
		"reboot":   func() (client.Machine, error) { return s.Reboot(ctx, id, 0) },
		"reset":    func() (client.Machine, error) { return s.Reset(ctx, id) },
	} {
		if _, err := act(); !client.IsConflict(err) {
			t.Errorf("%s of a machine that is down: %v", name, err)
		}
	}
	if _, err := s.Console(ctx, id); !client.IsConflict(err) {
		t.Errorf("console of a machine that is down: %v", err)
	}
}

// TestMachine takes a machine through its whole life.
func TestMachine(t *testing.T) {
	s := begin(t)
	ctx := t.Context()
	made, err := s.Create(ctx, client.CreateRequest{Documents: documents("vm1", supervisortest.Good, "#cloud-config\n{}\n")})
	if err != nil || len(made.Machines) != 1 || made.Machines[0].Name != "vm1" || made.Machines[0].Namespace != "default" {
		t.Fatalf("%+v, %v", made, err)
	}
	id := made.Machines[0].ID
	if _, err := s.Create(ctx, client.CreateRequest{Documents: documents("vm1", "", "")}); !client.IsConflict(err) {
		t.Errorf("a second machine of the name: %v", err)
	}
	for _, name := range []string{"vm1", "default/vm1", id} {
		if m, err := s.Find(ctx, name); err != nil || m.ID != id {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
	}
	if _, err := s.Find(ctx, "other/vm1"); !client.IsNotFound(err) {
		t.Error(err)
	}
	if got, err := s.Documents(ctx, id); err != nil || len(got) != 1 || !got[0].Text.Equal(documents("vm1", supervisortest.Good, "#cloud-config\n{}\n")[0].Text) {
		t.Errorf("the documents are not those that were sent: %v", err)
	}
	s.refuses(t, id)
	watched := s.watch(t, id)
	m, err := s.Start(ctx, id, client.StartRequest{})
	if err != nil || m.Status == "down" {
		t.Fatalf("%+v, %v", m, err)
	}
	if m, err = s.WaitFirstBoot(ctx, id, nil); err != nil || !m.Initialized || m.FirstBoot == nil || !m.FirstBoot.OK {
		t.Fatalf("%+v, %v", m, err)
	}
	if _, err := s.Start(ctx, id, client.StartRequest{}); !client.IsConflict(err) {
		t.Errorf("a second start: %v", err)
	}
	if err := s.Remove(ctx, id, false); !client.IsConflict(err) {
		t.Errorf("removal of a machine that runs: %v", err)
	}
	if m, err = s.Reset(ctx, id); err != nil {
		t.Error(err)
	}
	if m, err = s.Shutdown(ctx, id, time.Minute); err != nil {
		t.Error(err)
	}
	if m, err = s.Wait(ctx, id, "down"); err != nil || m.Ended.IsZero() {
		t.Errorf("%+v, %v", m, err)
	}
	if m, err = s.Update(ctx, id, client.UpdateRequest{Name: "vm2", Documents: documents("vm1", supervisortest.Good, "#cloud-config\n{}\n")}); err != nil || m.Name != "vm2" {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err = s.Start(ctx, id, client.StartRequest{NewGeneration: true}); err != nil {
		t.Error(err)
	}
	if m, err = s.Stop(ctx, id); err != nil || m.Status != "down" || m.Generation != 1 {
		t.Errorf("%+v, %v", m, err)
	}
	if err := s.Remove(ctx, id, false); err != nil {
		t.Error(err)
	}
	if _, err := s.Machine(ctx, id); !client.IsNotFound(err) {
		t.Error(err)
	}
	kinds := <-watched
	for _, want := range []string{"machine.added down", "machine.status up", "machine.status down", "machine.removed "} {
		if !slices.Contains(kinds, want) {
			t.Errorf("no event %q in %q", want, kinds)
		}
	}
}

func TestCreate(t *testing.T) {
	s := begin(t)
	ctx := t.Context()
	two := append(documents("a", "", ""), documents("b", "", "")...)
	made, err := s.Create(ctx, client.CreateRequest{Documents: two})
	if err != nil || len(made.Machines) != 2 {
		t.Fatalf("%+v, %v", made, err)
	}
	// All or none: the second one's name is taken.
	if _, err := s.Create(ctx, client.CreateRequest{Documents: append(documents("c", "", ""), documents("b", "", "")...)}); !client.IsConflict(err) {
		t.Error(err)
	}
	if _, err := s.Find(ctx, "c"); !client.IsNotFound(err) {
		t.Errorf("half of a request was carried out: %v", err)
	}
	picked, err := s.Create(ctx, client.CreateRequest{Documents: append(documents("d", "", ""), documents("e", "", "")...), Settings: client.Settings{Pick: "e", Namespace: "lab"}})
	if err != nil || len(picked.Machines) != 1 || picked.Machines[0].Namespace+"/"+picked.Machines[0].Name != "lab/e" {
		t.Errorf("%+v, %v", picked, err)
	}
	// Plain files, with what they do not say.
	plain := []client.Document{{Name: "user-data", Role: "user-data", Text: secret.New("#cloud-config\npackages: [tree]\n")},
		{Name: "meta-data", Role: "meta-data", Text: secret.New("instance-id: i-1\nlocal-hostname: h1\n")}}
	id := "11111111-2222-4333-8444-555555555555"
	made, err = s.Create(ctx, client.CreateRequest{Documents: plain, ID: id, Settings: client.Settings{Name: "plain", Image: "https://images.example/x.qcow2",
		Memory: 3 << 30, CPUs: 3, DataSource: "configdrive", Guest: "debian-12"}})
	if err != nil || made.Machines[0].ID != id || made.Machines[0].Name != "plain" {
		t.Fatalf("%+v, %v", made, err)
	}
	m, l, err := s.daemon.Placed(ctx, id)
	if err != nil || l.HasErrors() || m.Hardware.Memory != 3<<30 || m.Hardware.CPUs != 3 || m.DataSource != "configdrive" || m.Guest.Release != "debian-12" ||
		m.Identity.InstanceID != "i-1" || m.Disks[0].Source.Image != "https://images.example/x.qcow2" {
		t.Errorf("%+v %v %v", m, l, err)
	}
	for name, tt := range map[string]struct {
		q    client.CreateRequest
		want int
	}{
		"no document":      {client.CreateRequest{}, 400},
		"two with one id":  {client.CreateRequest{Documents: append(documents("x", "", ""), documents("y", "", "")...), ID: id}, 400},
		"no such pick":     {client.CreateRequest{Documents: two, Settings: client.Settings{Pick: "z"}}, 400},
		"no such role":     {client.CreateRequest{Documents: []client.Document{{Role: "x"}}}, 400},
		"no such template": {client.CreateRequest{Documents: documents("x", "", ""), Settings: client.Settings{Template: "x"}}, 404},
		"bad document":     {client.CreateRequest{Documents: []client.Document{{Name: "x.yaml", Text: secret.New("kind: [")}}}, 422},
		"id taken":         {client.CreateRequest{Documents: documents("x", "", ""), ID: id}, 409},
		"cannot start":     {client.CreateRequest{Documents: documents("x", supervisortest.Stillborn, ""), Start: true}, 500},
	} {
		if _, err := s.Create(ctx, tt.q); status(err) != tt.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	var no *client.Error
	_, err = s.Create(ctx, client.CreateRequest{Documents: []client.Document{{Name: "x.yaml", Text: secret.New("apiVersion: vmseed.dev/v1alpha1\nkind: Machine\nmetadata: {name: x}\nspec:\n  nonsense: 1\n")}}})
	if !errors.As(err, &no) || len(no.Diagnostics) == 0 || no.Diagnostics[0].Range.File != "x.yaml" || no.Diagnostics[0].Range.Start.Line != 5 || no.Request == "" {
		t.Errorf("%+v", err)
	}
	if found, err := s.Machines(ctx, client.Filter{Name: "x"}); err != nil || len(found) != 0 {
		t.Errorf("what failed is there: %+v, %v", found, err)
	}
}

func TestList(t *testing.T) {
	s := begin(t)
	ctx := t.Context()
	var all []client.Document
	for i := range 7 {
		all = append(all, documents(fmt.Sprintf("vm%d", i), "", "")...)
	}
	if _, err := s.Create(ctx, client.CreateRequest{Documents: all}); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		filter client.Filter
		want   string
	}{
		"all":            {client.Filter{}, "vm0 vm1 vm2 vm3 vm4 vm5 vm6"},
		"first":          {client.Filter{Limit: 3}, "vm0 vm1 vm2"},
		"name":           {client.Filter{Name: "VM3"}, "vm3"},
		"namespace":      {client.Filter{Namespace: "default", Limit: 1}, "vm0"},
		"none":           {client.Filter{Namespace: "x"}, ""},
		"text":           {client.Filter{Text: "M6"}, "vm6"},
		"status":         {client.Filter{Status: "up,down", Text: "vm1"}, "vm1"},
		"another status": {client.Filter{Status: "up"}, ""},
	} {
		found, err := s.Machines(ctx, tt.filter)
		var names []string
		for _, m := range found {
			names = append(names, m.Name)
		}
		if got := strings.Join(names, " "); err != nil || got != tt.want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	m := daemon.Machine{ID: "7b1e-ID", Namespace: "web", Name: "Front", Addresses: []string{"192.0.2.7", "2001:DB8::7"}}
	for text, want := range map[string]bool{"": true, "B/FR": true, "b1E-i": true, "192.0.2.7": true, "2001:db8::": true, "192.0.2.8": false, "front/": false} {
		if got := api.Found(m, text); got != want {
			t.Errorf("%q is found: %t", text, got)
		}
	}
	for _, e := range s.daemon.Events(0) {
		if e.Kind == daemon.MachineAdded && e.Text != "VM "+e.Name+" was added" {
			t.Error(e.Text)
		}
	}
	third, err := s.Find(ctx, "vm2")
	if err != nil {
		t.Fatal(err)
	}
	if rest, err := s.Machines(ctx, client.Filter{After: third.ID, Limit: 2}); err != nil || len(rest) != 2 || rest[0].Name != "vm3" {
		t.Errorf("%+v, %v", rest, err)
	}
	if code, body := s.raw(t, "GET", "/api/v1/machines?limit=2&after="+third.ID, ""); code != 200 || !strings.Contains(body, `"next"`) {
		t.Error(code, body)
	}
	for path, want := range map[string]int{"?limit=0": 400, "?limit=x": 400, "?after=x": 404} {
		if code, body := s.raw(t, "GET", "/api/v1/machines"+path, ""); code != want {
			t.Error(path, code, body)
		}
	}
}

// TestRequests are requests that the client would not make.
func TestRequests(t *testing.T) {
	s := begin(t)
	for name, tt := range map[string]struct {
		method, path, body string
		header             []string
		want               int
	}{
		"no such path":        {"GET", "/api/v1/nothing", "", nil, 404},
		"no such API":         {"GET", "/api/v2/machines", "", []string{"Accept", "text/html"}, 404},
		"no API":              {"POST", "/api", "{}", nil, 404},
		"no path, no method":  {"PUT", "/api/v1/nothing", "{}", nil, 404},
		"no change of health": {"POST", "/healthz", "{}", nil, 405},
		"no such method":      {"PUT", "/api/v1/machines", "{}", nil, 405},
		"no such machine":     {"GET", "/api/v1/machines/x", "", nil, 404},
		"no such machine 2":   {"POST", "/api/v1/machines/x/start", "", nil, 404},
		"no such machine 3":   {"GET", "/api/v1/machines/x/log", "", nil, 404},
		"no such machine 4":   {"DELETE", "/api/v1/machines/x", "", nil, 404},
		"no such template":    {"DELETE", "/api/v1/templates/x", "", nil, 404},
		"Blank":               {"DELETE", "/api/v1/templates/" + daemon.BlankTemplate, "", nil, 409},
		"no such disk":        {"DELETE", "/api/v1/disks/x", "", nil, 404},
		"no such job":         {"GET", "/api/v1/jobs/x", "", nil, 404},
		"no such image":       {"POST", "/api/v1/imports", `{"image": "x"}`, nil, 404},
		"no image":            {"POST", "/api/v1/imports", `{}`, nil, 400},
		"no body":             {"POST", "/api/v1/machines", "", nil, 415},
		"a form":              {"POST", "/api/v1/machines", "a=b", []string{"Content-Type", "application/x-www-form-urlencoded"}, 415},
		"no JSON":             {"POST", "/api/v1/machines", "{", nil, 400},
		"a member twice":      {"POST", "/api/v1/render", `{"reveal": true, "reveal": false}`, nil, 400},
		"no such member":      {"POST", "/api/v1/render", `{"revael": true}`, nil, 400},
		"a wrong type":        {"POST", "/api/v1/render", `{"reveal": "yes"}`, nil, 400},
		"more behind it":      {"POST", "/api/v1/render", `{} {}`, nil, 400},
		"too deep":            {"POST", "/api/v1/render", strings.Repeat(`{"documents":[`, 30), nil, 400},
		"too long":            {"POST", "/api/v1/render", `{"documents": [{"text": "` + strings.Repeat("x", 33<<20) + `"}]}`, nil, 413},
		"a negative grace":    {"POST", "/api/v1/machines/x/shutdown", `{"grace": -1}`, nil, 400},
		"an endless grace":    {"POST", "/api/v1/machines/x/reboot", `{"grace": 1e300}`, nil, 400},
		"no flag":             {"DELETE", "/api/v1/machines/x?force=perhaps", "", nil, 400},
		"no number":           {"GET", "/api/v1/events?since=yesterday", "", nil, 400},
		"no such form":        {"POST", "/api/v1/convert", `{"documents": [{"text": ""}], "to": "x"}`, nil, 400},
		"no data sources":     {"POST", "/api/v1/render", `{"documents": [{"text": ""}], "dataSources": ["a","b","c","d","e","f","g","h","i","j","k"]}`, nil, 400},
		"negative memory":     {"POST", "/api/v1/render", `{"documents": [{"text": ""}], "memory": -1}`, nil, 400},
		"console, no upgrade": {"GET", "/api/v1/machines/x/console", "", nil, 426},
		"who asks":            {"GET", "/api/v1/session", "", nil, 200},
		"the document":        {"GET", "/api/v1/openapi.json", "", []string{"Authorization", ""}, 200},
	} {
		code, body := s.raw(t, tt.method, tt.path, tt.body, tt.header...)
		if code != tt.want {
			t.Errorf("%s: %d %.300s", name, code, body)
		}
		if code >= 400 && !strings.Contains(body, `"detail":"`) {
			t.Errorf("%s: %s says nothing", name, body)
		}
	}
}

// TestDamagedUsers lets nobody in, and tells the log alone why.
func TestDamagedUsers(t *testing.T) {
	s := begin(t)
	if err := os.WriteFile(s.users, []byte("damaged\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(client.Options{URL: s.server.URL(), CA: s.server.CA()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var no *client.Error
	if _, err := c.Login(t.Context(), auth.Admin, secret.New(daemontest.Password)); !errors.As(err, &no) || no.Status != http.StatusServiceUnavailable || strings.Contains(err.Error(), "users:1") {
		t.Error(err)
	}
	s.stop()
	if !strings.Contains(s.log.String(), "users:1") {
		t.Errorf("the log does not say why: %s", s.log)
	}
}

func TestSession(t *testing.T) {
	s := begin(t)
	c, err := client.New(client.Options{URL: s.server.URL(), CA: s.server.CA()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Machines(t.Context(), client.Filter{}); !client.IsUnauthorized(err) {
		t.Error(err)
	}
	if _, err := c.Login(t.Context(), auth.Admin, secret.New("wrong password")); !client.IsUnauthorized(err) {
		t.Error(err)
	}
	session, err := c.Login(t.Context(), "admin", secret.New(daemontest.Password))
	if err != nil || session.User != auth.Admin || time.Until(session.Idle) > time.Hour || time.Until(session.Expires) > 25*time.Hour {
		t.Fatal(session, err)
	}
	token := c.Token()
	if _, err := c.Machines(t.Context(), client.Filter{}); err != nil {
		t.Error(err)
	}
	if err := c.Logout(t.Context()); err != nil || !c.Token().IsZero() {
		t.Error(err)
	}
	old, err := client.New(client.Options{URL: s.server.URL(), CA: s.server.CA(), Token: token})
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	if _, err := old.Machines(t.Context(), client.Filter{}); !client.IsUnauthorized(err) {
		t.Errorf("a token outlives its end: %v", err)
	}
	// Who has name and password gets another token by itself.
	again, err := client.New(client.Options{URL: s.server.URL(), CA: s.server.CA(), Token: token, Username: auth.Admin, Password: secret.New(daemontest.Password)})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if _, err := again.Machines(t.Context(), client.Filter{}); err != nil || again.Token().Equal(token) {
		t.Error(err)
	}
	stranger, err := client.New(client.Options{URL: s.server.URL(), Username: auth.Admin, Password: secret.New(daemontest.Password)})
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	if _, err := stranger.Machines(t.Context(), client.Filter{}); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("the password goes to a server that nobody vouches for: %v", err)
	}
}

// TestStorage imports an image and makes a machine of it.
func TestStorage(t *testing.T) {
	s := begin(t)
	ctx := t.Context()
	domains, err := s.StorageDomains(ctx)
	if err != nil || !slices.ContainsFunc(domains, func(d client.StorageDomain) bool { return d.Name == daemon.ImageRepository && d.Type == "image" }) {
		t.Errorf("%+v, %v", domains, err)
	}
	images, err := s.Images(ctx)
	if err != nil || len(images) != 1 || images[0].Name != "Test image" || images[0].File != "disk.img" {
		t.Fatalf("%+v, %v", images, err)
	}
	job, err := s.Import(ctx, client.ImportRequest{Image: images[0].ID, Name: "base"})
	if err != nil || job.Template == "" {
		t.Fatalf("%+v, %v", job, err)
	}
	made, err := s.Create(ctx, client.CreateRequest{Documents: []client.Document{{Name: "user-data", Text: secret.New("#cloud-config\nhostname: x\n")}},
		Settings: client.Settings{Name: "of-base", Template: "Base"}})
	for deadline := time.Now().Add(daemontest.Limit); client.IsConflict(err) && time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		// The template is still locked.
		made, err = s.Create(ctx, client.CreateRequest{Documents: []client.Document{{Name: "user-data", Text: secret.New("#cloud-config\nhostname: x\n")}},
			Settings: client.Settings{Name: "of-base", Template: "Base"}})
	}
	if err != nil || made.Machines[0].Template != job.Template {
		t.Fatalf("%+v, %v", made, err)
	}
	if m, err := s.Wait(ctx, made.Machines[0].ID, "down"); err != nil || len(m.Disks) != 1 {
		t.Errorf("%+v, %v", m, err)
	}
	if j, err := s.Job(ctx, job.Job); err != nil || j.Status != "finished" {
		t.Errorf("%+v, %v", j, err)
	}
	if jobs, err := s.Jobs(ctx); err != nil || len(jobs) == 0 {
		t.Errorf("%+v, %v", jobs, err)
	}
	templates, err := s.Templates(ctx)
	if err != nil || len(templates) != 2 || templates[0].ID != daemon.BlankTemplate || templates[1].Login != "tester" {
		t.Errorf("%+v, %v", templates, err)
	}
	if err := s.RemoveTemplate(ctx, job.Template); !client.IsConflict(err) {
		t.Errorf("a template goes away under its machine: %v", err)
	}
	if disks, err := s.Disks(ctx); err != nil || len(disks) != 2 {
		t.Errorf("%+v, %v", disks, err)
	}
	if code, _ := s.raw(t, "DELETE", "/api/v1/machines/"+made.Machines[0].ID+"?keepDisks=true", ""); code != http.StatusNoContent {
		t.Error(code)
	}
	if code, _ := s.raw(t, "DELETE", "/api/v1/disks/"+made.Machines[0].Disks[0], ""); code != http.StatusNoContent {
		t.Error(code)
	}
	if code, body := s.raw(t, "GET", "/api/v1/templates/"+job.Template, ""); code != 200 {
		t.Error(code, body)
	}
	if err := s.RemoveTemplate(ctx, job.Template); err != nil {
		t.Error(err)
	}
}

func TestVersion(t *testing.T) {
	s := begin(t)
	v, err := s.Version(t.Context())
	if err != nil || v.Version != "test" || !slices.Contains(v.Forms, "native") || !slices.Contains(v.Targets, "kubevirt") || !slices.Contains(v.DataSources, "nocloud") {
		t.Errorf("%+v, %v", v, err)
	}
}
