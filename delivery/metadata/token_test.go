package metadata

import (
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vmseed/vmseed/seed"
)

// ttl is the field that asks for a session of some seconds.
func ttl(value string) string { return "X-aws-ec2-metadata-token-ttl-seconds: " + value }

// TestTokenRequests is what EC2 says of each shape of request for a token (EC2 User Guide, "Use IMDSv2"), and of each
// shape of token afterwards.
func TestTokenRequests(t *testing.T) {
	site, other := mustSite(t, ec2Seed("vm", seed.TokensRequired)), mustSite(t, ec2Seed("other", seed.TokensRequired))
	h := NewHandler(Config{Identify: Only(site)})
	addr := serve(t, h)
	good := h.tokens.issue(site, time.Hour)
	foreign := h.tokens.issue(other, time.Hour)
	expired := h.tokens.issue(site, -time.Second)
	past := newTokens().issue(site, time.Hour) // of a server that is gone
	flip := func(i int) string {
		b := []byte(good)
		if b[i]++; strings.IndexByte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", b[i]) < 0 {
			b[i] = 'A'
		}
		return string(b)
	}
	type shape struct {
		method, path string
		fields       []string
		want         int
	}
	put := func(want int, fields ...string) shape { return shape{"PUT", "/latest/api/token", fields, want} }
	get := func(want int, tokens ...string) shape {
		s := shape{"GET", "/latest/meta-data/instance-id", nil, want}
		for _, token := range tokens {
			s.fields = append(s.fields, "X-aws-ec2-metadata-token: "+token)
		}
		return s
	}
	shapes := []shape{
		put(200, ttl("1")), put(200, ttl("60")), put(200, ttl("21600")), put(200, ttl("00060")), put(200, ttl("  60  ")),
		put(200, "x-AWS-EC2-metadata-TOKEN-ttl-SECONDS: 60"), put(200, ttl("60"), "Content-Length: 0"), put(200, ttl("60"), "X-Real-IP: 10.0.0.1"),
		put(200, ttl("60"), "Via: 1.1 proxy"), put(200, ttl("60"), "X-aws-ec2-metadata-token: "+foreign),
		put(400), put(400, ttl("")), put(400, ttl("0")), put(400, ttl("00000")), put(400, ttl("-1")), put(400, ttl("+60")), put(400, ttl("21601")),
		put(400, ttl("1000000000")), put(400, ttl("99999999999999999999")), put(400, ttl("abc")), put(400, ttl("6e1")), put(400, ttl("60.0")), put(400, ttl("0x3c")),
		put(400, ttl("60s")), put(400, ttl("60;60")), put(400, ttl("60, 60")), put(400, ttl("6 0")), put(400, ttl("٣٠")), put(400, ttl("1_0")),
		put(400, ttl("60"), ttl("60")), put(400, ttl("60"), ttl("")), put(400, ttl("60"), "X-AWS-EC2-METADATA-TOKEN-TTL-SECONDS: 90"),
		put(400, "X_aws_ec2_metadata_token_ttl_seconds: 60"), put(400, "X-aws-ec2-metadata-token-ttl: 60"),
		put(403, ttl("60"), "X-Forwarded-For: 10.0.0.1"), put(403, ttl("60"), "x-forwarded-for: 10.0.0.1"), put(403, ttl("60"), "X-FORWARDED-FOR: 10.0.0.1"),
		put(403, ttl("60"), "X-Forwarded-For:"), put(403, ttl("60"), "X-Forwarded-For: 127.0.0.1, 10.0.0.1"), put(403, ttl("60"), "X-Forwarded-For: unknown"),
		put(403, ttl("60"), "X-Forwarded-For: 10.0.0.1", "X-Forwarded-For: 10.0.0.2"), put(403, ttl("60"), "X_Forwarded_For: 10.0.0.1"),
		put(403, ttl("60"), "X-Forwarded_For: 10.0.0.1"), put(403, ttl("60"), "Forwarded: for=10.0.0.1"), put(403, ttl("60"), "forwarded: for=_hidden"),
		put(403, ttl("60"), "FORWARDED:"), put(403, "X-Forwarded-For: 10.0.0.1"), put(403, ttl("21601"), "Forwarded: for=10.0.0.1"),
		{"PUT", "/1.0/api/token", []string{ttl("60")}, 200}, {"PUT", "/2021-07-15/api/token", []string{ttl("60")}, 200},
		{"PUT", "/latest/api/token?x=y", []string{ttl("60")}, 200}, {"PUT", "http://169.254.169.254/latest/api/token", []string{ttl("60")}, 200},
		{"GET", "/latest/api/token", []string{ttl("60")}, 405}, {"HEAD", "/latest/api/token", []string{ttl("60")}, 405},
		{"POST", "/latest/api/token", []string{ttl("60")}, 405}, {"DELETE", "/latest/api/token", []string{ttl("60")}, 405},
		{"OPTIONS", "/latest/api/token", []string{ttl("60")}, 405}, {"put", "/latest/api/token", []string{ttl("60")}, 405},
		{"PUT", "/api/token", []string{ttl("60")}, 404}, {"PUT", "/2037-01-01/api/token", []string{ttl("60")}, 404},
		{"PUT", "/latest/api/token/", []string{ttl("60")}, 401}, {"PUT", "//latest/api/token", []string{ttl("60")}, 404},
		{"PUT", "/latest/api/Token", []string{ttl("60")}, 401}, {"PUT", "/latest/api/%74oken", []string{ttl("60")}, 200},
		{"PUT", "/latest/api%2Ftoken", []string{ttl("60")}, 404}, {"PUT", "/latest/./api/token", []string{ttl("60")}, 401},
		{"PUT", "/latest/x/../api/token", []string{ttl("60")}, 401}, {"PUT", "/latest/user-data", []string{ttl("60")}, 401},
		get(200, good), get(401), get(401, ""), get(401, foreign), get(401, expired), get(401, past), get(401, good, good), get(401, good, foreign),
		get(401, good+"A"), get(401, good[1:]), get(401, good[:len(good)-1]), get(401, good+"="), get(401, strings.ToLower(good)), get(401, "Bearer "+good),
		get(401, flip(0)), get(401, flip(20)), get(401, flip(len(good)-1)), get(401, strings.Repeat("A", len(good))), get(401, strings.Repeat("A", 4000)),
		get(401, good+","+good), get(401, `"`+good+`"`), get(401, good[:20]+" "+good[20:]),
		{"GET", "/latest/meta-data/instance-id?X-aws-ec2-metadata-token=" + good, nil, 401},
		{"GET", "/latest/meta-data/instance-id", []string{"Authorization: Bearer " + good}, 401},
		{"GET", "/latest/meta-data/instance-id", []string{"X_aws_ec2_metadata_token: " + good}, 401},
		{"HEAD", "/latest/meta-data/instance-id", nil, 401}, {"POST", "/latest/meta-data/instance-id", nil, 401},
		{"GET", "/latest/nothing", nil, 401}, {"GET", "/latest/", nil, 401}, {"GET", "/", nil, 401}, {"GET", "/1.0/user-data", nil, 401},
	}
	if t.Logf("%d shapes", len(shapes)); len(shapes) < 60 {
		t.Error("too few")
	}
	for _, s := range shapes {
		resp, body := raw(t, addr, request(s.method, s.path, s.fields...))
		if resp.StatusCode != s.want {
			t.Errorf("%s %s %q: %s, want %d", s.method, s.path, s.fields, resp.Status, s.want)
			continue
		}
		asked := s.method == "PUT" && s.want == 200
		switch {
		case asked && !h.tokens.good(site, body):
			t.Errorf("%s %q: %q is no token", s.path, s.fields, body)
		case asked && resp.Header.Get(ttlHeader) != strings.TrimSpace(strings.SplitN(s.fields[0], ":", 2)[1]):
			t.Errorf("%s %q: the answer says %q seconds", s.path, s.fields, resp.Header.Get(ttlHeader))
		case !asked && h.tokens.good(site, body):
			t.Errorf("%s %s %q: a token with %s", s.method, s.path, s.fields, resp.Status)
		case s.want == 405 && resp.Header.Get("Allow") != "PUT":
			t.Errorf("%s %s: Allow is %q", s.method, s.path, resp.Header.Get("Allow"))
		}
	}
	// Nobody's request for a token looks like one for any path.
	nobody := serve(t, NewHandler(Config{}))
	asked, _ := raw(t, nobody, request("PUT", "/latest/api/token", ttl("60")))
	other1, _ := raw(t, nobody, request("GET", "/nothing"))
	if asked.StatusCode != http.StatusNotFound || other1.StatusCode != http.StatusNotFound || len(asked.Header) != len(other1.Header) {
		t.Errorf("nobody is answered %s %v and %s %v", asked.Status, asked.Header, other1.Status, other1.Header)
	}
}

// TestOptionalTokens: sessions may be used where they need not be, and then must be good.
func TestOptionalTokens(t *testing.T) {
	site := mustSite(t, ec2Seed("vm", seed.TokensOptional))
	h := NewHandler(Config{Identify: Only(site)})
	addr := serve(t, h)
	for token, want := range map[string]int{"": 200, "X-aws-ec2-metadata-token: " + session(t, addr): 200, "X-aws-ec2-metadata-token: x": 401} {
		var fields []string
		if token != "" {
			fields = []string{token}
		}
		for _, path := range []string{"/latest/meta-data/instance-id", "/", "/latest"} {
			if resp, _ := raw(t, addr, request("GET", path, fields...)); resp.StatusCode != want {
				t.Errorf("%s with %.40q: %s, want %d", path, token, resp.Status, want)
			}
		}
	}
}

// TestStolenToken tries a token of one machine, whole and changed, from the address of another.
func TestStolenToken(t *testing.T) {
	victim, thief := mustSite(t, ec2Seed("victim", seed.TokensRequired)), mustSite(t, ec2Seed("thief", seed.TokensRequired))
	table := new(Table)
	table.Set(map[netip.Addr]*Site{netip.MustParseAddr("192.0.2.1"): victim, netip.MustParseAddr("192.0.2.2"): thief})
	h := NewHandler(Config{Identify: table.Identify, Limits: Limits{Rate: -1}})
	ask := func(from, token string) (int, string) {
		r := httptest.NewRequest("GET", "/latest/user-data", nil)
		r.RemoteAddr = from + ":4711"
		r.Header.Set(tokenHeader, token)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	accepted := 0
	const tries = 10_000
	for n := range tries {
		token := h.tokens.issue(victim, time.Hour)
		if code, _ := ask("192.0.2.1", token); code != http.StatusOK {
			t.Fatal("the control, the victim's own request, fails")
		}
		if n%2 == 1 { // changed as if that could make it the thief's
			b := []byte(token)
			b[rnd.IntN(len(b))] = "ABCDEFabcdef0123456789-_"[rnd.IntN(24)]
			token = string(b)
		}
		if code, body := ask("192.0.2.2", token); code != http.StatusUnauthorized || strings.Contains(body, "victim") {
			accepted++
		}
	}
	t.Logf("%d tries, %d accepted", tries, accepted)
	if accepted > 0 {
		t.Errorf("%d of %d stolen tokens are accepted", accepted, tries)
	}
}

// TestTokenAfterReload: the token of a machine outlives a new rendering of it, and not a new instance.
func TestTokenAfterReload(t *testing.T) {
	tokens := newTokens()
	token := tokens.issue(mustSite(t, ec2Seed("vm", seed.TokensRequired)), time.Hour)
	s := ec2Seed("vm", seed.TokensOptional)
	if !tokens.good(mustSite(t, s), token) {
		t.Error("the token is bad after a reload")
	}
	s.Identity.InstanceID = "i-2"
	if tokens.good(mustSite(t, s), token) {
		t.Error("the token is good for the next instance")
	}
	// Namespace, name and instance are not one text.
	a, b := ec2Seed("vm", seed.TokensRequired), ec2Seed("vm", seed.TokensRequired)
	a.Machine, b.Machine = seed.Name{Namespace: "a", Name: `b","c`}, seed.Name{Namespace: `a","b`, Name: "c"}
	if tokens.good(mustSite(t, b), tokens.issue(mustSite(t, a), time.Hour)) {
		t.Error("two machines have the same tokens")
	}
}

// TestTokenTime asks at the edges of a session's life. The clock is the test's.
func TestTokenTime(t *testing.T) {
	for _, life := range []time.Duration{time.Second, time.Minute, maxTTL * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(12345 * time.Hour) // a server that runs for long
			site := mustSite(t, ec2Seed("vm", seed.TokensRequired))
			tokens := newTokens()
			for _, age := range []time.Duration{0, time.Hour, 400 * 24 * time.Hour} {
				time.Sleep(age)
				token := tokens.issue(site, life)
				if !tokens.good(site, token) {
					t.Error("bad from the start")
				}
				time.Sleep(life - 1)
				if !tokens.good(site, token) {
					t.Errorf("%v: dies early", life)
				}
				time.Sleep(1)
				if tokens.good(site, token) {
					t.Errorf("%v: outlives its time", life)
				}
				time.Sleep(100 * 365 * 24 * time.Hour)
				if tokens.good(site, token) {
					t.Errorf("%v: is good again", life)
				}
			}
		})
	}
}

// TestTokenClock: what the wall clock says, which may jump, has no say in a session's life. A time.Time that has lost its
// monotonic reading is what would be wrong; the control shows that the test can tell.
func TestTokenClock(t *testing.T) {
	monotonic := func(at time.Time) bool { return strings.Contains(at.String(), " m=") }
	if at := newTokens().start; !monotonic(at) || monotonic(at.Round(0)) {
		t.Errorf("sessions are timed by the wall clock: %v", at)
	}
	if at := mustSite(t, ec2Seed("vm", "")).born; !monotonic(at) {
		t.Errorf("limits are timed by the wall clock: %v", at)
	}
}
