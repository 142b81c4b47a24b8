package ovirtclient

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/vmseed/vmseed/format/element"
	"github.com/vmseed/vmseed/internal/bounded"
	"github.com/vmseed/vmseed/secret"
)

// session is a user of an engine, from login to logout.
type session struct {
	target  Target
	options Options
	client  *http.Client
	token   secret.Text
	// filter asks with the rights of an ordinary user.
	filter bool
	// last is the text of the last VM that was read.
	last []byte
}

// answer is what came back, at most maxDocument bytes of it.
type answer struct {
	status      int
	contentType string
	body        []byte
}

// tries is how often a request is sent that an engine out of service does not answer.
const tries = 3

func newSession(t Target, o Options) (*session, error) {
	if o.Timeout == 0 {
		o.Timeout = time.Minute
	}
	if o.Pause == 0 {
		o.Pause = time.Second
	}
	if t.User != "" {
		o.User = t.User
	}
	if o.User == "" {
		o.User = DefaultUser
	}
	s := &session{target: t, options: o, token: o.Token}
	trust := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: o.Insecure}
	if len(o.CA) > 0 {
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		if !pool.AppendCertsFromPEM(o.CA) {
			return nil, s.errorf("give the file that "+s.caAddress()+" returns", "the file of the authority holds no certificate in PEM")
		}
		trust.RootCAs = pool
	}
	s.client = &http.Client{
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: trust, ForceAttemptHTTP2: true,
			DialContext: (&net.Dialer{Timeout: o.Timeout}).DialContext, TLSHandshakeTimeout: o.Timeout, MaxResponseHeaderBytes: 1 << 20},
		// A redirect would take the token or the password to wherever the answer says.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return s, nil
}

func (s *session) caAddress() string {
	return "https://" + s.target.Host + "/ovirt-engine/services/pki-resource?resource=ca-certificate&format=X509-PEM-CA"
}

// login asks for a token, unless the user has one.
func (s *session) login(ctx context.Context) error {
	if !s.token.IsZero() {
		return nil
	}
	if s.options.Password.IsZero() {
		return s.errorf("set OVIRT_PASSWORD, or OVIRT_TOKEN to an access token", "there is no password for %s", s.options.User)
	}
	form := url.Values{"grant_type": {"password"}, "scope": {"ovirt-app-api"}, "username": {s.options.User}, "password": {s.options.Password.Reveal()}}
	a, err := s.send(ctx, http.MethodPost, "/ovirt-engine/sso/oauth/token", form)
	if err != nil {
		return err
	}
	var token struct {
		Access      string `json:"access_token"`
		Error       string `json:"error"`
		Code        string `json:"error_code"`
		Description string `json:"error_description"`
	}
	if media, _, _ := mime.ParseMediaType(a.contentType); media != "application/json" || json.Unmarshal(a.body, &token) != nil {
		return s.errorf("see that the address is that of an engine", "it does not answer as an engine does: status %d for the login", a.status)
	}
	switch {
	case a.status == http.StatusOK && token.Access != "":
		s.token = secret.New(token.Access)
		return nil
	case token.Code == "access_denied" || token.Error == "access_denied" || a.status == http.StatusUnauthorized:
		return s.errorf("see that OVIRT_PASSWORD is right and that the user has a profile, as in admin@internal; after several wrong "+
			"passwords an engine locks the account for some time", "the engine does not let %s in", s.options.User)
	}
	return s.errorf("", "the engine refuses the login of %s with status %d: %s", s.options.User, a.status, s.clean(token.Code+" "+token.Description))
}

// logout tells the engine to forget the token. Whether it does is its own business.
func (s *session) logout(ctx context.Context) {
	if !s.options.Token.IsZero() {
		return
	}
	form := url.Values{"scope": {"ovirt-app-api"}, "token": {s.token.Reveal()}}
	_, _ = s.once(ctx, http.MethodPost, "/ovirt-engine/services/sso-logout", form)
}

func (s *session) get(ctx context.Context, path string) (answer, error) {
	return s.send(ctx, http.MethodGet, "/ovirt-engine/api"+path, nil)
}

// send sends a request, a few times if there is nobody. Logging in twice is harmless, so all requests may be sent again.
func (s *session) send(ctx context.Context, method, path string, form url.Values) (a answer, err error) {
	pause := s.options.Pause
	for try := 1; ; try++ {
		a, err = s.once(ctx, method, path, form)
		again := err == nil && (a.status == http.StatusBadGateway || a.status == http.StatusServiceUnavailable || a.status == http.StatusGatewayTimeout) ||
			err != nil && passing(err)
		if !again || try == tries {
			break
		}
		select {
		case <-ctx.Done():
			return answer{}, ctx.Err()
		case <-time.After(pause):
			pause *= 2
		}
	}
	if ctx.Err() != nil {
		return answer{}, ctx.Err()
	}
	if err != nil {
		return answer{}, s.unreachable(err)
	}
	return a, nil
}

// passing reports whether a trouble of the network may pass by itself. A certificate does not change, nor does a name.
func passing(err error) bool {
	var certificate *tls.CertificateVerificationError
	var name *net.DNSError
	var record tls.RecordHeaderError
	if errors.As(err, &certificate) || errors.As(err, &record) || errors.Is(err, bounded.ErrTooLarge) || errors.Is(err, http.ErrSchemeMismatch) {
		return false
	}
	return !errors.As(err, &name) || name.IsTemporary
}

// once sends a request one time.
func (s *session) once(ctx context.Context, method, path string, form url.Values) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	request, err := http.NewRequestWithContext(ctx, method, "https://"+s.target.Host+path, body)
	if err != nil {
		return answer{}, err
	}
	request.Header.Set("User-Agent", "vmseed")
	if form != nil {
		request.Header.Set("Accept", "application/json") // the engine insists on exactly this
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	} else {
		request.Header.Set("Accept", "application/xml")
		request.Header.Set("Version", "4")
		request.Header.Set("Authorization", "Bearer "+s.token.Reveal())
		if s.filter {
			request.Header.Set("Filter", "true")
		}
	}
	response, err := s.client.Do(request)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err // the address is said by the caller
		}
		return answer{}, err
	}
	defer response.Body.Close()
	data, err := bounded.ReadAll(response.Body, maxDocument)
	if err != nil {
		return answer{}, err
	}
	return answer{response.StatusCode, response.Header.Get("Content-Type"), data}, nil
}

// Error is a trouble with an engine: what is wrong and what to do about it.
type Error struct {
	// Host is that of the engine.
	Host string
	// What says what is wrong, Remedy what to do; Remedy may be empty.
	What, Remedy string
	cause        error
}

// Error returns host, trouble and remedy in one line.
func (e *Error) Error() string {
	text := e.Host + ": " + e.What
	if e.Remedy != "" {
		text += "; " + e.Remedy
	}
	return text
}

// Unwrap returns the error of the network, if there is one.
func (e *Error) Unwrap() error { return e.cause }

func (s *session) errorf(remedy, format string, args ...any) error {
	return &Error{Host: s.target.Host, What: fmt.Sprintf(format, args...), Remedy: remedy}
}

// unreachable explains an error of the network.
func (s *session) unreachable(err error) error {
	e := &Error{Host: s.target.Host, What: "no answer: " + err.Error(), Remedy: "see that host and port are right", cause: err}
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &unknown):
		e.What = "its certificate is signed by an authority that this host does not know"
		e.Remedy = "fetch the authority's certificate with curl -k -o ca.pem '" + s.caAddress() +
			"', compare it with the one on the engine (/etc/pki/ovirt-engine/ca.pem), and set OVIRT_CAFILE=ca.pem"
	case errors.As(err, &host):
		e.What, e.Remedy = "its certificate is for another name: "+host.Error(), "use the name that the engine was set up with"
	case errors.As(err, &invalid):
		e.What, e.Remedy = "its certificate is not valid: "+invalid.Error(), "see that the clock of this host is right, or renew the certificate on the engine"
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		e.What, e.Remedy = "it does not speak TLS", "use the port of HTTPS"
	case errors.Is(err, bounded.ErrTooLarge):
		e.What, e.Remedy = fmt.Sprintf("the answer has more than %d MiB", maxDocument>>20), "see that the address is that of an engine"
	case isTimeout(err) || errors.Is(err, context.DeadlineExceeded):
		e.What, e.Remedy = fmt.Sprintf("no answer within %v", s.options.Timeout), "see that host and port are right, and that no firewall is in between"
	}
	return e
}

// failure explains an answer other than the expected one, from the engine's own words where there are any.
func (s *session) failure(a answer) error {
	reason := ""
	if e, l := element.ParseXML("answer", a.body, bounded.Limits{}); !l.HasErrors() && e.Name == "fault" {
		reason = s.clean(e.Child("reason").Text + " " + e.Child("detail").Text)
	}
	switch {
	case a.status == http.StatusUnauthorized && !s.options.Token.IsZero():
		return s.errorf("get a new one, or set OVIRT_PASSWORD instead", "the engine does not take the token of OVIRT_TOKEN any more")
	case a.status == http.StatusUnauthorized:
		return s.errorf("give the user a role on the VM, such as UserRole", "the engine does not let %s use its API", s.options.User)
	case a.status == http.StatusForbidden:
		return s.errorf("give the user a role on the VM, such as UserRole", "%s may not see the virtual machine", s.options.User)
	case a.status == http.StatusNotFound:
		return s.errorf("see that name or id are right, and that the address is that of an engine", "there is no virtual machine %q", s.target.VM)
	case a.status >= 300 && a.status < 400:
		return s.errorf("use the name of the engine itself", "it sends to another address")
	case reason != "":
		return s.errorf("", "the engine answers with status %d: %s", a.status, reason)
	}
	return s.errorf("see that the address is that of an engine", "the answer has the status %d", a.status)
}

// clean makes one short line of what an engine said, without the secrets that were sent to it.
func (s *session) clean(text string) string {
	for _, hidden := range []secret.Text{s.options.Password, s.token} {
		if h := hidden.Reveal(); h != "" {
			text = strings.ReplaceAll(text, h, secret.Redacted)
		}
	}
	text = strings.Join(strings.FieldsFunc(text, func(c rune) bool { return c <= ' ' || c == 0x7f }), " ")
	if cut := []rune(text); len(cut) > 300 {
		text = string(cut[:300]) + "…"
	}
	return text
}
