package imagenames

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/vmseed/vmseed/image"
)

// transport is how the images of a rule are fetched.
type transport struct {
	// Timeout is for a request with its answer, in milliseconds; 0 or less is no limit.
	Timeout int64 `yaml:"timeout"`
	// MaxRedirects is how many redirections are followed.
	MaxRedirects *int   `yaml:"maxRedirects"`
	Proxy        string `yaml:"proxy"`
	TLS          *struct {
		Certificates []struct {
			Cert string `yaml:"cert"`
			Key  string `yaml:"key"`
		} `yaml:"certificates"`
		ServerName string `yaml:"serverName"`
		Insecure   bool   `yaml:"insecure"`
	} `yaml:"tls"`
}

// store makes a store that fetches by the profile. One that does not check the server's certificate takes only images with a
// checksum.
func (t transport) store(base *image.Store) (*image.Store, error) {
	out := *base
	out.Unchecked = t.TLS == nil || !t.TLS.Insecure
	if t.MaxRedirects != nil {
		if out.MaxRedirects = *t.MaxRedirects; *t.MaxRedirects <= 0 {
			out.MaxRedirects = -1
		}
	}
	own := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, IdleConnTimeout: time.Minute}
	if t.Proxy != "" {
		proxy, err := url.Parse(t.Proxy)
		if err != nil || proxy.Host == "" {
			return nil, errors.New("proxy: this is no URL of a proxy") // it may hold a password
		}
		own.Proxy = http.ProxyURL(proxy)
	}
	var err error
	if own.TLSClientConfig, err = t.config(); err != nil {
		return nil, err
	}
	out.Transport = own
	if t.Timeout > 0 {
		out.Transport = deadline{next: own, limit: time.Duration(t.Timeout) * time.Millisecond}
	}
	return &out, nil
}

// config reads certificates. Those of authorities are trusted beside the system's; any other is shown to servers that ask.
func (t transport) config() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if t.TLS == nil {
		return config, nil
	}
	config.ServerName, config.InsecureSkipVerify = t.TLS.ServerName, t.TLS.Insecure
	roots, err := x509.SystemCertPool()
	if err != nil {
		return nil, err
	}
	for i, c := range t.TLS.Certificates {
		shown, err := trust(roots, []byte(c.Cert))
		switch {
		case err != nil:
			return nil, fmt.Errorf("tls.certificates[%d]: %w", i, err)
		case len(shown) == 0:
			continue
		}
		key := c.Key
		if strings.TrimSpace(key) == "" {
			key = c.Cert
		}
		pair, err := tls.X509KeyPair(shown, []byte(key))
		if err != nil {
			return nil, fmt.Errorf("tls.certificates[%d]: the certificate and its key: %w", i, err)
		}
		config.Certificates = append(config.Certificates, pair)
	}
	config.RootCAs = roots
	return config, nil
}

// trust adds the authorities among some certificates to those that are trusted, and returns the others.
func trust(roots *x509.CertPool, text []byte) (others []byte, err error) {
	found := false
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		found = true
		certificate, err := x509.ParseCertificate(block.Bytes)
		switch {
		case err != nil:
			return nil, err
		case certificate.IsCA:
			roots.AddCert(certificate)
		default:
			others = append(others, pem.EncodeToMemory(block)...)
		}
	}
	if !found {
		return nil, errors.New("there is no certificate in PEM form")
	}
	return others, nil
}

// errLate means that a server took longer than the profile allows.
var errLate = errors.New("the server takes longer than the timeout of the transport")

// deadline limits the time of a request and its answer.
type deadline struct {
	next  http.RoundTripper
	limit time.Duration
}

// RoundTrip sends a request.
func (d deadline) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeoutCause(req.Context(), d.limit, errLate)
	res, err := d.next.RoundTrip(req.WithContext(ctx))
	if err != nil {
		if context.Cause(ctx) == errLate {
			err = errLate
		}
		cancel()
		return nil, err
	}
	res.Body = &limited{ReadCloser: res.Body, ctx: ctx, cancel: cancel}
	return res, nil
}

// limited is an answer that is cut off at the deadline.
type limited struct {
	io.ReadCloser
	ctx    context.Context
	cancel context.CancelFunc
}

// Read reads from the answer.
func (l *limited) Read(p []byte) (int, error) {
	n, err := l.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) && errors.Is(context.Cause(l.ctx), errLate) {
		err = errLate
	}
	return n, err
}

// Close ends the request.
func (l *limited) Close() error {
	l.cancel()
	return l.ReadCloser.Close()
}
