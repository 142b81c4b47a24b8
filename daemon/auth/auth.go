// Package auth decides who may use the daemon: users with passwords out of a file, and the tokens that they get for them.
//
// A Guard checks passwords with equal work for names that exist and names that do not, and ever more slowly for whoever
// guesses. Tokens live in memory only, as hashes, so neither a stolen state directory nor a core dump of yesterday lets
// anybody in.
package auth

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/vmseed/vmseed/secret"
)

// DefaultProfile is the profile of names that have none, and Admin the first user of a new daemon.
const (
	DefaultProfile = "internal"
	Admin          = "admin@" + DefaultProfile
)

// ErrDenied means that name and password, or a token, let nobody in. It does not say why: whoever guesses must not learn
// which names exist.
var ErrDenied = errors.New("the user name or the password is wrong")

// ErrExpired means that a token is none of this daemon's, or no longer.
var ErrExpired = errors.New("the token is unknown or has expired")

// SlowDownError refuses an attempt without looking at the password, because too many failed before.
type SlowDownError struct {
	// After is when another attempt makes sense.
	After time.Duration
}

// Error says how long to wait.
func (e *SlowDownError) Error() string {
	return fmt.Sprintf("too many attempts failed; try again in %s", e.After.Round(time.Second))
}

// RetryAfter is how long to wait in whole seconds, as HTTP's header of that name says it (RFC 9110 section 10.2.3).
func (e *SlowDownError) RetryAfter() string {
	return strconv.Itoa(int(math.Ceil(max(1, e.After.Seconds()))))
}

// Method is how somebody proved who they are.
type Method string

// The methods.
const (
	ByToken    Method = "token"
	ByCookie   Method = "cookie"
	ByPassword Method = "password"
)

// Identity is who makes a request.
type Identity struct {
	// Name is name@profile.
	Name   string
	Method Method
	// token is what the request was made with, or else line the user's hash when the password was right.
	token, line secret.Text
}

// Session is what a login gives.
type Session struct {
	Identity Identity
	Token    secret.Text
	// Idle is when the token ends if nobody uses it, Expires when it ends in any case.
	Idle, Expires time.Time
}

type contextKey struct{}

// NewContext returns a context that carries who makes the request.
func NewContext(ctx context.Context, id Identity) context.Context {
	return context.WithValue(ctx, contextKey{}, id)
}

// FromContext returns who makes the request. It reports false outside of requests that were authenticated.
func FromContext(ctx context.Context) (Identity, bool) {
	id, ok := ctx.Value(contextKey{}).(Identity)
	return id, ok
}
