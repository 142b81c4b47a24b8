package server

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vmseed/vmseed/daemon/auth"
	"github.com/vmseed/vmseed/secret"
)

// limit bounds what should take a moment.
const limit = time.Minute

// hashed is the line of admin, whose password is below, with a hash that costs little.
const (
	hashed   = auth.Admin + ":$pbkdf2-sha256$i=1000$MDEyMzQ1Njc4OWFiY2RlZg$cBg8D2DungRB9k76szThf5ehfyBz991ay6PT8Srwk4M\n"
	password = "correct horse"
)

// logBuffer is a log that several goroutines write.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write appends to the log.
func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// String returns the log.
func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// running is a server under test.
type running struct {
	*Server
	log    *logBuffer
	client *http.Client
	stop   func()
	ended  chan error
}

// begin starts a server whose APIs answer with what they got.
func begin(t testing.TB, change func(*Config)) *running {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "users")
	if err := os.WriteFile(path, []byte(hashed), 0o600); err != nil {
		t.Fatal(err)
	}
	users, err := auth.OpenUsers(path)
	if err != nil {
		t.Fatal(err)
	}
	guard, err := auth.NewGuard(users, auth.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := &running{log: new(logBuffer), ended: make(chan error, 1)}
	c := Config{Listen: "127.0.0.1:0", Dir: filepath.Join(dir, "pki"), Guard: guard, OVirt: http.HandlerFunc(echo), API: http.HandlerFunc(echo),
		Log: slog.New(slog.NewJSONHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	if change != nil {
		change(&c)
	}
	if r.Server, err = New(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.stop = cancel
	go func() { r.ended <- r.Serve(ctx) }()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(r.CA())
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, MaxIdleConnsPerHost: 300}
	r.client = &http.Client{Transport: transport, Timeout: limit}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		cancel()
		select {
		case err := <-r.ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(limit):
			t.Error("the server does not end")
		}
	})
	return r
}

// echo answers with what it got.
func echo(w http.ResponseWriter, r *http.Request) {
	id, _ := auth.FromContext(r.Context())
	body, err := io.ReadAll(r.Body)
	_ = json.NewEncoder(w).Encode(map[string]any{"path": r.URL.Path, "user": id.Name, "method": id.Method, "body": string(body), "header": r.Header, "error": err != nil})
}

// heard is the answer of echo.
type heard struct {
	Path, User, Method, Body string
	Header                   http.Header
	Error                    bool
}

func (r *running) do(t testing.TB, method, path, body string, header ...string) *http.Response {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), method, r.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			q.Host = header[i+1]
		}
		q.Header.Set(header[i], header[i+1])
	}
	answer, err := r.client.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = answer.Body.Close() })
	return answer
}

func text(t testing.TB, answer *http.Response) string {
	t.Helper()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// token logs in as oVirt's clients do.
func (r *running) token(t testing.TB) string {
	t.Helper()
	answer := r.do(t, http.MethodPost, pathToken, url.Values{"grant_type": {"password"}, "scope": {scopeAPI}, "username": {auth.Admin}, "password": {password}}.Encode(),
		"Content-Type", "application/x-www-form-urlencoded")
	var out map[string]string
	if err := json.NewDecoder(answer.Body).Decode(&out); err != nil || out["access_token"] == "" {
		t.Fatal(answer.Status, err, out)
	}
	return out["access_token"]
}

func basic(name, password string) string {
	q := &http.Request{Header: http.Header{}}
	q.SetBasicAuth(name, password)
	return q.Header.Get("Authorization")
}

func TestDoor(t *testing.T) {
	r := begin(t, nil)
	token := r.token(t)
	_, port, _ := net.SplitHostPort(r.Addr().String())
	cookie := "__Host-vmseed-" + port + "=" + token
	for name, tt := range map[string]struct {
		path      string
		header    []string
		status    int
		user, how string
	}{
		"token":              {"/ovirt-engine/api/vms", []string{"Authorization", "Bearer " + token}, 200, auth.Admin, "token"},
		"token, lower case":  {"/api/v1/machines", []string{"Authorization", "bearer " + token}, 200, auth.Admin, "token"},
		"password":           {"/ovirt-engine/api", []string{"Authorization", basic(auth.Admin, password)}, 200, auth.Admin, "password"},
		"two slashes":        {"/ovirt-engine/api//vms", []string{"Authorization", "Bearer " + token}, 200, auth.Admin, "token"},
		"parameter":          {"/ovirt-engine/api;max=5", []string{"Authorization", "Bearer " + token}, 200, auth.Admin, "token"},
		"the API's document": {"/api/v1/openapi.json", nil, 200, "", ""},
		"nothing":            {"/ovirt-engine/api/vms", nil, 401, "", ""},
		"nothing v1":         {"/api/v1/machines", nil, 401, "", ""},
		"another version":    {"/api/v2/machines", []string{"Authorization", "Bearer " + token}, 200, auth.Admin, "token"},
		"nothing v2":         {"/api/v2/machines", nil, 401, "", ""},
		"session":            {"/api/v1/session", nil, 401, "", ""},
		"wrong password":     {"/ovirt-engine/api", []string{"Authorization", basic(auth.Admin, "x")}, 401, "", ""},
		"wrong token":        {"/ovirt-engine/api", []string{"Authorization", "Bearer x"}, 401, "", ""},
		"other scheme":       {"/ovirt-engine/api", []string{"Authorization", "Negotiate x"}, 401, "", ""},
		"damaged":            {"/ovirt-engine/api", []string{"Authorization", "Basic !"}, 401, "", ""},
		"another site":       {"/ovirt-engine/api", []string{"Host", "evil.example", "Authorization", "Bearer " + token}, 421, "", ""},
		"another path":       {"/ovirt-engine/apis", nil, 404, "", ""},
		"a page":             {"/", nil, 404, "", ""},
		"cookie":             {"/api/v1/machines", []string{"Cookie", cookie}, 200, auth.Admin, "cookie"},
		"cookie, same page":  {"/api/v1/machines", []string{"Cookie", cookie, "Sec-Fetch-Site", "same-origin"}, 200, auth.Admin, "cookie"},
		"cookie, elsewhere":  {"/api/v1/machines", []string{"Cookie", cookie, "Sec-Fetch-Site", "same-site"}, 403, "", ""},
		"cookie for oVirt":   {"/ovirt-engine/api", []string{"Cookie", cookie}, 401, "", ""},
		"cookie, wrong":      {"/api/v1/machines", []string{"Cookie", cookie + "x"}, 401, "", ""},
	} {
		answer := r.do(t, http.MethodGet, tt.path, "", tt.header...)
		if answer.StatusCode != tt.status {
			t.Errorf("%s: %s", name, answer.Status)
			continue
		}
		for header, want := range map[string]string{"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY"} {
			if answer.Header.Get(header) != want {
				t.Errorf("%s: %s is %q", name, header, answer.Header.Get(header))
			}
		}
		if len(answer.Header.Get(RequestID)) != 16 {
			t.Errorf("%s: no id", name)
		}
		got := text(t, answer)
		switch {
		case tt.status == 200:
			var h heard
			if err := json.Unmarshal([]byte(got), &h); err != nil || h.Path != tt.path || h.User != tt.user || h.Method != tt.how || h.Header.Get("Authorization")+h.Header.Get("Cookie") != "" {
				t.Errorf("%s: %s, %v", name, got, err)
			}
		case tt.status == 401 && strings.HasPrefix(tt.path, "/ovirt"):
			if schemes := strings.Join(answer.Header.Values("WWW-Authenticate"), ", "); got != "" || !strings.Contains(schemes, "Basic realm") || !strings.Contains(schemes, "Bearer realm") {
				t.Errorf("%s: %q, %s", name, got, schemes)
			}
		case tt.status == 401:
			if schemes := answer.Header.Values("WWW-Authenticate"); len(schemes) != 1 || answer.Header.Get("Content-Type") != "application/problem+json" {
				t.Errorf("%s: %q, %q", name, got, schemes)
			}
		}
	}
}

// TestRefusals says no in words that each kind of client shows its user.
func TestRefusals(t *testing.T) {
	r := begin(t, func(c *Config) { c.OVirt = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("x") }) })
	for path, want := range map[string]string{
		"/ovirt-engine/api/vms":         "<fault><detail>the daemon does not know this host",
		"/ovirt-engine/sso/oauth/token": `"error":"the daemon does not know this host`,
		"/api/v1/machines":              `"detail":"the daemon does not know this host`,
	} {
		answer := r.do(t, http.MethodGet, path, "", "Host", "evil.example")
		media := answer.Header.Get("Content-Type")
		if got := text(t, answer); answer.StatusCode != http.StatusMisdirectedRequest || !strings.Contains(got, want) {
			t.Errorf("%s: %s %s %s", path, answer.Status, media, got)
		}
	}
	inBrowser := r.do(t, http.MethodGet, "/machines", "", "Host", "evil.example", "Accept", "text/html,*/*;q=0.8")
	if got := text(t, inBrowser); !strings.HasPrefix(inBrowser.Header.Get("Content-Type"), "text/plain") || !strings.HasPrefix(got, "Misdirected Request: the daemon does not know this host") ||
		!strings.Contains(got, inBrowser.Header.Get(RequestID)) {
		t.Errorf("in a browser: %s %s", inBrowser.Status, got)
	}
	answer := r.do(t, http.MethodGet, "/ovirt-engine/api", "", "Authorization", "Bearer "+r.token(t))
	if got := text(t, answer); answer.StatusCode != 500 || !strings.HasPrefix(got, "<fault><detail>") || !strings.Contains(got, answer.Header.Get(RequestID)) {
		t.Error(answer.Status, got)
	}
}

// TestOtherSites refuses changes that a page of another site asks for with the user's browser.
func TestOtherSites(t *testing.T) {
	r := begin(t, nil)
	auth := []string{"Authorization", "Bearer " + r.token(t)}
	for name, header := range map[string][]string{
		"fetch":   {"Sec-Fetch-Site", "cross-site"},
		"sibling": {"Sec-Fetch-Site", "same-site"},
		"origin":  {"Origin", "https://evil.example"},
		"null":    {"Origin", "null"},
	} {
		if answer := r.do(t, http.MethodPost, "/ovirt-engine/api/vms", "x", append(header, auth...)...); answer.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %s", name, answer.Status)
		}
		if answer := r.do(t, http.MethodGet, "/api/v1/console", "", slices.Concat(header, auth, []string{"Connection", "Upgrade", "Upgrade", "x"})...); answer.StatusCode != http.StatusForbidden {
			t.Errorf("a console, %s: %s", name, answer.Status)
		}
	}
	if answer := r.do(t, http.MethodPost, "/ovirt-engine/api/vms", "x", append([]string{"Sec-Fetch-Site", "same-origin"}, auth...)...); answer.StatusCode != 200 {
		t.Error(answer.Status)
	}
	any := begin(t, func(c *Config) { c.AnyHost = true })
	if answer := any.do(t, http.MethodGet, pathHealth, "", "Host", "vms.example"); answer.StatusCode != 200 {
		t.Error(answer.Status)
	}
	more := begin(t, func(c *Config) { c.Hosts = []string{"VMs.example."} })
	if answer := more.do(t, http.MethodGet, pathHealth, "", "Host", "vms.example:444"); answer.StatusCode != 200 {
		t.Error(answer.Status)
	}
}

func TestHealth(t *testing.T) {
	var mu sync.Mutex
	var trouble error
	r := begin(t, func(c *Config) {
		c.Healthy = func(context.Context) error { mu.Lock(); defer mu.Unlock(); return trouble }
	})
	for _, path := range []string{pathHealth, pathOVirtHealth} {
		if answer := r.do(t, http.MethodGet, path, ""); answer.StatusCode != 200 || text(t, answer) != "ok\n" {
			t.Error(path, answer.Status)
		}
	}
	mu.Lock()
	trouble = errors.New("the disk of the store is full")
	mu.Unlock()
	answer := r.do(t, http.MethodGet, pathHealth, "")
	if got := text(t, answer); answer.StatusCode != 503 || strings.Contains(got, "disk") {
		t.Error(answer.Status, got)
	}
	if !strings.Contains(r.log.String(), "disk of the store") {
		t.Error("the log does not say why")
	}
}

// TestPanic answers without details, and keeps the connection of others.
func TestPanic(t *testing.T) {
	r := begin(t, func(c *Config) {
		c.API = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/api/v1/begun":
				_, _ = io.WriteString(w, "half an ans")
				_ = http.NewResponseController(w).Flush()
				panic("canary-panic")
			case "/api/v1/runtime":
				var none map[string]int
				none["x"] = 1
			}
			panic(secretError{"canary-panic"})
		})
	})
	bearer := "Bearer " + r.token(t)
	for _, path := range []string{"/api/v1/x", "/api/v1/runtime"} {
		answer := r.do(t, http.MethodGet, path, "", "Authorization", bearer)
		got := text(t, answer)
		if answer.StatusCode != 500 || strings.Contains(got, "canary") || strings.Contains(got, "map") || !strings.Contains(got, answer.Header.Get(RequestID)) {
			t.Error(answer.Status, got)
		}
	}
	answer := r.do(t, http.MethodGet, "/api/v1/begun", "", "Authorization", bearer)
	if _, err := io.ReadAll(answer.Body); err == nil {
		t.Error("half an answer looks whole")
	}
	if log := r.log.String(); strings.Contains(log, "canary") || !strings.Contains(log, "secretError") || !strings.Contains(log, "nil map") || !strings.Contains(log, "server_test.go") {
		t.Error(log)
	}
}

// secretError is an error that holds what it should not.
type secretError struct{ text string }

// Error returns the text.
func (e secretError) Error() string { return e.text }

// TestLog looks for everything secret that a client may send in what the server writes.
func TestLog(t *testing.T) {
	r := begin(t, func(c *Config) {
		c.OVirt = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { echo(w, r); panic(r.Header) })
	})
	token := r.token(t)
	canaries := []string{token, password, "canary-"}
	for i, q := range []struct{ method, path, body string }{
		{"GET", "/ovirt-engine/api/vms?search=name%3Dx&password=canary-1&token=canary-2&canary-3=canary-4&max=7", ""},
		{"POST", "/ovirt-engine/api/vms", "<root_password>canary-5</root_password>"},
		{"GET", pathToken + "?grant_type=password&scope=ovirt-app-api&username=admin%40internal&password=canary-6", ""},
		{"POST", pathToken, "grant_type=password&username=canary-7&password=canary-8"},
		{"POST", pathLogout, "scope=&token=" + token + "&x=canary-9"},
		{"GET", pathCA + "?resource=canary-10", ""},
		{"GET", "/api/v1/x?%zz=canary-11", ""},
	} {
		header := []string{"Authorization", "Bearer " + token, "Cookie", "session=canary-12", "X-Token", "canary-13"}
		if i%2 == 1 {
			header[1] = basic(auth.Admin, "canary-14")
		}
		q2, err := http.NewRequestWithContext(t.Context(), q.method, r.URL()+q.path, strings.NewReader(q.body))
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(header); i += 2 {
			q2.Header.Set(header[i], header[i+1])
		}
		if answer, err := r.client.Do(q2); err == nil {
			_ = answer.Body.Close()
		}
	}
	r.stop()
	<-r.ended
	r.ended <- nil
	log := r.log.String()
	for _, c := range canaries {
		if at := strings.Index(log, c); at >= 0 && !strings.Contains(log[at:at+20], "canary-3=") && !strings.Contains(log[at:at+20], "canary-10") {
			t.Errorf("the log has %.30q", log[at:])
		}
	}
	for _, want := range []string{`"query":"canary-3=…&max=7&password=…&search=name=x&token=…"`, `"user":"admin@internal"`, `"path":"/ovirt-engine/api/vms"`, `"from":"127.0.0.1"`, `(malformed)`, `"login":"refused"`} {
		if !strings.Contains(log, want) {
			t.Errorf("no %s in the log:\n%s", want, log)
		}
	}
}

// dial opens a TLS connection.
func (r *running) dial(t testing.TB) *tls.Conn {
	t.Helper()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(r.CA())
	c, err := tls.Dial("tcp", r.Addr().String(), &tls.Config{RootCAs: pool})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(limit))
	return c
}

// TestExpect sends requests with expectations over a real connection, one behind the other.
func TestExpect(t *testing.T) {
	r := begin(t, nil)
	bearer := "Authorization: Bearer " + r.token(t) + "\r\nHost: localhost\r\n"
	c := r.dial(t)
	in := bufio.NewReader(c)
	fmt.Fprintf(c, "POST /ovirt-engine/api/1 HTTP/1.1\r\n%sExpect: 201-created\r\nContent-Length: 15\r\n\r\nExpect: a\r\n\r\nxx"+
		"POST /ovirt-engine/api/2 HTTP/1.1\r\n%sTransfer-Encoding: chunked\r\nexpect: 202-accepted\r\n\r\n3\r\nabc\r\n0\r\n\r\n"+
		"GET /ovirt-engine/api/3 HTTP/1.1\r\n%s\r\n", bearer, bearer, bearer)
	for i, want := range []struct{ wish, body string }{{"201-created", "Expect: a\r\n\r\nxx"}, {"202-accepted", "abc"}, {"", ""}} {
		answer, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		var h heard
		if err := json.NewDecoder(answer.Body).Decode(&h); err != nil || answer.StatusCode != 200 || h.Header.Get("Expect") != want.wish || h.Body != want.body || h.Header.Get(wishHeader) != "" {
			t.Errorf("%d: %s %+v %v", i, answer.Status, h, err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
	}
	// The one expectation that HTTP knows works as ever.
	fmt.Fprintf(c, "POST /ovirt-engine/api/4 HTTP/1.1\r\n%sExpect: 100-continue\r\nContent-Length: 3\r\n\r\n", bearer)
	answer, err := http.ReadResponse(in, nil)
	if err != nil || answer.StatusCode != 100 {
		t.Fatal(answer, err)
	}
	fmt.Fprint(c, "abc")
	if answer, err = http.ReadResponse(in, nil); err != nil || answer.StatusCode != 200 || !strings.Contains(text(t, answer), `"body":"abc"`) {
		t.Error(answer, err)
	}
}

// TestPlainHTTP says in words that this is HTTPS.
func TestPlainHTTP(t *testing.T) {
	r := begin(t, nil)
	c, err := net.Dial("tcp", r.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(limit))
	fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	if data, _ := io.ReadAll(c); !strings.Contains(string(data), "400 Bad Request") || !strings.Contains(string(data), "https://") {
		t.Errorf("got %q", data)
	}
	var old *tls.Conn
	if old, err = tls.Dial("tcp", r.Addr().String(), &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}); err == nil {
		t.Error("an old TLS is taken", old.ConnectionState().Version)
	}
}

// TestHijack hands the raw connection over: what looks like a request is none any more.
func TestHijack(t *testing.T) {
	r := begin(t, func(c *Config) {
		c.API = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			nc, rw, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer nc.Close()
			stop := context.AfterFunc(r.Context(), func() { _ = nc.Close() })
			defer stop()
			_, _ = io.WriteString(nc, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
			_, _ = io.Copy(nc, rw)
		})
	})
	c := r.dial(t)
	fmt.Fprintf(c, "GET /api/v1/console HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n", r.token(t))
	in := bufio.NewReader(c)
	answer, err := http.ReadResponse(in, nil)
	if err != nil || answer.StatusCode != 101 {
		t.Fatal(answer, err)
	}
	for _, line := range []string{"login\n", "GET / HTTP/1.1\n", "Expect: nothing\n", "\n", "e", "xpect: x\n"} {
		fmt.Fprint(c, line)
		got := make([]byte, len(line))
		if _, err := io.ReadFull(in, got); err != nil || string(got) != line {
			t.Fatalf("%q became %q: %v", line, got, err)
		}
	}
	r.stop() // ends it, as nothing else would
	if _, err := in.ReadByte(); err == nil {
		t.Error("the connection outlives the server")
	}
}

// TestSecretGuard keeps the server from printing what a Config holds.
func TestSecretGuard(t *testing.T) {
	if got := fmt.Sprintf("%+v", auth.Session{Token: secret.New("canary")}); strings.Contains(got, "canary") {
		t.Error(got)
	}
}
