//go:build linux

package web_test

import (
	"bufio"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/vmseed/vmseed/daemon/auth"
	"github.com/vmseed/vmseed/daemon/daemontest"
)

// own is what a browser says about a request of the page itself.
var own = []string{"Sec-Fetch-Site", "same-origin"}

// TestLogin lets users in and out, and back to where they wanted to be.
func TestLogin(t *testing.T) {
	s := begin(t, auth.Options{})
	for _, path := range []string{"/machines", "/machines?search=a%26b", "/images", "/machines/new?template=x", "/machines/x/edit"} {
		a := s.do(t, http.MethodGet, path, "")
		if want := "/login?next=" + url.QueryEscape(path); a.StatusCode != http.StatusSeeOther || a.Header.Get("Location") != want {
			t.Errorf("%s: a stranger gets %s, %s, want %s", path, a.Status, a.Header.Get("Location"), want)
		}
		page := s.do(t, http.MethodGet, a.Header.Get("Location"), "")
		if !strings.Contains(page.text, `name="next" value="`+strings.ReplaceAll(path, "&", "&amp;")) {
			t.Errorf("%s: the log-in page does not lead there: %s", path, page.text)
		}
	}
	wrong := s.form(t, "/login", url.Values{"username": {"admin"}, "password": {"wrong horse"}, "next": {"/images"}})
	if wrong.StatusCode != http.StatusForbidden || !strings.Contains(wrong.text, `role="alert"`) || !strings.Contains(wrong.text, `value="admin"`) ||
		!strings.Contains(wrong.text, `value="/images"`) || strings.Contains(wrong.text, "wrong horse") {
		t.Errorf("a wrong password: %s\n%s", wrong.Status, wrong.text)
	}
	cookie := s.login(t)
	if !strings.HasPrefix(cookie[1], "__Host-vmseed-") {
		t.Error("the cookie is", cookie[1])
	}
	if a := s.do(t, http.MethodGet, "/login?next=/images", "", cookie...); a.StatusCode != http.StatusSeeOther || a.Header.Get("Location") != "/images" {
		t.Error("who has logged in is asked again:", a.Status)
	}
	if a := s.do(t, http.MethodGet, "/", "", cookie...); a.Header.Get("Location") != "/machines" {
		t.Error("the front page leads to", a.Header)
	}
	if a := s.do(t, http.MethodGet, "/api/v1/machines", "", append(cookie, own...)...); a.StatusCode != http.StatusOK {
		t.Error("the page's own request:", a.Status)
	}
	second := s.form(t, "/login", url.Values{"username": {"admin"}, "password": {daemontest.Password}}, cookie...)
	if second.StatusCode != http.StatusSeeOther || second.Header.Get("Location") != "/machines" || len(second.Cookies()) != 1 {
		t.Error("a second log-in:", second.Status, second.Header)
	}
	if a := s.do(t, http.MethodGet, "/machines", "", cookie...); a.StatusCode != http.StatusSeeOther {
		t.Error("a log-in leaves the session before it alive:", a.Status)
	}
	cookie = []string{"Cookie", second.Cookies()[0].Name + "=" + second.Cookies()[0].Value}
	out := s.form(t, "/logout", nil, cookie...)
	if dropped := out.Cookies(); out.StatusCode != http.StatusSeeOther || len(dropped) != 1 || dropped[0].MaxAge >= 0 || out.Header.Get("Clear-Site-Data") != `"storage"` {
		t.Error("logging out:", out.Status, out.Header)
	}
	if a := s.do(t, http.MethodGet, "/api/v1/machines", "", append(cookie, own...)...); a.StatusCode != http.StatusUnauthorized {
		t.Error("after logging out:", a.Status)
	}
}

// TestCookie holds the cookie to what keeps other sites and scripts from it.
func TestCookie(t *testing.T) {
	s := begin(t, auth.Options{})
	a := s.form(t, "/login", url.Values{"username": {"admin"}, "password": {daemontest.Password}})
	c := a.Cookies()[0]
	if !c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Domain != "" || c.MaxAge != 0 || !c.Expires.IsZero() {
		t.Errorf("%+v", c)
	}
	if got := a.Header.Get("Set-Cookie"); !strings.HasPrefix(got, "__Host-") {
		t.Error(got)
	}
}

// TestNext never leads anybody away from here.
func TestNext(t *testing.T) {
	s := begin(t, auth.Options{})
	for next, want := range map[string]string{
		"/images": "/images", "/machines?search=x&status=up": "/machines?search=x&status=up", "/machines/x/run#tab": "/machines/x/run", "": "/machines", "images": "/machines",
		"https://evil.example/": "/machines", "//evil.example/": "/machines", "///evil.example/": "/machines", "/\\evil.example/": "/machines", "\\\\evil.example": "/machines",
		"/%5cevil.example": "/%5cevil.example", "/\t/evil.example": "/machines", "/\n/evil.example": "/machines", "javascript:alert(1)": "/machines", "/login": "/machines",
		"/login?next=/login": "/machines", "/logout": "/machines", "/api/v1/machines": "/machines", "http:/evil.example": "/machines", "/%2f/evil.example": "/machines", " /images": "/machines",
	} {
		a := s.form(t, "/login", url.Values{"username": {"admin"}, "password": {daemontest.Password}, "next": {next}})
		got := a.Header.Get("Location")
		to, err := url.Parse(got)
		if got != want || err != nil || to.Host != "" {
			t.Errorf("%q leads to %q, want %q", next, got, want)
		}
	}
}

// TestFromAnotherSite opens a page by a link elsewhere, with which the cookie does not come: the page is asked for once more from here.
func TestFromAnotherSite(t *testing.T) {
	s := begin(t, auth.Options{})
	link := []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}
	a := s.do(t, http.MethodGet, "/machines?search=a%22b", "", link...)
	if a.StatusCode != http.StatusOK || !strings.Contains(a.text, `<meta http-equiv="refresh" content="0; url=/machines?search=a%22b">`) {
		t.Errorf("%s\n%s", a.Status, a.text)
	}
	if a := s.do(t, http.MethodGet, "/machines", "", own...); a.StatusCode != http.StatusSeeOther {
		t.Error(a.Status)
	}
}

// stream opens the events as the page does, and reads the first line.
func (s *site) stream(t *testing.T, cookie []string) *bufio.Reader {
	t.Helper()
	response := s.open(t, http.MethodGet, "/api/v1/events?since=now", "", append([]string{"Accept", "text/event-stream"}, append(own, cookie...)...)...)
	t.Cleanup(func() { _ = response.Body.Close() })
	r := bufio.NewReader(response.Body)
	if line, err := r.ReadString('\n'); response.StatusCode != http.StatusOK || !strings.HasPrefix(line, "id: ") {
		t.Fatal(response.Status, line, err)
	}
	return r
}

// TestIdle ends the session of somebody who does nothing, though the page is open and hears events.
func TestIdle(t *testing.T) {
	s := begin(t, auth.Options{Idle: 3 * time.Second}) // the stream has to be there before
	cookie := s.login(t)
	r := s.stream(t, cookie)
	ended := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, r)
		ended <- err
	}()
	for began, going := time.Now(), true; going; {
		select {
		case <-ended:
			going = false
		default:
			s.do(t, http.MethodGet, "/api/v1/machines", "", append(cookie, own...)...) // as a page does that hears of something
		}
		if time.Since(began) > daemontest.Limit/2 {
			t.Fatal("the events go on")
		}
	}
	a := s.do(t, http.MethodGet, "/machines", "", cookie...)
	if a.StatusCode != http.StatusSeeOther {
		t.Fatal("the session goes on:", a.Status)
	}
	if a = s.do(t, http.MethodGet, a.Header.Get("Location"), "", cookie...); !strings.Contains(a.text, `role="status"`) || !strings.Contains(a.text, "session has ended") {
		t.Error("nobody says why:", a.text)
	}
	if a := s.do(t, http.MethodGet, "/api/v1/machines", "", append(cookie, own...)...); a.StatusCode != http.StatusUnauthorized {
		t.Error(a.Status)
	}
}

// TestLifetime ends a session however much it is used, and another one with the password that it was got with.
func TestLifetime(t *testing.T) {
	s := begin(t, auth.Options{Lifetime: 500 * time.Millisecond})
	cookie := s.login(t)
	for began := time.Now(); ; {
		if a := s.do(t, http.MethodGet, "/machines", "", cookie...); a.StatusCode == http.StatusSeeOther {
			break
		}
		if time.Since(began) > daemontest.Limit/2 {
			t.Fatal("the session goes on")
		}
	}
	long := begin(t, auth.Options{})
	cookie = long.login(t)
	r := long.stream(t, cookie)
	if err := os.WriteFile(long.users, []byte(strings.Replace(daemontest.Users, "i=1000", "i=1001", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, r) // ends, or the test does with its time
	if a := long.do(t, http.MethodGet, "/machines", "", cookie...); a.StatusCode != http.StatusSeeOther {
		t.Error("the session outlives the password:", a.Status)
	}
}

// TestDraftKey gives all sessions of a user one key, until the password changes.
func TestDraftKey(t *testing.T) {
	s := begin(t, auth.Options{})
	key := func() string {
		data := pageData(t, s.do(t, http.MethodGet, "/machines/new", "", s.login(t)...).text)
		text, _ := data["draftKey"].(string)
		return text
	}
	first := key()
	if len(first) != 44 || key() != first {
		t.Errorf("the keys are %q and %q", first, key())
	}
	if strings.Contains(daemontest.Users, first) || strings.Contains(s.log.String(), first) {
		t.Error("the key stands elsewhere")
	}
}
