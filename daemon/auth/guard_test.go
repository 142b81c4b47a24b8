package auth

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vmseed/vmseed/secret"
)

var (
	home = netip.MustParseAddr("192.0.2.1")
	away = netip.MustParseAddr("198.51.100.7")
	good = secret.New("correct horse")
	evil = secret.New("battery staple")
)

// guard makes a guard of admin, whose password is good, and of alice, whose hash is sha512-crypt.
func guard(t testing.TB, o Options) *Guard {
	t.Helper()
	u := quick(t, filepath.Join(t.TempDir(), "users"))
	write(t, u.path, "alice@corp:"+byOpenSSL+"\n")
	if err := u.Add(Admin, good); err != nil {
		t.Fatal(err)
	}
	g, err := NewGuard(u, o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestLogin(t *testing.T) {
	g := guard(t, Options{})
	for _, name := range []string{Admin, "admin", "alice@corp"} {
		s, err := g.Login(t.Context(), name, good, home)
		if err != nil || s.Identity.Name != Canonical(name) || s.Token.Len() < 43 {
			t.Fatalf("%s: %+v, %v", name, s, err)
		}
		id, err := g.Token(s.Token)
		if err != nil || id.Name != Canonical(name) || id.Method != ByToken {
			t.Errorf("%s: %+v, %v", name, id, err)
		}
		if strings.Contains(fmt.Sprintf("%+v %#v", g.tokens, s), s.Token.Reveal()) {
			t.Error("the token can be printed")
		}
		g.End(id)
		if _, err := g.Token(s.Token); !errors.Is(err, ErrExpired) {
			t.Errorf("%s: after the end: %v", name, err)
		}
	}
	id, err := g.Password(t.Context(), Admin, good, home)
	if err != nil || id.Name != Admin || id.Method != ByPassword {
		t.Error(id, err)
	}
	for name, password := range map[string]secret.Text{Admin: evil, "nobody": good, "alice@corp": evil, "alice": good, "": good,
		strings.Repeat("x", 300): good, "admin@corp": secret.New(strings.Repeat("x", 5000))} {
		if _, err := g.Login(t.Context(), name, password, away); !errors.Is(err, ErrDenied) {
			t.Errorf("%.20s: %v", name, err)
		}
	}
	if _, err := g.Token(secret.New("no token")); !errors.Is(err, ErrExpired) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.Login(ctx, Admin, secret.New("xyzxyzxyz"), away); err == nil {
		t.Error("a wrong password is right")
	}
}

// TestEqualWork takes about as long for names that do not exist as for those that do.
func TestEqualWork(t *testing.T) {
	u := quick(t, filepath.Join(t.TempDir(), "users"))
	write(t, u.path, "alice@corp:"+byOpenSSL+"\n")
	u.iterations = 100_000
	if err := u.Add(Admin, good); err != nil {
		t.Fatal(err)
	}
	g, err := NewGuard(u, Options{})
	if err != nil {
		t.Fatal(err)
	}
	quickest := map[string]time.Duration{}
	equal := func() bool {
		for _, d := range quickest {
			if d < quickest[Admin]/2 || d > quickest[Admin]*2 {
				return false
			}
		}
		return true
	}
	// Other work of the host makes a check slower and never quicker, so the quickest ones of many are compared.
	for round := 0; round < 7 || round < 100 && !equal(); round++ {
		for _, name := range []string{Admin, "alice@corp", "nobody@corp"} {
			h, exists, err := u.lookup(name)
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			if g.matches(attempt{name: name, password: evil, hash: h, exists: exists}) {
				t.Fatal(name, "is let in")
			}
			if d := time.Since(began); quickest[name] == 0 || d < quickest[name] {
				quickest[name] = d
			}
		}
	}
	if !equal() {
		t.Errorf("checks take %v", quickest)
	}
}

// TestGuessing counts how often a guesser gets an answer in an hour, and lets the user in meanwhile.
func TestGuessing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := guard(t, Options{})
		if _, err := g.Login(t.Context(), Admin, good, home); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		var all sync.WaitGroup
		var mu sync.Mutex
		answers := 0
		for i := range 8 {
			all.Go(func() {
				for n := 0; ctx.Err() == nil; n++ {
					_, err := g.Login(ctx, Admin, secret.New(fmt.Sprintf("guess %d %d", i, n)), away)
					var slow *SlowDownError
					switch {
					case errors.Is(err, ErrDenied):
						mu.Lock()
						answers++
						mu.Unlock()
					case errors.As(err, &slow):
						time.Sleep(slow.After)
					case ctx.Err() == nil:
						t.Error(err)
					}
				}
			})
		}
		// The user, elsewhere, does not notice; nor does a user whom nobody attacks.
		for range 10 {
			time.Sleep(5 * time.Minute)
			began := time.Now()
			if _, err := g.Login(ctx, Admin, secret.New("correct horse"), home); err != nil || time.Since(began) > 0 {
				t.Errorf("the user waits for %v: %v", time.Since(began), err)
			}
			if _, err := g.Login(ctx, "alice@corp", good, home); err != nil || time.Since(began) > 0 {
				t.Errorf("another user waits for %v: %v", time.Since(began), err)
			}
		}
		all.Wait()
		if limit := int(time.Hour/(8*time.Second)) + 20; answers < 100 || answers > limit {
			t.Errorf("%d guesses an hour, at most %d", answers, limit)
		}
		// At the guesser's own address the user gets in, soon after it ends.
		time.Sleep(time.Minute)
		began := time.Now()
		if _, err := g.Login(t.Context(), Admin, good, away); err != nil || time.Since(began) > 10*time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}

// TestGuessingEverywhere guesses one name from many addresses, and many names from one.
func TestGuessingEverywhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := guard(t, Options{})
		if _, err := g.Login(t.Context(), Admin, good, home); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		guess := func(n int, name string, from netip.Addr) {
			for {
				_, err := g.Login(t.Context(), name, secret.New(fmt.Sprint("guess ", n)), from)
				var slow *SlowDownError
				if !errors.As(err, &slow) {
					return
				}
				time.Sleep(slow.After)
			}
		}
		for n := range 300 {
			guess(n, Admin, netip.AddrFrom4([4]byte{10, 0, byte(n >> 8), byte(n)}))
		}
		if took := time.Since(began); took < 15*time.Minute {
			t.Errorf("300 guesses at one name took %v", took)
		}
		began = time.Now()
		if _, err := g.Login(t.Context(), Admin, good, home); err != nil || time.Since(began) > 0 {
			t.Errorf("where the user logged in before, he waits for %v: %v", time.Since(began), err)
		}
		for n := range 300 {
			// An IPv6 host has a network of its own to choose addresses from.
			guess(n, fmt.Sprint("user", n), netip.MustParseAddr(fmt.Sprintf("2001:db8::%x", n)))
		}
		if took := time.Since(began); took < 15*time.Minute {
			t.Errorf("300 guesses from one network took %v", took)
		}
	})
}

func TestBrakeForgets(t *testing.T) {
	b := newBrake()
	for n := range 3 * maxGauged {
		b.failed(fmt.Sprint(n), netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)}))
	}
	for _, g := range []gauge{b.pairs, b.sources, b.names} {
		if len(g.marks) != maxGauged || g.recent.Len() != maxGauged {
			t.Errorf("%d marks, %d in order", len(g.marks), g.recent.Len())
		}
	}
}

// TestHeldBack refuses attempts when too many wait already.
func TestHeldBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBrake()
		for range 10 {
			b.failed(Admin, away)
		}
		refused, waited := 0, 0
		var mu sync.Mutex
		var all sync.WaitGroup
		for range maxWaiting + 50 {
			all.Go(func() {
				err := b.wait(t.Context(), Admin, away, time.Now().Add(patience))
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					refused++
				} else {
					waited++
				}
			})
		}
		all.Wait()
		if refused != 50 || waited != maxWaiting {
			t.Errorf("%d waited, %d were refused", waited, refused)
		}
	})
}

func TestTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := guard(t, Options{TokensPerUser: 3})
		login := func() secret.Text {
			s, err := g.Login(t.Context(), Admin, good, home)
			if err != nil {
				t.Fatal(err)
			}
			if s.Idle.Sub(time.Now()) != 30*time.Minute || s.Expires.Sub(time.Now()) != 24*time.Hour {
				t.Errorf("ends %v, or %v", s.Idle, s.Expires)
			}
			return s.Token
		}
		valid := func(token secret.Text) bool { _, err := g.Token(token); return err == nil }
		used, unused := login(), login()
		for range 4 {
			time.Sleep(20 * time.Minute)
			if !valid(used) {
				t.Fatal("a token ends that is used")
			}
		}
		if valid(unused) {
			t.Error("a token does not end that nobody uses")
		}
		for range 72 {
			time.Sleep(20 * time.Minute)
			_ = valid(used)
		}
		if valid(used) {
			t.Error("a token never ends that is used")
		}
		if login(); g.tokens.count() != 1 {
			t.Errorf("%d tokens are kept", g.tokens.count())
		}
		first := login()
		time.Sleep(time.Second)
		second := login()
		time.Sleep(time.Second)
		if !valid(first) || !valid(second) {
			t.Error("there is room for three")
		}
		time.Sleep(time.Second)
		_ = valid(first)
		_, _ = login(), login()
		if !valid(first) || valid(second) || g.tokens.count() != 3 {
			t.Errorf("the token used last has not made room: %d", g.tokens.count())
		}
		// A new password ends what was got with the old one, and so does the user's removal.
		if err := g.Users().SetPassword(Admin, evil); err != nil {
			t.Fatal(err)
		}
		if valid(first) {
			t.Error("the token outlives the password")
		}
		if _, err := g.Login(t.Context(), Admin, good, home); !errors.Is(err, ErrDenied) {
			t.Errorf("the old password is remembered: %v", err)
		}
		s, err := g.Login(t.Context(), Admin, evil, home)
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Users().Remove(Admin); err != nil || valid(s.Token) {
			t.Errorf("the token outlives the user: %v", err)
		}
	})
}

// TestStill follows what becomes of those who were let in.
func TestStill(t *testing.T) {
	u := quick(t, filepath.Join(t.TempDir(), "users"))
	for _, name := range []string{"alice", "bob"} {
		if err := u.Add(name, good); err != nil {
			t.Fatal(err)
		}
	}
	g, err := NewGuard(u, Options{})
	if err != nil {
		t.Fatal(err)
	}
	byPassword := func(name string) Identity {
		id, err := g.Password(t.Context(), name, good, home)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	s, err := g.Login(t.Context(), "alice", good, home)
	if err != nil {
		t.Fatal(err)
	}
	byToken, err := g.Token(s.Token)
	if err != nil {
		t.Fatal(err)
	}
	alice, bob := byPassword("alice"), byPassword("bob")
	expect := func(when string, want map[Identity]error) {
		t.Helper()
		for id, want := range want {
			if err := g.Still(id); !errors.Is(err, want) {
				t.Errorf("%s: %s by %s: %v, want %v", when, id.Name, id.Method, err, want)
			}
		}
	}
	expect("at first", map[Identity]error{alice: nil, bob: nil, byToken: nil})
	if err := u.SetPassword("alice", evil); err != nil {
		t.Fatal(err)
	}
	expect("after a new password", map[Identity]error{alice: ErrExpired, bob: nil, byToken: ErrExpired})
	whole, err := os.ReadFile(u.path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, u.path, "damaged\n")
	if err := g.Still(bob); err == nil || errors.Is(err, ErrExpired) {
		t.Errorf("while the file cannot be read: %v", err)
	}
	write(t, u.path, string(whole))
	if err := u.Remove("bob"); err != nil {
		t.Fatal(err)
	}
	expect("after the removal", map[Identity]error{bob: ErrExpired})
}

// TestRemembered hashes a password that comes with each request once.
func TestRemembered(t *testing.T) {
	u := quick(t, filepath.Join(t.TempDir(), "users"))
	u.iterations = 300_000
	if err := u.Add(Admin, good); err != nil {
		t.Fatal(err)
	}
	g, err := NewGuard(u, Options{})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if _, err := g.Password(t.Context(), Admin, good, home); err != nil {
		t.Fatal(err)
	}
	once := time.Since(began)
	began = time.Now()
	var all sync.WaitGroup
	for range 200 {
		all.Go(func() {
			if _, err := g.Password(t.Context(), Admin, good, home); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if took := time.Since(began); took > 20*once {
		t.Errorf("200 requests take %v, one %v", took, once)
	}
}

// TestTogether logs in from many places at the same time.
func TestTogether(t *testing.T) {
	g := guard(t, Options{})
	var all sync.WaitGroup
	for range 200 {
		all.Go(func() {
			s, err := g.Login(t.Context(), Admin, good, home)
			if err == nil {
				_, err = g.Token(s.Token)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

func TestContext(t *testing.T) {
	if id, ok := FromContext(t.Context()); ok {
		t.Error(id)
	}
	if id, ok := FromContext(NewContext(t.Context(), Identity{Name: Admin})); !ok || id.Name != Admin {
		t.Error(id, ok)
	}
}
