package ovirtapi

import (
	"fmt"

	"github.com/vmseed/vmseed/format/element"
	"github.com/vmseed/vmseed/frontend/ovirt"
	"github.com/vmseed/vmseed/secret"
)

// hashed replaces passwords in clear text by the hashes that users of the VM or template with the id have for them.
func (a *API) hashed(id string, e element.Element) (element.Element, error) {
	var failure error
	e = ovirt.HashPasswords(e, func(user string, clear secret.Text) secret.Text {
		hash, err := a.d.PasswordHash(id, user, clear)
		if err != nil {
			failure = fmt.Errorf("a password cannot be hashed: %w", err)
		}
		return hash
	})
	return e, failure
}
