//go:build conformance

package userdata

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/internal/judge"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// The hashes that guests know: of sha512-crypt, and of yescrypt, which cloud-init's key password takes for clear text.
const (
	sha512   = "$6$salt$hash"
	yescrypt = "$y$j9T$salt$hash"
	rootKey  = "ssh-ed25519 AAAA root"
)

// TestNobodyElse has cloud-init make the users of machines: nobody appears who was not asked for, passwords and keys reach
// those whom they are for, and root's are not made useless.
func TestNobodyElse(t *testing.T) {
	hash := func(u machine.User, h string) machine.User {
		u.PasswordHash = secret.New(h)
		return u
	}
	root := machine.User{Name: "root", SSHAuthorizedKeys: []string{rootKey}}
	keys := machine.SSH{AuthorizedKeys: []string{judge.PublicKey}}
	const mine, theirs = judge.DefaultUser, "ann"
	tests := []struct {
		name  string
		users []machine.User
		ssh   machine.SSH
		want  []string
	}{
		{"nothing said", nil, keys, []string{"user " + mine, mine + " key judge", "root key judge refused"}},
		{"default user, sha512", []machine.User{hash(machine.User{Default: true}, sha512)}, keys,
			[]string{"user " + mine, mine + " password " + sha512, mine + " key judge", "root key judge refused"}},
		{"default user, yescrypt", []machine.User{hash(machine.User{Default: true}, yescrypt)}, keys,
			[]string{"user " + mine, mine + " password " + yescrypt, mine + " key judge", "root key judge refused"}},
		{"named default user", []machine.User{hash(machine.User{Default: true, Name: theirs}, yescrypt)}, keys,
			[]string{"user ann", "ann password " + yescrypt, "ann key judge", "root key judge refused"}},
		{"another user", []machine.User{hash(machine.User{Name: theirs}, sha512)}, machine.SSH{},
			[]string{"user ann", "ann password " + sha512, "root key judge refused"}},
		{"root with all", []machine.User{hash(root, sha512)}, machine.SSH{},
			[]string{"user root", "root password " + sha512, "root key root", "root key judge refused"}},
		{"root, yescrypt", []machine.User{hash(machine.User{Name: "root"}, yescrypt)}, machine.SSH{},
			[]string{"user root", "root password " + yescrypt, "root key judge refused"}},
		{"root by keys alone", []machine.User{root}, machine.SSH{}, []string{"root key judge", "root key root"}},
		{"root in the place of the default user", []machine.User{hash(machine.User{Name: "root", Default: true}, sha512)}, keys,
			[]string{"user root", "root password " + sha512, "root key judge"}},
		{"root's keys in the meta-data", []machine.User{{Name: "root", Default: true}}, keys, []string{"root key judge"}},
		{"root and another user", []machine.User{hash(root, sha512), hash(machine.User{Name: theirs}, sha512)}, machine.SSH{},
			[]string{"user ann", "ann password " + sha512, "user root", "root password " + sha512, "root key root", "root key judge refused"}},
		{"root and the default user", []machine.User{root, hash(machine.User{Default: true}, sha512)}, keys,
			[]string{"user " + mine, mine + " password " + sha512, mine + " key judge", "user root", "root key root", "root key judge refused"}},
	}
	var texts [][]byte
	for _, tt := range tests {
		m, _ := machine.Place(machine.Machine{Name: "vm", Users: tt.users, SSH: tt.ssh}, machine.Facts{})
		text, l := User(m, datasource.Options{})
		if len(l) > 0 && !(len(l) == 1 && l[0].Code == CodeNameless && tt.name == "default user, yescrypt") {
			t.Errorf("%s: %v", tt.name, []diag.Diagnostic(l))
		}
		texts = append(texts, []byte(text.Reveal()))
	}
	for _, r := range judge.Releases(t) {
		for i, got := range r.Accounts(t, texts...) {
			want := slices.Sorted(slices.Values(tests[i].want))
			if d := cmp.Diff(want, outcome(got)); d != "" {
				t.Errorf("%s %s (-want +got):\n%s\n%s", r.Name, tests[i].name, d, texts[i])
			}
		}
	}
}

// TestAuthorsUser has cloud-init merge a script that names the default user with a form that names another: the script
// wins, whether the two are one document or parts of a message, and the warning says so.
func TestAuthorsUser(t *testing.T) {
	const said = "user: alice\nntp: {enabled: true}\n"
	users := []machine.User{{Default: true, Name: "deploy", PasswordHash: secret.New(sha512)}}
	for name, text := range map[string]string{"one document": "#cloud-config\n" + said, "a message": "Content-Type: multipart/mixed; boundary=b\n" +
		"MIME-Version: 1.0\n\n--b\nContent-Type: text/cloud-config\n\n" + said + "--b--\n"} {
		m, _ := machine.Place(machine.Machine{Name: "vm", Users: users, UserData: plain(text)}, machine.Facts{})
		data, l := User(m, datasource.Options{})
		if !slices.ContainsFunc(l, func(d diag.Diagnostic) bool { return d.Code == CodeUserWins && strings.Contains(d.Summary, `"user"`) }) {
			t.Errorf("%s: %v", name, []diag.Diagnostic(l))
		}
		for _, r := range judge.Releases(t) {
			got := r.UserData(t, []byte(data.Reveal()), nil).Config
			if got.Get("user").Text != "alice" || got.Get("password").Text != sha512 || got.Get("ntp").Get("enabled").Text != "true" {
				t.Errorf("%s: %s makes %s", name, r.Name, got.JSON())
			}
		}
	}
}

// outcome lists who is made, whose password is set to what, and who may log in by which key.
func outcome(a judge.AccountsResult) []string {
	var out []string
	for name, u := range a.Users {
		out = append(out, "user "+name)
		if h, ok := u["hashed_passwd"]; ok {
			out = append(out, fmt.Sprintf("%s password %v", name, h))
			if u["lock_passwd"] != false {
				out = append(out, name+" is locked")
			}
		}
		own, _ := u["ssh_authorized_keys"].([]any)
		for _, k := range own {
			out = append(out, name+" key "+comment(fmt.Sprint(k)))
		}
	}
	for name, p := range a.Passwords {
		out = append(out, fmt.Sprintf("%s password %s", name, p.Password))
		if !p.Hashed {
			out = append(out, "a hash is taken for clear text")
		}
	}
	for name, added := range a.Keys {
		for _, k := range added {
			line := name + " key " + comment(k.Key)
			if strings.Contains(k.Options, "command=") {
				line += " refused"
			}
			out = append(out, line)
		}
	}
	slices.Sort(out)
	return out
}

func comment(key string) string { return key[strings.LastIndexByte(key, ' ')+1:] }
