package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"sync"
	"time"

	"github.com/vmseed/vmseed/secret"
)

// tokenSize is the length of a token before it is written as text, in bytes.
const tokenSize = 32

// tokens are the sessions that were issued, under the hashes of their tokens.
type tokens struct {
	options Options
	mu      *sync.Mutex
	byHash  map[digest]*session
	byUser  map[string]map[digest]*session
}

// session is what is known of a token.
type session struct {
	identity Identity
	// password is the line of the users file that the token was got with.
	password      string
	used, expires time.Time
}

func newTokens(o Options) tokens {
	return tokens{options: o, mu: new(sync.Mutex), byHash: map[digest]*session{}, byUser: map[string]map[digest]*session{}}
}

func hashToken(token secret.Text) digest { return sha256.Sum256([]byte(token.Reveal())) }

// issue makes a token.
func (t *tokens) issue(id Identity, password string) Session {
	var raw [tokenSize]byte
	_, _ = rand.Read(raw[:]) // never fails: the runtime ends the program instead
	token := secret.New(base64.RawURLEncoding.EncodeToString(raw[:]))
	now := time.Now()
	s := &session{identity: id, password: password, used: now, expires: now.Add(t.options.Lifetime)}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sweep(id.Name, now)
	if t.byUser[id.Name] == nil {
		t.byUser[id.Name] = map[digest]*session{}
	}
	h := hashToken(token)
	t.byHash[h], t.byUser[id.Name][h] = s, s
	return Session{Identity: id, Token: token, Idle: now.Add(min(t.options.Idle, t.options.Lifetime)), Expires: s.expires}
}

// ended reports whether a session is over.
func (t *tokens) ended(s *session, now time.Time) bool {
	return now.Sub(s.used) >= t.options.Idle || !now.Before(s.expires)
}

// sweep removes a user's sessions that are over, and makes room for one more.
func (t *tokens) sweep(user string, now time.Time) {
	of := t.byUser[user]
	var oldest digest
	for h, s := range of {
		if t.ended(s, now) {
			t.remove(h)
		} else if old := of[oldest]; old == nil || s.used.Before(old.used) {
			oldest = h
		}
	}
	if len(of) >= t.options.TokensPerUser {
		t.remove(oldest)
	}
}

func (t *tokens) remove(h digest) {
	s := t.byHash[h]
	if s == nil {
		return
	}
	delete(t.byHash, h)
	delete(t.byUser[s.identity.Name], h)
	if len(t.byUser[s.identity.Name]) == 0 {
		delete(t.byUser, s.identity.Name)
	}
}

// find returns the session of a token that is not over. That may count as a use of it.
func (t *tokens) find(token secret.Text, counts bool) (Identity, string, bool) {
	h := hashToken(token)
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.byHash[h]
	if s == nil {
		return Identity{}, "", false
	}
	now := time.Now()
	if t.ended(s, now) {
		t.remove(h)
		return Identity{}, "", false
	}
	if counts {
		s.used = now
	}
	return s.identity, s.password, true
}

func (t *tokens) revoke(token secret.Text) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.remove(hashToken(token))
}

// count returns how many sessions there are.
func (t *tokens) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.byHash)
}
