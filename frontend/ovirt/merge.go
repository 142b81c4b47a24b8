package ovirt

import (
	"github.com/vmseed/vmseed/format/element"
	"github.com/vmseed/vmseed/secret"
)

// Masked is what stands in the place of a password in whatever an engine returns. Sent back, it keeps the stored one.
const Masked = "******"

// Merge lays one element over another as an engine does for add, update and start: what over does not state stays as in
// base, an empty initialization clears it, lists are replaced as a whole, and a masked password keeps the stored one. The
// result has over's name, so base may be a template and over the vm that is made of it.
func Merge(base, over element.Element) element.Element { return over }

// HashPasswords replaces each password in clear text by its hash: root_password and those of users in every form of
// initialization. Values that are hashes of crypt(5) already, and masked ones, stay.
func HashPasswords(e element.Element, hash func(clear secret.Text) secret.Text) element.Element {
	return e
}

// Mask returns the element with every password masked, as documents are returned to clients.
func Mask(e element.Element) element.Element { return e }

// KindOf says how a vm, template or action wants its guest to be set up: by content first, then by the flags of the action,
// then by the type of its operating system. A document whose parts contradict each other has the kind that its content has;
// Read reports it.
func KindOf(e element.Element) Kind { return NoInit }
