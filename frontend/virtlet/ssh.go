package virtlet

import (
	"encoding/base64"
	"encoding/binary"
	"strings"

	"github.com/vmseed/vmseed/diag"
)

// sshKeys collects the keys of the source object, then those of the annotation. With Overwrite, the annotation's alone
// count if it has any.
func (r *reader) sshKeys() {
	inline, from := r.notes[sshKeys], r.notes[sshKeySource]
	if from.text != "" {
		if o, key, ok := r.source(from, true); ok {
			if key == "" {
				key = "authorized_keys"
			}
			switch item, ok := o.Item(key); {
			case !ok:
				r.missingKey(from.value, o, key, false)
			case r.overwrite && strings.TrimSpace(inline.text) != "":
				from.value.Warnf(r.list, CodeReplaced, "remove one of the two", "%s is %q, so the keys of %s take the place of these",
					userDataOverwrite, "true", sshKeys)
			default:
				r.addKeys(item.Value.Reveal(), item.Origin)
			}
		}
	}
	r.addKeys(inline.text, inline.origin())
}

// addKeys appends the lines of a text that are not empty and no comments.
func (r *reader) addKeys(text string, origin diag.Origin) {
	for i, line := range strings.Split(text, "\n") {
		key := strings.TrimSpace(line)
		if key == "" || strings.HasPrefix(key, "#") {
			continue
		}
		place := origin.At(i+1, 1)
		if strings.Contains(key, "PRIVATE KEY") {
			r.list.Add(diag.Diagnostic{Code: CodeSSHKey, Severity: diag.Error, Range: place, Field: "ssh.authorizedKeys",
				Summary: "this is a private key", Remedy: "put the public key here, and consider the private one as known to others"})
			return
		}
		if !isPublicKey(key) {
			r.list.Add(diag.Diagnostic{Code: CodeSSHKey, Severity: diag.Warning, Range: place, Field: "ssh.authorizedKeys",
				Summary: "this line is not an SSH public key, so nobody can log in with it", Remedy: "copy the line of the .pub file"})
		}
		if len(r.m.SSH.AuthorizedKeys) == 0 {
			r.at(place, "ssh.authorizedKeys")
		}
		r.at(place, "ssh.authorizedKeys[%d]", len(r.m.SSH.AuthorizedKeys))
		r.m.SSH.AuthorizedKeys = append(r.m.SSH.AuthorizedKeys, key)
	}
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
