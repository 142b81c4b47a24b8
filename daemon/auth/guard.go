package auth

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"maps"
	"net/netip"
	"runtime"
	"sync"
	"time"

	"github.com/vmseed/vmseed/format/crypt"
	"github.com/vmseed/vmseed/secret"
)

// Options are the limits of a Guard. Zero values stand for the defaults.
type Options struct {
	// Idle ends a token that nobody used for so long (30 minutes, as oVirt's engine does), Lifetime one that is so old
	// (24 hours).
	Idle, Lifetime time.Duration
	// TokensPerUser bounds the tokens of one user (1000): the one that was not used for the longest time makes room.
	TokensPerUser int
	// Remember is how long a password that was right needs no hashing again (5 minutes), for clients that send it with
	// each request.
	Remember time.Duration
}

func (o Options) withDefaults() Options {
	def := func(d *time.Duration, value time.Duration) {
		if *d <= 0 {
			*d = value
		}
	}
	def(&o.Idle, 30*time.Minute)
	def(&o.Lifetime, 24*time.Hour)
	def(&o.Remember, 5*time.Minute)
	if o.TokensPerUser <= 0 {
		o.TokensPerUser = 1000
	}
	return o
}

// Guard checks passwords and tokens. It may be used by several goroutines.
type Guard struct {
	users   *Users
	options Options
	tokens  tokens
	brake   *brake
	// nobody and nobodyCrypt are hashes in both notations that no password matches.
	nobody, nobodyCrypt hash
	// key makes digests of name and password, by which verdicts are remembered; a digest is useless outside this process.
	key [sha256.Size]byte
	// slots bounds how many passwords are hashed at the same time.
	slots chan struct{}

	mu sync.Mutex
	// verified says until when a password that was right needs no hashing.
	verified map[digest]time.Time
	flights  map[digest]*flight
}

type digest [sha256.Size]byte

// flight is a check of a password that runs, and that others with the same name and password wait for.
type flight struct {
	done chan struct{}
	err  error
}

// NewGuard makes a guard over the users.
func NewGuard(users *Users, o Options) (*Guard, error) {
	g := &Guard{users: users, options: o.withDefaults(), brake: newBrake(), slots: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)),
		verified: map[digest]time.Time{}, flights: map[digest]*flight{}}
	g.tokens = newTokens(g.options)
	if _, err := rand.Read(g.key[:]); err != nil {
		return nil, err
	}
	var err error
	if g.nobody, err = newHash(RandomPassword(), users.iterations); err != nil {
		return nil, err
	}
	text, err := crypt.SHA512(RandomPassword().Reveal(), crypt.Salt("nobody"))
	if err != nil {
		return nil, err
	}
	g.nobodyCrypt, err = parseHash(text)
	return g, err
}

// Users returns the users whom the guard lets in.
func (g *Guard) Users() *Users { return g.users }

// Login checks a password that came from an address and issues a token. The error is ErrDenied, a *SlowDownError, the
// context's, or that of a users file which cannot be read.
func (g *Guard) Login(ctx context.Context, name string, password secret.Text, from netip.Addr) (Session, error) {
	id, hashed, err := g.check(ctx, name, password, from)
	if err != nil {
		return Session{}, err
	}
	id.Method, id.line = ByToken, secret.Text{}
	return g.tokens.issue(id, hashed), nil
}

// Password checks a password that came with a request, as HTTP's Basic scheme sends it. Its errors are those of Login.
func (g *Guard) Password(ctx context.Context, name string, password secret.Text, from netip.Addr) (Identity, error) {
	id, _, err := g.check(ctx, name, password, from)
	return id, err
}

// Token returns whose token this is, and counts as its use. The error is ErrExpired, or that of a users file which cannot
// be read.
func (g *Guard) Token(token secret.Text) (Identity, error) { return g.token(token, true) }

// token returns whose token this is.
func (g *Guard) token(token secret.Text, counts bool) (Identity, error) {
	id, hashed, ok := g.tokens.find(token, counts)
	if !ok {
		return Identity{}, ErrExpired
	}
	// A token ends with the password that it was got with.
	current, exists, err := g.users.lookup(id.Name)
	if err != nil {
		return Identity{}, err
	}
	if !exists || current.text != hashed {
		g.tokens.revoke(token)
		return Identity{}, ErrExpired
	}
	id.token = token
	return id, nil
}

// Still returns ErrExpired when who once made a request would not be let in any more: the token has ended, or the user's
// password is another one. For a token it counts as its use, but not for a cookie's: nobody may sit before a page that is
// open. Any other error is that of a users file which cannot be read.
func (g *Guard) Still(id Identity) error {
	if !id.token.IsZero() {
		_, err := g.token(id.token, id.Method != ByCookie)
		return err
	}
	current, exists, err := g.users.lookup(id.Name)
	if err == nil && (!exists || current.text != id.line.Reveal()) {
		err = ErrExpired
	}
	return err
}

// Use counts as a use of the token that a request was made with: its user does something over a connection that stays.
func (g *Guard) Use(id Identity) { g.tokens.find(id.token, true) }

// End ends the token that a request was made with, if it was.
func (g *Guard) End(id Identity) { g.tokens.revoke(id.token) }

// Logout ends a token. Unknown ones are no error.
func (g *Guard) Logout(token secret.Text) { g.tokens.revoke(token) }

// check decides on a name and a password. It returns the user's line of the users file as well.
func (g *Guard) check(ctx context.Context, name string, password secret.Text, from netip.Addr) (Identity, string, error) {
	a := attempt{name: Canonical(name), password: password, from: from}
	if password.Len() > maxPassword || len(name) > maxName {
		return Identity{}, "", ErrDenied
	}
	var err error
	if a.hash, a.exists, err = g.users.lookup(a.name); err != nil {
		return Identity{}, "", err
	}
	deadline := time.Now().Add(patience)
	d := g.digest(a)
	for {
		err := g.brake.wait(ctx, a.name, from, deadline)
		if err == nil && !g.remembers(d) {
			err = g.verify(ctx, d, a)
		}
		switch {
		case errors.Is(err, errAgain):
			continue
		case err != nil:
			return Identity{}, "", err
		}
		return Identity{Name: a.name, Method: ByPassword, line: secret.New(a.hash.text)}, a.hash.text, nil
	}
}

// maxName is the length of the longest name that is looked at, in bytes.
const maxName = 256

// attempt is a password that has to be checked.
type attempt struct {
	name     string
	password secret.Text
	from     netip.Addr
	// hash is the user's, if the user exists.
	hash   hash
	exists bool
}

// digest stands for a name and a password together with the hash that they are checked against, so that a new password
// makes every verdict on the old one void.
func (g *Guard) digest(a attempt) digest {
	mac := hmac.New(sha256.New, g.key[:])
	for _, part := range []string{a.name, a.hash.text, a.password.Reveal()} {
		mac.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		mac.Write([]byte(part))
	}
	return digest(mac.Sum(nil))
}

func (g *Guard) remembers(d digest) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	until, ok := g.verified[d]
	return ok && time.Now().Before(until)
}

const (
	// maxVerified bounds the remembered verdicts. There is one for each user whose password was right.
	maxVerified = 10_000
	// maxFlights bounds the passwords that wait to be hashed.
	maxFlights = 256
)

// errAgain means that others failed while an attempt waited for its turn, so that it has to wait longer.
var errAgain = errors.New("wait again")

// verify hashes the password, once for all who ask for the same at the same time.
func (g *Guard) verify(ctx context.Context, d digest, a attempt) error {
	g.mu.Lock()
	f, running := g.flights[d]
	if !running {
		if len(g.flights) >= maxFlights {
			g.mu.Unlock()
			return &SlowDownError{After: time.Second}
		}
		f = &flight{done: make(chan struct{})}
		g.flights[d] = f
		// The work goes on when the one who asked first gives up: others may wait for it, and a guess is a guess.
		go g.fly(f, d, a)
	}
	g.mu.Unlock()
	select {
	case <-f.done:
		return f.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g *Guard) fly(f *flight, d digest, a attempt) {
	g.slots <- struct{}{}
	switch {
	case g.brake.remaining(a.name, a.from) > 0:
		f.err = errAgain
	case !g.matches(a):
		f.err = ErrDenied
		g.brake.failed(a.name, a.from)
	default:
		g.brake.succeeded(a.name, a.from)
	}
	<-g.slots
	g.mu.Lock()
	defer g.mu.Unlock()
	if f.err == nil {
		g.remember(d)
	}
	delete(g.flights, d)
	close(f.done)
}

// matches compares a password with the hash of its user. The work is that of a hash of each notation, whichever the user
// has, and if there is no such user.
func (g *Guard) matches(a attempt) bool {
	slow, quick := g.nobody, g.nobodyCrypt
	switch {
	case a.exists && a.hash.cryptSalt != "":
		quick = a.hash
	case a.exists:
		slow = a.hash
	}
	slowly, quickly := slow.matches(a.password), quick.matches(a.password)
	return a.exists && (a.hash.cryptSalt == "" && slowly || a.hash.cryptSalt != "" && quickly)
}

// remember notes that a password was right.
func (g *Guard) remember(d digest) {
	now := time.Now()
	maps.DeleteFunc(g.verified, func(_ digest, until time.Time) bool { return !now.Before(until) })
	if len(g.verified) < maxVerified {
		g.verified[d] = now.Add(g.options.Remember)
	}
}
