package ovirtclient

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vmseed/vmseed/secret"
)

const (
	password = "CANARY-password"
	token    = "CANARY-token"
	webID    = "11111111-2222-3333-4444-555555555555"
)

// The answers are those of an engine of 4.5, shortened.
const (
	found = `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<vms><vm id="` + webID + `" href="/ovirt-engine/api/vms/` + webID + `"><name>web</name><status>down</status></vm>
<vm id="99999999-2222-3333-4444-555555555555"><name>WEB</name></vm></vms>`
	machineText = `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<vm href="/ovirt-engine/api/vms/` + webID + `" id="` + webID + `">
  <name>web</name>
  <initialization><host_name>web</host_name><root_password>******</root_password><nic_configurations/></initialization>
  <nics><nic id="66666666-2222-3333-4444-555555555555"><name>nic1</name><mac><address>00:1a:4a:16:01:51</address></mac></nic></nics>
  <disk_attachments><disk_attachment><bootable>true</bootable></disk_attachment></disk_attachments>
  <cdroms><cdrom/></cdroms>
</vm>`
)

// engine is an oVirt engine that knows one VM. Handlers of a test stand before its own.
type engine struct {
	*httptest.Server
	mutex sync.Mutex
	// seen are the requests, as method, path and query.
	seen []string
	// first answers a request and returns true, or leaves it to the engine.
	first func(w http.ResponseWriter, r *http.Request) bool
}

func newEngine(t *testing.T, first func(w http.ResponseWriter, r *http.Request) bool) *engine {
	e := &engine{first: first}
	e.Server = httptest.NewUnstartedServer(http.HandlerFunc(e.serve))
	e.Config.ErrorLog = log.New(io.Discard, "", 0) // handshakes that fail are what some tests are about
	e.StartTLS()
	t.Cleanup(e.Close)
	return e
}

func (e *engine) serve(w http.ResponseWriter, r *http.Request) {
	e.mutex.Lock()
	e.seen = append(e.seen, r.Method+" "+r.URL.RequestURI())
	e.mutex.Unlock()
	if e.first != nil && e.first(w, r) {
		return
	}
	switch path := r.URL.Path; {
	case path == "/ovirt-engine/sso/oauth/token":
		w.Header().Set("Content-Type", "application/json;charset=UTF-8")
		if r.Header.Get("Accept") != "application/json" || r.PostFormValue("scope") != "ovirt-app-api" || r.PostFormValue("username") != "admin@internal" ||
			r.PostFormValue("password") != password || r.PostFormValue("grant_type") != "password" {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error_code":"access_denied","error":"Cannot authenticate user 'admin@internal': The username or password is incorrect."}`)
			return
		}
		fmt.Fprintf(w, `{"access_token":%q,"scope":"ovirt-app-api","exp":"9223372036854775807","token_type":"bearer"}`, token)
	case path == "/ovirt-engine/services/sso-logout":
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{}`)
	case r.Header.Get("Authorization") != "Bearer "+token || r.Header.Get("Version") != "4":
		w.WriteHeader(http.StatusUnauthorized)
	case path == "/ovirt-engine/api/vms":
		w.Header().Set("Content-Type", "application/xml")
		if r.URL.Query().Get("search") == `name="web"` {
			fmt.Fprint(w, found)
		} else {
			fmt.Fprint(w, "<vms/>")
		}
	case path == "/ovirt-engine/api/vms/"+webID:
		w.Header().Set("Content-Type", "application/xml")
		fmt.Fprint(w, machineText)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func (e *engine) target(name string) Target {
	return Target{Host: strings.TrimPrefix(e.URL, "https://"), VM: name}
}

func (e *engine) options() Options {
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: e.Certificate().Raw})
	return Options{Password: secret.New(password), CA: ca, Pause: time.Millisecond, Timeout: time.Minute}
}

func TestFetch(t *testing.T) {
	e := newEngine(t, nil)
	for _, name := range []string{"web", strings.ToUpper(webID)} {
		d, err := Fetch(t.Context(), e.target(name), e.options())
		if err != nil {
			t.Fatal(err)
		}
		if d.Text.Reveal() != machineText {
			t.Errorf("the text is not that of the engine:\n%s", d.Text.Reveal())
		}
		if want := "ovirt://" + e.target(name).Host + "/" + name; d.Name != want {
			t.Errorf("name %s, want %s", d.Name, want)
		}
	}
	want := []string{"POST /ovirt-engine/sso/oauth/token", "GET /ovirt-engine/api/vms?case_sensitive=true&search=name%3D%22web%22",
		"GET /ovirt-engine/api/vms/" + webID + "?all_content=true&follow=nics%2Cdiskattachments.disk%2Ccdroms", "POST /ovirt-engine/services/sso-logout",
		"POST /ovirt-engine/sso/oauth/token", "GET /ovirt-engine/api/vms/" + webID + "?all_content=true&follow=nics%2Cdiskattachments.disk%2Ccdroms",
		"POST /ovirt-engine/services/sso-logout"}
	if !slices.Equal(e.seen, want) {
		t.Errorf("requests %q\nwant %q", e.seen, want)
	}
}

// Engines before 4.2 do not know follow, and send the collections as links.
func TestFetchOfOldEngine(t *testing.T) {
	e := newEngine(t, func(w http.ResponseWriter, r *http.Request) bool {
		answers := map[string]string{
			"": `<vm id="` + webID + `"><link rel="nics" href="x"/><name>web</name><custom_script>a
  b</custom_script></vm>`,
			"/nics":            `<nics><nic><name>nic1</name></nic></nics>`,
			"/diskattachments": `<disk_attachments/>`,
			"/cdroms":          `<cdroms><cdrom><file id="a.iso"/></cdrom></cdroms>`,
		}
		path, ok := strings.CutPrefix(r.URL.Path, "/ovirt-engine/api/vms/"+webID)
		if ok {
			fmt.Fprint(w, answers[path])
		}
		return ok
	})
	d, err := Fetch(t.Context(), e.target("web"), e.options())
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"<custom_script>a\n  b</custom_script>", "<name>nic1</name>", `<file id="a.iso"`} {
		if !strings.Contains(d.Text.Reveal(), part) {
			t.Errorf("no %s in\n%s", part, d.Text.Reveal())
		}
	}
}

func TestOrdinaryUser(t *testing.T) {
	e := newEngine(t, func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasPrefix(r.URL.Path, "/ovirt-engine/api/") && r.Header.Get("Filter") != "true" {
			w.WriteHeader(http.StatusForbidden)
			return true
		}
		return false
	})
	if _, err := Fetch(t.Context(), e.target("web"), e.options()); err != nil {
		t.Error(err)
	}
}

func TestToken(t *testing.T) {
	e := newEngine(t, nil)
	o := e.options()
	o.Password, o.Token = secret.Text{}, secret.New(token)
	if _, err := Fetch(t.Context(), e.target("web"), o); err != nil {
		t.Error(err)
	}
	if i := slices.IndexFunc(e.seen, func(r string) bool { return strings.HasPrefix(r, "POST") }); i >= 0 {
		t.Errorf("%s: a token of the user's is neither asked for nor given back", e.seen[i])
	}
	o.Token = secret.New("CANARY-stale")
	if _, err := Fetch(t.Context(), e.target("web"), o); err == nil || !strings.Contains(err.Error(), "OVIRT_TOKEN any more") {
		t.Error(err)
	}
}

func TestRetry(t *testing.T) {
	calls := map[string]int{}
	e := newEngine(t, func(w http.ResponseWriter, r *http.Request) bool {
		calls[r.URL.Path]++
		switch calls[r.URL.Path] {
		case 1:
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		case 2:
			panic(http.ErrAbortHandler) // the connection ends in the middle
		}
		return false
	})
	if _, err := Fetch(t.Context(), e.target("web"), e.options()); err != nil {
		t.Error(err)
	}
	down := newEngine(t, func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	})
	if _, err := Fetch(t.Context(), down.target("web"), down.options()); err == nil || len(down.seen) != tries {
		t.Errorf("%v after %d requests", err, len(down.seen))
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	e := newEngine(t, func(w http.ResponseWriter, _ *http.Request) bool {
		cancel()
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	})
	o := e.options()
	o.Pause = time.Hour
	if _, err := Fetch(ctx, e.target("web"), o); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// Every trouble has words that say what to do, and none of them holds a secret.
func TestErrors(t *testing.T) {
	xml := func(status int, body string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.HasPrefix(r.URL.Path, "/ovirt-engine/api/") {
				return false
			}
			w.WriteHeader(status)
			fmt.Fprint(w, body)
			return true
		}
	}
	for name, c := range map[string]struct {
		first  func(http.ResponseWriter, *http.Request) bool
		change func(*Target, *Options)
		want   string
	}{
		"wrong password":    {nil, func(_ *Target, o *Options) { o.Password = secret.New("CANARY-wrong") }, "the engine does not let admin@internal in; see that OVIRT_PASSWORD is right"},
		"no password":       {nil, func(_ *Target, o *Options) { o.Password = secret.Text{} }, "there is no password for admin@internal; set OVIRT_PASSWORD"},
		"unknown authority": {nil, func(_ *Target, o *Options) { o.CA = nil }, "/ovirt-engine/services/pki-resource?resource=ca-certificate&format=X509-PEM-CA', compare it"},
		"no certificate":    {nil, func(_ *Target, o *Options) { o.CA = []byte("none") }, "holds no certificate in PEM"},
		"another name":      {nil, func(t *Target, _ *Options) { t.Host = strings.Replace(t.Host, "127.0.0.1", "localhost", 1) }, "its certificate is for another name"},
		"no such name":      {nil, func(t *Target, _ *Options) { t.VM = "db" }, `there is no virtual machine "db"`},
		"another case":      {nil, func(t *Target, _ *Options) { t.VM = "Web" }, `there is no virtual machine "Web"`},
		"no such id":        {nil, func(t *Target, _ *Options) { t.VM = strings.ReplaceAll(webID, "5", "6") }, "there is no virtual machine"},
		"nobody there":      {nil, func(t *Target, _ *Options) { t.Host = "127.0.0.1:1" }, "see that host and port are right"},
		"another server": {func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<html>")
			return true
		}, nil, "it does not answer as an engine does: status 200 for the login"},
		"redirect": {func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, "https://elsewhere.example/", http.StatusFound)
			return true
		}, nil, "it does not answer as an engine does: status 302"},
		"redirect of the API": {xml(http.StatusFound, ""), nil, "it sends to another address"},
		"two of the name":     {xml(http.StatusOK, strings.ReplaceAll(found, "WEB", "web")), nil, "2 virtual machines are called \"web\": " + webID + ", 9"},
		"fault": {xml(http.StatusInternalServerError, "<fault><reason>Operation Failed</reason><detail>[Internal\nEngine Error "+token+"]</detail></fault>"), nil,
			"the engine answers with status 500: Operation Failed [Internal Engine Error " + secret.Redacted + "]"},
		"no rights":  {xml(http.StatusForbidden, ""), nil, "admin@internal may not see the virtual machine"},
		"DTD":        {xml(http.StatusOK, `<!DOCTYPE vms [<!ENTITY a SYSTEM "file:///etc/passwd">]><vms>&a;</vms>`), nil, "is no document of oVirt"},
		"other root": {xml(http.StatusOK, `<templates/>`), nil, "the answer to /ovirt-engine/api/vms is <templates>, not <vms>"},
		"too large":  {xml(http.StatusOK, "<vms>"+strings.Repeat(" ", maxDocument)+"</vms>"), nil, "the answer has more than 16 MiB"},
		"foreign id": {xml(http.StatusOK, `<vms><vm id="../../services"><name>web</name></vm></vms>`), nil, "there is no virtual machine"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, c.first)
			target, o := e.target("web"), e.options()
			if c.change != nil {
				c.change(&target, &o)
			}
			_, err := Fetch(t.Context(), target, o)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v\nwant %s", err, c.want)
			}
			var known *Error
			if !errors.As(err, &known) || known.Host != target.Host {
				t.Errorf("%T is not one of the package's errors", err)
			}
			if text := fmt.Sprintf("%v %+v %#v", err, err, err); strings.Contains(text, "CANARY") {
				t.Errorf("it holds a secret: %s", text)
			}
		})
	}
}

func TestPlainHTTP(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	_, err := Fetch(t.Context(), Target{Host: strings.TrimPrefix(server.URL, "http://"), VM: "a"}, Options{Password: secret.New("x"), Pause: time.Millisecond})
	if err == nil || !strings.Contains(err.Error(), "use the port of HTTPS") {
		t.Error(err)
	}
}

func TestInsecure(t *testing.T) {
	e := newEngine(t, nil)
	o := e.options()
	o.CA, o.Insecure = nil, true
	if d, err := Fetch(t.Context(), e.target("web"), o); err != nil || !bytes.Contains([]byte(d.Text.Reveal()), []byte("<vm ")) {
		t.Error(err)
	}
}

func TestParseTarget(t *testing.T) {
	for address, want := range map[string]Target{
		"ovirt://engine.example/web":                        {Host: "engine.example", VM: "web"},
		"ovirt://admin@internal@engine.example:8443/web":    {Host: "engine.example:8443", User: "admin@internal", VM: "web"},
		"ovirt://ann@example.com@[::1]:443/my%20vm":         {Host: "[::1]:443", User: "ann@example.com", VM: "my vm"},
		"ovirt://engine.example/web?cluster=Default%20East": {Host: "engine.example", VM: "web", Cluster: "Default East"},
		"ovirt://engine.example/a%2Fb":                      {},
		"ovirt://engine.example":                            {},
		"ovirt://engine.example/":                           {},
		"ovirt:///web":                                      {},
		"ovirt://a:CANARY@engine.example/web":               {},
		"ovirt://a:CANARY%zz@engine.example/web":            {},
		"ovirt://engine.example/web?clusters=Default":       {},
		"ovirt://engine.example/web#top":                    {},
		"ovirt://engine.example/web%0aX":                    {},
		"https://engine.example/web":                        {},
	} {
		got, err := ParseTarget(address)
		if got != want || (err == nil) != (want.VM != "") {
			t.Errorf("%s: %+v, %v", address, got, err)
		}
		if err != nil && strings.Contains(err.Error(), "CANARY") {
			t.Errorf("%v", err)
		}
		if err == nil {
			if again, err := ParseTarget(got.String()); err != nil || again.VM != got.VM || again.Cluster != got.Cluster || again.Host != got.Host || again.User != "" {
				t.Errorf("%s comes back as %+v, %v", got, again, err)
			}
		}
	}
}
