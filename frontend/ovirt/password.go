package ovirt

import (
	"strings"

	"github.com/vmseed/vmseed/format/element"
	"github.com/vmseed/vmseed/secret"
)

// passwords applies change to every password of the document: root_password, password of a user in any form of
// initialization, and of the domain's user of older requests. An element for which change returns false is left out.
func passwords(e element.Element, change func(owner string, p element.Element) (element.Element, bool)) element.Element {
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
		owner := ""
		if e.Name == "user" {
			owner = strings.TrimSpace(e.Child("user_name").Text)
		}
		if c, keep := change(owner, c); keep {
			out = append(out, c)
		}
	}
	e.Children = out
	return e
}

func isPassword(parent, name string) bool {
	return name == "root_password" || parent == "user" && name == "password"
}

// HashPasswords replaces each password in clear text by its hash: root_password and those of users in every form of
// initialization. Values that are hashes of crypt(5) already, and masked ones, stay.
func HashPasswords(e element.Element, hash func(clear secret.Text) secret.Text) element.Element {
	return passwords(e, func(_ string, p element.Element) (element.Element, bool) {
		if p.Text != "" && p.Text != Masked && !hashed.MatchString(p.Text) {
			p = element.Text(p.Name, hash(secret.New(p.Text)).Reveal())
		}
		return p, true
	})
}

// Mask returns the element with every password masked, as documents are returned to clients.
func Mask(e element.Element) element.Element {
	return passwords(e, func(_ string, p element.Element) (element.Element, bool) {
		if p.Text != "" {
			p = element.Text(p.Name, Masked)
		}
		return p, true
	})
}

// unmask puts the stored passwords of base where over has masked ones. A masked password for which there is none is left
// out.
func unmask(base, over element.Element) element.Element {
	stored := map[string]element.Element{}
	passwords(base, func(owner string, p element.Element) (element.Element, bool) {
		if key := p.Name + " " + owner; !stored[key].Exists() {
			stored[key] = p
		}
		return p, true
	})
	return passwords(over, func(owner string, p element.Element) (element.Element, bool) {
		if p.Text != Masked {
			return p, true
		}
		have := stored[p.Name+" "+owner]
		return have, have.Exists()
	})
}
