package auth

import (
	"crypto/hmac"
	"crypto/sha256"
	"net"
	"net/http"
	"strings"

	"github.com/vmseed/vmseed/secret"
)

// The names of the cookie that holds a token. Browsers take the first one over TLS only, for the whole host that has set it and
// for no other (RFC 6265bis section 4.1.3.2).
const (
	cookieName      = "__Host-vmseed"
	plainCookieName = "vmseed"
)

// nameOfCookie has the port in it, which browsers do not tell apart: a host may have two daemons.
func nameOfCookie(r *http.Request, plain bool) string {
	name := cookieName
	if plain {
		name = plainCookieName
	}
	if _, port, err := net.SplitHostPort(r.Host); err == nil && port != "" {
		name += "-" + port
	}
	return name
}

// SetCookie gives a browser the token of a session. No script can read it, no other site can send it, and it is gone when the
// browser is closed. Plain says that the daemon serves HTTP without TLS: then the cookie is for TLS alone if the browser says
// that its page came by it, through a proxy.
func SetCookie(w http.ResponseWriter, r *http.Request, plain bool, s Session) {
	c := cookie(nameOfCookie(r, plain), plain, s.Token.Reveal(), 0)
	c.Secure = c.Secure || strings.HasPrefix(r.Header.Get("Origin"), "https://")
	http.SetCookie(w, c)
}

// DropCookie takes the token away from a browser.
func DropCookie(w http.ResponseWriter, r *http.Request, plain bool) {
	http.SetCookie(w, cookie(nameOfCookie(r, plain), plain, "", -1))
}

func cookie(name string, plain bool, value string, maxAge int) *http.Cookie {
	return &http.Cookie{Name: name, Value: value, Path: "/", MaxAge: maxAge, Secure: !plain, HttpOnly: true, SameSite: http.SameSiteStrictMode}
}

// Cookie returns whose token a request has in its cookie. It reports false for a request without one. Unlike Token it does not
// count as a use, for which there is Use: a page asks for much that its user does not. The errors are those of Token.
func (g *Guard) Cookie(r *http.Request, plain bool) (Identity, bool, error) {
	have := r.CookiesNamed(nameOfCookie(r, plain))
	if len(have) != 1 {
		return Identity{}, false, nil
	}
	id, err := g.token(secret.New(have[0].Value), false)
	id.Method = ByCookie
	return id, true, err
}

// DraftKey returns a key of 32 bytes for what a user leaves unsaved in a browser. It is the same for all sessions of the user,
// until the password is another one: an expired session loses nobody's work, and nobody else reads it. The error is ErrExpired
// for a user who is none any more, or that of a users file which cannot be read.
func (g *Guard) DraftKey(id Identity) (secret.Text, error) {
	line, exists, err := g.users.lookup(id.Name)
	if err == nil && !exists {
		err = ErrExpired // without a hash anybody could make the key
	}
	if err != nil {
		return secret.Text{}, err
	}
	mac := hmac.New(sha256.New, []byte(line.text))
	mac.Write([]byte("draft of " + id.Name))
	return secret.FromBytes(mac.Sum(nil)), nil
}

// HasCookie reports whether a request has a cookie for a token, good or not.
func HasCookie(r *http.Request, plain bool) bool {
	return len(r.CookiesNamed(nameOfCookie(r, plain))) > 0
}
