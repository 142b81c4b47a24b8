package server_test

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"strings"
	"testing"
	"time"
)

// TestWhoMayWhat: nobody comes in unseen, and those who are known do what the API server allows and nothing else.
func TestWhoMayWhat(t *testing.T) {
	s := start(t)
	foreign := newSigner(t)
	certs := map[string]*tls.Certificate{}
	for _, user := range []string{"alice", "bob", "carol", "mallory", "system:node:n2", ""} {
		c := s.ca.issue(t, x509.ExtKeyUsageClientAuth, user)
		certs[user] = &c
	}
	stranger := foreign.issue(t, x509.ExtKeyUsageClientAuth, "alice")
	server := s.ca.issue(t, x509.ExtKeyUsageServerAuth, "alice")
	logs, exec := "/containerLogs/default/vm/compute", "/exec/default/vm/compute?command=ls&output=1"
	for _, c := range []struct {
		what   string
		cert   *tls.Certificate
		method string
		path   string
		token  string
		status int
	}{
		{"nobody", nil, "GET", "/healthz", "", 401},
		{"nobody, at a path that is not there", nil, "GET", "/nowhere", "", 401},
		{"a certificate of another authority", &stranger, "GET", "/healthz", "", 401},
		{"a certificate for servers", &server, "GET", "/healthz", "", 401},
		{"a certificate without a name", certs[""], "GET", "/healthz", "", 401},
		{"another authority's certificate and a good token", &stranger, "GET", "/metrics", "good", 200},
		{"a bad token", nil, "GET", "/metrics", "bad", 401},
		{"a token too long", nil, "GET", "/metrics", strings.Repeat("x", 20<<10), 401},
		{"a good token", nil, "GET", "/metrics/resource", "good", 200},
		{"a good token elsewhere", nil, "GET", logs, "good", 403},
		{"another node", certs["system:node:n2"], "GET", logs, "", 403},
		{"allowed and denied", certs["mallory"], "GET", logs, "", 403},
		{"who may read reads", certs["bob"], "GET", logs, "", 200},
		{"who may read does not run commands by GET", certs["bob"], "GET", exec, "", 403},
		{"nor by POST", certs["bob"], "POST", exec, "", 403},
		{"nodes/proxy is enough for pods", certs["bob"], "GET", "/pods", "", 200},
		{"nodes/pods is enough for pods", certs["carol"], "GET", "/runningpods/", "", 200},
		{"nodes/pods is not enough for logs", certs["carol"], "GET", logs, "", 403},
		{"an unclean path is no way round", certs["carol"], "GET", "/pods/../containerLogs/default/vm/compute", "", 403},
		{"all rights", certs["alice"], "GET", "/healthz", "", 200},
		{"all rights, no such path", certs["alice"], "GET", "/nowhere", "", 404},
		{"no such pod", certs["alice"], "GET", "/containerLogs/default/other/compute", "", 404},
		{"no such container", certs["alice"], "GET", "/containerLogs/default/vm/other", "", 404},
		{"no such uid", certs["alice"], "POST", "/exec/default/vm/other/compute?command=ls&output=1", "", 404},
		{"no such method", certs["alice"], "DELETE", "/exec/default/vm/compute", "", 405},
	} {
		if status, body := s.get(t, c.cert, c.method, c.path, c.token); status != c.status {
			t.Errorf("%s: %s %s is %d, not %d: %s", c.what, c.method, c.path, status, c.status, body)
		}
	}
}

// TestAnswersAreRemembered: the API server is asked once for what it has just said, also for a refusal.
func TestAnswersAreRemembered(t *testing.T) {
	s := start(t)
	for range 5 {
		s.get(t, nil, "GET", "/metrics", "good")
		s.get(t, nil, "GET", "/metrics", "bad")
		s.get(t, nil, "GET", "/containerLogs/default/vm/compute", "good")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tokens != 2 || len(s.reviews) != 2 {
		t.Errorf("%d reviews of tokens and %d of rights for two tokens and two questions", s.tokens, len(s.reviews))
	}
	asked := s.reviews[0]
	if asked.UID != "7" || len(asked.Extra["pod"]) != 1 || asked.ResourceAttributes.Name != "n1" || asked.ResourceAttributes.Resource != "nodes" ||
		asked.ResourceAttributes.Subresource != "metrics" || asked.ResourceAttributes.Verb != "get" {
		t.Errorf("the API server was asked %+v about %+v", asked, asked.ResourceAttributes)
	}
}

// TestClientCAIsReadAgain: a new authority counts from the next request on, and a broken file does not lock everybody out.
func TestClientCAIsReadAgain(t *testing.T) {
	s := start(t)
	next := newSigner(t)
	old, renewed := s.ca.issue(t, x509.ExtKeyUsageClientAuth, "alice"), next.issue(t, x509.ExtKeyUsageClientAuth, "alice")
	want := func(what string, c *tls.Certificate, status int) {
		t.Helper()
		if got, body := s.get(t, c, "GET", "/healthz", ""); got != status {
			t.Errorf("%s: %d, not %d: %s", what, got, status, body)
		}
	}
	write := func(content []byte, age time.Duration) {
		t.Helper()
		if err := os.WriteFile(s.caFile, content, 0o600); err != nil {
			t.Fatal(err)
		}
		when := time.Now().Add(age)
		if err := os.Chtimes(s.caFile, when, when); err != nil {
			t.Fatal(err)
		}
	}
	want("the first authority", &old, 200)
	want("an authority that is not there yet", &renewed, 401)
	write([]byte("broken"), time.Minute)
	want("while the file is broken", &old, 200)
	write(next.pem, 2*time.Minute)
	want("the new authority", &renewed, 200)
	want("the authority that was replaced", &old, 401)
}
