package server

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/kubernetes"
)

// What is remembered of reviews. The times are the kubelet's defaults.
const (
	remembered = 4096
	// tokenGood and tokenBad are for how long a token's bearer is known, and known to be nobody.
	tokenGood, tokenBad = 2 * time.Minute, 10 * time.Second
	// mayTime and mayNotTime are for how long a permission and a refusal stand.
	mayTime, mayNotTime = 5 * time.Minute, 30 * time.Second
	// reviewTime is how long the API server may take for a review, and reviews how many are asked for at once.
	reviewTime, reviews = 10 * time.Second, 16
	tokenBytes          = 16 << 10
)

// errNobody says that a request carries nothing that proves who sent it.
var errNobody = errors.New("the request has neither a client certificate of the cluster nor a valid bearer token")

// identity is who sent a request, as the API server knows them.
type identity struct {
	name, uid string
	groups    []string
	extra     map[string][]string
}

// authority holds the certificates of a file, and reads it again when it has changed.
type authority struct {
	path   string
	logger *slog.Logger

	mu    sync.Mutex
	seen  os.FileInfo
	certs *x509.CertPool
}

// load reads the file when it is not the one that was read last.
func (a *authority) load() error {
	info, err := os.Stat(a.path)
	if err != nil {
		return fmt.Errorf("the authority of client certificates: %w", err)
	}
	if a.seen != nil && os.SameFile(a.seen, info) && info.ModTime().Equal(a.seen.ModTime()) && info.Size() == a.seen.Size() {
		return nil
	}
	pem, err := os.ReadFile(a.path)
	if err != nil {
		return fmt.Errorf("the authority of client certificates: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return fmt.Errorf("the authority of client certificates: %s has no certificate", a.path)
	}
	a.seen, a.certs = info, pool
	return nil
}

// pool returns the authorities as they are now. While the file cannot be read, those of before count.
func (a *authority) pool() *x509.CertPool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.load(); err != nil {
		a.logger.Error("clients are judged by the authorities that were read before", "error", err)
	}
	return a.certs
}

// authenticator finds out who sent a request.
type authenticator struct {
	authority *authority
	client    kubernetes.Interface
	tokens    *cache.LRUExpireCache
	turns     chan struct{}
}

func newAuthenticator(a *authority, client kubernetes.Interface) *authenticator {
	return &authenticator{authority: a, client: client, tokens: cache.NewLRUExpireCache(remembered), turns: make(chan struct{}, reviews)}
}

// identify returns who sent a request, errNobody, or another error when the API server could not be asked.
func (a *authenticator) identify(r *http.Request) (*identity, error) {
	if who, ok := a.byCertificate(r); ok {
		return who, nil
	}
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	if !ok || !strings.EqualFold(scheme, "Bearer") || token == "" || len(token) > tokenBytes {
		return nil, errNobody
	}
	// The token itself is a secret, so it is not what is kept.
	key := sha256.Sum256([]byte(token))
	if known, ok := a.tokens.Get(key); ok {
		who, _ := known.(*identity)
		if who == nil {
			return nil, errNobody
		}
		return who, nil
	}
	who, err := a.review(r.Context(), token)
	if err != nil {
		return nil, err
	}
	if who == nil {
		a.tokens.Add(key, who, tokenBad)
		return nil, errNobody
	}
	a.tokens.Add(key, who, tokenGood)
	return who, nil
}

// byCertificate takes the certificate of the connection when an authority of now has signed it for clients.
func (a *authenticator) byCertificate(r *http.Request) (*identity, bool) {
	if a.authority == nil || r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return nil, false
	}
	leaf := r.TLS.PeerCertificates[0]
	options := x509.VerifyOptions{Roots: a.authority.pool(), Intermediates: x509.NewCertPool(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	for _, c := range r.TLS.PeerCertificates[1:] {
		options.Intermediates.AddCert(c)
	}
	if _, err := leaf.Verify(options); err != nil || leaf.Subject.CommonName == "" {
		return nil, false
	}
	return &identity{name: leaf.Subject.CommonName, groups: append([]string{"system:authenticated"}, leaf.Subject.Organization...)}, true
}

// review asks the API server who bears a token; nil is nobody.
func (a *authenticator) review(ctx context.Context, token string) (*identity, error) {
	ctx, done, err := turn(ctx, a.turns)
	if err != nil {
		return nil, err
	}
	defer done()
	answer, err := a.client.AuthenticationV1().TokenReviews().Create(ctx,
		&authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
	if err != nil {
		// The API server's words might name the token.
		return nil, errors.New("the API server could not be asked about the token")
	}
	if !answer.Status.Authenticated || answer.Status.User.Username == "" {
		return nil, nil
	}
	u := answer.Status.User
	who := &identity{name: u.Username, uid: u.UID, groups: u.Groups, extra: map[string][]string{}}
	for k, v := range u.Extra {
		who.extra[k] = v
	}
	return who, nil
}

// turn waits until fewer than the allowed number of reviews are under way. The context that it returns ends with ctx or
// after reviewTime.
func turn(ctx context.Context, turns chan struct{}) (context.Context, func(), error) {
	ctx, cancel := context.WithTimeout(ctx, reviewTime)
	select {
	case turns <- struct{}{}:
		return ctx, func() { <-turns; cancel() }, nil
	case <-ctx.Done():
		cancel()
		return nil, nil, errors.New("too many requests ask who they are from; try again")
	}
}
