package server

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vmseed/vmseed/internal/atomicfile"
)

const (
	// caLife is how long the authority is valid: clients are told once to trust it.
	caLife = 10 * 365 * 24 * time.Hour
	// leafLife is how long the server's certificate is valid: less than what Apple's clients accept, which is the least.
	leafLife = 397 * 24 * time.Hour
	// renewal is how long before its end a certificate is replaced, skew how far other clocks may be behind.
	renewal = 30 * 24 * time.Hour
	skew    = time.Hour
)

// The files of the server's keys.
const (
	caFile    = "ca.pem"
	caKeyFile = "ca-key.pem"
	leafFile  = "server.pem"
	leafKey   = "server-key.pem"
)

// pki is an authority of the daemon's own, and the certificate that it gave the server. Both are made when they are not
// there; the certificate is renewed while the server runs.
type pki struct {
	dir   string
	hosts []string
	now   func() time.Time

	mu   sync.Mutex
	ca   *signer
	leaf *tls.Certificate
}

// signer is an authority with its key.
type signer struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         []byte
}

// openPKI reads or makes the keys in a directory, for a server that is called by the given names and addresses.
func openPKI(dir string, hosts []string, now func() time.Time) (*pki, error) {
	p := &pki{dir: dir, hosts: hosts, now: now}
	if err := os.MkdirAll(dir, atomicfile.DirMode); err != nil {
		return nil, err
	}
	var err error
	if p.ca, err = p.signer(); err != nil {
		return nil, err
	}
	_, err = p.certificate()
	return p, err
}

// signer reads the authority, or makes one. One that has ended is replaced, and its clients have to be told.
func (p *pki) signer() (*signer, error) {
	certificate, key, text, err := readPair(p.dir, caFile, caKeyFile)
	switch {
	case err == nil && certificate.IsCA && p.now().Add(renewal).Before(certificate.NotAfter):
		return &signer{certificate, key, text}, nil
	case errors.Is(err, errShared):
		return nil, err
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w; put the file back, or remove %s and %s for a new authority that clients must be told of", err, caFile, caKeyFile)
	}
	if key, err = p.orphan(); err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		// The number tells authorities of different daemons apart where both are trusted.
		Subject:   pkix.Name{CommonName: "vmseed serve " + hex.EncodeToString(fingerprint(key)[:4])},
		NotBefore: p.now().Add(-skew), NotAfter: p.now().Add(caLife),
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign, BasicConstraintsValid: true, IsCA: true, MaxPathLenZero: true,
	}
	certificate, text, err = p.sign(template, template, key, key, caFile, caKeyFile)
	return &signer{certificate, key, text}, err
}

// orphan returns the key of an authority whose certificate was not written any more, because the host stopped between the
// two, and else a new key. Whoever trusts an earlier certificate of the key trusts the next one: name and key are the same.
func (p *pki) orphan() (*ecdsa.PrivateKey, error) {
	path := filepath.Join(p.dir, caKeyFile)
	if _, err := os.Stat(filepath.Join(p.dir, caFile)); !errors.Is(err, fs.ErrNotExist) {
		return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	}
	if err == nil {
		err = private(path)
	}
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("%s holds no key", path)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("%s is no ECDSA key", path)
	}
	return key, nil
}

func fingerprint(key *ecdsa.PrivateKey) []byte {
	public, err := key.PublicKey.Bytes()
	if err != nil {
		return make([]byte, sha256.Size)
	}
	sum := sha256.Sum256(public)
	return sum[:]
}

// certificate returns the server's certificate, after making a new one when the old one is about to end or does not name
// all hosts.
func (p *pki) certificate() (*tls.Certificate, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.leaf != nil && p.fits(p.leaf.Leaf) {
		return p.leaf, nil
	}
	certificate, key, _, err := readPair(p.dir, leafFile, leafKey)
	if err != nil || !p.fits(certificate) {
		// Unlike the authority, this one can be replaced at any time.
		if certificate, key, err = p.renew(); err != nil {
			if p.leaf != nil && p.now().Before(p.leaf.Leaf.NotAfter) {
				return p.leaf, nil
			}
			return nil, err
		}
	}
	p.leaf = &tls.Certificate{Certificate: [][]byte{certificate.Raw, p.ca.certificate.Raw}, PrivateKey: key, Leaf: certificate}
	return p.leaf, nil
}

// authority returns the certificate that clients have to trust.
func (p *pki) authority() []byte { return p.ca.pem }

func (p *pki) fits(c *x509.Certificate) bool {
	if c.CheckSignatureFrom(p.ca.certificate) != nil || p.now().Before(c.NotBefore) {
		return false
	}
	if !p.now().Add(renewal).Before(c.NotAfter) && c.NotAfter.Before(p.ca.certificate.NotAfter) {
		return false
	}
	return !slices.ContainsFunc(p.hosts, func(host string) bool { return c.VerifyHostname(host) != nil })
}

func (p *pki) renew() (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		Subject:   pkix.Name{CommonName: p.hosts[0]},
		NotBefore: p.now().Add(-skew), NotAfter: p.now().Add(leafLife),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, BasicConstraintsValid: true,
	}
	if end := p.ca.certificate.NotAfter; template.NotAfter.After(end) {
		template.NotAfter = end
	}
	for _, host := range p.hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	certificate, _, err := p.sign(template, p.ca.certificate, key, p.ca.key, leafFile, leafKey)
	return certificate, key, err
}

// sign makes a certificate and writes it with its key, the key first: a certificate without one is noticed at once.
func (p *pki) sign(template, parent *x509.Certificate, key, by *ecdsa.PrivateKey, certName, keyName string) (*x509.Certificate, []byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, nil, err
	}
	template.SerialNumber = serial.Add(serial, big.NewInt(1))
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, by)
	if err != nil {
		return nil, nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, nil, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return certificate, text, errors.Join(
		atomicfile.WriteBytes(filepath.Join(p.dir, keyName), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})),
		atomicfile.WriteBytes(filepath.Join(p.dir, certName), text))
}

// readPair reads a certificate and its key. The error wraps fs.ErrNotExist when the certificate is not there.
func readPair(dir, certName, keyName string) (*x509.Certificate, *ecdsa.PrivateKey, []byte, error) {
	keyPath := filepath.Join(dir, keyName)
	text, certErr := os.ReadFile(filepath.Join(dir, certName))
	secret, keyErr := os.ReadFile(keyPath)
	switch {
	case errors.Is(certErr, fs.ErrNotExist):
		return nil, nil, nil, certErr
	case certErr != nil || keyErr != nil:
		// A certificate without its key must not be taken for a fresh start.
		return nil, nil, nil, errors.New(strings.ReplaceAll(errors.Join(certErr, keyErr).Error(), "\n", "; "))
	}
	if err := private(keyPath); err != nil {
		return nil, nil, nil, err
	}
	pair, err := tls.X509KeyPair(text, secret)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("%s and %s: %w", filepath.Join(dir, certName), keyName, err)
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok {
		return nil, nil, nil, fmt.Errorf("%s is no ECDSA key", keyPath)
	}
	return pair.Leaf, key, text, nil
}

// private refuses a key that others can read.
func private(path string) error {
	info, err := os.Stat(path)
	if err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s %w (mode %04o); run: chmod 600 %s", path, errShared, info.Mode().Perm(), path)
	}
	return err
}

// errShared is wrapped by errors about a key that belongs to more than one.
var errShared = errors.New("can be read by others")

// givenPair is a certificate that the user keeps up to date.
type givenPair struct {
	certFile, keyFile string
	// ca is what clients may need to trust, where the user gave it.
	ca []byte

	mu       sync.Mutex
	seen     [2]os.FileInfo
	current  *tls.Certificate
	lastLook time.Time
	now      func() time.Time
}

// glance is how often the files are looked at.
const glance = time.Second

func openGiven(certFile, keyFile string, now func() time.Time) (*givenPair, error) {
	g := &givenPair{certFile: certFile, keyFile: keyFile, now: now}
	if err := private(keyFile); err != nil {
		return nil, err
	}
	return g, g.load()
}

func (g *givenPair) load() error {
	var seen [2]os.FileInfo
	var err error
	for i, path := range []string{g.certFile, g.keyFile} {
		if seen[i], err = os.Stat(path); err != nil {
			return err
		}
	}
	pair, err := tls.LoadX509KeyPair(g.certFile, g.keyFile)
	if err != nil {
		return fmt.Errorf("%s and %s: %w", g.certFile, g.keyFile, err)
	}
	g.seen, g.current = seen, &pair
	return nil
}

// certificate returns the newest pair that fits together: while one file is new and the other is not, the old pair.
func (g *givenPair) certificate() (*tls.Certificate, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now := g.now(); now.Sub(g.lastLook) >= glance {
		g.lastLook = now
		if g.changed() {
			_ = g.load()
		}
	}
	return g.current, nil
}

func (g *givenPair) changed() bool {
	for i, path := range []string{g.certFile, g.keyFile} {
		info, err := os.Stat(path)
		if err == nil && (!os.SameFile(info, g.seen[i]) || !info.ModTime().Equal(g.seen[i].ModTime()) || info.Size() != g.seen[i].Size()) {
			return true
		}
	}
	return false
}

// authority returns what clients may need to trust: what the user says, else the end of the chain.
func (g *givenPair) authority() []byte {
	if g.ca != nil {
		return g.ca
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	chain := g.current.Certificate
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: chain[len(chain)-1]})
}

// names returns the names and addresses by which this host may be called, without repeats.
func names(listen string, more []string) []string {
	out := []string{"localhost", "127.0.0.1", "::1"}
	add := func(name string) {
		name = strings.ToLower(strings.TrimSuffix(strings.Trim(name, "[]"), "."))
		if a, err := netip.ParseAddr(name); err == nil {
			if a.IsUnspecified() || a.Zone() != "" {
				return
			}
			name = a.Unmap().String()
		}
		if name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	if host, err := os.Hostname(); err == nil {
		add(host)
	}
	if host, _, err := net.SplitHostPort(listen); err == nil {
		add(host)
	}
	for _, name := range more {
		add(name)
	}
	return slices.DeleteFunc(out, func(name string) bool { return !certifiable(name) })
}

// certifiable reports whether a name can stand in a certificate: an address, or letters, digits, hyphens and dots.
func certifiable(name string) bool {
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	return len(name) <= 253 && !bytes.ContainsFunc([]byte(name), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '.' && r != '_'
	})
}
