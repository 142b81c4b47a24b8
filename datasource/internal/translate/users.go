package translate

import (
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/cloudconfig"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// accountKeys are read together, because they say things about the same users.
var accountKeys = []string{"users", "user", "groups", "ssh_authorized_keys", "ssh_import_id", "password", "chpasswd"}

// accounts reads everything about users and groups.
func (r *reader) accounts(get func(string) (value, bool)) {
	if v, ok := get("groups"); ok {
		r.groups(v)
	}
	if v, ok := get("users"); ok {
		r.users(v)
	}
	if v, ok := get("user"); ok {
		r.oldUser(v)
	}
	if v, ok := get("ssh_authorized_keys"); ok {
		r.keysOfDefault(v)
	}
	if v, ok := get("ssh_import_id"); ok {
		if list := r.words(v); len(list) > 0 && r.hasDefault(v) {
			u := r.defaultUser()
			u.SSHImportID = append(u.SSHImportID, list...)
			r.userAt(*u, v)
		}
	}
	r.passwords(get)
	if !r.listed && len(r.m.Users) > 0 {
		r.defaultUser() // which cloud-init creates unless a list of users leaves it out
	}
}

// groups reads a text with commas, a mapping of groups to members, or a list of both.
func (r *reader) groups(v value) {
	add := func(name string, members []string) {
		g := machine.Group{Name: strings.TrimSpace(name), Members: unique(members)}
		if g.Name == "" {
			return
		}
		r.m.Groups = joinNamed(r.m.Groups, []machine.Group{g}, func(a, b machine.Group) bool { return a.Name == b.Name }, joinGroup)
	}
	members := func(v value) {
		for i := 0; i+1 < len(v.node.Content); i += 2 {
			name := v.node.Content[i].Value
			add(name, r.words(value{v.node.Content[i+1], v.path + "." + name}))
		}
	}
	switch v.kind() {
	case cloudconfig.Map:
		members(v)
	case cloudconfig.String:
		for name := range strings.SplitSeq(v.node.Value, ",") {
			add(name, nil)
		}
	default:
		for _, item := range r.items(v) {
			if item.kind() == cloudconfig.Map {
				members(item)
			} else if name, ok := r.text(item); ok {
				add(name, nil)
			}
		}
	}
}

// users reads a text with commas, a mapping of names to descriptions, or a list of names, lists and descriptions.
func (r *reader) users(v value) {
	r.listed = true
	switch v.kind() {
	case cloudconfig.String:
		names := r.words(v)
		slices.Sort(names)
		for _, name := range names {
			r.addUser(v, machine.User{}, name)
		}
	case cloudconfig.Map:
		for i := 0; i+1 < len(v.node.Content); i += 2 {
			name := v.node.Content[i].Value
			r.userOfMap(value{v.node.Content[i+1], v.path + "." + name}, name)
		}
	default:
		for _, item := range r.items(v) {
			switch item.kind() {
			case cloudconfig.Map:
				u, name := r.description(item)
				r.addUser(item, u, name)
			case cloudconfig.String, cloudconfig.List:
				for _, name := range r.words(item) {
					r.addUser(item, machine.User{}, name)
				}
			default:
				r.wrong(item, "a name or a mapping")
			}
		}
	}
}

// userOfMap reads one user of a mapping: a description, or true for a user without one.
func (r *reader) userOfMap(v value, name string) {
	if v.kind() == cloudconfig.Map {
		u, _ := r.description(v)
		r.addUser(v, u, name)
		return
	}
	if b, ok := r.boolean(v); ok && b {
		r.addUser(v, machine.User{}, name)
	}
}

// addUser adds a user, or fills in what an earlier description of the same user leaves open.
func (r *reader) addUser(v value, u machine.User, name string) {
	if name == "default" {
		r.withDefault, u.Default = true, true
	} else {
		u.Name = name
	}
	r.userAt(u, v)
	r.m.Users = joinNamed(r.m.Users, []machine.User{u}, sameUser, fill)
}

func hasPassword(u machine.User) bool { return !u.Password.IsZero() || !u.PasswordHash.IsZero() }

// userAt remembers the first place at which a user is spoken of.
func (r *reader) userAt(u machine.User, v value) {
	if _, ok := r.userPlaces[userKey(u)]; !ok {
		r.userPlaces[userKey(u)] = v
	}
}

// fill returns the first description with what the second says and the first does not.
func fill(first, second machine.User) machine.User {
	if hasPassword(first) {
		second.Password, second.PasswordHash, second.LockPassword = secret.Text{}, secret.Text{}, first.LockPassword
	}
	to, from := reflect.ValueOf(&first).Elem(), reflect.ValueOf(&second).Elem()
	for i := range to.NumField() {
		if to.Field(i).IsZero() {
			to.Field(i).Set(from.Field(i))
		}
	}
	return first
}

// oldUser reads the key user, which describes the default user and wins over its description in users.
func (r *reader) oldUser(v value) {
	u, name := machine.User{}, "default"
	switch v.kind() {
	case cloudconfig.String:
		name = v.node.Value
	case cloudconfig.Map:
		u, name = r.description(v)
	case cloudconfig.Null:
	default:
		r.wrong(v, "a mapping")
		return
	}
	if v.kind() == cloudconfig.Null || name == "" {
		return
	}
	if name != "default" {
		u.Name = name
	}
	r.withDefault, u.Default = true, true
	d := r.defaultUser()
	*d = fill(u, *d)
	r.userAt(u, v)
}

// defaultUser returns the default user, which is added when it is not there yet.
func (r *reader) defaultUser() *machine.User {
	i := slices.IndexFunc(r.m.Users, func(u machine.User) bool { return u.Default })
	if i < 0 {
		r.m.Users = slices.Insert(r.m.Users, 0, machine.User{Default: true})
		i = 0
	}
	return &r.m.Users[i]
}

// hasDefault reports whether the guest has a default user, and says when it has none to take what v gives it.
func (r *reader) hasDefault(v value) bool {
	if r.listed && !r.withDefault {
		r.say(CodeValue, diag.Warning, v, "add default to users, or give it to one of the users", "the list of users leaves the default user out, so nobody takes this")
		return false
	}
	return true
}

func (r *reader) keysOfDefault(v value) {
	list := r.texts(v)
	switch {
	case len(list) == 0 || !r.hasDefault(v):
	case slices.ContainsFunc(r.m.Users, func(u machine.User) bool { return u.Default }):
		u := r.defaultUser()
		u.SSHAuthorizedKeys = append(u.SSHAuthorizedKeys, list...)
	default:
		r.set["ssh.authorizedKeys"] = v
		r.m.SSH.AuthorizedKeys = append(r.m.SSH.AuthorizedKeys, list...)
	}
}

// description reads the fields of a user. A description without a name is about the default user.
func (r *reader) description(v value) (u machine.User, name string) {
	name = "default"
	const noField = "do it with runcmd"
	lost := func(remedy string) func(value) {
		return func(v value) {
			if b, ok := cloudconfig.Truth(v.node); !ok || b {
				r.lost(v, remedy)
			}
		}
	}
	var hash, changed string
	fields := keys{
		"name":                r.setText("", &name),
		"gecos":               r.setText("", &u.Gecos),
		"uid":                 r.setNumber("", &u.UID),
		"primary_group":       r.setText("", &u.PrimaryGroup),
		"groups":              func(v value) { u.Groups = r.groupNames(v) },
		"homedir":             r.setText("", &u.Home),
		"no_create_home":      r.setTrue("", &u.NoCreateHome),
		"shell":               r.setText("", &u.Shell),
		"system":              r.setTrue("", &u.System),
		"passwd":              r.setText("", &hash),
		"hashed_passwd":       r.setText("", &changed),
		"plain_text_passwd":   func(v value) { u.Password = r.secretText(v) },
		"lock_passwd":         r.setFlag("", &u.LockPassword),
		"inactive":            r.setText("", &u.Inactive),
		"expiredate":          r.setText("", &u.Expires),
		"ssh_authorized_keys": func(v value) { u.SSHAuthorizedKeys = unique(r.keyTexts(v)) },
		"ssh_import_id":       func(v value) { u.SSHImportID = r.texts(v) },
		"sudo":                func(v value) { u.Sudo = r.sudo(v) },
		"doas":                lost("write /etc/doas.conf with write_files"),
		"no_user_group":       lost("give the user a primary_group"),
		"selinux_user":        lost(noField), "snapuser": lost(noField), "ssh_redirect_user": lost("give the user keys of its own"),
		"no_log_init": r.idle,
		"create_groups": func(v value) {
			if b, ok := r.boolean(v); ok && !b {
				r.apart(v, "groups that the user is to be in are made if they are missing")
			}
		},
	}
	for key, h := range fields {
		fields[strings.ReplaceAll(key, "_", "-")] = h
	}
	r.mapping(v, fields, "")
	switch { // in the order in which they overwrite each other
	case changed != "":
		u.PasswordHash, u.Password = secret.New(changed), secret.Text{}
	case u.Password.IsZero() && hash != "":
		u.PasswordHash = secret.New(hash)
	}
	if u.LockPassword == nil && hasPassword(u) {
		locked := true // cloud-init's default
		u.LockPassword = &locked
		r.say(CodeApart, diag.Warning, v, "add lock_passwd: false if the password is meant to be used", "the user has a password and is locked all the same, as cloud-init does without lock_passwd: false")
	}
	if name == "" {
		name = "default"
	}
	return u, name
}

func (r *reader) secretText(v value) secret.Text {
	if s, ok := r.text(v); ok && s != "" {
		return secret.New(s)
	}
	return secret.Text{}
}

// groupNames reads a text with commas, a list, or a mapping whose keys are the names.
func (r *reader) groupNames(v value) []string {
	if v.kind() != cloudconfig.Map {
		return r.words(v)
	}
	var out []string
	for i := 0; i < len(v.node.Content); i += 2 {
		out = append(out, v.node.Content[i].Value)
	}
	return out
}

// keyTexts reads a list of keys, one key, or a mapping whose values are keys.
func (r *reader) keyTexts(v value) []string {
	if v.kind() == cloudconfig.Map {
		v.node = &yaml.Node{Kind: yaml.SequenceNode, Line: v.node.Line, Column: v.node.Column, Content: odd(v.node.Content)}
	}
	return r.texts(v)
}

// odd returns the second of each two nodes.
func odd(nodes []*yaml.Node) []*yaml.Node {
	var out []*yaml.Node
	for i := 1; i < len(nodes); i += 2 {
		out = append(out, nodes[i])
	}
	return out
}

// sudo takes false and null for no rule.
func (r *reader) sudo(v value) []string {
	if b, ok := cloudconfig.Truth(v.node); ok && !b {
		return nil
	}
	return r.texts(v)
}

// cryptHash is what password and chpasswd.list take for a hash (cc_set_passwords.py).
var cryptHash = regexp.MustCompile(`^\$(1|2a|2y|5|6)(\$[^:]+){2}`)

// passwords reads password and chpasswd, which set the passwords of users that are there by then.
func (r *reader) passwords(get func(string) (value, bool)) {
	expire, any := true, false
	var entries []func()
	set := func(v value, name, password string, hashed bool) {
		any = true
		entries = append(entries, func() { r.setPassword(v, r.userNamed(name), password, hashed, expire) })
	}
	if v, ok := get("chpasswd"); ok {
		r.mapping(v, keys{
			"expire": r.setTrue("", &expire),
			"list":   func(v value) { r.passwordList(v, set) },
			"users": func(v value) {
				for _, item := range r.items(v) {
					r.passwordOf(item, set)
				}
			},
		}, byCommand)
	}
	for _, f := range entries {
		f()
	}
	v, ok := get("password")
	if !ok {
		return
	}
	s, _ := r.text(v)
	switch {
	case s == "":
	case any:
		r.say(CodeValue, diag.Warning, v, "remove one of the two", "cloud-init passes over password when chpasswd names users")
	case r.hasDefault(v):
		r.setPassword(v, r.defaultUser(), s, cryptHash.MatchString(s) && !strings.Contains(s, ":"), expire)
	}
}

// userNamed returns the user of a name, who may be one of the image's own.
func (r *reader) userNamed(name string) *machine.User {
	i := slices.IndexFunc(r.m.Users, func(u machine.User) bool { return u.Name == name })
	if i < 0 {
		r.m.Users = append(r.m.Users, machine.User{Name: name})
		i = len(r.m.Users) - 1
	}
	return &r.m.Users[i]
}

// setPassword sets a password after the user was made, which unlocks the account.
func (r *reader) setPassword(v value, u *machine.User, password string, hashed, expire bool) {
	if password == "R" || password == "RANDOM" {
		r.lost(v, "choose a password")
		return
	}
	r.userAt(*u, v)
	u.Password, u.PasswordHash = secret.Text{}, secret.Text{}
	if hashed {
		u.PasswordHash = secret.New(password)
	} else {
		u.Password = secret.New(password)
	}
	if u.LockPassword != nil && *u.LockPassword {
		u.LockPassword = new(bool)
	}
	u.ExpirePassword = expire
}

// passwordList reads lines NAME:PASSWORD, as a list or one text.
func (r *reader) passwordList(v value, set func(v value, name, password string, hashed bool)) {
	lines := []value{v}
	if v.kind() == cloudconfig.List {
		lines = r.items(v)
	}
	for _, item := range lines {
		text, _ := r.text(item)
		for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
			name, password, ok := strings.Cut(line, ":")
			switch {
			case ok && name != "":
				set(item, name, password, cryptHash.MatchString(password) && !strings.Contains(password, ":"))
			case line != "":
				r.say(CodeValue, diag.Warning, item, "write NAME:PASSWORD", "the line has no colon behind the name of a user")
			}
		}
	}
}

// passwordOf reads an item of chpasswd.users.
func (r *reader) passwordOf(v value, set func(v value, name, password string, hashed bool)) {
	var name, password string
	kind := "hash"
	r.mapping(v, keys{"name": r.setText("", &name), "password": r.setText("", &password), "type": r.setText("", &kind)}, byCommand)
	switch {
	case name == "":
		r.say(CodeValue, diag.Warning, v, "name the user", "a password without a user is left out")
	case kind == "RANDOM":
		r.lost(v, "choose a password")
	case kind == "text" || kind == "hash":
		set(v, name, password, kind == "hash")
	default:
		r.say(CodeValue, diag.Warning, v, "use hash, text or RANDOM", "the type of the password is unknown")
	}
}
