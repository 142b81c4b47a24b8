package controlplane

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// authority is a certificate authority whose certificate is in a file.
type authority struct {
	path string
	cert *x509.Certificate
	key  crypto.Signer
}

// Certificate is a certificate and its key, as PEM.
type Certificate struct {
	Cert, Key []byte
}

// openAuthority returns the authority of a name in dir, which is made when it is not there.
func openAuthority(dir, name string) (*authority, error) {
	a := &authority{path: filepath.Join(dir, name+".crt")}
	cert, err := os.ReadFile(a.path)
	if err == nil {
		key, err := os.ReadFile(filepath.Join(dir, name+".key"))
		if err != nil {
			return nil, err
		}
		return a, a.parse(cert, key)
	}
	if !os.IsNotExist(err) {
		return nil, err
	}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, NotAfter: time.Now().AddDate(10, 0, 0),
	}
	c, err := issue(template, nil)
	if err != nil {
		return nil, err
	}
	if err := c.write(dir, name); err != nil {
		return nil, err
	}
	return a, a.parse(c.Cert, c.Key)
}

func (a *authority) parse(cert, key []byte) error {
	c, _ := pem.Decode(cert)
	k, _ := pem.Decode(key)
	if c == nil || k == nil {
		return fmt.Errorf("%s or its key is no PEM", a.path)
	}
	var err error
	if a.cert, err = x509.ParseCertificate(c.Bytes); err != nil {
		return fmt.Errorf("%s: %w", a.path, err)
	}
	signer, err := x509.ParsePKCS8PrivateKey(k.Bytes)
	if err != nil {
		return fmt.Errorf("the key of %s: %w", a.path, err)
	}
	a.key, _ = signer.(crypto.Signer)
	return nil
}

// client issues a certificate that says who a client is.
func (a *authority) client(user string, groups ...string) (Certificate, error) {
	return issue(&x509.Certificate{
		Subject: pkix.Name{CommonName: user, Organization: groups}, NotAfter: time.Now().AddDate(5, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, a)
}

// server issues a certificate for a server on this host.
func (a *authority) server(name string, names ...string) (Certificate, error) {
	return issue(&x509.Certificate{
		Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().AddDate(5, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames: append([]string{"localhost"}, names...), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}, a)
}

// newKey makes the key of a certificate. An authority's is of RSA, as kubeadm makes it: the API server verifies a signature of an
// authority for each request, which takes a third of the time that one of ECDSA takes.
func newKey(authority bool) (crypto.Signer, error) {
	if authority {
		return rsa.GenerateKey(rand.Reader, 2048)
	}
	return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
}

// issue signs a certificate with an authority, or with its own key.
func issue(template *x509.Certificate, by *authority) (Certificate, error) {
	key, err := newKey(by == nil)
	if err != nil {
		return Certificate{}, err
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)); err != nil {
		return Certificate{}, err
	}
	template.NotBefore = time.Now().Add(-time.Hour)
	parent, signer := template, key
	if by != nil {
		parent, signer = by.cert, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return Certificate{}, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return Certificate{}, err
	}
	return Certificate{
		Cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		Key:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	}, nil
}

// write puts the certificate into dir/name.crt and its key into dir/name.key.
func (c Certificate) write(dir, name string) error {
	if err := os.WriteFile(filepath.Join(dir, name+".key"), c.Key, 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name+".crt"), c.Cert, 0o600)
}

// serviceAccountKeys makes the pair of keys with which tokens of service accounts are signed, unless it is there.
func serviceAccountKeys(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, "sa.pub")); err == nil {
		return nil
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return err
	}
	private := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	if err := os.WriteFile(filepath.Join(dir, "sa.key"), private, 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "sa.pub"), pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}), 0o600)
}
