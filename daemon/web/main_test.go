//go:build linux

package web_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vmseed/vmseed/daemon"
	"github.com/vmseed/vmseed/daemon/api"
	"github.com/vmseed/vmseed/daemon/auth"
	"github.com/vmseed/vmseed/daemon/client"
	"github.com/vmseed/vmseed/daemon/daemontest"
	"github.com/vmseed/vmseed/daemon/server"
	"github.com/vmseed/vmseed/daemon/web"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/secret"
)

// TestMain lets the test's own program be a supervisor, and QEMU.
func TestMain(m *testing.M) {
	daemontest.Main()
	os.Exit(m.Run())
}

// site is a daemon with its page behind its server, as vmseed serve has them.
type site struct {
	daemon *daemon.Daemon
	server *server.Server
	client *http.Client
	users  string
	log    *journal
}

func begin(t *testing.T, o auth.Options) *site {
	t.Helper()
	s := &site{log: new(journal)}
	dir := t.TempDir()
	daemontest.Image(t, dir, "disk.img", "name: Test image\nlogin: tester\n")
	s.daemon = daemontest.Open(t, daemontest.Options(dir))
	var guard *auth.Guard
	guard, s.users = daemontest.Guard(t, o)
	own := api.New(s.daemon, api.Options{Engine: daemontest.Engine(), Guard: guard, Version: "test"})
	log := slog.New(slog.NewTextHandler(s.log, nil))
	pages, err := web.New(web.Options{API: own, Guard: guard, LastEvent: s.daemon.LastEvent, Log: log,
		Explanations: []diag.Explanation{{Code: 1234, Title: "a title", Text: "Say `this` <b>."}}})
	if err != nil {
		t.Fatal(err)
	}
	s.listen(t, server.Config{Listen: "127.0.0.1:0", Dir: filepath.Join(t.TempDir(), "pki"), Guard: guard, API: own, Pages: pages, Log: log,
		OVirt:  http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }),
		Limits: server.Limits{Grace: 10 * time.Second, Recheck: 50 * time.Millisecond}})
	return s
}

// journal is a log for several goroutines.
type journal struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

// Write adds to the log.
func (j *journal) Write(p []byte) (int, error) {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	return j.text.Write(p)
}

// String returns the log.
func (j *journal) String() string {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	return j.text.String()
}

func (s *site) listen(t *testing.T, c server.Config) {
	t.Helper()
	var err error
	if s.server, err = server.New(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.server.Serve(ctx) }()
	cl, err := client.New(client.Options{URL: s.server.URL(), CA: s.server.CA(), Username: auth.Admin, Password: secret.New(daemontest.Password), UserAgent: "test"})
	if err != nil {
		t.Fatal(err)
	}
	s.client = &http.Client{Transport: cl.HTTP().Transport, Timeout: daemontest.Limit,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	t.Cleanup(func() {
		cl.Close()
		s.client.CloseIdleConnections()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// answer is what a request got.
type answer struct {
	*http.Response
	text string
}

// do sends a request. Headers are pairs; "Host" is the name by which the server is called.
func (s *site) do(t *testing.T, method, path, body string, header ...string) answer {
	t.Helper()
	response := s.open(t, method, path, body, header...)
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{response, string(data)}
}

// open sends a request whose answer may go on and on.
func (s *site) open(t *testing.T, method, path, body string, header ...string) *http.Response {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), method, s.server.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			q.Host = header[i+1]
		}
		q.Header.Add(header[i], header[i+1])
	}
	response, err := s.client.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	return response
}

// form sends a form as the page's own browser does.
func (s *site) form(t *testing.T, path string, fields url.Values, header ...string) answer {
	t.Helper()
	return s.do(t, http.MethodPost, path, fields.Encode(), append([]string{"Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site", "same-origin"}, header...)...)
}

// login logs in and returns the header with the cookie.
func (s *site) login(t *testing.T) []string {
	t.Helper()
	a := s.form(t, "/login", url.Values{"username": {"admin"}, "password": {daemontest.Password}, "next": {"/images"}})
	if a.StatusCode != http.StatusSeeOther || a.Header.Get("Location") != "/images" {
		t.Fatal(a.Status, a.Header)
	}
	cookies := a.Cookies()
	if len(cookies) != 1 {
		t.Fatal("the log-in sets", cookies)
	}
	return []string{"Cookie", cookies[0].Name + "=" + cookies[0].Value}
}
