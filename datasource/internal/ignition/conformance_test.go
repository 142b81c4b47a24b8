//go:build conformance

package ignition

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/internal/judge"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/machine/machinetest"
	"github.com/vmseed/vmseed/secret"
)

// applied has the real Ignition apply what is composed of a machine. Partitions and file systems are left out, because
// its stages for disks are never run outside of a guest.
func applied(t *testing.T, g *judge.Ignition, m machine.Machine, o datasource.Options) judge.IgnitionResult {
	t.Helper()
	text, l := Compose(placed(t, m), o)
	if l.HasErrors() {
		t.Fatal(l.Err())
	}
	r := g.Apply(t, []byte(text.Reveal()))
	if r.Failed != "" || len(r.Errors) > 0 {
		t.Fatalf("Ignition failed at %s: %s %q\n%s", r.Failed, r.Reason, r.Errors, r.Log)
	}
	return r
}

// TestRealIgnition has Ignition 2.14 apply a machine that states every field, and looks for each in the tree.
func TestRealIgnition(t *testing.T) {
	g := judge.NewIgnition(t)
	for _, guest := range []string{"", "debian-12", "flatcar"} {
		t.Run("guest "+guest, func(t *testing.T) {
			m := machinetest.Generated()
			m.Guest.Release = guest
			r := applied(t, g, m, datasource.Options{})
			for _, w := range r.Warnings {
				t.Errorf("Ignition warns: %s", w)
			}
			for name, want := range map[string]string{
				"/etc/hostname":                            "file 0644 root:root\nidentity-hostname.identity-domain.example.org\n",
				"/etc/localtime":                           "link ../usr/share/zoneinfo/Antarctica/Troll",
				"/etc/files-path":                          "file 0751 users-name:groups-name\nfiles-content-canary\n",
				"/etc/files-binary":                        "file 0000 root:root\n\x00\x01\xfe\xffcanary",
				"/etc/ignition-data":                       "file 0644 root:root\nignition-data-canary",
				"/etc/sudoers.d/90-vmseed":                 "file 0440 root:root\nusers-name ALL=(ALL) NOPASSWD:ALL # users-sudo\n",
				"/etc/systemd/system/units-masked.service": "link /dev/null",
				"/etc/systemd/system/units-name.service.d/units-dropIns-name.conf": "file 0644 root:root\n[Unit]\n# units-dropIns-content-canary\n",
				"/etc/ssh/ssh_host_ed25519_key.pub":                                "file 0644 root:root\n" + m.SSH.HostKeys[0].Public + "\n",
			} {
				if got := r.Show(name); got != want {
					t.Errorf("%s is %q, want %q", name, got, want)
				}
			}
			if got, want := r.Account("users-name"), "5123:users-primarygroup:users-gecos:/home/users-home:/bin/users-shell:$6$usersSalt$users.passwordHash.canary:groups-name,users-group"; sorted(got) != sorted(want) {
				t.Errorf("the account is %q, want %q", got, want)
			}
			if got := r.Account(DefaultUser); !strings.Contains(got, ":$6$") {
				t.Errorf("the default user is %q", got)
			}
			if r.Group("groups-name") != "4711" {
				t.Errorf("the group is %q", r.Group("groups-name"))
			}
			keys := r.Content("/home/core/.ssh/authorized_keys") + r.Content("/home/core/.ssh/authorized_keys.d/ignition")
			for _, k := range m.SSH.AuthorizedKeys {
				if !strings.Contains(keys, k+"\n") {
					t.Errorf("the key %s is not among %q", k, keys)
				}
			}
			for _, job := range []string{"bootcmd", "setup", "runcmd", "phone-home", "power-state", "script-scripts-name.sh"} {
				if !slices.Contains(r.Presets(), "enable "+unitName(job)) || r.Content("/etc/systemd/system/"+unitName(job)) == "" || r.Content(scriptDir+"/"+job) == "" {
					t.Errorf("the job %s is not in the guest: presets %q", job, r.Presets())
				}
			}
		})
	}
}

// sorted brings the groups at the end of an account into order.
func sorted(account string) string {
	i := strings.LastIndexByte(account, ':')
	groups := strings.Split(account[i+1:], ",")
	slices.Sort(groups)
	return account[:i+1] + strings.Join(groups, ",")
}

// TestRealIgnitionTakesAnyContent gives files of every kind of content and size, so that every way to write one is read
// back: text, base64, compressed, appended.
func TestRealIgnitionTakesAnyContent(t *testing.T) {
	g := judge.NewIgnition(t)
	var m machine.Machine
	m.Name = "vm"
	contents := []string{"", "\n", "text with blanks, % and +\n", "\x00\xff\xfe", "ä€𝄞\n", strings.Repeat("line of text\n", 4000), "a\x00" + strings.Repeat("\xaa\x55z", 700)}
	for i, c := range contents {
		m.Files = append(m.Files, machine.File{Path: fmt.Sprintf("/srv/%d", i), Content: secret.New(c), Mode: 0o600},
			machine.File{Path: fmt.Sprintf("/srv/%d", i), Content: secret.New(c), Append: true})
	}
	m.Files = append(m.Files, machine.File{Path: "/etc/passwd", Content: secret.New("appended:x:7777:0::/:/bin/sh\n"), Append: true})
	r := applied(t, g, m, datasource.Options{})
	for i, c := range contents {
		if got, want := r.Show(fmt.Sprintf("/srv/%d", i)), "file 0600 root:root\n"+c+c; got != want {
			t.Errorf("file %d is %.60q of %d bytes, want %d", i, got, len(got), len(want))
		}
	}
	if text := r.Content("/etc/passwd"); !strings.HasPrefix(text, "root:") || !strings.Contains(text, "\nappended:") {
		t.Errorf("passwd is %q", text)
	}
}

// TestRealIgnitionGroups has groups that are called like users, or that images bring: useradd and groupadd fail where they are
// made twice, and the boot with them. Directories in a home are the user's.
func TestRealIgnitionGroups(t *testing.T) {
	g := judge.NewIgnition(t)
	file := func(path, owner string) machine.File {
		return machine.File{Path: path, Owner: owner, Content: secret.New("x")}
	}
	r := applied(t, g, machine.Machine{
		Groups: []machine.Group{{Name: "ada", Members: []string{"bob"}}, {Name: "adm", Members: []string{"bob"}}, {Name: "core"}},
		Users:  []machine.User{{Name: "bob", Groups: []string{"eve", "core"}}, {Name: "ada", Groups: []string{"ada"}}, {Name: "eve", PrimaryGroup: "100"}, {Name: "core"}},
		Files:  []machine.File{file("/home/ada/.config/app/x", "ada:ada"), file("/home/ada/.ssh/config", "ada"), file("/home/bob/x", "bob")},
	}, datasource.Options{})
	for name, want := range map[string]struct{ primary, further string }{
		"ada": {"ada", "ada"}, "bob": {"bob", "ada,adm,eve"}, "eve": {"users", ""}, "core": {"core", ""},
	} {
		fields := strings.Split(sorted(r.Account(name)), ":")
		if len(fields) < 7 || fields[1] != want.primary || fields[6] != want.further {
			t.Errorf("%s is in %q, want %v", name, fields, want)
		}
	}
	for name, want := range map[string]string{"/home/ada": "directory 0755 ada:ada", "/home/ada/.config": "directory 0755 ada:ada",
		"/home/ada/.config/app": "directory 0755 ada:ada", "/home/ada/.ssh": "directory 0700 ada:root", "/home/ada/.config/app/x": "file 0644 ada:ada\nx"} {
		if got := r.Show(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

// TestRealIgnitionMerges has what the author's config says win over what is generated, in a real guest's eyes.
func TestRealIgnitionMerges(t *testing.T) {
	g := judge.NewIgnition(t)
	m := machine.Machine{Name: "vm", Identity: machine.Identity{Hostname: "generated"}, SSH: machine.SSH{AuthorizedKeys: []string{"ssh-ed25519 AAAA generated"}},
		Ignition: []machine.Layer{
			{Data: secret.New(`{"ignition": {"version": "3.3.0"}, "passwd": {"users": [{"name": "core", "sshAuthorizedKeys": ["ssh-ed25519 BBBB author"]}]},
				"storage": {"files": [{"path": "/etc/hostname", "overwrite": true, "contents": {"source": "data:,author"}}]}}`)},
			{Data: secret.New("variant: fcos\nversion: 1.4.0\nstorage:\n  files:\n  - {path: /etc/motd, contents: {inline: butane}}\n")},
		}}
	r := applied(t, g, m, datasource.Options{Extra: []machine.Layer{
		{Data: secret.New("#cloud-config\nruncmd: [false]\n")},
		{Data: secret.New(`{"ignition": {"version": "3.0.0"}, "storage": {"files": [{"path": "/etc/extra", "contents": {"source": "data:,extra"}}]}}`)}}})
	for name, want := range map[string]string{"/etc/hostname": "author", "/etc/motd": "butane", "/etc/extra": "extra"} {
		if got := r.Content(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	keys := r.Content("/home/core/.ssh/authorized_keys") + r.Content("/home/core/.ssh/authorized_keys.d/ignition")
	if !strings.Contains(keys, "generated") || !strings.Contains(keys, "author") {
		t.Errorf("keys %q", keys)
	}
}
