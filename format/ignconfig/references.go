package ignconfig

import (
	"bytes"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_6/types"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/internal/bounded"
)

// maxDepth is how deep configs may stand inside each other before this package stops looking into them.
const maxDepth = 5

// references checks what travels inside the config in data: URLs, as a guest does: unpacked, by its hash, and, for configs
// that are merged, by what they say themselves.
func (s source) references(c types.Config, depth int) {
	for i, r := range c.Ignition.Config.Merge {
		s.child(r, dataPath{"ignition", "config", s.mergeKey(), i}, depth)
	}
	s.child(c.Ignition.Config.Replace, dataPath{"ignition", "config", "replace"}, depth)
	for i, r := range c.Ignition.Security.TLS.CertificateAuthorities {
		s.content(r, dataPath{"ignition", "security", "tls", "certificateAuthorities", i})
	}
	for i, f := range c.Storage.Files {
		s.content(f.Contents, dataPath{"storage", "files", i, "contents"})
		for j, r := range f.Append {
			s.content(r, dataPath{"storage", "files", i, "append", j})
		}
	}
}

// mergeKey is the name of the list of merged configs, which is another one in specification 2.
func (s source) mergeKey() string {
	if s.value("ignition", "config", "append") != nil {
		return "append"
	}
	return "merge"
}

// child checks a config inside the config.
func (s source) child(r types.Resource, p dataPath, depth int) {
	data, ok := s.content(r, p)
	if !ok || depth >= maxDepth {
		return
	}
	_, l := parse(data, reading{depth: depth + 1, budget: s.budget})
	n, _ := s.find(p.child("source"))
	*s.list = append(*s.list, diag.Origin{Whole: at(n), What: "in the config at " + s.text(p)}.Carry(l.Sorted())...)
}

// content returns what a data: URL holds, unpacked. It is not ok for other URLs, and when the guest could not get at it.
func (s source) content(r types.Resource, p dataPath) ([]byte, bool) {
	if r.Source == nil {
		return nil, false
	}
	data, ok := DecodeData(*r.Source)
	if !ok {
		return nil, false
	}
	if !s.afford(0) {
		return nil, false
	}
	if r.Compression != nil && *r.Compression == "gzip" {
		plain, err := bounded.Gunzip(data, limits().Bytes)
		switch {
		case errors.Is(err, bounded.ErrTooLarge):
			s.afford(limits().Bytes)
			return nil, false
		case err != nil:
			s.errorf(CodeContent, p.child("source"), `compress it, or remove "compression"`, "the content cannot be unpacked with gzip")
			return nil, false
		}
		data = plain
	} else if bytes.HasPrefix(data, []byte("\x1f\x8b")) && strings.HasPrefix(p.String(), "ignition.") {
		s.errorf(CodeContent, p.child("source"), `add "compression": "gzip"`, "the content is compressed, and nothing says so")
		return nil, false
	}
	s.afford(int64(len(data)))
	if want := r.Verification.Hash; want != nil && !hashFits(*want, data) {
		s.errorf(CodeContent, p.child("verification").child("hash"), "compute it anew, of the content before it is compressed", "the hash is not that of the content")
		return nil, false
	}
	return data, true
}

// afford takes bytes from the budget and reports whether there was something left of it.
func (s source) afford(bytes int64) bool {
	if s.budget == nil {
		return true
	}
	left := *s.budget > 0
	*s.budget -= bytes
	return left
}

// hashFits reports whether the hash of unpacked data is the wanted one.
func hashFits(want string, data []byte) bool {
	function, digits, _ := strings.Cut(want, "-")
	var have string
	switch function {
	case "sha512":
		sum := sha512.Sum512(data)
		have = hex.EncodeToString(sum[:])
	case "sha256":
		sum := sha256.Sum256(data)
		have = hex.EncodeToString(sum[:])
	default:
		return false
	}
	return strings.EqualFold(have, digits)
}

// DecodeData returns the content of a data: URL (RFC 2397), still compressed if it is. It is not ok for other URLs.
func DecodeData(s string) ([]byte, bool) {
	rest, ok := strings.CutPrefix(s, "data:")
	if !ok {
		return nil, false
	}
	kind, text, ok := strings.Cut(rest, ",")
	if !ok {
		return nil, false
	}
	plain, err := url.PathUnescape(text)
	if err != nil {
		return nil, false
	}
	if !strings.HasSuffix(kind, ";base64") {
		return []byte(plain), true
	}
	data, err := base64.StdEncoding.DecodeString(plain)
	return data, err == nil
}

// encodeData makes a data: URL of bytes.
func encodeData(data []byte) string {
	return fmt.Sprintf("data:;base64,%s", base64.StdEncoding.EncodeToString(data))
}
