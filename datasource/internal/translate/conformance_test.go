//go:build conformance

package translate_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vmseed/vmseed/internal/judge"
	"github.com/vmseed/vmseed/machine"
)

// accountDocs are all forms of users, groups and passwords.
func accountDocs(t *testing.T) []document {
	docs := []document{
		{"names", "users: [default, ann, [ben, cid]]\n"},
		{"text", "users: \"ann,default\"\n"},
		{"mapping", "users: {ann: {gecos: A}, ben: true, cid: 0, default: {shell: /bin/zsh}}\n"},
		{"twice", "users: [default, {name: a, gecos: one}, {name: a, gecos: two, shell: /bin/sh}]\n"},
		{"about default", "users: [{shell: /bin/zsh, ssh_authorized_keys: [k]}, {name: b}]\n"},
		{"old user", "user: admin\nusers: [default]\n"},
		{"old user alone", "user: {name: admin, gecos: A, groups: [x, y]}\n"},
		{"old user beside a list without default", "user: {name: admin}\nusers: [{name: b}]\n"},
		{"old user wins", "user: {shell: /bin/a}\nusers: [{name: default, shell: /bin/b, gecos: B}]\n"},
		{"dashes", "users: [{name: a, primary-group: p, ssh-authorized-keys: [k], lock-passwd: false}]\n"},
		{"groups text", "groups: a,b\n"}, {"groups list", "groups: [a, {b: [x, y]}, {b: z, c: x}]\n"}, {"groups mapping", "groups: {a: [x], b: \"y,z\"}\n"},
		{"password", "password: secret\n"},
		{"hash", "password: $6$salt$hash\nchpasswd: {expire: false}\n"},
		{"yescrypt is text to cloud-init", "password: $y$j9T$salt$hash\n"},
		{"password without default", "users: [{name: a}]\npassword: x\n"},
		{"chpasswd users", "users: [default, {name: a}]\nchpasswd: {users: [{name: a, password: x, type: text}, {name: root, password: $6$a$b}]}\n"},
		{"chpasswd list", "chpasswd: {expire: false, list: [\"a:b:c\", \"d:$6$x$y\", \"e:$6$x$y:z\"]}\n"},
		{"chpasswd text", "chpasswd:\n  list: |\n    a:b\n    d:$1$x$y\n"},
		{"chpasswd before password", "password: no\nchpasswd: {users: [{name: a, password: yes-1, type: text}]}\n"},
	}
	for i := range docs {
		docs[i].text = "#cloud-config\n" + docs[i].text
	}
	return docs
}

// TestAccountsAsCloudInitReadsThem compares users, groups and passwords with those of cloud-init's own code.
func TestAccountsAsCloudInitReadsThem(t *testing.T) {
	docs := accountDocs(t)
	var texts [][]byte
	for _, d := range docs {
		texts = append(texts, []byte(d.text))
	}
	for _, release := range judge.Releases(t) {
		for i, want := range release.Accounts(t, texts...) {
			m, l := read(docs[i].text)
			if l.HasErrors() {
				t.Errorf("%s: %v", docs[i].path, l)
			}
			if d := cmp.Diff(statedAccounts(want), accountsOf(m)); d != "" {
				t.Errorf("%s %s (-cloud-init +translated):\n%s", release.Name, docs[i].path, d)
			}
		}
	}
}

// statedAccounts lists what cloud-init says, one statement a line.
func statedAccounts(a judge.AccountsResult) []string {
	var out []string
	for name, u := range a.Users {
		out = append(out, "user "+name)
		for key, v := range u {
			switch key {
			case "gecos", "shell", "primary_group":
				out = append(out, fmt.Sprintf("%s %s %v", name, key, v))
			case "groups":
				if text, ok := v.(string); ok {
					v = strings.Split(text, ",")
				}
				if list := fmt.Sprint(v); list != "[]" {
					out = append(out, fmt.Sprintf("%s groups %s", name, list))
				}
			case "ssh_authorized_keys":
				out = append(out, fmt.Sprintf("%s keys %v", name, v))
			case "lock_passwd":
				out = append(out, fmt.Sprintf("%s lock %v", name, v))
			}
		}
	}
	for name, members := range a.Groups {
		slices.Sort(members)
		out = append(out, fmt.Sprintf("group %s %v", name, members))
	}
	for name, p := range a.Passwords {
		// cloud-init changes the password of a user whom nobody makes, if the image has one of this name.
		out = append(out, "user "+name, fmt.Sprintf("%s password %s hashed %v", name, p.Password, p.Hashed))
	}
	for _, name := range a.Expired {
		out = append(out, name+" expired")
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// accountsOf lists the same of a machine.
func accountsOf(m machine.Machine) []string {
	var out []string
	if len(m.Users) == 0 {
		out = append(out, "user "+judge.DefaultUser) // whom every guest makes that is told of no users
	}
	for _, u := range m.Users {
		name := u.Name
		if u.Default && name == "" {
			name = judge.DefaultUser
		}
		out = append(out, "user "+name)
		for key, v := range map[string]string{"gecos": u.Gecos, "shell": u.Shell, "primary_group": u.PrimaryGroup} {
			if v != "" {
				out = append(out, fmt.Sprintf("%s %s %s", name, key, v))
			}
		}
		if len(u.Groups) > 0 {
			out = append(out, fmt.Sprintf("%s groups %v", name, u.Groups))
		}
		if len(u.SSHAuthorizedKeys) > 0 {
			out = append(out, fmt.Sprintf("%s keys %v", name, u.SSHAuthorizedKeys))
		}
		if u.LockPassword != nil {
			out = append(out, fmt.Sprintf("%s lock %v", name, *u.LockPassword))
		}
		switch {
		case !u.Password.IsZero():
			out = append(out, fmt.Sprintf("%s password %s hashed false", name, u.Password.Reveal()))
		case !u.PasswordHash.IsZero():
			out = append(out, fmt.Sprintf("%s password %s hashed true", name, u.PasswordHash.Reveal()))
		}
		if u.ExpirePassword {
			out = append(out, name+" expired")
		}
	}
	for _, g := range m.Groups {
		slices.Sort(g.Members)
		out = append(out, fmt.Sprintf("group %s %v", g.Name, g.Members))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// TestFilesAsCloudInitWritesThem compares files with those that cloud-init's own module writes.
func TestFilesAsCloudInitWritesThem(t *testing.T) {
	text := "#cloud-config\nwrite_files:\n"
	for i, item := range []string{
		`content: "text\n"`, `content: AAH/, encoding: b64`, `content: "AAH/\n", encoding: base64`, `content: QQ, encoding: text/plain`,
		`content: H4sIAAAAAAAAA8tIzcnJBwCGphA2BQAAAA==, encoding: gz+b64`, `content: !!binary H4sIAAAAAAAAA8tIzcnJBwCGphA2BQAAAA==, encoding: gzip`,
		`content: !!binary AAH/`, `permissions: "0600"`, `permissions: 0640`, `permissions: "0o755"`, `permissions: "4755"`, `permissions: "0100000"`,
		`permissions: "0000"`, `permissions: rw`, `permissions: 420`, `owner: "nobody:nogroup"`, `content: x, encoding: rot13`,
	} {
		text += fmt.Sprintf("- {path: /f/%02d, %s}\n", i, item)
	}
	m, l := read(text)
	if l.HasErrors() {
		t.Fatal(l)
	}
	for _, release := range judge.Releases(t) {
		got := release.UserDataBatch(t, []judge.UserDataInput{{UserData: []byte(text), Modules: []string{"write_files"}}})[0]
		if got.Err != "" {
			t.Fatal(got.Err)
		}
		for _, f := range m.Files {
			want, ok := got.Files[f.Path]
			if !ok {
				t.Errorf("%s: cloud-init does not write %s", release.Name, f.Path)
				continue
			}
			mode := "0644"
			if f.Mode != 0 {
				mode = fmt.Sprintf("%04o", f.Mode.Bits())
			}
			if string(want.Content) != f.Content.Reveal() || want.Mode != mode {
				t.Errorf("%s: %s: cloud-init writes %q with mode %s, we have %q with mode %s", release.Name, f.Path, want.Content, want.Mode,
					f.Content.Reveal(), mode)
			}
		}
	}
}
