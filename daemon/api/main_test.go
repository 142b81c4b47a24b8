//go:build linux

package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/vmseed/vmseed/daemon"
	"github.com/vmseed/vmseed/daemon/api"
	"github.com/vmseed/vmseed/daemon/auth"
	"github.com/vmseed/vmseed/daemon/client"
	"github.com/vmseed/vmseed/daemon/daemontest"
	"github.com/vmseed/vmseed/daemon/server"
	"github.com/vmseed/vmseed/secret"
)

// TestMain lets the test's own program be a supervisor, and QEMU.
func TestMain(m *testing.M) {
	daemontest.Main()
	os.Exit(m.Run())
}

// service is a daemon behind its server, and a client of it. Every answer is held against the API's document.
type service struct {
	*client.Client
	daemon *daemon.Daemon
	server *server.Server
	dir    string
	users  string
	log    *bytes.Buffer
	stop   func()
}

func begin(t testing.TB) *service {
	t.Helper()
	s := &service{dir: t.TempDir(), log: new(bytes.Buffer)}
	daemontest.Image(t, s.dir, "disk.img", "name: Test image\nlogin: tester\n")
	s.daemon = daemontest.Open(t, daemontest.Options(s.dir))
	var guard *auth.Guard
	guard, s.users = daemontest.Guard(t, auth.Options{})
	handler := api.New(s.daemon, api.Options{Engine: daemontest.Engine(), Guard: guard, Version: "test"})
	s.listen(t, server.Config{Listen: "127.0.0.1:0", Dir: filepath.Join(t.TempDir(), "pki"), Guard: guard, API: &inspector{t: t, next: handler},
		Log: slog.New(slog.NewTextHandler(s.log, nil)), Limits: server.Limits{Grace: 10 * time.Second, Recheck: 100 * time.Millisecond}})
	var err error
	s.Client, err = client.New(client.Options{URL: s.server.URL(), CA: s.server.CA(), Username: auth.Admin, Password: secret.New(daemontest.Password), UserAgent: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Client.Close)
	return s
}

// listen starts the server.
func (s *service) listen(t testing.TB, c server.Config) {
	t.Helper()
	var err error
	if s.server, err = server.New(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.server.Serve(ctx) }()
	s.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(s.stop)
}

// raw sends a request with a token, and returns status and body.
func (s *service) raw(t testing.TB, method, path, body string, header ...string) (int, string) {
	t.Helper()
	if _, err := s.Version(t.Context()); err != nil { // logs in
		t.Fatal(err)
	}
	q, err := http.NewRequestWithContext(t.Context(), method, s.server.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer "+s.Token().Reveal())
	if body != "" {
		q.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		q.Header.Set(header[i], header[i+1])
	}
	answer, err := s.HTTP().Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(data)
}

// document is the API's own description.
type document struct {
	Paths map[string]map[string]operation `json:"paths"`
}

type operation struct {
	OperationID string `json:"operationId"`
	Summary     string `json:"summary"`
	RequestBody struct {
		Required bool `json:"required"`
		Content  map[string]struct {
			Schema struct {
				Ref string `json:"$ref"`
			} `json:"schema"`
		} `json:"content"`
	} `json:"requestBody"`
	Parameters []struct {
		Name string `json:"name"`
		In   string `json:"in"`
	} `json:"parameters"`
	Responses map[string]struct {
		Content map[string]struct {
			Schema struct {
				Ref string `json:"$ref"`
			} `json:"schema"`
		} `json:"content"`
	} `json:"responses"`
}

func readDocument(t testing.TB) (document, *jsonschema.Compiler) {
	t.Helper()
	data, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var d document
	if err := json.Unmarshal(data, &d); err != nil {
		t.Fatal(err)
	}
	whole, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	if err := c.AddResource("https://vmseed.example/openapi.json", whole); err != nil {
		t.Fatal(err)
	}
	return d, c
}

// inspector holds every exchange against the document.
type inspector struct {
	t    testing.TB
	next http.Handler
	once sync.Once
	doc  document
	// mutex guards what follows.
	mutex    sync.Mutex
	compiler *jsonschema.Compiler
	seen     map[string]bool
}

// ServeHTTP passes a request on and inspects the answer.
func (i *inspector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.once.Do(func() { i.doc, i.compiler = readDocument(i.t) })
	op, known := i.operation(r)
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	rec := &recorder{ResponseWriter: w}
	i.next.ServeHTTP(rec, r)
	media, _, _ := strings.Cut(rec.Header().Get("Content-Type"), ";")
	if rec.status == http.StatusSwitchingProtocols || rec.status == 0 && rec.body.Len() == 0 && media == "" {
		return // the connection was handed over, or the client is gone
	}
	switch {
	case media == "application/problem+json":
		i.validate(r, "#/components/schemas/Problem", rec.body.Bytes())
		return
	case !known:
		i.t.Errorf("%s %s answers %d and is not in the document", r.Method, r.URL.Path, rec.status)
		return
	}
	response, ok := op.Responses[strconv.Itoa(max(rec.status, 200))]
	if !ok {
		i.t.Errorf("%s answers %d, which is not in the document", op.OperationID, rec.status)
	}
	if media == "" {
		return
	}
	content, ok := response.Content[media]
	if !ok {
		i.t.Errorf("%s answers %d with %q, which is not in the document", op.OperationID, rec.status, media)
	}
	if content.Schema.Ref != "" && r.Method != http.MethodHead {
		i.validate(r, content.Schema.Ref, rec.body.Bytes())
	}
	if len(body) > 0 {
		i.validate(r, op.RequestBody.Content["application/json"].Schema.Ref, body)
	}
	for name := range r.URL.Query() {
		found := false
		for _, p := range op.Parameters {
			found = found || p.In == "query" && p.Name == name
		}
		if !found {
			i.t.Errorf("%s takes %s, which is not in the document", op.OperationID, name)
		}
	}
}

// operation finds the operation of a request.
func (i *inspector) operation(r *http.Request) (operation, bool) {
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, client.Prefix), "/")
	method := strings.ToLower(r.Method)
	if method == "head" {
		method = "get"
	}
	for path, methods := range i.doc.Paths {
		want := strings.Split(path, "/")
		if len(want) != len(parts) {
			continue
		}
		same := true
		for n := range want {
			same = same && (want[n] == parts[n] || want[n] == "{id}" && parts[n] != "")
		}
		if op, ok := methods[method]; same && ok {
			return op, true
		}
	}
	return operation{}, false
}

func (i *inspector) validate(r *http.Request, ref string, data []byte) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	schema, err := i.compiler.Compile("https://vmseed.example/openapi.json" + ref)
	if err != nil {
		i.t.Errorf("%s: %v", ref, err)
		return
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err == nil {
		err = schema.Validate(v)
	}
	if err != nil {
		i.t.Errorf("%s %s: %.500s\nis not as the document says: %v", r.Method, r.URL.Path, data, err)
	}
}

// recorder keeps what is answered.
type recorder struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

// Unwrap returns the writer that can do more.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// WriteHeader keeps the status.
func (r *recorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

// Write keeps the beginning of the body.
func (r *recorder) Write(p []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	r.body.Write(p)
	return r.ResponseWriter.Write(p)
}
