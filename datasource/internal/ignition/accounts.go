package ignition

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_6/types"

	"github.com/vmseed/vmseed/datasource/internal/account"
	"github.com/vmseed/vmseed/datasource/internal/shell"
	"github.com/vmseed/vmseed/machine"
)

// distributed are the groups that CoreOS and its kin bring, most of them outside of /etc/group, debianGroups those of Debian.
// They are not declared: Ignition meets a declared group with groupadd or groupmod, and the boot ends where the one fails
// because the group is there (always in Ignition 2.14), or the other because it is not in the file. Any other group that a
// user is in is declared, so that it is made: useradd fails for a group that is missing.
var distributed = []string{"root", "adm", "audio", "cdrom", "dialout", "disk", "docker", "floppy", "games", "input", "kvm", "lp",
	"render", "sgx", "sudo", "systemd-journal", "tape", "tty", "users", "video", "wheel"}

var debianGroups = []string{"root", "daemon", "bin", "sys", "adm", "tty", "disk", "lp", "mail", "news", "uucp", "man", "proxy",
	"kmem", "dialout", "fax", "voice", "cdrom", "floppy", "tape", "sudo", "audio", "dip", "www-data", "backup", "operator", "list",
	"irc", "src", "shadow", "utmp", "video", "sasl", "plugdev", "staff", "games", "users", "nogroup", "systemd-journal",
	"systemd-network", "systemd-resolve", "_ssh", "input", "sgx", "kvm", "render", "messagebus"}

// accounts writes groups and users. Ignition makes groups first, then users, then files, so owners may be named.
func (g *generator) accounts() {
	users := slices.Clone(g.m.Users)
	if keys := g.m.SSH.AuthorizedKeys; len(keys) > 0 {
		i := slices.IndexFunc(users, func(u machine.User) bool { return u.Default })
		if i < 0 {
			i = len(users)
			users = append(users, machine.User{Default: true})
		}
		users[i].SSHAuthorizedKeys = slices.Concat(users[i].SSHAuthorizedKeys, keys)
	}
	names, numbers := map[string]bool{}, map[int]bool{}
	logged := false
	for i, u := range users {
		at := fmt.Sprintf("users[%d]", i)
		if u.Default && u.Name == "" {
			u.Name = DefaultUser
		}
		switch {
		case !accountName(u.Name):
			g.errorf(CodeName, at, "use letters, digits, underscores and hyphens", "%q cannot be the name of a user", u.Name)
			continue
		case names[u.Name]:
			g.errorf(CodeTwice, at, "join the two", "the user %q is there twice", u.Name)
			continue
		}
		names[u.Name] = true
		g.checkUser(u, at, numbers)
		hashed := g.user(u, at)
		logged = logged || hashed
		g.aging(u)
	}
	if logged {
		g.list.Notef(CodeHashInLog, g.place("users"), "log in with SSH keys",
			"Ignition writes password hashes into the guest's journal, because it logs the commands that it runs")
	}
	g.groups(users)
	g.ownGroups()
	g.sudo(users)
}

// checkUser refuses what useradd fails for, because then the boot fails.
func (g *generator) checkUser(u machine.User, at string, numbers map[int]bool) {
	field := func(s string) bool { return strings.ContainsAny(s, ":\r\n\x00") || strings.HasPrefix(s, "-") }
	for _, x := range []struct {
		wrong             bool
		what, the, remedy string
	}{
		{field(u.Gecos), "gecos", "is no comment of an account", "write it without colons and line breaks, and no hyphen in front"},
		{field(u.Home) || u.Home != "" && !path.IsAbs(u.Home), "home", "is no home directory", "give the whole path, without colons"},
		{field(u.Shell) || u.Shell != "" && !path.IsAbs(u.Shell), "shell", "is no shell", "give the whole path, such as /bin/bash"},
		{field(u.PasswordHash.Reveal()), "passwordHash", "cannot stand in the guest's shadow file", "make one with mkpasswd"},
		{u.UID != nil && (*u.UID < 0 || *u.UID == 0 && u.Name != "root"), "uid", "cannot be given to an account", "choose one above 0"},
	} {
		if x.wrong {
			g.errorf(CodeName, at, x.remedy, "the %s of user %q %s", x.what, u.Name, x.the)
		}
	}
	if u.UID == nil {
		return
	}
	if *u.UID == 1000 && u.Name != DefaultUser && g.family.ostree {
		g.warnf(CodePlace, at, "choose another number; on another distribution, state its guest.release",
			"the user %s of Fedora CoreOS and its kin has the uid 1000, and the boot stops where it is given twice", DefaultUser)
	}
	if numbers[*u.UID] {
		g.errorf(CodeTwice, at, "give each user its own", "the uid of user %q is that of another user", u.Name)
	}
	numbers[*u.UID] = true
}

// ownGroups makes a declared group that is called like a user the user's own, since useradd refuses to make it again.
func (g *generator) ownGroups() {
	for i := range g.out.Passwd.Users {
		u := &g.out.Passwd.Users[i]
		same := func(x types.PasswdGroup) bool { return x.Name == u.Name }
		if u.PrimaryGroup == nil && slices.ContainsFunc(g.out.Passwd.Groups, same) {
			u.PrimaryGroup = &u.Name
		}
	}
}

// accountName reports whether useradd and groupadd take a name, and whether it stands for itself in a command line and in
// a file of sudo. A name of digits is a number to them.
func accountName(s string) bool {
	return s != "" && len(s) <= 32 && s[0] != '-' && !number(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' || r == '.' || r == '$')
	})
}

func number(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// user writes a user and reports whether there is a hash in it.
func (g *generator) user(u machine.User, at string) (hashed bool) {
	out := types.PasswdUser{Name: u.Name, Gecos: stated(u.Gecos), UID: u.UID, PrimaryGroup: stated(u.PrimaryGroup), HomeDir: stated(u.Home),
		NoCreateHome: stated(u.NoCreateHome), Shell: stated(u.Shell), System: stated(u.System)}
	for _, name := range u.Groups {
		// The default user's own group is made with it, which may come later.
		if u.Name == DefaultUser || name == DefaultUser {
			g.join(name, u.Name)
		} else {
			out.Groups = append(out.Groups, types.Group(name))
		}
	}
	for _, key := range u.SSHAuthorizedKeys {
		if key := types.SSHAuthorizedKey(strings.TrimSpace(key)); !slices.Contains(out.SSHAuthorizedKeys, key) {
			out.SSHAuthorizedKeys = append(out.SSHAuthorizedKeys, key)
		}
	}
	if u.NoCreateHome && len(out.SSHAuthorizedKeys) > 0 {
		g.keysWithoutHome(u, out.SSHAuthorizedKeys)
		out.SSHAuthorizedKeys = nil
	}
	hash, odd, err := account.Hash(g.m, u)
	if err != nil {
		g.errorf(CodePassword, at, "give a passwordHash instead", "the password of user %q cannot be hashed", u.Name)
	}
	if odd {
		g.warnf(CodePassword, at, "make one with mkpasswd", "the passwordHash of user %q does not look like a hash of crypt(5)", u.Name)
	}
	if lock := u.LockPassword; lock != nil && *lock {
		switch {
		case account.Opens(hash):
			hash = "!" + hash
		case hash == "":
			hash = "*"
		}
	}
	out.PasswordHash = stated(hash)
	g.out.Passwd.Users = append(g.out.Passwd.Users, out)
	return hash != "" && hash != "*"
}

// keysWithoutHome writes the keys of a user for whom no home is made. Ignition would write them as that user, who may not
// make the directory, and stop the boot; it writes files as root.
func (g *generator) keysWithoutHome(u machine.User, keys []types.SSHAuthorizedKey) {
	dir := path.Join(cmp.Or(u.Home, "/home/"+u.Name), ".ssh")
	owner := types.NodeUser{Name: &u.Name}
	g.out.Storage.Directories = append(g.out.Storage.Directories, types.Directory{Node: types.Node{Path: dir, User: owner},
		DirectoryEmbedded1: types.DirectoryEmbedded1{Mode: of(0o700)}})
	var b strings.Builder
	for _, k := range keys {
		b.WriteString(string(k) + "\n")
	}
	g.node(types.File{Node: types.Node{Path: dir + "/authorized_keys", User: owner},
		FileEmbedded1: types.FileEmbedded1{Mode: of(0o600), Append: []types.Resource{resource(b.String())}}})
}

// aging has chage do what Ignition has no words for.
func (g *generator) aging(u machine.User) {
	if u.Inactive != "" {
		g.setup = append(g.setup, shell.Words([]string{"chage", "-I", u.Inactive, u.Name}))
	}
	if u.Expires != "" {
		g.setup = append(g.setup, shell.Words([]string{"chage", "-E", u.Expires, u.Name}))
	}
	if u.ExpirePassword {
		g.setup = append(g.setup, shell.Words([]string{"chage", "-d", "0", u.Name}))
	}
}

// groups writes the machine's groups and those that its users are in, as far as the image cannot be expected to have
// them. Members are users: theirs is the list that Ignition knows.
func (g *generator) groups(users []machine.User) {
	declared, numbers := map[string]bool{}, map[int]bool{}
	add := func(name string, gid *int) {
		if !declared[name] {
			declared[name] = true
			g.out.Passwd.Groups = append(g.out.Passwd.Groups, types.PasswdGroup{Name: name, Gid: gid})
		}
	}
	for i, grp := range g.m.Groups {
		at := fmt.Sprintf("groups[%d]", i)
		switch {
		case !accountName(grp.Name):
			g.errorf(CodeName, at, "use letters, digits, underscores and hyphens", "%q cannot be the name of a group", grp.Name)
			continue
		case declared[grp.Name]:
			g.errorf(CodeTwice, at, "join the two", "the group %q is there twice", grp.Name)
			continue
		}
		theirs := grp.Name == DefaultUser || slices.Contains(g.family.groups(), grp.Name)
		switch {
		case theirs && grp.GID != nil:
			g.lost(at+".gid", fmt.Sprintf("images bring the group %q, which keeps its number", grp.Name), "leave the number away, or name another group")
		case grp.GID != nil && numbers[*grp.GID]:
			g.errorf(CodeTwice, at, "give each group its own", "the gid of group %q is that of another group", grp.Name)
		case grp.GID != nil:
			numbers[*grp.GID] = true
		}
		if !theirs {
			add(grp.Name, grp.GID)
		}
		declared[grp.Name] = true
		for _, member := range grp.Members {
			g.member(grp.Name, member)
		}
	}
	for i, u := range users {
		for _, name := range append(slices.Clone(u.Groups), u.PrimaryGroup) {
			switch {
			case name == "" || declared[name] || number(name) || name == DefaultUser:
			case !accountName(name):
				g.errorf(CodeName, fmt.Sprintf("users[%d]", i), "name one group in each item", "%q cannot be the name of a group", name)
			case !slices.Contains(g.family.groups(), name):
				add(name, nil)
			case g.family.guessed && !slices.Contains(debianGroups, name):
				declared[name] = true
				g.list.Notef(CodeGroup, g.place(fmt.Sprintf("users[%d].groups", i)), "for another distribution state guest.release, such as debian-12, or use --guest",
					"the group %q is taken to be in the image, as it is on Fedora CoreOS and its kin; where it is missing, useradd fails and the boot stops", name)
			}
		}
	}
}

// join puts an account that the image may have into a group at the first boot. Ignition would have usermod take it out of
// all others.
func (g *generator) join(group, user string) {
	g.setup = append(g.setup, shell.Words([]string{"usermod", "-a", "-G", group, user}))
}

// member puts a user into a group.
func (g *generator) member(group, user string) {
	for i := range g.out.Passwd.Users {
		if u := &g.out.Passwd.Users[i]; u.Name == user && user != DefaultUser {
			if !slices.Contains(u.Groups, types.Group(group)) {
				u.Groups = append(u.Groups, types.Group(group))
			}
			return
		}
	}
	g.join(group, user)
}

// sudo writes the rules of all users into one file. sudo passes over names with a dot in that directory.
func (g *generator) sudo(users []machine.User) {
	var b strings.Builder
	for i, u := range users {
		name := u.Name
		if name == "" {
			name = DefaultUser
		}
		for _, rule := range u.Sudo {
			if strings.ContainsAny(rule, "\r\n\x00") {
				g.errorf(CodeName, fmt.Sprintf("users[%d].sudo", i), "write one rule in each item", "a rule of sudo is one line")
				continue
			}
			fmt.Fprintf(&b, "%s %s\n", name, rule)
		}
	}
	if b.Len() > 0 {
		g.file("/etc/sudoers.d/90-vmseed", b.String(), 0o440)
	}
}
