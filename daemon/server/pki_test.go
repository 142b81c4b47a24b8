package server

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// clock is a time that a test sets.
type clock struct{ t time.Time }

func (c *clock) now() time.Time { return c.t }

var hosts = []string{"localhost", "127.0.0.1", "::1", "vms.example"}

func verify(t testing.TB, p *pki, c *clock, host string) *x509.Certificate {
	t.Helper()
	pair, err := p.certificate()
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(p.authority()) {
		t.Fatal("no authority")
	}
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: host, CurrentTime: c.t}); err != nil {
		t.Error(host, err)
	}
	return pair.Leaf
}

func TestPKI(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state", "pki")
	c := &clock{time.Now()}
	p, err := openPKI(dir, hosts, c.now)
	if err != nil {
		t.Fatal(err)
	}
	var first *x509.Certificate
	for _, host := range hosts {
		first = verify(t, p, c, host)
	}
	if first.VerifyHostname("evil.example") == nil {
		t.Error("the certificate is anybody's")
	}
	if life := first.NotAfter.Sub(first.NotBefore); life > 398*24*time.Hour {
		t.Errorf("Apple's clients refuse a certificate of %v", life)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 4 {
		t.Fatal(entries, err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", e.Name(), info.Mode(), err)
		}
	}
	// Another start has the same keys.
	again, err := openPKI(dir, hosts, c.now)
	if err != nil || !verify(t, again, c, "localhost").Equal(first) || string(again.authority()) != string(p.authority()) {
		t.Error("the keys changed", err)
	}
	// A further name makes a new certificate of the same authority.
	more, err := openPKI(dir, append(slices.Clone(hosts), "2001:db8::1"), c.now)
	if err != nil || verify(t, more, c, "2001:db8::1").Equal(first) || string(more.authority()) != string(p.authority()) {
		t.Error("the name is not in the certificate", err)
	}
	// While the server runs the certificate is renewed before its end.
	for range 14 {
		c.t = c.t.Add(leafLife - renewal)
		if c.t.After(p.ca.certificate.NotAfter) {
			break
		}
		verify(t, p, c, "localhost")
	}
	// After the authority's end there is another one.
	late, err := openPKI(dir, hosts, c.now)
	if err != nil || string(late.authority()) == string(p.authority()) {
		t.Error("the authority has ended", err)
	}
	verify(t, late, c, "localhost")
}

// TestPKIDamage refuses to start rather than to change the authority under its clients.
func TestPKIDamage(t *testing.T) {
	c := &clock{time.Now()}
	for name, damage := range map[string]func(dir string) error{
		"no key":           func(dir string) error { return os.Remove(filepath.Join(dir, caKeyFile)) },
		"damaged":          func(dir string) error { return os.WriteFile(filepath.Join(dir, caFile), []byte("x"), 0o600) },
		"another's key":    func(dir string) error { return os.Rename(filepath.Join(dir, leafKey), filepath.Join(dir, caKeyFile)) },
		"readable by all":  func(dir string) error { return os.Chmod(filepath.Join(dir, caKeyFile), 0o644) },
		"server's instead": func(dir string) error { return errors.Join(os.Remove(filepath.Join(dir, leafFile)), nil) },
	} {
		dir := t.TempDir()
		if _, err := openPKI(dir, hosts, c.now); err != nil {
			t.Fatal(err)
		}
		if err := damage(dir); err != nil {
			t.Fatal(err)
		}
		p, err := openPKI(dir, hosts, c.now)
		if name == "server's instead" {
			if err != nil {
				t.Errorf("%s: %v", name, err) // this one can be made anew
			} else {
				verify(t, p, c, "localhost")
			}
			continue
		}
		if runtime.GOOS == "windows" && name == "readable by all" {
			continue
		}
		if err == nil || !strings.Contains(err.Error(), dir) || strings.Contains(err.Error(), "put the file back") != (name != "readable by all") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPKIAfterCrash goes on with the keys that were written before the host stopped. Clients that trust the authority
// already trust it still.
func TestPKIAfterCrash(t *testing.T) {
	c := &clock{time.Now()}
	for _, gone := range [][]string{{caFile}, {caFile, leafFile}, {caFile, leafFile, leafKey}, {leafFile}, {leafFile, leafKey}} {
		dir := t.TempDir()
		first, err := openPKI(dir, hosts, c.now)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range gone {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		p, err := openPKI(dir, hosts, c.now)
		if err != nil {
			t.Errorf("without %v: %v", gone, err)
			continue
		}
		verify(t, p, c, "localhost")
		p.ca = first.ca
		verify(t, p, c, "localhost")
	}
	dir := t.TempDir()
	for text, want := range map[string]string{"x": "no key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n": "asn1"} {
		path := filepath.Join(dir, caKeyFile)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := openPKI(dir, hosts, c.now); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), want) {
			t.Errorf("the key %q: %v", text, err)
		}
	}
}

// TestGiven serves the user's certificate, and a newer one when its files are replaced.
func TestGiven(t *testing.T) {
	c := &clock{time.Now()}
	made := func() (dir string, p *pki) {
		dir = t.TempDir()
		p, err := openPKI(dir, []string{"vms.example"}, c.now)
		if err != nil {
			t.Fatal(err)
		}
		return dir, p
	}
	dir, p := made()
	certFile, keyFile := filepath.Join(dir, leafFile), filepath.Join(dir, leafKey)
	r := begin(t, func(c *Config) { c.CertFile, c.KeyFile, c.CAFile = certFile, keyFile, filepath.Join(dir, caFile) })
	if string(r.CA()) != string(p.authority()) {
		t.Error("clients get another authority")
	}
	served := func() *x509.Certificate {
		nc, err := tls.Dial("tcp", r.Addr().String(), &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		return nc.ConnectionState().PeerCertificates[0]
	}
	if !served().Equal(p.leaf.Leaf) {
		t.Error("another certificate is served")
	}
	other, q := made()
	for _, name := range []string{leafFile, leafKey} {
		data, err := os.ReadFile(filepath.Join(other, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
		if name == leafFile && !served().Equal(p.leaf.Leaf) {
			t.Error("half a pair is served")
		}
	}
	for deadline := time.Now().Add(limit); !served().Equal(q.leaf.Leaf); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the new certificate is not served")
		}
	}
	for name, config := range map[string]Config{
		"no key": {CertFile: certFile}, "no certificate": {KeyFile: keyFile}, "no such file": {CertFile: certFile + "x", KeyFile: keyFile},
		"not a pair": {CertFile: filepath.Join(dir, caFile), KeyFile: keyFile},
	} {
		config.Listen = "127.0.0.1:0"
		if s, err := New(t.Context(), config); err == nil {
			t.Errorf("%s: no error", name)
			_ = s.Close()
		}
	}
}

func TestNames(t *testing.T) {
	got := names("[2001:DB8::1]:8443", []string{"VMs.Example.", "0.0.0.0", "::", "10.0.0.1", "under_score", "bad name", "vms.example", "fe80::1%eth0"})
	for _, want := range []string{"localhost", "127.0.0.1", "::1", "2001:db8::1", "vms.example", "10.0.0.1", "under_score"} {
		if !slices.Contains(got, want) {
			t.Errorf("no %s in %q", want, got)
		}
	}
	for _, not := range []string{"0.0.0.0", "::", "bad name", "fe80::1%eth0"} {
		if slices.Contains(got, not) {
			t.Errorf("%s is in %q", not, got)
		}
	}
	if s := (&Server{hosts: []string{"*.example.org"}}); !s.knownHost("a.example.org:443") || s.knownHost("a.b.example.org") || s.knownHost("example.org") || !s.knownHost("[::1]:8443") || !s.knownHost("10.1.2.3") {
		t.Error("the names of a wildcard certificate are not known")
	}
}

func TestReachable(t *testing.T) {
	for listen, want := range map[string]string{"0.0.0.0:1": "localhost:1", "[::]:1": "localhost:1", "[::1]:1": "[::1]:1", "10.0.0.1:1": "10.0.0.1:1"} {
		a, err := net.ResolveTCPAddr("tcp", listen)
		if err != nil {
			t.Fatal(err)
		}
		if got := reachable(a); got != want {
			t.Errorf("%s: %s", listen, got)
		}
	}
}
