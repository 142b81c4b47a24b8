//go:build linux

package web_test

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vmseed/vmseed/daemon"
	"github.com/vmseed/vmseed/daemon/auth"
	"github.com/vmseed/vmseed/daemon/client"
	"github.com/vmseed/vmseed/daemon/daemontest"
	"github.com/vmseed/vmseed/daemon/web"
)

// pageData returns what a page holds for its script.
func pageData(t *testing.T, page string) map[string]any {
	t.Helper()
	_, rest, ok := strings.Cut(page, `<script type="application/json" id="page-data">`)
	text, _, _ := strings.Cut(rest, "</script>")
	var data map[string]any
	if err := json.Unmarshal([]byte(text), &data); !ok || err != nil {
		t.Fatalf("the page's data: %v\n%.2000s", err, page)
	}
	return data
}

// TestWithoutScript reads all lists in what the server writes.
func TestWithoutScript(t *testing.T) {
	s := begin(t, auth.Options{})
	cookie := s.login(t)
	template := daemontest.Template(t, s.daemon, "Test image", "golden")
	var ids []string
	for i := range 205 {
		m, err := s.daemon.Add(t.Context(), daemon.Machine{Documents: daemontest.Definition(fmt.Sprintf("vm-%03d", i), "", "")})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, m.ID)
	}
	first := s.do(t, http.MethodGet, "/machines", "", cookie...)
	for i, id := range ids {
		link := fmt.Sprintf(`<a href="/machines/%s">vm-%03d</a>`, id, i)
		if strings.Contains(first.text, link) != (i >= 5) {
			t.Fatalf("machine %d: %t", i, i >= 5)
		}
	}
	if newest, older := strings.Index(first.text, ">vm-204<"), strings.Index(first.text, ">vm-203<"); newest > older {
		t.Error("the newest machine is not the first")
	}
	more := "/machines?before=" + ids[5]
	if !strings.Contains(first.text, `href="`+more+`"`) {
		t.Error("there is no way to the machines behind these")
	}
	if a := s.do(t, http.MethodGet, more, "", cookie...); !strings.Contains(a.text, "vm-004") || strings.Contains(a.text, "vm-005") {
		t.Errorf("the second page: %s", a.Status)
	}
	if data := pageData(t, first.text); len(data["machines"].([]any)) != 200 || data["more"] != true || data["user"] != auth.Admin || data["lastEvent"].(float64) < 205 {
		t.Errorf("%d machines, %v, %v", len(data["machines"].([]any)), data["more"], data["lastEvent"])
	}
	if a := s.do(t, http.MethodGet, "/machines?search=VM-02", "", cookie...); strings.Count(a.text, `<tr><td`) != 10 || !strings.Contains(a.text, `value="VM-02"`) {
		t.Errorf("the search finds %d", strings.Count(a.text, "<tr><td"))
	}
	if a := s.do(t, http.MethodGet, "/machines?status=paused", "", cookie...); !strings.Contains(a.text, "No machine matches") || !strings.Contains(a.text, `<option value="paused" selected>`) {
		t.Error("a status that none has:", a.Status)
	}
	a := s.do(t, http.MethodGet, "/images", "", cookie...)
	if strings.Contains(a.text, `<th scope="row">Blank`) || strings.Contains(a.text, "There are no templates yet") {
		t.Error("the images show a template that has none")
	}
	for _, want := range []string{"Test image", "disk.img", "golden"} {
		if !strings.Contains(a.text, want) {
			t.Errorf("the images lack %q", want)
		}
	}
	for path, wants := range map[string][]string{
		"/machines/" + ids[3]:           {"vm-003", ids[3]},
		"/machines/" + ids[3] + "/edit": {"Edit vm-003"},
		"/machines/" + ids[3] + "/run":  {"Run vm-003 once"},
		"/machines/new":                 {"New machine"},
		"/help/VS1234":                  {"a title", "Say <code>this</code> &lt;b&gt;."},
		"/licences":                     {"preact"},
	} {
		a := s.do(t, http.MethodGet, path, "", cookie...)
		for _, want := range wants {
			if a.StatusCode != http.StatusOK || !strings.Contains(a.text, want) {
				t.Errorf("%s: %s without %q", path, a.Status, want)
			}
		}
	}
	data := pageData(t, s.do(t, http.MethodGet, "/machines/new", "", cookie...).text)
	if data["mode"] != "new" || !strings.Contains(fmt.Sprint(data["templates"]), template.ID) || !strings.Contains(fmt.Sprint(data["version"]), "nocloud") {
		t.Error("what a new machine is made of:", data)
	}
	for _, path := range []string{"/machines/x", "/machines/" + ids[0] + "x/edit", "/nothing", "/help/VS9999", "/help/x", "/machines?before=x"} {
		if a := s.do(t, http.MethodGet, path, "", cookie...); a.StatusCode != http.StatusNotFound || !strings.Contains(a.text, "There is nothing here") {
			t.Errorf("%s: %s", path, a.Status)
		}
	}
}

// TestHeaders holds every answer to the policy.
func TestHeaders(t *testing.T) {
	s := begin(t, auth.Options{})
	cookie := s.login(t)
	front := s.do(t, http.MethodGet, "/machines", "", cookie...).text
	_, rest, _ := strings.Cut(front, `<script type="module" src="`)
	script, _, _ := strings.Cut(rest, `"`)
	for name, a := range map[string]answer{
		"a page": s.do(t, http.MethodGet, "/machines", "", cookie...), "its head": s.do(t, http.MethodHead, "/machines", "", cookie...),
		"the log-in": s.do(t, http.MethodGet, "/login", ""), "a redirect": s.do(t, http.MethodGet, "/machines", ""), "front": s.do(t, http.MethodGet, "/", ""),
		"a wrong password": s.form(t, "/login", url.Values{"username": {"x"}, "password": {"y"}}), "no form": s.do(t, http.MethodPost, "/login", "x", own...),
		"nothing": s.do(t, http.MethodGet, "/nothing", "", cookie...), "nothing for strangers": s.do(t, http.MethodGet, "/nothing", ""),
		"another method": s.do(t, http.MethodPut, "/machines", "", own...), "logging out": s.form(t, "/logout", nil), "a file": s.do(t, http.MethodGet, script, ""),
		"no file": s.do(t, http.MethodGet, "/assets/x.js", ""), "a file again": s.do(t, http.MethodGet, script, "", "If-None-Match", "*"),
		"icon": s.do(t, http.MethodGet, "/favicon.ico", ""), "licences": s.do(t, http.MethodGet, "/licences", ""),
	} {
		for header, want := range map[string]string{"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "same-origin",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin"} {
			if got := a.Header.Get(header); got != want {
				t.Errorf("%s: %s is %q", name, header, got)
			}
		}
		policy := a.Header.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'"} {
			if !strings.Contains(policy+";", want+";") {
				t.Errorf("%s: the policy %q has no %s", name, policy, want)
			}
		}
		if strings.Contains(policy, "unsafe") || strings.Contains(policy, "*") || strings.Contains(policy, "http") {
			t.Errorf("%s: the policy is %q", name, policy)
		}
		if cached := a.Header.Get("Cache-Control"); (cached != "no-store") != strings.HasPrefix(name, "a file") {
			t.Errorf("%s: Cache-Control is %q", name, cached)
		}
	}
	if a := s.do(t, http.MethodGet, "/api/v1/machines", "", append(cookie, own...)...); a.Header.Get("Content-Security-Policy") != "default-src 'none'; frame-ancestors 'none'" || a.Header.Get("Cache-Control") != "no-store" {
		t.Error("an answer of the API:", a.Header)
	}
}

// hostile answers every request of the API with objects in which every text is the same.
type hostile struct{ text string }

// ServeHTTP answers as the API does, but for the texts.
func (h hostile) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var v any
	switch path := strings.TrimPrefix(r.URL.Path, client.Prefix); {
	case path == "/machines":
		v = &client.MachineList{}
	case path == "/version":
		v = &client.Version{}
	case strings.HasPrefix(path, "/machines/"):
		v = &client.Machine{}
	default:
		kinds := map[string]any{"/images": &client.Image{}, "/templates": &client.Template{}, "/disks": &client.Disk{}, "/storagedomains": &client.StorageDomain{}, "/jobs": &client.Job{}}
		item := kinds[path]
		h.fill(reflect.ValueOf(item).Elem())
		v = map[string]any{"items": []any{item, item}}
	}
	if rv := reflect.ValueOf(v); rv.Kind() == reflect.Pointer {
		h.fill(rv.Elem())
	}
	_ = json.NewEncoder(w).Encode(v)
}

// fill gives every text in a value the hostile one, and everything else some value.
func (h hostile) fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(h.text)
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Bool:
		v.SetBool(false)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		h.fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			h.fill(v.Index(i))
		}
	case reflect.Struct:
		if t, ok := v.Addr().Interface().(*time.Time); ok {
			*t = time.Unix(1e9, 0)
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				h.fill(v.Field(i))
			}
		}
	}
}

// skeleton is a page without its texts: elements, and the names of their attributes. Addresses have to be of this site.
func skeleton(page string) ([]string, error) {
	d := xml.NewDecoder(strings.NewReader(strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' && r != '\r' {
			return -1 // is text in HTML, and nothing at all in XML
		}
		return r
	}, page)))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	var out []string
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		switch e := token.(type) {
		case xml.Comment, xml.ProcInst:
			return nil, fmt.Errorf("there is a %T", e)
		case xml.EndElement:
			out = append(out, "/"+e.Name.Local)
		case xml.StartElement:
			text := e.Name.Local
			for _, a := range e.Attr {
				text += " " + a.Name.Local
				local := strings.HasPrefix(a.Value, "/") && !strings.HasPrefix(a.Value, "//") || strings.HasPrefix(a.Value, "#")
				if slices.Contains([]string{"href", "src", "action", "formaction"}, a.Name.Local) && !local {
					return nil, fmt.Errorf("<%s> leads to %q", e.Name.Local, a.Value)
				}
				if strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "style" {
					return nil, fmt.Errorf("<%s> has %s", e.Name.Local, a.Name.Local)
				}
			}
			out = append(out, text)
		}
	}
}

// TestHostileTexts puts every text of the corpus into everything that the API, an address and a form can bring into a page: the page stays
// what it is.
func TestHostileTexts(t *testing.T) {
	data, err := os.ReadFile("testdata/xss.json")
	if err != nil {
		t.Fatal(err)
	}
	var corpus []string
	if err := json.Unmarshal(data, &corpus); err != nil || len(corpus) < 100 {
		t.Fatal(len(corpus), err)
	}
	guard, _ := daemontest.Guard(t, auth.Options{})
	pages := func(text string) map[string]string {
		h, err := web.New(web.Options{API: hostile{text}, Guard: guard, LastEvent: func() uint64 { return 1 }})
		if err != nil {
			t.Fatal(err)
		}
		q, out := url.QueryEscape(text), map[string]string{}
		get := func(name, path string, id auth.Identity) {
			r := httptest.NewRequest(http.MethodGet, path, nil)
			if id.Name != "" {
				r = r.WithContext(auth.NewContext(r.Context(), id))
			}
			if strings.HasPrefix(name, "again") {
				r.Header.Set("Sec-Fetch-Site", "cross-site")
				r.Header.Set("Sec-Fetch-Mode", "navigate")
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			out[name] = w.Body.String()
		}
		admin := auth.Identity{Name: auth.Admin}
		get("machines", "/machines?search="+q+"&status="+q, admin)
		get("machine", "/machines/x", admin)
		get("edit", "/machines/x/edit", admin)
		get("run", "/machines/x/run", admin)
		get("new", "/machines/new?template="+q, admin)
		get("images", "/images?x="+q, admin)
		get("nothing", "/"+url.PathEscape("x"+text), admin)
		get("log-in", "/login?next="+q, auth.Identity{})
		get("again", "/machines?search="+q, auth.Identity{})
		// A password so long is wrong without a look at it, which would take its time.
		r := httptest.NewRequest(http.MethodPost, "/login", strings.NewReader(url.Values{"username": {text}, "password": {strings.Repeat("x", 2000)}, "next": {text}}.Encode()))
		r.Header.Set("Content-Type", formType)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		out["denied"] = w.Body.String()
		return out
	}
	want := map[string][]string{}
	for name, page := range pages("harmless") {
		if want[name], err = skeleton(page); err != nil || len(want[name]) < 10 {
			t.Fatalf("%s: %v, %d", name, err, len(want[name]))
		}
	}
	for _, text := range corpus {
		for name, page := range pages(text) {
			if got, err := skeleton(page); err != nil || !slices.Equal(got, want[name]) {
				t.Errorf("%s: %q changes the page: %v", name, text, err)
			}
			if strings.Contains(name, "machine") && !strings.Contains(fmt.Sprint(pageData(t, page)), strings.ToValidUTF8(text, "\ufffd")) {
				t.Errorf("%s: %q does not reach the script as it is", name, text)
			}
		}
	}
}
