package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"github.com/vmseed/vmseed/internal/bounded"
	"github.com/vmseed/vmseed/secret"
)

// Prefix is where the API is below the daemon's URL.
const Prefix = "/api/v1"

// maxAnswer bounds what is read of an answer, in bytes.
const maxAnswer = 256 << 20

// Error is an answer that says no, as RFC 9457 has it.
type Error struct {
	// Status is the HTTP status; Title its short text.
	Status int    `json:"status"`
	Title  string `json:"title"`
	// Detail is what is wrong, in a sentence.
	Detail string `json:"detail,omitempty"`
	// Request is the id under which the daemon's log has the request.
	Request string `json:"request,omitempty"`
	// Diagnostics are what is wrong with the documents.
	Diagnostics []Diagnostic `json:"diagnostics,omitempty"`
}

// Error says what is wrong; diagnostics stand in a line each.
func (e *Error) Error() string {
	if l := List(e.Diagnostics); l.HasErrors() {
		return l.Error()
	}
	if e.Detail != "" {
		return e.Detail
	}
	return fmt.Sprintf("the daemon answered %d %s", e.Status, e.Title)
}

// IsForeign reports whether an error is an answer that no daemon gave: that of a proxy, of a program that is something else, or
// of a port that speaks TLS to a client that does not.
func IsForeign(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Request == ""
}

// IsNotFound reports whether an error means that there is no such object.
func IsNotFound(err error) bool { return hasStatus(err, http.StatusNotFound) }

// IsConflict reports whether an error means that an object is not in a state for this, or that its name is taken.
func IsConflict(err error) bool { return hasStatus(err, http.StatusConflict) }

// IsStale reports whether an error means that a machine has another revision than the one that a change was made of.
func IsStale(err error) bool { return hasStatus(err, http.StatusPreconditionFailed) }

// IsUnauthorized reports whether an error means that user, password or token let nobody in.
func IsUnauthorized(err error) bool { return hasStatus(err, http.StatusUnauthorized) }

func hasStatus(err error, status int) bool {
	var e *Error
	return errors.As(err, &e) && e.Status == status
}

// call is a request.
type call struct {
	method, path string
	query        url.Values
	body         any
	// once means that a token that has expired is not renewed for it.
	once bool
	// accept is the type of the answer; empty means JSON.
	accept string
	// revision is the one that the object must have; empty means any.
	revision string
}

// do sends a request and decodes the answer into out, which may be nil.
func (c *Client) do(ctx context.Context, r call, out any) error {
	answer, err := c.send(ctx, r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if out == nil {
		_, err := io.Copy(io.Discard, io.LimitReader(answer.Body, maxAnswer))
		return err
	}
	data, err := bounded.ReadAll(answer.Body, maxAnswer)
	if err != nil {
		return fmt.Errorf("%s %s: %w", r.method, Prefix+r.path, err)
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("%s %s: the answer is not what this program expects: %w", r.method, Prefix+r.path, err)
	}
	return nil
}

// send sends a request, after a login where one is needed. Its answer says yes.
func (c *Client) send(ctx context.Context, r call) (*http.Response, error) {
	token := c.Token()
	canLogin := c.options.Username != "" && !r.once
	if token.IsZero() && canLogin {
		if _, err := c.login(ctx, c.options.Username, c.options.Password); err != nil {
			return nil, err
		}
		token = c.Token()
	}
	answer, err := c.try(ctx, r, token)
	if IsUnauthorized(err) && canLogin {
		if _, err := c.login(ctx, c.options.Username, c.options.Password); err != nil {
			return nil, err
		}
		answer, err = c.try(ctx, r, c.Token())
	}
	return answer, err
}

func (c *Client) try(ctx context.Context, r call, token secret.Text) (*http.Response, error) {
	request, err := c.request(ctx, r, token)
	if err != nil {
		return nil, err
	}
	answer, err := c.http.Do(request)
	if err != nil {
		return nil, c.explain(err)
	}
	if answer.StatusCode/100 != 2 {
		defer answer.Body.Close()
		return nil, refusal(answer)
	}
	return answer, nil
}

func (c *Client) request(ctx context.Context, r call, token secret.Text) (*http.Request, error) {
	var body io.Reader
	if r.body != nil {
		data, err := json.Marshal(r.body)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(data)
	}
	u := *c.base
	u.Path = Prefix + r.path
	u.RawQuery = r.query.Encode()
	request, err := http.NewRequestWithContext(ctx, r.method, u.String(), body)
	if err != nil {
		return nil, err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	request.Header.Set("Accept", "application/json")
	if r.accept != "" {
		request.Header.Set("Accept", r.accept)
	}
	if r.revision != "" {
		request.Header.Set("If-Match", strconv.Quote(r.revision))
	}
	if c.options.UserAgent != "" {
		request.Header.Set("User-Agent", c.options.UserAgent)
	}
	if !token.IsZero() {
		request.Header.Set("Authorization", "Bearer "+token.Reveal())
	}
	return request, nil
}

// maxPlain is the longest plain text that says what is wrong, in bytes.
const maxPlain = 200

// refusal reads an answer that says no.
func refusal(answer *http.Response) error {
	e := &Error{}
	data, _ := io.ReadAll(io.LimitReader(answer.Body, 4<<20))
	media, _, _ := strings.Cut(answer.Header.Get("Content-Type"), ";")
	if media != "application/problem+json" || json.Unmarshal(data, e) != nil {
		e = &Error{}
		if text := strings.TrimSpace(string(data)); media == "text/plain" && len(text) <= maxPlain && !strings.ContainsFunc(text, unicode.IsControl) {
			e.Detail = text
		}
	}
	e.Status = answer.StatusCode
	if e.Title == "" {
		e.Title = http.StatusText(answer.StatusCode)
	}
	return e
}

// explain leaves the URL out of errors of the transport, and names the daemon instead.
func (c *Client) explain(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return fmt.Errorf("%s: %w", c.base.Host, err)
}

// LoginRequest asks for a token.
type LoginRequest struct {
	Username string
	Password secret.Text
}

// wireCredentials is how a LoginRequest travels.
type wireCredentials struct {
	Username string `json:"username"`
	Password string `json:"password"`
}

// MarshalJSON writes the request with its password.
func (r LoginRequest) MarshalJSON() ([]byte, error) {
	return json.Marshal(wireCredentials{r.Username, r.Password.Reveal()})
}

// UnmarshalJSON reads a request.
func (r *LoginRequest) UnmarshalJSON(data []byte) error {
	var w wireCredentials
	err := json.Unmarshal(data, &w)
	*r = LoginRequest{Username: w.Username, Password: secret.New(w.Password)}
	return err
}

// LoginResult is the answer to a login.
type LoginResult struct {
	Session
	// Token is for the Authorization header, behind Bearer.
	Token secret.Text
}

// wireLogin is how a LoginResult travels.
type wireLogin struct {
	Session
	Token string `json:"token"`
}

// MarshalJSON writes the result with its token.
func (r LoginResult) MarshalJSON() ([]byte, error) {
	return json.Marshal(wireLogin{r.Session, r.Token.Reveal()})
}

// UnmarshalJSON reads a result.
func (r *LoginResult) UnmarshalJSON(data []byte) error {
	var w wireLogin
	err := json.Unmarshal(data, &w)
	*r = LoginResult{Session: w.Session, Token: secret.New(w.Token)}
	return err
}

func (c *Client) login(ctx context.Context, username string, password secret.Text) (Session, error) {
	request := call{method: http.MethodPost, path: "/session", body: LoginRequest{username, password}, once: true}
	answer, err := c.try(ctx, request, secret.Text{})
	if err != nil {
		return Session{}, err
	}
	defer answer.Body.Close()
	var result LoginResult
	if err := json.NewDecoder(io.LimitReader(answer.Body, 1<<20)).Decode(&result); err != nil {
		return Session{}, fmt.Errorf("POST %s/session: %w", Prefix, err)
	}
	c.mu.Lock()
	c.token = result.Token
	c.mu.Unlock()
	return result.Session, nil
}
