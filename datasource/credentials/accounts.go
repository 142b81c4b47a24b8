package credentials

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/datasource/internal/account"
	"github.com/vmseed/vmseed/datasource/internal/ignition"
	"github.com/vmseed/vmseed/datasource/internal/shell"
	"github.com/vmseed/vmseed/machine"
)

// passwords is the credential in which chpasswd(8) finds hashes, so that they stand in no file of the guest's disk but its own.
const passwords = "vmseed.passwords"

// accountName is a name that systemd-sysusers takes (sysusers.d(5)).
var accountName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_-]{0,30}$`)

// firstUID is where ordinary users begin, and lastUID the end of those that are given away here. systemUID is where the
// system's users begin, in the middle of their numbers, because images give those away from both ends.
const (
	firstUID  = 1000
	lastUID   = 1999
	systemUID = 500
)

// accounts makes groups and users. systemd-sysusers makes those that are missing and leaves the others as they are; what it
// has no words for is done by the first boot's commands. Without a name the default user is root, the one account that
// systemd itself has credentials for.
func (g *generator) accounts() {
	var lines, hashes []string
	seen := map[string]bool{}
	for i, grp := range g.m.Groups {
		if !g.named(fmt.Sprintf("groups[%d]", i), "group", grp.Name, seen) {
			continue
		}
		id := "-"
		if grp.GID != nil {
			id = fmt.Sprint(*grp.GID)
		}
		lines = append(lines, fmt.Sprintf("g %s %s", grp.Name, id))
		for _, member := range grp.Members {
			lines = append(lines, g.member(fmt.Sprintf("groups[%d].members", i), member, grp.Name)...)
		}
	}
	users := g.users()
	clear(seen)
	ordinary := false
	for i, u := range users {
		at := fmt.Sprintf("users[%d]", i)
		if !g.named(at, "user", u.Name, seen) {
			continue
		}
		if u.Name != "root" {
			lines = append(lines, g.user(at, u, i)...)
			ordinary = ordinary || !u.System
		}
		for _, name := range u.Groups {
			lines = append(lines, g.member(at+".groups", u.Name, name)...)
		}
		g.keys(at, u)
		if hash := g.password(at, u); hash != "" {
			hashes = append(hashes, u.Name+":"+hash+"\n")
			if u.Name == "root" {
				g.out["passwd.hashed-password.root"] = hash
			}
		}
		g.aging(u)
	}
	if ordinary {
		// An account whose number somebody else has gets the highest free one of this range.
		lines = append(lines, fmt.Sprintf("r - %d-%d", firstUID, lastUID))
	}
	if len(lines) > 0 {
		g.out["sysusers.extra"] = strings.Join(lines, "\n") + "\n"
	}
	if len(hashes) > 0 {
		g.out[passwords] = strings.Join(hashes, "")
		g.setup = slices.Insert(g.setup, 0, "chpasswd -e </run/credentials/@system/"+passwords)
	}
	if slices.ContainsFunc(users, func(u machine.User) bool { return len(u.SSHAuthorizedKeys) > 0 }) {
		// The server does not start without a key of its own, and images of clouds have none: elsewhere cloud-init makes them.
		g.setup = append(g.setup, "! command -v ssh-keygen >/dev/null || ssh-keygen -A")
	}
	g.sudo(users)
}

// users are those of the machine with the keys of its default user.
func (g *generator) users() []machine.User {
	users := slices.Clone(g.m.Users)
	i := slices.IndexFunc(users, func(u machine.User) bool { return u.Default })
	if keys := g.m.SSH.AuthorizedKeys; len(keys) > 0 {
		if i < 0 {
			i = len(users)
			users = append(users, machine.User{Default: true})
		}
		users[i].SSHAuthorizedKeys = slices.Concat(users[i].SSHAuthorizedKeys, keys)
	}
	if i >= 0 && users[i].Name == "" {
		users[i].Name = "root"
	}
	return users
}

// named checks the name of an account.
func (g *generator) named(at, kind, name string, seen map[string]bool) bool {
	switch {
	case !accountName.MatchString(name):
		g.errorf(CodeName, at, "use letters, digits, underscores and hyphens, at most 31", "%q cannot be the name of a %s", name, kind)
		return false
	case seen[name]:
		g.errorf(CodeTwice, at, "join the two", "the %s %q is there twice", kind, name)
		return false
	}
	seen[name] = true
	return true
}

// member puts a user into a group. Either is made where it is missing.
func (g *generator) member(at, user, group string) []string {
	for _, name := range []string{user, group} {
		if !accountName.MatchString(name) {
			g.errorf(CodeName, at, "use letters, digits, underscores and hyphens, at most 31", "%q cannot be the name of an account", name)
			return nil
		}
	}
	return []string{fmt.Sprintf("m %s %s", user, group)}
}

// user writes a user's line and has the home made.
func (g *generator) user(at string, u machine.User, i int) []string {
	var lines []string
	id := fmt.Sprint(firstUID + i)
	switch {
	case u.UID != nil:
		id = fmt.Sprint(*u.UID)
	case u.System:
		// Not left to systemd-sysusers, which would take an ordinary user's number where it has that range.
		id = fmt.Sprint(systemUID + i)
	}
	group := u.Name
	if p := u.PrimaryGroup; p != "" && p != u.Name {
		if !accountName.MatchString(p) {
			g.errorf(CodeName, at+".primaryGroup", "name a group", "%q cannot be the name of a group", p)
			return nil
		}
		if !slices.ContainsFunc(g.m.Groups, func(x machine.Group) bool { return x.Name == p }) {
			lines = append(lines, "g "+p+" -")
		}
		id, group = id+":"+p, p
	}
	home, shellPath := u.Home, u.Shell
	if !u.System {
		home, shellPath = cmp.Or(home, "/home/"+u.Name), cmp.Or(shellPath, "/bin/sh")
	}
	for _, p := range []struct{ name, value string }{{"home", home}, {"shell", shellPath}} {
		if p.value != "" && (!path.IsAbs(p.value) || strings.ContainsAny(p.value, ":\r\n\x00")) {
			g.errorf(CodeName, at+"."+p.name, "give the whole path, without colons", "the %s of user %q is no path", p.name, u.Name)
			return nil
		}
	}
	if strings.ContainsAny(u.Gecos, ":\r\n\x00") {
		g.errorf(CodeName, at+".gecos", "write it without colons and line breaks", "the comment of user %q cannot stand in /etc/passwd", u.Name)
		return nil
	}
	word := func(s string) string {
		if s == "" {
			return "-"
		}
		return ignition.Word(s)
	}
	lines = append(lines, fmt.Sprintf("u %s %s %s %s %s", u.Name, id, word(u.Gecos), word(home), word(shellPath)))
	if home != "" && home != "/" {
		home = path.Clean(home)
		g.homes[u.Name] = home
		if !u.NoCreateHome {
			g.line(at, home, fmt.Sprintf("d %s :0700 :%s :%s", ignition.Word(home), u.Name, group))
		}
	}
	return lines
}

// keys writes the keys that let a user in.
func (g *generator) keys(at string, u machine.User) {
	var b strings.Builder
	seen := map[string]bool{}
	for _, k := range u.SSHAuthorizedKeys {
		if k = strings.TrimSpace(k); !seen[k] && k != "" {
			seen[k] = true
			b.WriteString(k + "\n")
		}
	}
	if b.Len() == 0 {
		return
	}
	if u.Name == "root" {
		g.out["ssh.authorized_keys.root"] = b.String()
		return
	}
	home := g.homes[u.Name]
	if home == "" {
		g.errorf(CodeName, at+".home", "state the user's home", "the user %q has no home for its SSH keys", u.Name)
		return
	}
	if u.NoCreateHome {
		g.line(at, home, fmt.Sprintf("d %s :0755 :root :root", ignition.Word(home)))
	}
	g.line(at, home+"/.ssh", fmt.Sprintf("d %s 0700 %s -", ignition.Word(home+"/.ssh"), u.Name))
	g.write(at, home+"/.ssh/authorized_keys", "0600", u.Name, "-", []byte(b.String()))
}

// password returns the hash of a user's password, or "".
func (g *generator) password(at string, u machine.User) string {
	hash, odd, err := account.Hash(g.m, u)
	switch {
	case err != nil:
		g.errorf(CodePassword, at, "give a passwordHash instead", "the password of user %q cannot be hashed", u.Name)
	case strings.ContainsAny(hash, ":\r\n\x00"):
		g.errorf(CodePassword, at, "make one with mkpasswd", "the passwordHash of user %q cannot stand in /etc/shadow", u.Name)
	case odd:
		g.list.Warnf(CodePassword, g.place(at), "make one with mkpasswd", "the passwordHash of user %q does not look like a hash of crypt(5)", u.Name)
	}
	if lock := u.LockPassword; lock != nil && *lock {
		switch {
		case account.Opens(hash):
			hash = "!" + hash
		case hash == "":
			hash = "*"
		}
	}
	return hash
}

// aging has chage do what sysusers has no words for.
func (g *generator) aging(u machine.User) {
	for _, x := range []struct {
		flag, value string
	}{{"-I", u.Inactive}, {"-E", u.Expires}} {
		if x.value != "" {
			g.setup = append(g.setup, shell.Words([]string{"chage", x.flag, x.value, u.Name}))
		}
	}
	if u.ExpirePassword {
		g.setup = append(g.setup, shell.Words([]string{"chage", "-d", "0", u.Name}))
	}
}

// sudo writes the rules of all users into one file.
func (g *generator) sudo(users []machine.User) {
	var b strings.Builder
	for i, u := range users {
		for _, rule := range u.Sudo {
			if strings.ContainsAny(rule, "\r\n\x00") {
				g.errorf(CodeName, fmt.Sprintf("users[%d].sudo", i), "write one rule in each item", "a rule of sudo is one line")
				continue
			}
			fmt.Fprintf(&b, "%s %s\n", u.Name, rule)
		}
	}
	if b.Len() > 0 {
		g.write("users", "/etc/sudoers.d/90-vmseed", "0440", "root", "root", []byte(b.String()))
	}
}
