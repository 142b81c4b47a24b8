package ovirt

import (
	"strings"

	"github.com/vmseed/vmseed/format/element"
	"github.com/vmseed/vmseed/secret"
)

// passwords applies change to every password of the document and the element that it is in: root_password, password of a
// user in any form of initialization, and of the domain's user of older requests. An element for which change returns false
// is left out.
func passwords(e element.Element, change func(parent, p element.Element) (element.Element, bool)) element.Element {
	if len(e.Children) == 0 {
		return e
	}
	out := make([]element.Element, 0, len(e.Children))
	for _, c := range e.Children {
		if !isPassword(e.Name, c.Name) {
			// An element that is emptied by leaving passwords out must not look like one that was empty.
			if changed := passwords(c, change); c.Empty() || !changed.Empty() {
				out = append(out, changed)
			}
			continue
		}
		if c, keep := change(e, c); keep {
			out = append(out, c)
		}
	}
	e.Children = out
	return e
}

func nameIn(e element.Element) string { return strings.TrimSpace(e.Child("user_name").Text) }

func isPassword(parent, name string) bool {
	return name == "root_password" || parent == "user" && name == "password"
}

// HashPasswords replaces each password in clear text by its hash: root_password and those of users in every form of
// initialization. hash gets the name of the user whose password it is, as a context for the salt; it is empty for a user
// without one. Values that are hashes of crypt(5) already, and masked ones, stay.
func HashPasswords(e element.Element, hash func(user string, clear secret.Text) secret.Text) element.Element {
	return passwords(e, func(parent, p element.Element) (element.Element, bool) {
		if p.Text != "" && p.Text != Masked && !hashed.MatchString(p.Text) {
			user := nameIn(parent)
			if user == "" && p.Name == "root_password" {
				user = "root"
			}
			p = element.Text(p.Name, hash(user, secret.New(p.Text)).Reveal())
		}
		return p, true
	})
}

// Mask returns the element with every password masked, as documents are returned to clients.
func Mask(e element.Element) element.Element {
	return passwords(e, func(_, p element.Element) (element.Element, bool) {
		if p.Text != "" {
			p = element.Text(p.Name, Masked)
		}
		return p, true
	})
}

// unmask puts the stored passwords of base where over has masked ones. A masked password for which there is none is left
// out.
func unmask(base, over element.Element) element.Element {
	// A root_password stays that of the VM when the user that has it is renamed.
	key := func(parent, p element.Element) string {
		if parent.Name != "user" {
			return p.Name
		}
		return p.Name + " " + nameIn(parent)
	}
	stored := map[string]element.Element{}
	passwords(base, func(parent, p element.Element) (element.Element, bool) {
		if k := key(parent, p); !stored[k].Exists() {
			stored[k] = p
		}
		return p, true
	})
	return passwords(over, func(parent, p element.Element) (element.Element, bool) {
		if p.Text != Masked {
			return p, true
		}
		have := stored[key(parent, p)]
		return have, have.Exists()
	})
}
