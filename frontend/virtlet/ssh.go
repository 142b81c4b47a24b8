package virtlet

import (
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/frontend/internal/kubedoc"
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
	for _, key := range kubedoc.KeyLines(r.list, CodeSSHKey, "ssh.authorizedKeys", text, origin) {
		if len(r.m.SSH.AuthorizedKeys) == 0 {
			r.at(key.Place, "ssh.authorizedKeys")
		}
		r.at(key.Place, "ssh.authorizedKeys[%d]", len(r.m.SSH.AuthorizedKeys))
		r.m.SSH.AuthorizedKeys = append(r.m.SSH.AuthorizedKeys, key.Text)
	}
}
