package ovirt

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/frontend/internal/kubedoc"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

const superuser = "root"

// credentials reads users, passwords, keys and what concerns the SSH server.
func (r *reader) credentials(v tree.Value, old legacy) {
	r.mainUser(v.Get("user_name"), v.Get("root_password"))
	for _, u := range old.users {
		r.user(u)
	}
	r.keys(v.Get("authorized_ssh_keys"), "")
	for _, k := range old.keys {
		if r.isMap(k) {
			r.only(k, "key", "user")
			r.keys(k.Get("key"), r.keyOwner(k.Get("user")))
		}
	}
	r.sshServer(r.either(v.Get("regenerate_ssh_keys"), old.regenerate))
}

// account returns the machine's user of a name; "" is the distribution's default user.
func (r *reader) account(name string, at tree.Value) *machine.User {
	i, ok := r.accounts[name]
	if !ok {
		i = len(r.m.Users)
		r.accounts[name] = i
		r.m.Users = append(r.m.Users, machine.User{Name: name, Default: name == ""})
		r.at(at.Range(), "users[%d]", i)
	}
	return &r.m.Users[i]
}

// mainUser reads the user that an engine configures: the default user of the distribution, under another name if one is
// given.
func (r *reader) mainUser(name, password tree.Value) {
	user := r.accountName(name)
	if user != "" {
		r.account(user, name).Default = true
	}
	if clear := r.stated(password); clear != "" {
		r.password(r.account(user, password), password, clear)
	}
}

// user reads a user of the deprecated form, of which an engine honours root only. root takes the place of the default user,
// unless user_name names another.
func (r *reader) user(v tree.Value) {
	if !r.isMap(v) {
		return
	}
	r.only(v, "password", "user_name")
	at := v.Get("user_name")
	name := r.accountName(at)
	if name == "" {
		if r.text(at) == "" {
			r.fail(v, CodeUser, "write a user_name", "a user has no name")
		}
		return
	}
	u := r.account(name, at)
	if name == superuser && r.defaultUser() == nil {
		u.Default = true
	}
	if clear := r.stated(v.Get("password")); clear != "" {
		r.password(u, v.Get("password"), clear)
	}
}

func (r *reader) defaultUser() *machine.User {
	for i := range r.m.Users {
		if r.m.Users[i].Default {
			return &r.m.Users[i]
		}
	}
	return nil
}

// userName is what useradd takes (shadow-utils), with capitals, which other systems have.
var userName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]{0,30}[A-Za-z0-9_.$-]?$`)

func (r *reader) accountName(v tree.Value) string {
	name := r.text(v)
	if name != "" && !userName.MatchString(name) {
		r.fail(v, CodeUser, "", "this cannot be the name of a user: it has up to 32 letters, digits, dots, dashes and underscores, and begins with a letter")
		return ""
	}
	return name
}

// hashed reports whether a password is a hash of crypt(5) already: an id between dollar signs and more behind it.
var hashed = regexp.MustCompile(`^\$[0-9a-z]+\$[^\s:]*[^\s:$]$`)

// stated reads a password or its hash. What an engine shows in the place of one is none.
func (r *reader) stated(v tree.Value) string {
	text := r.verbatim(v)
	if text == Masked {
		r.warn(v, CodeMasked, "write the password or its hash", "an engine shows %s in the place of a password, so the guest gets none", Masked)
		return ""
	}
	return text
}

func (r *reader) password(u *machine.User, v tree.Value, text string) {
	field := "password"
	switch {
	case !u.Password.IsZero() || !u.PasswordHash.IsZero():
		r.fail(v, CodeTwice, "keep one of them", "the user has a password already")
		return
	case hashed.MatchString(text):
		u.PasswordHash, field = secret.New(text), "passwordHash"
	case strings.ContainsAny(text, "\x00\n\r"):
		r.fail(v, CodeUser, "", "a password is a single line")
		return
	default:
		u.Password = secret.New(text)
	}
	r.at(v.Range(), "users[%d].%s", r.accounts[u.Name], field)
}

// keyOwner reads the user of a key.
func (r *reader) keyOwner(v tree.Value) string {
	if !r.isMap(v) {
		return ""
	}
	r.only(v, "user_name")
	return r.accountName(v.Get("user_name"))
}

// keys reads lines of SSH public keys for a user.
func (r *reader) keys(v tree.Value, owner string) {
	text := strings.ReplaceAll(strings.ReplaceAll(r.verbatim(v), "\r\n", "\n"), "\r", "\n")
	for _, line := range kubedoc.KeyLines(&r.list, CodeKey, v.Path(), text, v.Origin("")) {
		if owner == "" {
			r.at(line.Place, "ssh.authorizedKeys[%d]", len(r.m.SSH.AuthorizedKeys))
			r.at(v.Range(), "ssh.authorizedKeys")
			r.m.SSH.AuthorizedKeys = append(r.m.SSH.AuthorizedKeys, line.Text)
			continue
		}
		u := r.account(owner, v)
		r.at(v.Range(), "users[%d].sshAuthorizedKeys", r.accounts[owner])
		u.SSHAuthorizedKeys = append(u.SSHAuthorizedKeys, line.Text)
	}
}

// sshServer says what an engine always says to cloud-init: host keys stay unless they are to be made anew, root may log in,
// and passwords count if there is one.
func (r *reader) sshServer(regenerate tree.Value) {
	again := r.flag(regenerate)
	place := regenerate.Range()
	if again == nil {
		again, place = new(bool), r.init.Range()
	}
	if r.kind == Ignition && !*again {
		return
	}
	r.m.SSH.DeleteHostKeys = again
	r.at(place, "ssh.deleteHostKeys")
	if r.kind != CloudInit {
		return
	}
	r.m.SSH.DisableRoot = new(bool)
	r.at(r.init.Range(), "ssh.disableRoot")
	for i, u := range r.m.Users {
		if !u.Password.IsZero() || !u.PasswordHash.IsZero() {
			on := true
			r.m.SSH.PasswordAuth = &on
			r.at(r.places.Find(fmt.Sprintf("users[%d]", i)), "ssh.passwordAuth")
			return
		}
	}
}
