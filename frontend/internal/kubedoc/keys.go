package kubedoc

import (
	"encoding/base64"
	"encoding/binary"
	"strings"

	"github.com/vmseed/vmseed/diag"
)

// KeyLine is a line of authorized_keys with its place.
type KeyLine struct {
	Text  string
	Place diag.Range
}

// KeyLines takes a text of SSH public keys apart. Empty lines and comments are no keys. A line that cannot be one is kept,
// with a warning; a private key is an error, and nothing behind it is read. Diagnostics name field, never the line.
func KeyLines(l *diag.List, code diag.Code, field, text string, origin diag.Origin) []KeyLine {
	var out []KeyLine
	for i, line := range strings.Split(text, "\n") {
		key := strings.TrimSpace(line)
		if key == "" || strings.HasPrefix(key, "#") {
			continue
		}
		place := origin.At(i+1, 1)
		if strings.Contains(key, "PRIVATE KEY") {
			l.Add(diag.Diagnostic{Code: code, Severity: diag.Error, Range: place, Field: field,
				Summary: "this is a private key", Remedy: "put the public key here, and consider the private one as known to others"})
			return out
		}
		if !isPublicKey(key) {
			l.Add(diag.Diagnostic{Code: code, Severity: diag.Warning, Range: place, Field: field,
				Summary: "this line is not an SSH public key, so nobody can log in with it", Remedy: "copy the line of the .pub file"})
		}
		out = append(out, KeyLine{key, place})
	}
	return out
}

// isPublicKey reports whether a line of authorized_keys (sshd(8)) holds a key: options may stand before it. The key's
// first member is its type (RFC 4253, section 6.6).
func isPublicKey(line string) bool {
	fields := strings.Fields(line)
	for i := 0; i+1 < len(fields); i++ {
		blob, err := base64.StdEncoding.DecodeString(fields[i+1])
		if err != nil || len(blob) < 4 {
			continue
		}
		n := binary.BigEndian.Uint32(blob)
		if uint64(n) < uint64(len(blob)-4) && string(blob[4:4+n]) == fields[i] {
			return true
		}
	}
	return false
}
