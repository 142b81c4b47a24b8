package auth

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vmseed/vmseed/secret"
)

// page is a request of a browser with the cookies that it was given.
func page(host string, cookies ...*http.Cookie) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "https://"+host+"/machines", nil)
	for _, c := range cookies {
		r.AddCookie(c)
	}
	return r
}

// TestCookies tells the cookies of daemons apart by protocol and port.
func TestCookies(t *testing.T) {
	g := guard(t, Options{})
	s, err := g.Login(t.Context(), Admin, good, home)
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]string{"vmhost.example": "__Host-vmseed", "vmhost.example:8443": "__Host-vmseed-8443", "[::1]:443": "__Host-vmseed-443"} {
		w := httptest.NewRecorder()
		SetCookie(w, page(host), false, s)
		c := w.Result().Cookies()[0]
		if c.Name != want || !c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode {
			t.Errorf("%s: %v", host, c)
		}
		id, ok, err := g.Cookie(page(host, c), false)
		if err != nil || !ok || id.Name != Admin || id.Method != ByCookie {
			t.Errorf("%s: %+v, %t, %v", host, id, ok, err)
		}
		if _, ok, _ := g.Cookie(page(host, c), true); ok || HasCookie(page(host, c), true) {
			t.Errorf("%s: a daemon without TLS takes %s", host, c.Name)
		}
		if _, ok, _ := g.Cookie(page(host, c, c), false); ok {
			t.Errorf("%s: two cookies let somebody in", host)
		}
		if _, ok, _ := g.Cookie(page("other.example:1", c), false); ok {
			t.Errorf("%s: the daemon at another port takes %s", host, c.Name)
		}
	}
	plain := httptest.NewRecorder()
	SetCookie(plain, page("127.0.0.1:8080"), true, s)
	if c := plain.Result().Cookies()[0]; c.Name != "vmseed-8080" || c.Secure {
		t.Error(c)
	}
	proxied, behind := httptest.NewRecorder(), page("vmhost.example")
	behind.Header.Set("Origin", "https://vmhost.example")
	SetCookie(proxied, behind, true, s)
	if c := proxied.Result().Cookies()[0]; c.Name != "vmseed" || !c.Secure || !c.HttpOnly {
		t.Error("behind a proxy with TLS:", c)
	}
	gone := httptest.NewRecorder()
	DropCookie(gone, page("vmhost.example"), false)
	if c := gone.Result().Cookies()[0]; c.Value != "" || c.MaxAge >= 0 || !c.Secure || !c.HttpOnly {
		t.Error(c)
	}
	wrong := &http.Cookie{Name: "__Host-vmseed", Value: "x"}
	if _, ok, err := g.Cookie(page("vmhost.example", wrong), false); !ok || !errors.Is(err, ErrExpired) || !HasCookie(page("vmhost.example", wrong), false) {
		t.Error(ok, err)
	}
}

// TestOpenPage ends the session of a page that is only open, and not that of one that is used.
func TestOpenPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := guard(t, Options{Idle: 30 * time.Minute, Lifetime: 24 * time.Hour})
		s, err := g.Login(t.Context(), Admin, good, home)
		if err != nil {
			t.Fatal(err)
		}
		r := page("vmhost.example", &http.Cookie{Name: "__Host-vmseed", Value: s.Token.Reveal()})
		id, _, err := g.Cookie(r, false)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 { // something is typed into a console
			time.Sleep(20 * time.Minute)
			g.Use(id)
		}
		for range 2 {
			time.Sleep(14 * time.Minute)
			if err := g.Still(id); err != nil {
				t.Fatal(err)
			}
			if _, _, err := g.Cookie(r, false); err != nil { // the page reads what has changed
				t.Fatal(err)
			}
		}
		time.Sleep(2 * time.Minute)
		if err := g.Still(id); !errors.Is(err, ErrExpired) {
			t.Error("a page that nobody uses stays open:", err)
		}
		g.Use(id)
		if _, _, err := g.Cookie(r, false); !errors.Is(err, ErrExpired) {
			t.Error("a session comes back to life:", err)
		}
	})
}

// TestDraftKeys has a key for each user, which changes with the password.
func TestDraftKeys(t *testing.T) {
	g := guard(t, Options{})
	key := func(name string) string {
		k, err := g.DraftKey(Identity{Name: name})
		if err != nil || k.Len() != 32 {
			t.Fatal(k.Len(), err)
		}
		return k.Reveal()
	}
	admin, alice := key(Admin), key("alice@corp")
	if admin == alice || admin != key(Admin) {
		t.Error("the keys are not the users'")
	}
	if err := g.Users().SetPassword(Admin, secret.New("another horse")); err != nil {
		t.Fatal(err)
	}
	if key(Admin) == admin || key("alice@corp") != alice {
		t.Error("the key does not change with the password")
	}
	if k, err := g.DraftKey(Identity{Name: "nobody@corp"}); !errors.Is(err, ErrExpired) || !k.IsZero() {
		t.Error("there is a key for nobody:", err)
	}
	if strings.Contains(byOpenSSL, alice) {
		t.Error("the key is a part of the hash")
	}
}
