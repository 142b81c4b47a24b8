package metadata

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"hash"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The header fields of EC2's sessions, in the spelling of net/http, and the longest life of a session (EC2 User Guide,
// "Use IMDSv2": six hours).
const (
	tokenHeader = "X-Aws-Ec2-Metadata-Token"
	ttlHeader   = "X-Aws-Ec2-Metadata-Token-Ttl-Seconds"
	maxTTL      = 21600
)

// tokens makes session tokens and knows them again. A token is the time of its end and an HMAC over that and the site,
// so there is nothing to keep and nothing to fill up. Time is what has passed since the start, by a clock that nobody
// sets.
type tokens struct {
	start time.Time
	macs  sync.Pool
	// encoding has one text for each token and no other.
	encoding *base64.Encoding
}

// The length of a token, before it is text and as text of base64.
const (
	tokenBytes = 8 + sha256.Size
	tokenText  = (tokenBytes*8 + 5) / 6
)

func newTokens() *tokens {
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // never fails
	return &tokens{start: time.Now(), encoding: base64.RawURLEncoding.Strict(), macs: sync.Pool{New: func() any { return &mac{Hash: hmac.New(sha256.New, key)} }}}
}

// mac is an HMAC with room for what goes in and out.
type mac struct {
	hash.Hash
	raw, want [tokenBytes]byte
}

// sum puts the HMAC over a site and a time behind that time.
func (m *mac) sum(out *[tokenBytes]byte, s *Site) {
	m.Reset()
	_, _ = m.Write(s.id[:])
	_, _ = m.Write(out[:8])
	m.Sum(out[:8])
}

// issue makes a token for a site.
func (t *tokens) issue(s *Site, ttl time.Duration) string {
	m := t.macs.Get().(*mac)
	defer t.macs.Put(m)
	binary.BigEndian.PutUint64(m.raw[:], uint64(time.Since(t.start)+ttl))
	m.sum(&m.raw, s)
	return t.encoding.EncodeToString(m.raw[:])
}

// good reports whether a text is a token of a site whose time is not over.
func (t *tokens) good(s *Site, text string) bool {
	if len(text) != tokenText {
		return false
	}
	m := t.macs.Get().(*mac)
	defer t.macs.Put(m)
	var in [tokenText]byte
	copy(in[:], text)
	if n, err := t.encoding.Decode(m.raw[:], in[:]); err != nil || n != tokenBytes {
		return false
	}
	copy(m.want[:8], m.raw[:8])
	m.sum(&m.want, s)
	return hmac.Equal(m.raw[:], m.want[:]) && time.Duration(binary.BigEndian.Uint64(m.raw[:])) > time.Since(t.start)
}

// forwarded reports whether a proxy has passed a request on: EC2 refuses tokens to those, because a proxy that asks for
// whatever it is told to must not begin sessions. A proxy that identifies machines writes one address of its own.
func forwarded(header http.Header, proxied bool) bool {
	for name, values := range header {
		switch strings.ToLower(strings.ReplaceAll(name, "_", "-")) {
		case "forwarded":
			return true
		case "x-forwarded-for":
			if !proxied || name != "X-Forwarded-For" || len(values) != 1 {
				return true
			}
			if _, err := netip.ParseAddr(values[0]); err != nil {
				return true
			}
		}
	}
	return false
}

// tokenLife is the life that a request asks for, and 0 when it does not ask as EC2 wants it.
func tokenLife(header http.Header) (text []string, life time.Duration) {
	text = header[ttlHeader]
	if len(text) != 1 || len(text[0]) > 5 || strings.Trim(text[0], "0123456789") != "" {
		return nil, 0
	}
	n, err := strconv.Atoi(text[0])
	if err != nil || n < 1 || n > maxTTL {
		return nil, 0
	}
	return text, time.Duration(n) * time.Second
}
