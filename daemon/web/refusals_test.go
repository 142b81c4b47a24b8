//go:build linux

package web_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/daemon"
	"github.com/vmseed/vmseed/daemon/auth"
	"github.com/vmseed/vmseed/daemon/daemontest"
)

// refused is a request that somebody makes a browser send, with the session of its user, or that is not one of a page.
type refused struct {
	name, method, path, body string
	header                   []string
	// stranger means that the session's cookie does not come with it.
	stranger bool
	status   int
}

const (
	formType = "application/x-www-form-urlencoded"
	jsonType = "application/json"
)

// fromElsewhere are requests that pages of other origins make, with all that a browser may say about them, or keep back.
func fromElsewhere(id, here string) []refused {
	const api = "/api/v1"
	machines, machine := api+"/machines", api+"/machines/"+id
	create := `{"documents":[{"name":"m.yaml","text":"x"}]}`
	j := []string{"Content-Type", jsonType}
	with := func(base []string, more ...string) []string { return slices.Concat(base, more) }
	cross := []string{"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"}
	upgrade := []string{"Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="}
	return []refused{
		{name: "create from another site", method: "POST", path: machines, body: create, header: with(j, cross...), status: 403},
		{name: "create from another port", method: "POST", path: machines, body: create, header: with(j, "Sec-Fetch-Site", "same-site"), status: 403},
		{name: "create without an origin", method: "POST", path: machines, body: create, header: with(j, "Origin", "null"), status: 403},
		{name: "create, foreign origin alone", method: "POST", path: machines, body: create, header: with(j, "Origin", "https://evil.example"), status: 403},
		{name: "create, origin of another port", method: "POST", path: machines, body: create, header: with(j, "Origin", "https://127.0.0.1:1"), status: 403},
		{name: "create, origin with this host in it", method: "POST", path: machines, body: create, header: with(j, "Origin", "https://"+here+".evil.example"), status: 403},
		{name: "create, a browser that says nothing", method: "POST", path: machines, body: create, header: j, status: 403},
		{name: "create, typed", method: "POST", path: machines, body: create, header: with(j, "Sec-Fetch-Site", "none"), status: 403},
		{name: "create by fetch without CORS", method: "POST", path: machines, body: create,
			header: with(cross, "Sec-Fetch-Mode", "no-cors", "Content-Type", "text/plain"), status: 403},
		{name: "create by a form", method: "POST", path: machines, body: "documents=x", header: with(cross, "Content-Type", formType), status: 403},
		{name: "own form instead of JSON", method: "POST", path: machines, body: "documents=x", header: []string{"Sec-Fetch-Site", "same-origin", "Content-Type", formType}, status: 415},
		{name: "own text instead of JSON", method: "POST", path: machines, body: create, header: []string{"Sec-Fetch-Site", "same-origin", "Content-Type", "text/plain"}, status: 415},
		{name: "own upload instead of JSON", method: "POST", path: machines, body: "--x--", header: []string{"Sec-Fetch-Site", "same-origin", "Content-Type", "multipart/form-data; boundary=x"}, status: 415},
		{name: "start", method: "POST", path: machine + "/start", header: cross, status: 403},
		{name: "stop", method: "POST", path: machine + "/stop", header: cross, status: 403},
		{name: "shut down", method: "POST", path: machine + "/shutdown", header: []string{"Sec-Fetch-Site", "same-site"}, status: 403},
		{name: "reboot", method: "POST", path: machine + "/reboot", status: 403},
		{name: "reset", method: "POST", path: machine + "/reset", header: []string{"Origin", "null"}, status: 403},
		{name: "change", method: "PATCH", path: machine, body: `{"name":"x"}`, header: with(j, cross...), status: 403},
		{name: "remove", method: "DELETE", path: machine + "?force=true", header: cross, status: 403},
		{name: "remove, a browser that says nothing", method: "DELETE", path: machine + "?force=true", status: 403},
		{name: "import", method: "POST", path: api + "/imports", body: `{"image":"x"}`, header: with(j, cross...), status: 403},
		{name: "render", method: "POST", path: api + "/render", body: create, header: with(j, cross...), status: 403},
		{name: "end the session", method: "DELETE", path: api + "/session", header: cross, status: 403},
		{name: "log out", method: "POST", path: "/logout", header: cross, status: 403},
		{name: "log out, no origin", method: "POST", path: "/logout", header: []string{"Origin", "null"}, status: 403},
		{name: "log in as somebody else", method: "POST", path: "/login", body: "username=admin&password=x", header: with(cross, "Content-Type", formType), status: 403},
		{name: "log in, another port", method: "POST", path: "/login", body: "username=admin&password=x", header: []string{"Content-Type", formType, "Sec-Fetch-Site", "same-site"}, status: 403},
		{name: "read", method: "GET", path: machines, header: []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"}, status: 403},
		{name: "read from another port", method: "GET", path: machines, header: []string{"Sec-Fetch-Site", "same-site"}, status: 403},
		{name: "read, foreign origin", method: "GET", path: machines, header: []string{"Origin", "https://evil.example"}, status: 403},
		{name: "events", method: "GET", path: api + "/events", header: with(cross, "Accept", "text/event-stream"), status: 403},
		{name: "events from another port", method: "GET", path: api + "/events", header: []string{"Sec-Fetch-Site", "same-site", "Accept", "text/event-stream"}, status: 403},
		{name: "preflight", method: "OPTIONS", path: machines, header: with(cross, "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "content-type"), status: 403},
		{name: "preflight without the cookie", method: "OPTIONS", path: machines, header: with(cross, "Access-Control-Request-Method", "POST"), stranger: true, status: 401},
		{name: "console", method: "GET", path: machine + "/console", header: with(upgrade, "Origin", "https://evil.example"), status: 403},
		{name: "console, no origin", method: "GET", path: machine + "/console", header: with(upgrade, "Origin", "null"), status: 403},
		{name: "console, another port", method: "GET", path: machine + "/console", header: with(upgrade, "Origin", "https://127.0.0.1:1"), status: 403},
		{name: "console, a browser that says nothing", method: "GET", path: machine + "/console", header: upgrade, status: 403},
		{name: "console, same site", method: "GET", path: machine + "/console", header: with(upgrade, "Sec-Fetch-Site", "same-site", "Origin", "https://"+here), status: 403},
		{name: "raw console", method: "GET", path: machine + "/console", header: []string{"Connection", "Upgrade", "Upgrade", "vmseed-console"}, status: 403},
		{name: "oVirt's API by cookie", method: "GET", path: "/ovirt-engine/api/vms", header: []string{"Sec-Fetch-Site", "same-origin"}, status: 401},
		{name: "a change of oVirt's API by cookie", method: "POST", path: "/ovirt-engine/api/vms", body: "<vm/>", header: []string{"Sec-Fetch-Site", "same-origin"}, status: 401},
	}
}

// atWrongNames are requests to names that lead here without being this host's.
func atWrongNames() []refused {
	var out []refused
	for _, host := range []string{"evil.example", "127.0.0.1.nip.example", "localhost.evil.example", "evil.example:443", "127.0.0.1.", "0x7f000001", "[::1].evil.example"} {
		for _, path := range []string{"/machines", "/api/v1/machines", "/login"} {
			out = append(out, refused{name: host + path, method: "GET", path: path, header: []string{"Host", host, "Sec-Fetch-Site", "same-origin"}, status: 421})
		}
	}
	// The address itself may be written with a dot behind it.
	return slices.DeleteFunc(out, func(r refused) bool { return strings.HasPrefix(r.name, "127.0.0.1./") })
}

// malformed are requests with no session, or with one where none belongs.
func malformed(id, token string) []refused {
	own := []string{"Sec-Fetch-Site", "same-origin"}
	name, value, _ := strings.Cut(token, "=")
	cookie := func(text string) []string { return append([]string{"Cookie", text}, own...) }
	const machines = "/api/v1/machines"
	return []refused{
		{name: "no cookie", method: "GET", path: machines, header: own, stranger: true, status: 401},
		{name: "a cookie of nobody", method: "GET", path: machines, header: cookie(name + "=x"), stranger: true, status: 401},
		{name: "an empty cookie", method: "GET", path: machines, header: cookie(name + "="), stranger: true, status: 401},
		{name: "two cookies", method: "GET", path: machines, header: cookie(name + "=x; " + token), stranger: true, status: 401},
		{name: "the cookie of plain HTTP", method: "GET", path: machines, header: cookie(strings.TrimPrefix(name, "__Host-") + "=" + value), stranger: true, status: 401},
		{name: "the cookie of another port", method: "GET", path: machines, header: cookie("__Host-vmseed-1=" + value), stranger: true, status: 401},
		{name: "the token in the address", method: "GET", path: machines + "?access_token=" + value, header: own, stranger: true, status: 401},
		{name: "the token in a header of its own", method: "GET", path: machines, header: append([]string{"X-Auth-Token", value}, own...), stranger: true, status: 401},
		{name: "a wrong token beside the cookie", method: "GET", path: machines, header: append([]string{"Authorization", "Bearer x"}, own...), status: 401},
		{name: "a change by reading", method: "GET", path: machines + "/" + id + "/stop", header: own, status: 405},
		{name: "logging out by a link", method: "GET", path: "/logout", header: own, status: 405},
		{name: "a method in a header", method: "GET", path: "/logout", header: append([]string{"X-HTTP-Method-Override", "POST"}, own...), status: 405},
		{name: "posting to a page", method: "POST", path: "/machines", header: own, status: 405},
		{name: "removing a page", method: "DELETE", path: "/machines/" + id, header: own, status: 405},
		{name: "posting to no page", method: "POST", path: "/nothing", header: own, status: 404},
		{name: "an API that there is not", method: "GET", path: "/api/v2/machines", header: own, status: 404},
		{name: "removing the log-in", method: "DELETE", path: "/login", header: own, status: 405},
		{name: "tracing", method: "TRACE", path: "/machines", header: own, status: 405},
		{name: "a password in the address", method: "GET", path: "/login?username=admin&password=" + url.QueryEscape(daemontest.Password), stranger: true, status: 200},
		{name: "a log-in as JSON", method: "POST", path: "/login", body: `{"username":"admin"}`, header: append([]string{"Content-Type", jsonType}, own...), stranger: true, status: 400},
		{name: "a log-in without a form", method: "POST", path: "/login", body: "username=admin", header: own, stranger: true, status: 400},
		{name: "a log-in that is too large", method: "POST", path: "/login", body: "username=" + strings.Repeat("x", 1<<20), header: append([]string{"Content-Type", formType}, own...), stranger: true, status: 400},
		{name: "a wrong password", method: "POST", path: "/login", body: "username=admin&password=wrong", header: append([]string{"Content-Type", formType}, own...), stranger: true, status: 403},
		{name: "the program's own files", method: "GET", path: "/assets/manifest.json", header: own, status: 404},
		{name: "files above the assets", method: "GET", path: "/assets/%2e%2e%2ftemplates%2flogin.html", header: own, status: 404},
		{name: "a listing of the assets", method: "GET", path: "/assets/", header: own, status: 404},
		{name: "a machine that there is not", method: "GET", path: "/machines/..%2f..%2fsession", header: own, status: 404},
	}
}

// TestRefusals sends what must not have an effect. None has, and nothing is given away.
func TestRefusals(t *testing.T) {
	s := begin(t, auth.Options{})
	cookie := s.login(t)
	m, err := s.daemon.Add(t.Context(), daemon.Machine{Documents: daemontest.Definition("kept", "", "#cloud-config\n{}\n")})
	if err != nil {
		t.Fatal(err)
	}
	m = daemontest.WaitStatus(t, s.daemon, m.ID, daemon.Down)
	last := s.daemon.LastEvent()
	here := strings.TrimPrefix(s.server.URL(), "https://")
	all := slices.Concat(fromElsewhere(m.ID, here), atWrongNames(), malformed(m.ID, cookie[1]))
	for _, tt := range all {
		header := tt.header
		if !tt.stranger {
			header = slices.Concat(cookie, header)
		}
		a := s.do(t, tt.method, tt.path, tt.body, header...)
		if a.StatusCode != tt.status {
			t.Errorf("%s: %s, want %d", tt.name, a.Status, tt.status)
		}
		if len(a.Cookies()) > 0 || a.Header.Get("Access-Control-Allow-Origin") != "" || a.Header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s: the answer opens a door: %v", tt.name, a.Header)
		}
		if !strings.Contains(a.Header.Get("Content-Security-Policy"), "default-src 'none'") || a.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: the answer is not protected: %v", tt.name, a.Header)
		}
		if a.StatusCode != 200 && strings.Contains(a.text, "kept") {
			t.Errorf("%s: the answer tells of the machine: %.200s", tt.name, a.text)
		}
	}
	if len(all) < 80 {
		t.Errorf("%d requests", len(all))
	}
	after, err := s.daemon.Get(m.ID)
	if err != nil || fmt.Sprint(after) != fmt.Sprint(m) || s.daemon.LastEvent() != last || len(s.daemon.List()) != 1 {
		t.Errorf("something has had an effect: %v, %v, events %d to %d", after, err, last, s.daemon.LastEvent())
	}
	if a := s.do(t, http.MethodGet, "/machines", "", cookie...); a.StatusCode != http.StatusOK || !strings.Contains(a.text, "kept") {
		t.Errorf("the session does not go on: %s", a.Status)
	}
	if text := s.log.String(); strings.Contains(text, strings.SplitN(cookie[1], "=", 2)[1]) || strings.Contains(text, daemontest.Password) {
		t.Error("the log has a secret in it")
	}
}
