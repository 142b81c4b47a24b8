package ovirtapi

import (
	"fmt"

	"github.com/vmseed/vmseed/format/crypt"
	"github.com/vmseed/vmseed/format/element"
	"github.com/vmseed/vmseed/frontend/ovirt"
	"github.com/vmseed/vmseed/secret"
)

// hashed replaces passwords in clear text by their hashes for the guest's /etc/shadow. The salt is that of the user of the VM
// or template with the id: a request that comes again must make the same definition, or first boot would run again for it.
func (a *API) hashed(id string, e element.Element) (element.Element, error) {
	var failure error
	e = ovirt.HashPasswords(e, func(user string, clear secret.Text) secret.Text {
		hash, err := crypt.SHA512(clear.Reveal(), a.d.PasswordSalt(id, user))
		if err != nil {
			failure = fmt.Errorf("a password cannot be hashed: %w", err)
		}
		return secret.New(hash)
	})
	return e, failure
}
