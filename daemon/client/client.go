package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/vmseed/vmseed/secret"
)

// DefaultURL is where a daemon listens that was not told otherwise.
const DefaultURL = "https://127.0.0.1:8443"

// Options are how a daemon is reached.
type Options struct {
	// URL is https://HOST:PORT; a HOST[:PORT] alone is enough. Plain HTTP is for loopback addresses.
	URL string
	// CAFile is a PEM file with the certificates of authorities to trust instead of the system's; CA is its content.
	CAFile string
	CA     []byte
	// Insecure trusts whatever certificate there is.
	Insecure bool
	// Token is that of an earlier login.
	Token secret.Text
	// Username and Password log in when they are needed, and again when the token has expired.
	Username string
	Password secret.Text
	// UserAgent names the program.
	UserAgent string
}

// Client speaks to one daemon. Its methods may be called by several goroutines.
type Client struct {
	base    *url.URL
	options Options
	tls     *tls.Config
	http    *http.Client

	mu    sync.Mutex
	token secret.Text
}

// New makes a client. It does not connect yet.
func New(o Options) (*Client, error) {
	base, err := parseBase(o.URL)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: o.Insecure, NextProtos: []string{"http/1.1"}}
	if o.CAFile != "" {
		data, err := os.ReadFile(o.CAFile)
		if err != nil {
			return nil, err
		}
		o.CA = append(o.CA, data...)
	}
	if len(o.CA) > 0 {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(o.CA) {
			return nil, errors.New("the file of trusted authorities holds no PEM certificate")
		}
	}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: config, TLSHandshakeTimeout: 15 * time.Second,
		ResponseHeaderTimeout: 0, MaxIdleConnsPerHost: 4, IdleConnTimeout: time.Minute}
	return &Client{base: base, options: o, tls: config, http: &http.Client{Transport: transport, CheckRedirect: noRedirect}, token: o.Token}, nil
}

func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// parseBase reads the URL of a daemon.
func parseBase(text string) (*url.URL, error) {
	if text == "" {
		text = DefaultURL
	}
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("the daemon's URL cannot be read: %w", err)
	}
	switch {
	case u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "":
		return nil, fmt.Errorf("the daemon's URL is https://HOST:PORT, not %s", u.Redacted())
	case u.User != nil:
		return nil, errors.New("the daemon's URL must not hold a user or password")
	case u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "":
		return nil, fmt.Errorf("the daemon's URL ends behind its host and port: %s://%s", u.Scheme, u.Host)
	}
	if a, err := netip.ParseAddr(u.Hostname()); u.Scheme == "http" && u.Hostname() != "localhost" && (err != nil || !a.IsLoopback()) {
		return nil, fmt.Errorf("http://%s would send passwords in clear over the network; use https://, or a tunnel to a loopback address", u.Host)
	}
	u.Path = ""
	if u.Port() == "" && u.Scheme == "https" {
		u.Host = u.Host + ":8443"
	}
	return u, nil
}

// URL returns where the daemon is.
func (c *Client) URL() string { return c.base.String() }

// Token returns the token that the client uses, for a later client.
func (c *Client) Token() secret.Text {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.token
}

// Close ends idle connections. It does not log out.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Login gets a token for a user and uses it from now on.
func (c *Client) Login(ctx context.Context, username string, password secret.Text) (Session, error) {
	return c.login(ctx, username, password)
}

// Logout ends the token.
func (c *Client) Logout(ctx context.Context) error {
	if c.Token().IsZero() {
		return nil
	}
	err := c.do(ctx, call{method: http.MethodDelete, path: "/session", once: true}, nil)
	c.mu.Lock()
	c.token = secret.Text{}
	c.mu.Unlock()
	return err
}

// HTTP returns the HTTP client, for requests to paths that have no method here. It adds no token.
func (c *Client) HTTP() *http.Client { return c.http }
