// Package account makes password hashes for the users of a guest.
package account

import (
	"fmt"
	"strings"

	"github.com/vmseed/vmseed/format/crypt"
	"github.com/vmseed/vmseed/machine"
)

// Hash returns the hash of a user's password, or "" when the user has none. The salt depends on who the user is and on
// the instance, never on the password. Odd reports that the user's own passwordHash does not look like one of crypt(5); it
// is returned all the same.
func Hash(m machine.Machine, u machine.User) (hash string, odd bool, err error) {
	if !u.PasswordHash.IsZero() {
		hash = u.PasswordHash.Reveal()
		return hash, !crypt.IsHash(hash), nil
	}
	if u.Password.IsZero() {
		return "", false, nil
	}
	id := m.Identity
	hash, err = crypt.SHA512(u.Password.Reveal(), crypt.Salt(m.Namespace, m.Name, id.UUID, u.Name, fmt.Sprint(id.Revision)))
	return hash, false, err
}

// Opens reports whether a hash lets anyone in: the marks of a locked account do not.
func Opens(hash string) bool { return hash != "" && hash != "*" && !strings.HasPrefix(hash, "!") }
